"""Values by name: the arguments of a function, the fields of a dataclass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...guards.json_values import json_value
from .shape import Reader, Schema, Shape, as_it_is, nullable, read_at
from .values import is_json

__all__ = ["ABSENT", "Fields"]

ABSENT: Any = object()
"""Stands for a missing default."""

FLAT_KEYS = {
    "description": "description",
    "default": "default",
    "enum": "enum",
    "minimum": "min",
    "maximum": "max",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_length",
    "maxItems": "max_length",
}
"""The keys of JSON Schema, with their names in cogency's flat schema."""


@dataclass
class Fields:
    """An object with known fields.

    Attributes:
        shapes: the shape of each field.
        required: the fields that must be there.
        is_open: whether there may be others; their values stay as they are.
    """

    shapes: dict[str, Shape] = field(default_factory=dict[str, Shape])
    required: set[str] = field(default_factory=set[str])
    is_open: bool = False
    _properties: dict[str, Schema] = field(default_factory=dict[str, Schema])
    _readers: dict[str, Reader] = field(default_factory=dict[str, Reader])

    def add(
        self,
        name: str,
        shape: Shape,
        *,
        required: bool,
        default: Any = ABSENT,
        description: str | None = None,
    ) -> None:
        """Add a field. A description in its hint takes precedence over `description`."""
        shape = nullable(shape) if default is None else shape
        self.shapes[name] = shape
        if shape.read is not as_it_is:
            self._readers[name] = shape.read
        if required:
            self.required.add(name)
        about = {"description": description} if description else {}
        self._properties[name] = about | shape.schema
        if default is not ABSENT and is_json(value := json_value(default)):
            self._properties[name]["default"] = value

    def schema(self) -> Schema:
        """The fields as JSON Schema."""
        required = [name for name in self.shapes if name in self.required]
        return {
            "type": "object",
            "properties": self._properties,
            **({"required": required} if required else {}),
            "additionalProperties": self.is_open,
        }

    def flat(self) -> Schema:
        """The fields in cogency's form: for each name the type, `required`, description, default and bounds."""
        return {name: self._flat(name, shape.kinds) for name, shape in self.shapes.items()}

    def _flat(self, name: str, kinds: tuple[str, ...]) -> Schema:
        info: Schema = {}
        # In this form "string" also stands for types without their own name, so it is not listed with others.
        if kinds and (len(kinds) == 1 or "string" not in kinds):
            info["type"] = kinds[0] if len(kinds) == 1 else list(kinds)
        info["required"] = name in self.required
        property = self._properties[name]
        return info | {flat: property[key] for key, flat in FLAT_KEYS.items() if key in property}

    def read(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Read values that fit the schema.

        Raises:
            Mismatch: a reader refuses its value.
        """
        read = dict(values)
        for name, reader in self._readers.items():
            if name in read:
                read[name] = read_at(name, reader, read[name])
        return read
