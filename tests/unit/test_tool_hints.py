"""Hints with names that are defined around a function, or only after it."""

from __future__ import annotations

import functools
import re
import sys
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import pytest

from cogency_rs import tool
from cogency_rs.errors import ConfigError
from support.function_tools import Point, run

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.timeout(30)


class Outer:
    class Inner(Enum):
        A = "a"

    @tool
    def uses_the_class_namespace(self, x: Inner) -> str:
        return x.name


async def test_hints_may_name_what_is_defined_around_the_function():
    class Local(Enum):
        A = "a"

    @dataclass
    class Holder:
        local: Local

    @tool
    async def direct(x: Local, y: list[Holder]) -> str:
        assert y[0].local is x
        return x.name

    class Nested:
        Own = int

        @tool
        async def method(self, x: Local, n: Own) -> str:
            return x.name * n

    assert (await run(direct, x="a", y=[{"local": "a"}])).content == "A"
    assert (await run(Nested().method, x="a", n=2)).content == "AA"
    assert (await run(Outer().uses_the_class_namespace, x="a")).content == "A"


DEFERRED = """
from cogency_rs import tool
class Local: ...
def result(x: list[int]) -> Missing: "Read."
def parameter(x: list[Missing]) -> str: "Read."
def attribute(x: Local.Missing) -> str: "Read."
"""


@pytest.mark.skipif(
    sys.version_info < (3, 14), reason="before 3.14, Python evaluates hints at once"
)
def test_only_the_hints_of_parameters_are_evaluated():
    """The result's hint may have a name that only type checkers know, as with hints that are text."""
    functions: dict[str, Any] = {}
    exec(compile(DEFERRED, "deferred", "exec", dont_inherit=True), functions)
    assert tool(functions["result"]).json_schema["properties"]["x"]["items"] == {"type": "integer"}
    for name, hint in [("parameter", "list[Missing]"), ("attribute", "Local.Missing")]:
        refused = f"parameter 'x' of tool '{name}' has the hint {hint}, which cannot be resolved: "
        with pytest.raises(ConfigError, match=re.escape(refused)):
            tool(functions[name])


async def test_names_of_the_caller_do_not_replace_names_of_the_function():
    class Point(Enum):  # not the Point of this module
        HERE = 1

    assert Point.HERE
    for function in (takes_a_point, make_one_that_takes_a_point()):
        assert (await run(tool(function), p={"x": 1})).content == {"x": 1, "y": []}


async def takes_a_point(p: Point) -> Point:
    return p


def make_one_that_takes_a_point() -> Callable[..., Any]:
    async def takes_it(p: Point) -> Point:
        return p

    return takes_it


async def test_a_function_may_use_names_that_are_bound_later():
    @tool
    async def countdown(n: int) -> list[int]:
        return [n, *(await rest(n))]

    async def rest(n: int) -> list[int]:
        return await countdown(n - 1) if n else []

    assert (await run(countdown, n=2)).content == [2, 1, 0]


async def test_a_wrapper_has_the_hints_of_what_it_wraps():
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            return await function(*args, **kwargs)

        return wrapper

    assert (await run(tool(logged(takes_a_point)), p={"x": 1})).content == {"x": 1, "y": []}
