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
    "servers.md",
}
"""Pages that a program writes. In the others, what is between the marks of `PART` is written by one."""

PART = re.compile(r"<!-- [\w ]+: (?:made|written) by .*?: end -->", re.DOTALL)

CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)

PLACES = {
    "docs": ("*.md", "docs/**/*.md", "examples/*.md", "core/*.md", "agent/*.md", "net/*.md"),
    "python": ("python/**/*.py", "python/**/*.pyi"),
    "src": tuple(f"{crate}/**/*.rs" for crate in ("src", "core", "net", "agent", "arguments")),
    "the rest": ("tests/**/*.py", "tests/**/*.rs", "tools/*.py", "benches/**/*.py", "fuzz/**/*.rs"),
}


TESTS = CHECKOUT / "tests"

QUOTING = {
    Path(__file__).resolve(),
    TESTS / "unit" / "test_words.py",
    TESTS / "examples" / "test_hermes_stream.py",
}
"""Files that quote the phrases: to name them, or since a model wrote one."""


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


def _tics() -> Iterator[tuple[str, str]]:
    """Each tic of the checkout: its place, and the line that says where it is and what to write instead."""
    for place, patterns in PLACES.items():
        for file in _files(*patterns):
            for number, phrase, instead in found_tics(file.read_text(encoding="utf-8")):
                yield place, f"{file.relative_to(CHECKOUT)}:{number}: {phrase!r}: {instead}"


def _show_lines() -> None:
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


def main(*arguments: str) -> int:
    """Print the counts, and what is wrong; with `--check`, only what is wrong."""
    pages = {page: count_words(hand_written(page)) for page in _files("docs/**/*.md")}
    total, tics = sum(pages.values()), list(_tics())
    for _, line in tics:
        print(line)
    if total > MOST_WORDS:
        print(f"docs/ has {total:,} words by hand, more than {MOST_WORDS:,}: cut some")
    if "--check" not in arguments:
        for page, words in sorted(pages.items(), key=lambda item: item[1]):
            print(f"{words:7,}  {page.relative_to(CHECKOUT)}")
        print(f"{total:7,}  words by hand (at most {MOST_WORDS:,})")
        for place in PLACES:
            print(f"{sum(found == place for found, _ in tics):7,}  tics in {place}")
        _show_lines()
    return int(bool(tics) or total > MOST_WORDS)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
