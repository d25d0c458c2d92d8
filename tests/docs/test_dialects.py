"""The pages on dialects have every preset and every field, and the example dialects can be read and written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cogency_rs import Dialect, Parser
from support.own_dialects import OWN
from tools import dialect_fields, mistakes, presets

PRESETS = [Dialect(name) for name in Dialect.presets()]
FIELDS = dialect_fields.PAGE.read_text(encoding="utf-8")


def test_the_page_of_presets_is_the_one_made_from_them():
    shown = presets.PAGE.read_text(encoding="utf-8")
    assert presets.presets_page() == shown, "run: python tools/presets.py"


@pytest.mark.parametrize("dialect", PRESETS, ids=lambda dialect: dialect.name)
def test_each_dialect_is_listed_under_each_of_its_models(dialect: Dialect):
    shown = presets.PAGE.read_text(encoding="utf-8")
    for model in presets.models_of(dialect):
        assert f"| {model or 'any model that is shown how'} | `{dialect.name}` |" in shown


def test_the_page_of_fields_is_the_one_made_from_the_core():
    assert dialect_fields.fields_page() == FIELDS, "run: python tools/dialect_fields.py"


def keys(value: Any) -> set[str]:
    """The keys of all dicts in a value, but for those that are the model's own: of a call, an answer or a mark."""
    if isinstance(value, dict):
        inner = [each for key, each in value.items() if key not in ("call", "answer", "spellings")]
        return set(value).union(*map(keys, inner))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("dialect", PRESETS, ids=lambda dialect: dialect.name)
def test_every_key_of_a_preset_is_a_field_or_a_form(dialect: Dialect):
    unknown = {
        key
        for key in keys(dialect.to_dict())
        if f"`{key}`" not in FIELDS and f'`{{"{key}": ' not in FIELDS
    }
    assert unknown == set()


def test_the_first_table_has_the_fields_of_a_dict():
    table = FIELDS.split("## Dialect\n")[1].split("\n## ")[0]
    rows = [line.split("`")[1] for line in table.splitlines() if line.startswith("| `")]
    assert rows == list(Dialect("cogency").to_dict())


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
    events: list[Any] = [
        *parser.feed(dialect.write_calls([presets.EXAMPLE])),
        *parser.finish("stop"),
    ]
    assert [event["type"] for event in events] == ["call", "execute"]
    read = json.loads(events[0]["content"])
    assert (read["name"], read["args"]) == (presets.EXAMPLE.name, presets.EXAMPLE.args)


def test_the_table_of_mistakes_is_the_core_s():
    assert mistakes.page() == mistakes.PAGE.read_text(encoding="utf-8"), (
        "run: python -m tools.mistakes"
    )
