"""Inputs for the fuzz targets to start from: recorded model output, and the tables of the parser's tests.

    python fuzz/seeds.py fuzz/corpus

The recordings are found as the tests find them (`COGENCY_RS_RECORDINGS`, or `../shared/data`); without them
the tables are all there is.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(CHECKOUT / "tests" / "unit"), str(CHECKOUT / "tests")]

import test_parser as tables  # noqa: E402

LONGEST = 4096
"""Bytes in an input; the targets run with the same bound."""

ROWS = {
    "user": "hi",
    "think": "hm",
    "respond": "ok",
    "result": "[{}]",
    "call": '{"name": "a"}',
    "error": "<x>",
}
"""A row of each type, in the order in which the target `messages` counts the types."""

BETWEEN_ROWS = b"\xff"

# What stands before the text, as the targets read it: its form (as it is) and ending, limits, and sizes of chunks.
PARSER_HEADERS = [
    bytes([0, 0, 0, 0, 1, 7, 0]),
    bytes([4, 100, 3, 2, 3, 0, 11]),
    bytes([6, 40, 2, 1, 1, 1, 5]),
]
JSON_HEADER = bytes([0, 1, 0, 5])


def lines(name: str) -> list[dict]:
    """The lines of a recording."""
    folder = os.environ.get("COGENCY_RS_RECORDINGS") or CHECKOUT.parent / "shared" / "data"
    file = Path(folder) / name
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def texts() -> list[str]:
    """What models write."""
    turns = [turn["text"] for name in ("agent", "wild") for turn in lines(f"{name}_turns.jsonl")]
    streams = ["".join(stream["tokens"]) for stream in lines("streams.jsonl")]
    return [*("".join(case.values[0]) for case in tables.CASES), *turns, *streams]


def values() -> list[str]:
    """JSON, and what is none."""
    written = [case.values[0] for case in tables.VALUES]
    bodies = re.findall("<execute>(.*?)</execute>", "\n".join(texts()), re.DOTALL)
    return [*written, *tables.REFUSED, *bodies]


def logs() -> Iterator[bytes]:
    """Rows of every type behind every other, and pieces of conversations."""
    for kinds in itertools.product(ROWS, repeat=3):
        yield BETWEEN_ROWS.join(row(kind, ROWS[kind]) for kind in kinds)
    for conversation in lines("conversations.jsonl"):
        log = b""
        for event in conversation["events"]:
            following = BETWEEN_ROWS + row(event["type"], event["content"][:1500])
            if len(log + following) > LONGEST:
                yield log
                log = b""
            log += following
        yield log


def row(kind: str, content: str) -> bytes:
    """A row of a log."""
    return bytes([[*ROWS].index(kind)]) + encoded(content)


def encoded(text: str) -> bytes:
    """The text as the core holds it."""
    return text.encode("utf-8", "surrogatepass")


def write(folder: Path, inputs: Iterable[bytes]) -> None:
    """Write each input that is not too long to a file named by its content."""
    folder.mkdir(parents=True, exist_ok=True)
    for content in inputs:
        if len(content) <= LONGEST:
            (folder / hashlib.sha1(content).hexdigest()).write_bytes(content)


def main(corpus: Path) -> None:
    """Write the seeds of every target."""
    write(corpus / "parser", (head + encoded(text) for text in texts() for head in PARSER_HEADERS))
    write(corpus / "json", (JSON_HEADER + encoded(value) for value in values()))
    write(corpus / "messages", logs())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
