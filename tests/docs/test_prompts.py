"""The page on prompts has each of our own words, with its reason."""

from __future__ import annotations

import re

from cogency_rs import tool
from cogency_rs.context.assembly import prompt_parts
from support.pages import CHECKOUT

PAGE = (CHECKOUT / "docs" / "prompts.md").read_text(encoding="utf-8")


@tool
def weather(city: str) -> str:
    """Get the weather in a city."""
    return city


def test_each_of_our_words_has_its_reason():
    parts = prompt_parts([weather], None, None, "hermes")
    ours = f"{parts.identity} {parts.calls}".split()
    table = PAGE.partition("| words | reason |\n| --- | --- |\n")[2].partition("\n\n")[0]
    rows = [re.split(r" *\| *", line)[1:3] for line in table.splitlines()]
    assert " ".join(words for words, _ in rows).split() == ours
    assert all(reason for _, reason in rows)
    assert f"words is {len(ours)} words" in PAGE
