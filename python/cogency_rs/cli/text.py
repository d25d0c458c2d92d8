"""Makes text from elsewhere fit to be shown: it cannot control a terminal, and fits into its place.

Text of a model, a tool or a stored row may hold anything. Nothing here imports rich, so that `main` can report that it
is missing.
"""

from __future__ import annotations

import json
import shlex
from datetime import datetime
from pathlib import Path
from typing import Any

__all__ = [
    "count",
    "duration",
    "first_lines",
    "moment",
    "one_line",
    "quoted",
    "shown",
    "signature",
    "visible",
]

_json = json.JSONEncoder(ensure_ascii=False).encode

# Control characters have pictures of their own. Those that change the direction of writing are replaced by their names,
# since they make a text look like another one.
_CONTROLS: dict[int, str | None] = {
    **{code: chr(0x2400 + code) for code in range(0x20)},
    0x09: "\t",
    0x0A: "\n",
    **dict.fromkeys(range(0x7F, 0xA0), "\ufffd"),
    **{code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))},
}


def visible(text: str) -> str:
    """Replace characters that control a terminal by their picture or name; line breaks and tabs stay."""
    return text if text.isprintable() else text.replace("\r\n", "\n").translate(_CONTROLS)


def one_line(text: str) -> str:
    """The same, on one line."""
    return visible(text).replace("\n", " ")


def first_lines(text: str, most: int) -> list[str]:
    """The first lines of a text, at most `most`; if lines are left out, the last one says how many."""
    lines = visible(text).expandtabs(4).rstrip().split("\n")
    if len(lines) <= most:
        return lines if lines != [""] else []
    return [*lines[: most - 1], f"… {len(lines) - most + 1:,} more lines"]


def shown(value: Any) -> str:
    """Any JSON value as text: a string unchanged, `None` as an empty text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else _json(value)


def signature(name: str, args: dict[str, Any]) -> str:
    """A call as it would be written in Python, on one line."""
    arguments = (f"{key}={_json(value)}" for key, value in args.items())
    return one_line(f"{name}({', '.join(arguments)})")


def count(number: int, what: str) -> str:
    """A number of things: "1 row", "2,000 rows"."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def duration(seconds: float) -> str:
    """Seconds in a form for people: "12 ms", "2.41 s", "3 min 20 s", "1 h 05 min"."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.995:
        return f"{seconds:.2f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes:02} min"


def moment(timestamp: float, *, zone: bool = False) -> str:
    """A time of the log, in seconds since the epoch, as the local time; on request with its distance from UTC."""
    time = datetime.fromtimestamp(timestamp).astimezone()
    return f"{time:%Y-%m-%d %H:%M:%S}" + (f" UTC{time.isoformat()[-6:]}" if zone else "")


def quoted(path: Path | str) -> str:
    """A path or id as it would be typed into a shell."""
    return shlex.quote(str(path))
