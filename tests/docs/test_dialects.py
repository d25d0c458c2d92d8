"""The page on dialects has every preset and every field, and its example dialects can be read and written."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from cogency_rs import Dialect, Parser
from support.own_dialects import OWN
from support.pages import CHECKOUT
from tools.presets import EXAMPLE, PAGE, with_presets

TEXT = PAGE.read_text(encoding="utf-8")
SOURCES = [CHECKOUT / "src" / "dialect" / f"{name}.rs" for name in ("mod", "prompt")]
CODE = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)

TABLES = {
    "Dialect": "field",
    "Json": "field of `json`",
    "DecisionKeys": "field of `decision`",
    "Head": "field of `head`",
    "Parameters": "field of `parameters`",
    "Flag": "field of `flag`",
    "Xml": "field of `xml`",
    "XmlParts": "field of `parts`",
    "MessageHeads": "field of `heads`",
    "Prompt": "field of `prompt`",
    "ToolsForm": "field of `tools`",
    "Teaching": "field of `teaching`",
    "TurnForm": "field of `turn`",
    "Joints": "field of `joints`",
    "CallsForm": "field of `calls`",
    "ResultsForm": "field of `results`",
}
"""For each value, the heading of the table that explains its fields."""

IN_WORDS = {"Pair": "open close", "Results": "open close array", "Frame": "before behind"}
"""Values that the text explains where they are used, each with its fields."""


def fields() -> dict[str, list[str]]:
    """The fields of each public struct of the core, by its name."""
    structs = re.findall(r"^pub struct (\w+) \{\n(.*?)^\}", CODE, re.MULTILINE | re.DOTALL)
    return {name: re.findall(r"^    pub (\w+):", body, re.MULTILINE) for name, body in structs}


def forms() -> list[tuple[str, str]]:
    """The forms of each public enum of the core, written as in a dict."""
    enums = re.findall(r"^pub enum (\w+) \{\n(.*?)^\}", CODE, re.MULTILINE | re.DOTALL)
    return [
        (name, re.sub(r"(?<=[a-z])([A-Z])", r"_\1", form).lower())
        for name, body in enums
        for form in re.findall(r"^    (\w+)(?:\([^)]*\))?,$", body, re.MULTILINE)
    ]


def rows(heading: str) -> list[str]:
    """The names in the first column of the table with this heading."""
    start = TEXT.index(f"\n| {heading} | holds |\n")
    table = TEXT[start:].split("\n\n")[0]
    cells = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", table, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"\w+", cell)]


def test_the_page_has_every_preset():
    assert with_presets(TEXT) == TEXT, "run: python tools/presets.py"


@pytest.mark.parametrize("value", fields())
def test_every_field_is_explained(value: str):
    expected = fields()[value]
    assert expected == (IN_WORDS[value].split() if value in IN_WORDS else rows(TABLES[value]))
    assert value not in IN_WORDS or all(f"`{field}`" in TEXT for field in expected)


def test_exactly_the_values_of_the_core_are_explained():
    assert fields().keys() == TABLES.keys() | IN_WORDS.keys()


@pytest.mark.parametrize(("choice", "form"), forms(), ids=lambda value: str(value))
def test_every_form_is_named(choice: str, form: str):
    assert f"`{form}`" in TEXT or f'`{{"{form}": ' in TEXT


def test_the_first_table_has_the_fields_of_a_dict():
    assert rows("field") == list(Dialect("cogency").to_dict())


TOOLS = [
    {
        "name": "read",
        "parameters": {"properties": {"file": {"type": "string"}, "lines": {"type": "integer"}}},
    }
]


@pytest.mark.parametrize("name", OWN)
def test_a_dialect_that_is_not_a_preset_reads_what_it_writes(name: str):
    dialect = OWN[name]
    parser = Parser(dialect=dialect, tools=TOOLS, errors="event")
    events: list[Any] = [*parser.feed(dialect.write_calls([EXAMPLE])), *parser.finish("stop")]
    assert [event["type"] for event in events] == ["call", "execute"]
    read = json.loads(events[0]["content"])
    assert (read["name"], read["args"]) == (EXAMPLE.name, EXAMPLE.args)
