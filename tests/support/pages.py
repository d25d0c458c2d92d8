"""The pages of the documentation and the Python blocks in them.

A block is a whole program. A block that is only a part of a program has a comment on the line above it:

    <!-- fragment: the reason -->

A page whose blocks are all parts has one comment at its top: `<!-- fragments: the reason -->`. A program that needs
something around it, such as a server, names the file of tests that runs it:

    <!-- elsewhere: tests/docs/test_web.py -->

If a line that begins with "prints" follows a block, and then a text block, the program must print just that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CHECKOUT", "PAGES", "Block", "blocks_of", "is_all_fragments", "name_of"]

CHECKOUT = Path(__file__).resolve().parents[2]
PAGES = [
    CHECKOUT / "README.md",
    CHECKOUT / "examples" / "README.md",
    *sorted((CHECKOUT / "docs").rglob("*.md")),
]

_BLOCK = re.compile(
    r"(?:^<!-- (?:fragment: (?P<reason>[^\n]+)|elsewhere: (?P<elsewhere>\S+)) -->\n)?"
    r"^```python\n(?P<code>.*?)^```\n"
    r"(?:\nprints\b[^\n]*\n\n```text\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
_ALL_FRAGMENTS = re.compile(r"^<!-- fragments: .+ -->$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A block of Python.

    Attributes:
        name: page and line, in the form that editors open.
        code: the program.
        output: what the page says that it prints, or `None`.
        reason: why it is not a whole program, or `None`.
        elsewhere: the file of tests that runs it, or `None` for `tests/docs/test_blocks.py`.
    """

    name: str
    code: str
    output: str | None
    reason: str | None
    elsewhere: str | None


def name_of(page: Path) -> str:
    return str(page.relative_to(CHECKOUT))


def is_all_fragments(page: Path) -> bool:
    return bool(_ALL_FRAGMENTS.search(page.read_text(encoding="utf-8")))


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            f"{name_of(page)}:{text.count(chr(10), 0, found.start('code'))}",
            found["code"],
            found["output"],
            found["reason"],
            found["elsewhere"],
        )
        for found in _BLOCK.finditer(text)
    ]
