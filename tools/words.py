"""Counts the words of the documentation, and finds phrases that a native reader stumbles over: `python tools/words.py`.

Ends with code 1 if there are more words by hand than `MOST_WORDS`, or if a phrase of `TICS` is in the documentation, in
a docstring, a message or a comment.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["TICS", "Tic", "count_words", "found_tics", "hand_written"]

CHECKOUT = Path(__file__).resolve().parent.parent

MOST_WORDS = 35_000
"""In `docs/`, by hand."""

GENERATED = {
    "api.md",
    "benchmarks.md",
    "dialect-fields.md",
    "differences.md",
    "peers.md",
    "presets.md",
}
"""Pages that a program writes. In the others, what is between the marks of `PART` is written by one."""

PART = re.compile(r"<!-- [\w ]+: (?:made|written) by .*?: end -->", re.DOTALL)

CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)

PLACES = {
    "docs": ("*.md", "docs/**/*.md", "examples/*.md"),
    "python": ("python/**/*.py", "python/**/*.pyi"),
    "src": ("src/**/*.rs",),
    "the rest": ("tests/**/*.py", "tests/**/*.rs", "tools/*.py", "benches/**/*.py", "fuzz/**/*.rs"),
}


QUOTING = {Path(__file__).resolve(), CHECKOUT / "tests" / "unit" / "test_words.py"}
"""Files that name the phrases."""


class Tic(NamedTuple):
    """A phrase, and what to write in its place."""

    phrase: re.Pattern[str]
    instead: str


TICS = tuple(
    Tic(re.compile(phrase), instead)
    for phrase, instead in {
        r"\b(?:stands?|stood)\b(?! for| alone| still|-)": "is, appears",
        r"\bbeside\b": "next to, with, as well as",
        r"(?<!not )\bin words\b(?![:)\]]| if\b| for\b)": "in the prompt",
        r"\bsaid by\b": "given by",
        r"(?<![Tt]here )\b(?:is|are|was|has|have|had) none\b": "isn't one, has no …",
        r"(?<![Tt]here )\b(?:is|are) no (?!longer\b|more\b|less\b|such\b|one\b)": "is not a",
        r"\b[Ww]hoever\b": "the caller, users",
        r"\bwants to\b": "must, should",
        r"(?<![Tt]here )\b(?:is|are|was|were) to (?:be\b|[a-z]+)": "must, should, can",
        r"\bany more\b": "any longer, or say it otherwise",
        r"\bleaves? (?:it|them|that|this) away\b": "leave out",
        r"\bhalf (?:of )?a character\b": "a lone surrogate, a cut character",
        r"\bto its end at\b": "lines a-b",
        r"\bturns? the GIL on\b": "re-enables the GIL",
    }.items()
)


def hand_written(page: Path) -> str:
    """The text of a page that people write: nothing of a generated page, and no code."""
    if page.name in GENERATED:
        return ""
    return CODE.sub("", PART.sub("", page.read_text(encoding="utf-8")))


def count_words(text: str) -> int:
    """Words with a letter in them: a table's bars and rules are not words."""
    return sum(any(character.isalpha() for character in word) for word in text.split())


def found_tics(text: str) -> Iterator[tuple[int, str, str]]:
    """Each tic of a text: the number of its line, the phrase, and what to write instead."""
    for number, line in enumerate(text.splitlines(), start=1):
        for tic in TICS:
            for found in tic.phrase.finditer(line):
                yield number, found[0], tic.instead


def _files(*patterns: str) -> list[Path]:
    return sorted({path for pattern in patterns for path in CHECKOUT.glob(pattern)} - QUOTING)


def main() -> int:
    pages = {page: count_words(hand_written(page)) for page in _files("docs/**/*.md")}
    for page, words in sorted(pages.items(), key=lambda item: item[1]):
        print(f"{words:7,}  {page.relative_to(CHECKOUT)}")
    total = sum(pages.values())
    print(f"{total:7,}  words by hand (at most {MOST_WORDS:,})\n")

    tics = 0
    for place, patterns in PLACES.items():
        lines = 0
        for file in _files(*patterns):
            for number, phrase, instead in found_tics(file.read_text(encoding="utf-8")):
                lines += 1
                print(f"{file.relative_to(CHECKOUT)}:{number}: {phrase!r}: {instead}")
        print(f"{lines:7,}  tics in {place}\n")
        tics += lines

    for place in ("python/cogency_rs", "src"):
        lengths = [
            len(line)
            for file in _files(f"{place}/**/*.py", f"{place}/**/*.rs")
            for line in file.read_text(encoding="utf-8").splitlines()
            if line.strip()
        ]
        print(
            f"{len(lengths):7,}  lines in {place}: {statistics.fmean(lengths):.1f} characters on average, "
            f"{max(lengths)} at most"
        )
    return int(tics > 0 or total > MOST_WORDS)


if __name__ == "__main__":
    sys.exit(main())
