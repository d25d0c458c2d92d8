"""Dataclasses that are made when they are first used, not when the package is imported.

The standard library writes the methods of a dataclass as text and compiles it, which was half of an agent's import. A
program uses few of these classes, and most of those once. Here the standard library makes a class when one of its
methods or its fields are first looked up; until then, the first instances are filled without.

    @dataclass(frozen=True)
    class Usage(Later): ...

A frozen one fills its dict at once: `dataclasses` sets each field by `object.__setattr__`, which takes ten times as
long, and a run makes dozens.

Invariant: a class that is made does what one of `dataclasses` does, which is all that type checkers see.
"""

from __future__ import annotations

from functools import partial, wraps
from threading import RLock
from typing import TYPE_CHECKING, Any

__all__ = ["Later", "dataclass", "field", "replace"]

_FILLED = 4
"""How many instances are filled before their class is made, which takes as long as filling a hundred."""

_MISSING = object()

_making = RLock()


class _Field:
    """What `field(...)` says in the body of a class."""

    def __init__(self, **said: Any) -> None:
        self.said = said


def _dataclass(cls: Any = None, /, **options: bool) -> Any:
    """See `dataclasses.dataclass`, of whose options it takes `frozen` and `kw_only`. Only a `Later` is made later."""
    if cls is None:
        return partial(_dataclass, **options)
    cls.__later__ = options
    cls.__unfilled__ = _FILLED
    if Later not in cls.__bases__:
        _make(cls)
    elif options.get("frozen"):
        cls.__setattr__, cls.__delattr__ = _Made("__setattr__"), _Made("__delattr__")
    return cls


def _make(cls: Any) -> None:
    """Make a class, or the one that it inherits from."""
    from dataclasses import dataclass, field, fields

    with _making:
        for each in cls.__mro__:
            if "__later__" in each.__dict__:
                for name in ("__setattr__", "__delattr__"):
                    if isinstance(each.__dict__.get(name), _Made):
                        delattr(each, name)
                for name, value in _declared(each).items():
                    if isinstance(value, _Field):
                        setattr(each, name, field(**value.said))
                dataclass(**each.__later__)(each)
                if each.__later__ == {"frozen": True} and not hasattr(each, "__post_init__"):
                    _fill_at_once(each, fields(each))
                del each.__later__


def _fill_at_once(cls: Any, fields: tuple[Any, ...]) -> None:
    """Let the `__init__` of a frozen class fill the object's dict; its signature stays as it is."""
    if not all(field.init for field in fields):
        return
    given = cls.__init__
    defaults = dict(zip(reversed(fields), reversed(given.__defaults__ or ()), strict=False))
    scope: dict[str, Any] = {}
    values: dict[str, str] = {}
    for field, unset in defaults.items():
        if unset is not field.default:  # it has a default that is made for each
            scope |= {f"make_{field.name}": field.default_factory, "unset": unset}
            values[field.name] = f"make_{field.name}() if {field.name} is unset else {field.name}"
    filled = "; ".join(f"own[{f.name!r}] = {values.get(f.name, f.name)}" for f in fields)
    names = ", ".join(field.name for field in fields)
    exec(f"def fill(self, {names}): own = self.__dict__; {filled}", scope)
    fill = scope["fill"]
    fill.__defaults__ = given.__defaults__
    cls.__init__ = wraps(given)(fill)


def _declared(cls: Any) -> dict[str, Any]:
    """The fields of a class that is not made: the default of each, or what `field(...)` says of it."""
    hints = {name: hint for name, hint in cls.__annotations__.items() if "ClassVar[" not in hint}
    return {name: cls.__dict__.get(name, _MISSING) for name in hints}


def _arguments(cls: Any) -> tuple[str, ...]:
    """The names of the arguments of a class that is not made."""
    declared = _declared(cls).items()
    return tuple(n for n, v in declared if not isinstance(v, _Field) or v.said.get("init", True))


def _values(cls: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any] | None:
    """The values of the fields of a class that is not made; `None` if the arguments are wrong."""
    names = _arguments(cls)
    places = () if cls.__later__.get("kw_only") else names
    values = {**dict(zip(places, arguments, strict=False)), **named}
    if len(values) < len(arguments) + len(named) or not values.keys() <= {*names}:
        return None
    for name, value in _declared(cls).items():
        if name not in values:
            said = value.said if isinstance(value, _Field) else {"default": value}
            if said.get("default", _MISSING) is not _MISSING:
                values[name] = said["default"]
            elif "default_factory" in said:
                values[name] = said["default_factory"]()
            elif name in names:
                return None
    return values


class _Made:
    """An attribute that is there once the class is made."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: Any) -> Any:
        if isinstance(instance, type):  # `inspect` asks like this
            instance, owner = None, instance
        unmade = next((each for each in owner.__mro__ if "__later__" in each.__dict__), None)
        if unmade is not None:
            if self._name == "__init__" and instance is not None and unmade.__unfilled__ > 0:
                unmade.__unfilled__ -= 1
                return partial(_fill, unmade, instance)
            if self._name == "__match_args__":
                return () if unmade.__later__.get("kw_only") else _arguments(unmade)
        _make(owner)
        for each in owner.__mro__:
            value = each.__dict__.get(self._name, self)
            if not isinstance(value, _Made):
                return value.__get__(instance, owner) if hasattr(value, "__get__") else value
        raise AttributeError(self._name)


def _fill(cls: Any, instance: Any, /, *arguments: Any, **named: Any) -> None:
    values = _values(cls, arguments, named)
    if values is None:
        _make(cls)
        cls.__init__(instance, *arguments, **named)  # it says what is wrong
        return
    for name, value in values.items():
        object.__setattr__(instance, name, value)
    if hasattr(instance, "__post_init__"):
        instance.__post_init__()


class Later:
    """What a dataclass inherits from to be made when it is first used."""

    __slots__ = ()

    if not TYPE_CHECKING:
        __init__, __repr__ = _Made("__init__"), _Made("__repr__")
        __eq__, __hash__ = _Made("__eq__"), _Made("__hash__")
        __match_args__, __replace__ = _Made("__match_args__"), _Made("__replace__")
        __dataclass_fields__ = _Made("__dataclass_fields__")
        __dataclass_params__ = _Made("__dataclass_params__")


def _replace(value: Any, /, **changes: Any) -> Any:
    from dataclasses import replace

    return replace(value, **changes)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass, field as field, replace as replace
else:
    dataclass, field, replace = _dataclass, _Field, _replace
