"""A shape: the JSON Schema of a value and the reader of a value that fits; what a docstring and a `Param` add to it."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Any, ClassVar

from ..guards.json import json_value, pydantic

WORDS = {
    "null": "null",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "array": "an array",
    "object": "an object",
}
"""The names of JSON's types in messages."""

MOST_SHOWN = 60
"""Characters of a value that fit into a message."""


def is_json(value: Any) -> bool:
    """Whether JSON can hold a value."""
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def kind_of(value: Any) -> str:
    """The JSON type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case _:
            return "object"


def received(value: Any) -> str:
    """Describe a received value in a message: its type, and how JSON writes it."""
    shown = json.dumps(value, ensure_ascii=False) if is_json(value) else repr(value)
    shown = shown if len(shown) <= MOST_SHOWN else f"{shown[:MOST_SHOWN]}..."
    return shown if value is None else f"{WORDS[kind_of(value)]}: {shown}"


_ENTRIES = frozenset({"args", "arguments", "parameters", "other parameters", "attributes"})
"""Sections with an entry for each name."""

_SECTIONS = _ENTRIES | {
    "example",
    "examples",
    "methods",
    "note",
    "notes",
    "raises",
    "receives",
    "references",
    "returns",
    "see also",
    "todo",
    "warning",
    "warnings",
    "warns",
    "yields",
}

# Google's: `Args:`, and an indented entry `name (type): text`.
_HEADER = re.compile(r"(\w[\w ]*):\s*")
_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
# NumPy's: `Parameters` over a line of hyphens, and `name, other : type` over an indented text.
_UNDERLINE = re.compile(r"-{3,}\s*")
_NAMES = re.compile(r"\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*(?=\s*(?::\s|:$|$))")
# Sphinx's: `:param type name: text` for each argument, and other fields such as `:returns:`.
_FIELD = re.compile(r":(\w+)(?:\s+([^:]*?))?:(?:\s+(.*))?")
_PARAMS = frozenset(
    {"param", "parameter", "arg", "argument", "key", "keyword", "kwarg", "var", "ivar", "cvar"}
)
_FIELDS = _PARAMS | {
    "kwparam",
    "meta",
    "raise",
    "raises",
    "return",
    "returns",
    "rtype",
    "type",
    "vartype",
    "yield",
    "yields",
    "ytype",
}


@dataclass
class Docstring:
    """What a docstring says.

    Attributes:
        text: everything before the first section.
        entries: for each name in a section of arguments or attributes, its text on one line.
    """

    text: str = ""
    entries: dict[str, str] = field(default_factory=dict[str, str])


def read_docstring(docstring: str | None) -> Docstring:
    """Read a docstring. What is in no convention is text. The cost is linear."""
    read = _Reading()
    lines = inspect.cleandoc(docstring or "").splitlines()
    for line, next_line in zip(lines, [*lines[1:], ""], strict=False):
        read.take(line, next_line)
    return Docstring("\n".join(read.text).strip(), read.entries)


class _Reading:
    """A docstring that is read line by line.

    Attributes:
        text: the lines before the first section.
        entries: the text of each name so far.
    """

    def __init__(self) -> None:
        self.text: list[str] = []
        self.entries: dict[str, str] = {}
        self._section = ""  # "" for text
        self._is_underlined = self._is_field = False
        self._indent: int | None = None  # of the section's entries
        self._names: list[str] = []  # of the entry that goes on

    def take(self, line: str, next_line: str) -> None:
        """Read a line, of which one must know the next."""
        bare = line.strip()
        is_underlined = line.lower() in _SECTIONS and _UNDERLINE.fullmatch(next_line) is not None
        header = _HEADER.fullmatch(line)
        sphinx = _FIELD.match(line)
        if is_underlined or (header is not None and header[1].lower() in _SECTIONS):
            self._begin(header[1] if header else line, is_underlined=is_underlined)
        elif sphinx is not None and sphinx[1] in _FIELDS:
            self._begin("parameters" if sphinx[1] in _PARAMS else "returns", is_field=True)
            if sphinx[1] in _PARAMS and sphinx[2]:
                self._enter([sphinx[2].split()[-1]], sphinx[3] or "")
        elif not self._section or (self._is_field and bare and not line[0].isspace()):
            self._section = ""
            self.text.append(line)
        elif self._section in _ENTRIES and bare and not _UNDERLINE.fullmatch(line):
            self._read_entry(bare, len(line) - len(line.lstrip()))

    def _begin(self, section: str, *, is_underlined: bool = False, is_field: bool = False) -> None:
        self._section, self._is_underlined, self._is_field = (
            section.lower(),
            is_underlined,
            is_field,
        )
        self._indent, self._names = 0 if is_field else None, []

    def _read_entry(self, bare: str, depth: int) -> None:
        if self._indent is None:
            self._indent = depth
        if depth > self._indent:
            for name in self._names:
                self.entries[name] = f"{self.entries[name]} {bare}".strip()
        elif depth == self._indent and self._is_underlined:
            if (names := _NAMES.match(bare)) is not None:
                self._enter(names[0].split(","), "")
        elif depth == self._indent and (entry := _ENTRY.fullmatch(bare)) is not None:
            self._enter([entry[1]], entry[2])

    def _enter(self, names: list[str], text: str) -> None:
        self._names = [name.strip().lstrip("*") for name in names]
        self.entries.update(dict.fromkeys(self._names, text.strip()))


Schema = dict[str, Any]
"""A JSON Schema."""

Reader = Callable[[Any], Any]
"""Makes the Python value of a JSON value that fits its schema; raises `Mismatch` for faults that no schema shows."""


class Mismatch(Exception):  # noqa: N818  # a finding, which becomes the result of a call
    """A reader refuses a value although it fits its schema.

    Attributes:
        problem: what is wrong, as the predicate after the argument's name.
        path: where in the arguments it is, outermost first: names, and places in arrays; empty for all of them.
    """

    def __init__(self, problem: str, *path: str | int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path: list[str | int] = list(path)

    def __str__(self) -> str:
        if not self.path:
            return f"the arguments {self.problem}"
        first, *others = self.path
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in others)
        return f"argument '{first}{''.join(steps)}' {self.problem}"


@dataclass(frozen=True)
class Shape:
    """The schema and the reader of a value.

    Attributes:
        schema: its JSON Schema; `$ref` points into the definitions of the `Shapes` that made it.
        read: its reader.
        kinds: the JSON types it may have; empty for any, or if only the schema knows.
        wanted: the type as messages name it.
    """

    schema: Schema
    read: Reader
    kinds: tuple[str, ...] = ()
    wanted: str = "any JSON value"


def read_at(place: str | int, read: Reader, value: Any) -> Any:
    """Read a part of a value; a mismatch says where it is."""
    try:
        return read(value)
    except Mismatch as error:
        error.path.insert(0, place)
        raise


# Single values


def as_it_is(value: Any) -> Any:
    """The reader of values that JSON and Python have alike."""
    return value


def _read_int(value: Any) -> int:
    # In JSON Schema, 1.0 is a whole number.
    return int(value) if isinstance(value, float) else value


def _read_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        raise Mismatch("must be a number that a float can hold, got a larger one") from None


def _scalar(kind: str, read: Reader) -> Shape:
    return Shape({"type": kind}, read, (kind,), WORDS[kind])


NULL = _scalar("null", as_it_is)

SCALARS: dict[Any, Shape] = {
    NoneType: NULL,
    bool: _scalar("boolean", as_it_is),
    int: _scalar("integer", _read_int),
    float: _scalar("number", _read_float),
    str: _scalar("string", as_it_is),
}
"""The shapes of JSON's single values."""

ANYTHING = Shape({}, as_it_is)


def choice(options: Sequence[tuple[Any, Any]]) -> Shape:
    """One of several single values, given as pairs of what the model writes and what the function gets."""
    values = [value for value, _ in options]
    kinds = _merged((kind_of(value),) for value in values)
    wanted = " or ".join(json.dumps(value, ensure_ascii=False) for value in values)

    def read(value: Any) -> Any:
        # In Python, but not in JSON, true equals 1.
        return next(
            meant
            for option, meant in options
            if isinstance(value, bool) == isinstance(option, bool) and value == option
        )

    kind = {"type": kinds[0]} if len(kinds) == 1 else {}
    return Shape({**kind, "enum": values}, read, kinds, wanted)


# Values with others inside


def array_of(item: Shape, build: Callable[[list[Any]], Any]) -> Shape:
    """An array of items of one shape."""

    def read(value: Any) -> Any:
        return build([read_at(place, item.read, each) for place, each in enumerate(value)])

    return Shape({"type": "array", "items": item.schema}, read, ("array",), "an array")


def object_of(item: Shape) -> Shape:
    """An object whose values have one shape."""

    def read(value: Any) -> dict[str, Any]:
        return {name: read_at(name, item.read, each) for name, each in value.items()}

    schema = {"type": "object", "additionalProperties": item.schema}
    return Shape(schema, read, ("object",), "an object")


def optional(members: Sequence[Shape]) -> Shape:
    """A shape or null, given in the order in which the hint names them."""
    [read_other] = [member.read for member in members if member is not NULL]

    def read(value: Any) -> Any:
        return None if value is None else read_other(value)

    takes_any = any(not member.kinds for member in members)
    return Shape(
        {"anyOf": [member.schema for member in members]},
        read,
        () if takes_any else _merged(member.kinds for member in members),
        " or ".join(dict.fromkeys(member.wanted for member in members)),
    )


def nullable(shape: Shape) -> Shape:
    """The shape or null, for a parameter whose default is `None` although its hint does not allow it."""
    if shape is ANYTHING or "null" in shape.kinds:
        return shape
    schema = dict(shape.schema)
    description = {"description": schema.pop("description")} if schema.get("description") else {}
    made = optional([replace(shape, schema=schema), NULL])
    return replace(made, schema=made.schema | description)


def _merged(kinds: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kind for each in kinds for kind in each))


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


@dataclass(frozen=True)
class Param:
    """A parameter's description and bounds for the model: `Annotated[int, Param("how many", ge=1)]`.

    Args:
        description: what the parameter is for. A plain string in `Annotated` does the same.
        ge: the least value of a number.
        le: the greatest value of a number.
        min_length: the least number of characters in a string, or of items in an array or object.
        max_length: the greatest number of them.

    cogency's `ToolParam` in `Annotated` is read the same way.

    pydantic reads it too, in the hints that are left to pydantic and in fields of its models.
    """

    __is_annotated_types_grouped_metadata__: ClassVar[bool] = True
    """The mark of the package annotated_types by which pydantic unpacks this object into its own constraints."""

    description: str = ""
    ge: float | None = None
    le: float | None = None
    min_length: int | None = None
    max_length: int | None = None

    def __iter__(self) -> Iterator[Any]:
        """The same as a `Field` of pydantic, which must be installed."""
        bounds = {name: getattr(self, name) for name in NAMES if name != "description"}
        yield pydantic().Field(description=self.description or None, **bounds)


NAMES = [each.name for each in dataclasses.fields(Param)]

BOUNDS = {
    "integer": {"ge": "minimum", "le": "maximum"},
    "number": {"ge": "minimum", "le": "maximum"},
    "string": {"min_length": "minLength", "max_length": "maxLength"},
    "array": {"min_length": "minItems", "max_length": "maxItems"},
    "object": {"min_length": "minProperties", "max_length": "maxProperties"},
}
"""The names of the bounds in JSON Schema, for each JSON type."""


def param_in(note: Any) -> Param | None:
    """An item of `Annotated` as a `Param`; `None` for an item that is not about the parameter."""
    if isinstance(note, str):
        return Param(note)
    if isinstance(note, Param):
        return note
    if dataclasses.is_dataclass(note) and all(hasattr(note, name) for name in NAMES):
        return Param(**{name: getattr(note, name) for name in NAMES})
    return None


def is_bounded_by(shape: Shape, name: str) -> bool:
    """Whether a bound of this name applies to any JSON type that the shape may have."""
    return any(name in BOUNDS.get(kind, {}) for kind in shape.kinds)


def bounded(shape: Shape, param: Param) -> Shape:
    """The shape with a description and bounds."""
    schema: Schema = dict(shape.schema)
    for kind in shape.kinds:
        for name, key in BOUNDS.get(kind, {}).items():
            if (bound := getattr(param, name)) is not None:
                schema[key] = bound
    if param.description:
        schema["description"] = param.description
    return dataclasses.replace(shape, schema=schema)
