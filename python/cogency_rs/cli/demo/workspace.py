"""The files that the shipped session works on.

The session's own story: an assistant on staging stops answering after somebody changed the tag at
which its model stops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FILES", "seed"]

_PRODUCTION = """\
[model]
name = "small-1"
stop = "</execute>"

[limits]
answer_seconds = 30
"""

_LOG = """\
08:57:12 INFO answer 411 took 3.1 s, stop </execute>
09:02:40 INFO answer 412 took 2.7 s, stop </execute>
09:11:26 INFO answer 413 took 3.4 s, stop </execute>
09:15:03 INFO reloaded config/staging.toml
09:15:48 WARN answer 414 given up after 30 s, no stop
09:17:20 WARN answer 415 given up after 30 s, no stop
09:18:02 INFO health check passed
09:21:55 WARN answer 416 given up after 30 s, no stop
"""

FILES = {
    "config/production.toml": _PRODUCTION,
    "config/staging.toml": _PRODUCTION.replace("</execute>", "</exec>"),
    "logs/staging.log": _LOG,
}


def seed(folder: Path) -> None:
    """Write the session's files into an empty folder."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
