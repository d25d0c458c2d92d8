"""A tool's JSON Schema as a signature that a model reads: `search(query: string, kinds?: ("file" | "folder")[])`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

__all__ = [
    "is_json_schema",
    "is_object",
    "json_schema_of",
    "parameters_of",
    "signature",
    "type_text",
]

Schema = Mapping[str, Any]


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a value is an object in JSON's sense."""
    return isinstance(value, dict)


def json_schema_of(tool: Any) -> Schema | None:
    """The JSON Schema of a tool's parameters; `None` if it has only cogency's flat form."""
    schemas = (getattr(tool, name, None) for name in ("json_schema", "schema"))
    return next(filter(is_json_schema, schemas), None)


def is_json_schema(schema: Any) -> TypeGuard[Schema]:
    """Whether a schema is JSON Schema, and not cogency's flat form."""
    match schema:
        case {"type": "object", "properties": {}}:
            return True
        case _:
            return False


def signature(tool: Any, schema: Schema) -> str:
    """Write a tool for a prompt.

    Returns:
        A line, `name(parameters) - description`; below it, indented, what each parameter is for, and the types that the
        parameters refer to.
    """
    parameters = ", ".join(_fields(schema, with_defaults=True))
    lines = [f"{tool.name}({parameters}) - {tool.description}".removesuffix(" - ")]
    for name, property in _properties(schema):
        if about := _about(property):
            lines.append(f"{name}: {about}")
    for name, definition in schema.get("$defs", {}).items():
        about = f" - {definition['description']}" if definition.get("description") else ""
        lines.append(f"{name} = {type_text(definition)}{about}")
        for field, property in _properties(definition):
            if about := _about(property):
                lines.append(f"{name}.{field}: {about}")
    return "\n    ".join(line for line in "\n".join(lines).splitlines() if line.strip())


def type_text(schema: Any) -> str:
    """A schema as a type expression, in the notation of TypeScript."""
    match schema:
        case {"$ref": str(reference)}:
            return reference.rpartition("/")[2]
        case {"const": value}:
            return json.dumps(value, ensure_ascii=False)
        case {"enum": [*values]}:
            return " | ".join(json.dumps(value, ensure_ascii=False) for value in values)
        case {"anyOf": [*members]} | {"oneOf": [*members]}:
            return " | ".join(dict.fromkeys(map(type_text, members)))
        case {"allOf": [*members]}:
            return " & ".join(map(_in_brackets, members))
        case {"type": [*kinds]}:
            return " | ".join(type_text({**schema, "type": kind}) for kind in kinds)
        case {"type": "array", "prefixItems": [*items]}:
            return f"[{', '.join(map(type_text, items))}]"
        case {"type": "array"}:
            return f"{_in_brackets(schema.get('items'))}[]"
        case {"type": "object", "properties": {}}:
            return f"{{{', '.join(_fields(schema))}}}"
        case {"type": "object", "additionalProperties": {**item}}:
            return f"{{[name]: {type_text(item)}}}"
        case {"type": str(kind)}:
            return kind
        case _:
            return "any"


def _in_brackets(schema: Any) -> str:
    text = type_text(schema)
    return f"({text})" if " | " in text or " & " in text else text


def _properties(schema: Schema) -> Iterator[tuple[str, Schema]]:
    for name, property in schema.get("properties", {}).items():
        yield name, property if isinstance(property, Mapping) else {}  # true is a schema too


def _fields(schema: Schema, *, with_defaults: bool = False) -> Iterator[str]:
    required = {name for name in schema.get("required", ()) if isinstance(name, str)}
    for name, property in _properties(schema):
        mark = "" if name in required else "?"
        default = ""
        if with_defaults and property.get("default") is not None:
            default = f" = {json.dumps(property['default'], ensure_ascii=False)}"
        yield f"{name}{mark}: {type_text(property)}{default}"
    if schema.get("additionalProperties") is True:
        yield "..."


BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "pattern": "matching {}",
    "format": "{}",
}
"""The bounds of JSON Schema, as text."""


def _about(schema: Schema) -> str:
    """What a property is for, and its bounds."""
    bounds = [text.format(schema[key]) for key, text in BOUNDS.items() if key in schema]
    if "prefixItems" in schema:  # its length is in its type
        bounds = []
    return "; ".join(filter(None, [schema.get("description"), ", ".join(bounds)]))


def parameters_of(tool: Any) -> dict[str, Any]:
    """The JSON Schema of a tool's parameters, even if the tool has only cogency's flat form."""
    schema = json_schema_of(tool)
    if schema is not None:
        return dict(schema)
    flat: dict[str, Any] = getattr(tool, "schema", None) or {}
    fields = {name: field for name, field in flat.items() if is_object(field)}
    properties = {
        name: {key: value for key, value in field.items() if key != "required"}
        for name, field in fields.items()
    }
    required = [name for name, field in fields.items() if field.get("required")]
    return {"type": "object", "properties": properties, "required": required}
