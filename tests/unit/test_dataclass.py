"""The package's dataclasses are those of the standard library, made when they are first needed."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from cogency_rs import RunLimits
from cogency_rs.loading.dataclass import Later, dataclass, field
from cogency_rs.models import Usage

Made = dict[str, type[Any]]


def declared(dataclass: Any, field: Any, base: type) -> Made:
    """The same classes, by these functions, and with this base."""

    @dataclass
    class Plain(base):
        """With a default of each kind."""

        shared: ClassVar[int] = 7
        name: str
        size: int = 3
        tags: list[str] = field(default_factory=list)
        hidden: str | None = field(default=None, repr=False, compare=False)

    @dataclass(frozen=True)
    class Frozen(base):
        """That cannot change."""

        name: str
        size: int = 3

    @dataclass
    class Heir(Plain):
        """That has one field more, and another default."""

        size: int = 4
        more: str = "x"

    @dataclass(frozen=True)
    class Noted(base):
        """That sets a field itself."""

        name: str
        size: int = 3
        made: str = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "made", f"made of {self.name}")

    @dataclass(frozen=True, kw_only=True)
    class Named(base):
        """Whose arguments have names."""

        name: str
        size: int = 3

    classes: list[type[Any]] = [Plain, Frozen, Heir, Noted, Named]
    return {each.__name__: each for each in classes}


def outcome(work: Callable[[], Any]) -> Any:
    """What some work returns, or the error that it raises."""
    try:
        return work()
    except Exception as error:
        return type(error), str(error)


THEIRS = declared(dataclasses.dataclass, dataclasses.field, object)

CASES: dict[str, Callable[[Made], Any]] = {
    "positional": lambda of: repr(of["Plain"]("a", 5)),
    "by name": lambda of: repr(of["Plain"](size=5, name="a", hidden="h")),
    "both": lambda of: vars(of["Plain"]("a", hidden="h")),
    "a factory for each": lambda of: of["Plain"]("a").tags is of["Plain"]("a").tags,
    "too many": lambda of: of["Plain"]("a", 1, [], None, 5),
    "too few": lambda of: of["Plain"](),
    "twice": lambda of: of["Plain"]("a", name="b"),
    "unknown": lambda of: of["Plain"]("a", nmae="b"),
    "not an argument": lambda of: of["Noted"]("a", made="b"),
    "by place where names are needed": lambda of: of["Named"]("a"),
    "named": lambda of: repr(of["Named"](name="a")),
    "after init": lambda of: repr(of["Noted"]("a")),
    "inherited": lambda of: repr(of["Heir"]("a", more="y")),
    "default of the class": lambda of: of["Plain"].size,
    "equal": lambda of: of["Plain"]("a", hidden="h") == of["Plain"]("a"),
    "not equal": lambda of: of["Plain"]("a") == of["Plain"]("b"),
    "equal to an heir": lambda of: of["Plain"]("a", 4) == of["Heir"]("a"),
    "hash": lambda of: hash(of["Noted"]("a")) == hash(of["Noted"]("a")),
    "no hash": lambda of: hash(of["Plain"]("a")),
    "set": lambda of: setattr(of["Plain"]("a"), "name", "b"),
    "set a frozen field": lambda of: setattr(of["Frozen"]("a"), "name", "b"),
    "set another attribute": lambda of: setattr(of["Frozen"]("a"), "other", "b"),
    "delete a frozen field": lambda of: delattr(of["Frozen"]("a"), "size"),
    "replace": lambda of: repr(dataclasses.replace(of["Plain"]("a", 5), name="b")),
    "replace what is made": lambda of: dataclasses.replace(of["Noted"]("a"), made="b"),
    "as a dict": lambda of: dataclasses.asdict(of["Plain"]("a")),
    "fields": lambda of: [
        (each.name, each.type, each.init, each.repr, each.compare, each.kw_only)
        for each in dataclasses.fields(of["Plain"]) + dataclasses.fields(of["Named"])
    ],
    "is one": lambda of: [*map(dataclasses.is_dataclass, of.values())],
    "frozen, by its parameters": lambda of: [
        each.__dataclass_params__.frozen for each in of.values()
    ],
    "signature": lambda of: str(inspect.signature(of["Plain"])),
    "name of a method": lambda of: of["Plain"].__init__.__qualname__,
    "to match": lambda of: [each.__match_args__ for each in of.values()],
    "copy": lambda of: repr(copy.deepcopy(of["Noted"]("a", 5))),
    "class of its own": lambda of: of["Plain"].__eq__ is of["Heir"].__eq__,
    "subclass": lambda of: repr(type("Sub", (of["Frozen"],), {})("a")),
    "standard heir": lambda of: repr(
        dataclasses.make_dataclass("Next", ["last"], bases=(of["Plain"],), kw_only=True)(
            "a", last=1
        )
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_it_does_what_the_standard_one_does_the_first_times_and_later(case):
    classes = declared(dataclass, field, Later)
    for _ in range(6):
        assert outcome(lambda: case(classes)) == outcome(lambda: case(THEIRS))


def test_a_value_is_pickled():
    assert pickle.loads(pickle.dumps(Usage(1, 2))) == Usage(1, 2)


def test_an_agent_is_imported_without_compiling_any():
    program = """
import dataclasses, sys
written = []
sys.addaudithook(lambda event, told: event == "compile" and written.append(told[0]))
from cogency_rs import Agent, OpenAIModel
print(sum(b"def __create_fn__" in text for text in written if isinstance(text, bytes)))
from cogency_rs.models import Usage
repr(Usage())
print(sum(b"def __create_fn__" in text for text in written if isinstance(text, bytes)) > 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout == "0\nTrue\n"


def test_the_limits_of_a_run_show_their_arguments():
    assert [*inspect.signature(RunLimits).parameters][:2] == ["steps", "tool_calls"]
