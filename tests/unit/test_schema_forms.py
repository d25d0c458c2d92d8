"""The parameters of tools, in the forms that providers take."""

from __future__ import annotations

import json

import pytest

from cogency_rs._core import ArgumentSchema
from cogency_rs.models.schema_forms import of_object, with_items

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


def of(required: list[str] | None = None, **members: object) -> dict[str, object]:
    schema: dict[str, object] = {"type": "object", "properties": members}
    return schema if required is None else schema | {"required": required}


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        (of(["a"], a=TEXT), of(["a"], a=TEXT)),
        ({"type": "object"}, {"type": "object"}),
        ({}, {"type": "object", "properties": {}}),
        (
            {"type": "object", "anyOf": [of(["content"], content=TEXT), of(["url"], url=TEXT)]},
            of(content=TEXT, url=TEXT),
        ),
        (
            of(["id"], id=NUMBER) | {"oneOf": [of(["id", "a"], a=TEXT), of(["a"], a=NUMBER)]},
            of(["id", "a"], id=NUMBER, a={"anyOf": [TEXT, NUMBER]}),
        ),
        ({"allOf": [of(["a"], a=TEXT), of(["b"], b=TEXT)]}, of(["a", "b"], a=TEXT, b=TEXT)),
        (
            {"$ref": "#/$defs/A", "$defs": {"A": of(["a"], a=TEXT)}},
            of(["a"], a=TEXT) | {"$defs": {"A": of(["a"], a=TEXT)}},
        ),
        (
            {"anyOf": [{"$ref": "#/$defs/A"}, True], "$defs": {"A": of(["a"], a=TEXT)}},
            of(a=TEXT) | {"$defs": {"A": of(["a"], a=TEXT)}},
        ),
        (
            {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}},
            of() | {"$defs": {"A": {"$ref": "#/$defs/A"}}},
        ),
        (
            of(a=TEXT) | {"not": of(["a"]), "if": of(a=TEXT), "then": of(["b"])},
            of(a=TEXT),
        ),
    ],
)
def test_the_root_is_one_object(schema, sent) -> None:
    given = json.dumps(schema)
    made = of_object(schema)
    assert made == sent
    assert json.dumps(schema) == given
    ArgumentSchema(made)


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": ["array", "null"]}, {"type": ["array", "null"], "items": {}}),
        ({"type": "array", "items": TEXT}, {"type": "array", "items": TEXT}),
        (
            {"type": "array", "prefixItems": [NUMBER, NUMBER]},
            {"type": "array", "prefixItems": [NUMBER, NUMBER], "items": NUMBER},
        ),
        (
            {"type": "array", "prefixItems": [NUMBER, TEXT], "items": False},
            {"type": "array", "prefixItems": [NUMBER, TEXT], "items": {"anyOf": [NUMBER, TEXT]}},
        ),
        (
            of(a={"anyOf": [{"type": "array"}, {"type": "null"}]}),
            of(a={"anyOf": [{"type": "array", "items": {}}, {"type": "null"}]}),
        ),
        ({"enum": [{"type": "array"}]}, {"enum": [{"type": "array"}]}),
        (of(type={"type": "array"}), of(type={"type": "array", "items": {}})),
    ],
)
def test_each_array_says_what_its_items_are(schema, sent) -> None:
    assert with_items(schema) == sent
