"""JSON Schemas in the forms that providers take. What is left out of a schema here is still checked in what comes back.

OpenAI and Anthropic refuse a tool whose parameters are anything but one object at the root, and OpenAI one with an
array that does not say what its items are. An answer is enforced if its objects are closed; OpenAI wants all of their
members required, too, and Anthropic no bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeGuard, cast

Schema = dict[str, Any]

_ONE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
"""The keywords whose values are a schema, a list of schemas, and schemas by name."""

_BOUNDS = frozenset(
    {
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minProperties",
        "maxProperties",
    }
)


def of_object(schema: Mapping[str, Any]) -> Schema:
    """Parameters as one object, whatever is at the root: the members of all alternatives, required if all require them.

    Linear in the schema.
    """
    root = _resolved(schema, schema)
    choices = [_parts(root, key, schema) for key in ("anyOf", "oneOf")]
    parts = _parts(root, "allOf", schema)
    whole = {key: value for key, value in root.items() if key not in _NOT_AT_ROOT}
    if len(whole) == len(root) and root.get("type") == "object":
        return whole
    members: dict[str, list[Any]] = {}
    required = _required(root, *parts)
    for part in (root, *parts, *choices[0], *choices[1]):
        named: Mapping[str, Any] = part.get("properties") or {}
        for name, member in named.items():
            known = members.setdefault(name, [])
            if member not in known:
                known.append(member)
    for choice in choices:
        common = [_required(each) for each in choice]
        required += [
            name for name in (common[0] if common else ()) if all(name in each for each in common)
        ]
    whole["type"] = "object"
    whole["properties"] = {
        name: known[0] if len(known) == 1 else {"anyOf": known} for name, known in members.items()
    }
    if required:
        whole["required"] = list(dict.fromkeys(required))
    return whole


_NOT_AT_ROOT = ("$ref", "anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else")


def with_items(schema: Mapping[str, Any]) -> Schema:
    """The same with a schema for the items of each array; a tuple's are those of its places."""

    def change(node: Schema) -> Schema:
        kind = node.get("type")
        is_array = kind == "array" or (isinstance(kind, list) and "array" in kind)
        if not (is_array or "prefixItems" in node) or isinstance(node.get("items"), Mapping):
            return node
        places: list[Any] = []
        for place in node.get("prefixItems") or ():
            if place not in places:
                places.append(place)
        return {
            **node,
            "items": places[0] if len(places) == 1 else {"anyOf": places} if places else {},
        }

    return _changed(schema, change)


def closed(schema: Mapping[str, Any], *, requires_all: bool) -> Schema:
    """The same without members that it does not name, where it does not say that there may be others.

    Args:
        schema: the schema.
        requires_all: whether each member is required that has a default or may be null: the model then writes it.
    """

    def change(node: Schema) -> Schema:
        members: Any = node.get("properties")
        if not isinstance(members, Mapping):
            return node
        node = {"additionalProperties": False, **node}
        if requires_all:
            named, required = cast("Mapping[str, Any]", members), node.get("required") or ()
            node["required"] = [
                name for name in named if name in required or _can_be_written(named[name])
            ]
            node["properties"] = {name: _without_null_default(named[name]) for name in named}
        return node

    return _changed(schema, change)


def _can_be_written(member: Any) -> bool:
    """Whether a member that may be left out can also be there without saying anything."""
    if not _is_schema(member):
        return False
    kind = member.get("type")
    return (
        "default" in member
        or kind == "null"
        or (isinstance(kind, list) and "null" in kind)
        or any(
            _can_be_written(each) for key in ("anyOf", "oneOf") for each in member.get(key) or ()
        )
    )


def _without_null_default(member: Any) -> Any:
    """A member without the default that OpenAI's API does not take."""
    if not (_is_schema(member) and member.get("default", ...) is None):
        return member
    return {key: value for key, value in member.items() if key != "default"}


def without_bounds(schema: Mapping[str, Any]) -> Schema:
    """The same without the bounds of numbers, of lengths and of how many there are."""
    return _changed(
        schema, lambda node: {key: value for key, value in node.items() if key not in _BOUNDS}
    )


def is_strict(schema: Mapping[str, Any]) -> bool:
    """Whether OpenAI's API can enforce it: each object is closed, and all of its members are required."""
    strict = True

    def look(node: Schema) -> Schema:
        nonlocal strict
        members: Any = node.get("properties")
        if node.get("type") == "object" or _is_schema(members):
            names = cast("Mapping[str, Any]", members or {})
            strict &= node.get("additionalProperties") is False
            strict &= set(names) == set(node.get("required") or ())
        return node

    _changed(schema, look)
    return strict


def _changed(schema: Mapping[str, Any], change: Callable[[Schema], Schema]) -> Schema:
    """A copy of a schema in which each schema is changed, those within others first."""
    node = dict(schema)
    for key in _ONE:
        if isinstance(node.get(key), Mapping):
            node[key] = _changed(node[key], change)
    for key in _LISTED:
        if isinstance(node.get(key), list):
            node[key] = [_changed(each, change) if _is_schema(each) else each for each in node[key]]
    for key in _NAMED:
        if isinstance(node.get(key), Mapping):
            named: Mapping[str, Any] = node[key]
            node[key] = {
                name: _changed(each, change) if _is_schema(each) else each
                for name, each in named.items()
            }
    return change(node)


def _is_schema(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _parts(node: Mapping[str, Any], key: str, root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The schemas that a schema lists under a keyword; one that is true, which allows anything, is empty."""
    listed: Any = node.get(key)
    if not isinstance(listed, list):
        return []
    each_of = cast("list[object]", listed)
    return [_resolved(each, root) if _is_schema(each) else {} for each in each_of]


def _resolved(node: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema with what its reference into the root's definitions says; as it is if that is not there."""
    seen: list[str] = []
    while isinstance(reference := node.get("$ref"), str) and reference not in seen:
        seen.append(reference)
        target: Any = root
        for step in reference.removeprefix("#/").split("/"):
            target = target.get(step) if _is_schema(target) else None
        if not _is_schema(target):
            return node
        node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    return node


def _required(*nodes: Mapping[str, Any]) -> list[str]:
    lists: Iterable[Any] = (node.get("required") or () for node in nodes)
    return [name for names in lists for name in names]
