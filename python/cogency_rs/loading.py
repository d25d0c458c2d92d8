"""What happens when the package is imported, and what lets pydantic take its values as fields.

pydantic reads dataclasses, named tuples and typed dicts by their hints. It asks these classes about what it cannot
read: results, which are written by `to_dict`, and exceptions. The core's classes ask here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

_TOP = __name__.partition(".")[0]

ROOMS = (
    *("agent", "compat", "context", "errors", "execution", "executors", "hooks", "models"),
    *("protocol", "reader", "runs", "servers", "storage", "telemetry", "testing", "tools"),
    *("turn", "types"),
)
"""The modules of the package that users import from."""


def warn_of_debug_code(build: str) -> None:
    """Warn the importing program if the core is a debug build.

    Args:
        build: `_core.BUILD`.

    Warns:
        RuntimeWarning: it is a debug build; the message says how to build one for use.
    """
    if build != "debug":
        return
    import warnings

    warnings.warn(
        "the core of cogency_rs was built without optimisation and is many times slower; "
        "build it for use with `maturin develop --release`, or `make`",
        RuntimeWarning,
        stacklevel=3,  # the code that imports the package
    )


def lazy_names(
    package: str, modules: Mapping[str, Iterable[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` of a package that imports a module when one of its names is first used.

    Args:
        package: the package's name.
        modules: the names by the module that has them, relative to the package, such as `".sqlite"`.
    """
    homes = {name: module for module, names in modules.items() for name in names}
    of_package = vars(sys.modules[package])

    def get(name: str) -> Any:
        if name not in homes:
            if (
                package == _TOP and name in ROOMS
            ):  # `from cogency_rs import storage` asks for it as an attribute first
                return import_module(f"{_TOP}.{name}")
            if package == _TOP and (room := _room_of(name)) is not None:
                # Python shows it as it is, where it says of an `AttributeError` only that the name is not there.
                raise ImportError(f"{name} is imported from {room}", name=package)
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = of_package[name] = getattr(import_module(homes[name], package), name)
        return value

    def list_names() -> list[str]:
        return sorted({*of_package, *homes})

    return get, list_names


def _room_of(name: str) -> str | None:
    """The room that a public name is imported from; `None` if there is none. Loads every room that it looks into."""
    if name.startswith("_"):
        return None
    rooms = (f"{_TOP}.{room}" for room in ROOMS)
    return next((room for room in rooms if name in import_module(room).__all__), None)


if TYPE_CHECKING or sys.version_info >= (3, 12):
    from typing import TypedDict as TypedDict
else:
    try:  # it comes with pydantic, which takes no other before 3.12
        from typing_extensions import TypedDict as TypedDict
    except ImportError:
        from typing import TypedDict as TypedDict


class PlainData:
    """A value that `to_dict` writes as JSON has it. As a field it is taken as it is, and not read from JSON."""

    __slots__ = ()

    if TYPE_CHECKING:

        def to_dict(self) -> dict[str, Any]:
            """Write it as a dict."""
            ...

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return _written_by(cls, cls.to_dict)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        return {"type": "object", "title": cls.__name__}


class ExceptionField:
    """A note at a field that holds an exception or `None`: it is written as its class and text."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.nullable_schema(_written_by(BaseException, repr))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, {"type": "null"}]}


def dialect_field(dialect: Any) -> Any:
    """A field that holds a `Dialect`: it is read from a preset's name or the fields, and written as the fields."""
    from pydantic_core import core_schema

    given = core_schema.union_schema(
        [core_schema.str_schema(), core_schema.dict_schema(core_schema.str_schema())]
    )

    def read(value: Any) -> Any:
        return dialect(value) if isinstance(value, str) else dialect.from_dict(value)

    return _read_by(dialect, given, read, dialect.to_dict)


def finish_field(finish: Any) -> Any:
    """A field that holds a `Finish`: it is read from its fields, and written as these."""
    from pydantic_core import core_schema

    word = core_schema.nullable_schema(core_schema.str_schema())
    given = core_schema.typed_dict_schema(
        {
            "reason": core_schema.typed_dict_field(word),
            "details": core_schema.typed_dict_field(word, required=False),
        }
    )

    def read(value: dict[str, Any]) -> Any:
        return finish(value["reason"], details=value.get("details"))

    def write(value: Any) -> dict[str, Any]:
        return {"reason": value.reason, "details": value.details}

    return _read_by(finish, given, read, write)


def _read_by(kind: type[Any], given: Any, read: Any, write: Any) -> Any:
    from pydantic_core import core_schema

    reading = core_schema.no_info_after_validator_function(read, given)
    return core_schema.json_or_python_schema(
        reading,
        core_schema.union_schema([core_schema.is_instance_schema(kind), reading]),
        serialization=core_schema.plain_serializer_function_ser_schema(write),
    )


def _written_by(kind: type[Any], write: Any) -> Any:
    from pydantic_core import core_schema

    writing = core_schema.plain_serializer_function_ser_schema(write)
    return core_schema.is_instance_schema(kind, serialization=writing)
