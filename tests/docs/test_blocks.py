"""Every Python block of the documentation runs, by itself, and prints what the page says it prints."""

from __future__ import annotations

import importlib.util
import re
from typing import TYPE_CHECKING

import pytest

from support.pages import CHECKOUT, PAGES, Block, blocks_of, is_all_fragments, name_of
from support.programs import printed_by
from support.tiny_model import tiny_model

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM_PAGES = [page for page in PAGES if not is_all_fragments(page)]
BLOCKS = [block for page in PROGRAM_PAGES for block in blocks_of(page)]
FRAGMENTS = [block for block in BLOCKS if block.reason is not None]
ELSEWHERE = [block for block in BLOCKS if block.elsewhere is not None]
PROGRAMS = [block for block in BLOCKS if block.reason is None and block.elsewhere is None]

# Importing cogency causes this warning.
FLAGS = ["-W", "ignore:Using fallback UUID7:DeprecationWarning"]

# What the model in `model.gguf` answers, by words in the last message.
ANSWERS = {
    "Sunny in Paris": "It is sunny in Paris, at 21 degrees.",
    "weather in Paris": '<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call>',
    "": "Good day to you!",
}

COGENCY = re.compile(r"^\s*(?:from|import) cogency\b|\binstall\(", re.MULTILINE)


@pytest.mark.parametrize("block", PROGRAMS, ids=lambda block: block.name)
def test_a_block_runs(block: Block, tmp_path: Path):
    if COGENCY.search(block.code) and importlib.util.find_spec("cogency") is None:
        pytest.skip("cogency is not installed; it supports Python 3.11 and 3.12")
    if "LocalModel(" in block.code:
        if importlib.util.find_spec("xllamacpp") is None:
            pytest.skip("llama.cpp is not installed")
        (tmp_path / "model.gguf").write_bytes(tiny_model(ANSWERS))
    program = tmp_path / "block.py"
    program.write_text(block.code, encoding="utf-8")
    printed = printed_by(program, cwd=tmp_path, flags=FLAGS)
    if block.output is not None:
        assert lines(printed) == lines(block.output)


def lines(text: str) -> list[str]:
    """The lines of a text, without trailing white space."""
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_block_of_a_page_is_overlooked(page: Path):
    """For instance one that is indented, or that spells "python" differently."""
    text = page.read_text(encoding="utf-8")
    assert len(blocks_of(page)) == len(
        re.findall(r"```\s*(?:py|python|pycon)\b", text, re.IGNORECASE)
    )
    outputs = sum(block.output is not None for block in blocks_of(page))
    assert outputs == len(re.findall(r"\bprints\b[^\n]*\n+```", text))


def test_fragments_are_rare():
    assert len(FRAGMENTS) <= len(BLOCKS) / 10


@pytest.mark.parametrize("block", ELSEWHERE, ids=lambda block: block.name)
def test_a_block_that_is_run_elsewhere_is_run_there(block: Block):
    page = block.name.partition(":")[0].removeprefix("docs/")
    assert page in (CHECKOUT / str(block.elsewhere)).read_text(encoding="utf-8")


def test_only_the_examples_of_the_differences_are_run_elsewhere():
    assert [name_of(page) for page in PAGES if is_all_fragments(page)] == ["docs/differences.md"]
