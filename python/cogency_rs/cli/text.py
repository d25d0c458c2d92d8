"""Makes text from elsewhere fit to be shown: it cannot control a terminal, and fits into its place.

Text of a model, a tool or a stored row may hold anything. Nothing here imports rich, so that `main` can report that it
is missing.
"""

from __future__ import annotations

import json
import re
import shlex
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

__all__ = [
    "count",
    "decoded",
    "duration",
    "exact",
    "first_lines",
    "moment",
    "one_line",
    "quoted",
    "shown",
    "signature",
    "visible",
    "written",
]

_json = json.JSONEncoder(ensure_ascii=False).encode

# Control characters have their own pictures. Those that change the direction of writing are replaced by their names,
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


# Characters that nothing is drawn for, though Python counts them as printable: those that Unicode lets a program
# ignore, then those whose glyph is blank.
_UNSEEN = frozenset(
    (
        *map(ord, "\u034f\u115f\u1160\u17b4\u17b5\u180f\u3164\uffa0"),
        *map(ord, "\u2800\u2d7f\ufffc\U0001107f\U00013441\U00013442\U00016fe4\U0001d159"),
        *range(0x180B, 0x180E),
        *range(0xFE00, 0xFE10),
        *range(0xE0100, 0xE01F0),
    )
)
_PICTURES = {**{chr(code): chr(0x2400 + code) for code in range(0x20)}, " ": "␠", "\x7f": "␡"}


def exact(line: str, *, ascii: bool = False) -> list[tuple[str, bool]]:
    """A line in which nothing can hide: for each character that is not seen there is a mark.

    Marked are control characters, those that change the direction of writing, those without a width, tabs, unusual
    spaces, and spaces at the end.

    Args:
        line: any text; line feeds are marked, too.
        ascii: whether marks are names (`<U+200B>`) only, and not pictures (`␛`).

    Returns:
        Pieces of the line in their order, and whether each is marks.
    """
    end = len(line.rstrip(" ")) or 1  # one space is the beginning of a line of a difference
    if line.isprintable() and len(line) <= end and _UNSEEN.isdisjoint(map(ord, line)):
        return [(line, False)] if line else []
    marked = [
        (place >= end or not character.isprintable() or ord(character) in _UNSEEN, character)
        for place, character in enumerate(line)
    ]
    pieces: list[tuple[str, bool]] = []
    for is_mark, group in groupby(marked, key=lambda entry: entry[0]):
        characters = [character for _, character in group]
        shown_ = [_mark(each, ascii) for each in characters] if is_mark else characters
        pieces.append(("".join(shown_), is_mark))
    return pieces


def _mark(character: str, ascii: bool) -> str:
    name = f"<U+{ord(character):04X}>"
    mark = name if ascii else _PICTURES.get(character, name)
    return f"{mark:<4}" if character == "\t" else mark


def decoded(argument: str) -> str:
    """An argument of the command line as text: bytes that are not UTF-8 become U+FFFD, as in text that is read."""
    text = re.sub("[\ud800-\udc7f\udd00-\udfff]", "\ufffd", argument)
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


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


def written(name: str, args: dict[str, Any]) -> str:
    """A call as it would be written in Python, with whatever characters it has.

    A name that could be taken for more than a name is in quotes, as in `f("x=1, y"=2)`.
    """
    arguments = (f"{_named(key)}={_json(value)}" for key, value in args.items())
    return f"{_named(name)}({', '.join(arguments)})"


def _named(name: str) -> str:
    return name if re.fullmatch(r"[\w.-]+", name) else _json(name)


def signature(name: str, args: dict[str, Any]) -> str:
    """The same, fit to be shown on one line."""
    return one_line(written(name, args))


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
