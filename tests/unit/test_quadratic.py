"""`make quadratic`: everything that takes text is searched, and growth is told from costs, not from chance."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import cogency_rs
from tools.quadratic import growth
from tools.quadratic.__main__ import drawn, measured
from tools.quadratic.mended import MENDED
from tools.quadratic.targets import EXCEPTIONS, TARGETS

STUB = Path(cogency_rs.__file__).with_name("_core.pyi")

HARMLESS = {
    "bool",
    "int",
    "float",
    "None",
    "Literal",
    "object",
    "Any",
    "BaseException",
    "Limits",
    "Finish",
    "Inbox",
}
"""Hints of parameters that hold no text, or text of the package's own."""

OF_SCHEDULES = {"Schedule"}
"""Classes that get calls' places and times."""


def functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    """The public functions and methods of the core, by name."""
    for each in ast.parse(STUB.read_text(encoding="utf-8")).body:
        match each:
            case ast.FunctionDef(name=name):
                yield name, each
            case ast.ClassDef(name=kind, body=body) if kind not in OF_SCHEDULES:
                for inner in body:
                    if isinstance(inner, ast.FunctionDef):
                        is_public = not inner.name.startswith("_") or inner.name in (
                            "__new__",
                            "__replace__",
                        )
                        if is_public:
                            yield f"{kind}.{inner.name}", inner
            case _:
                pass


def hints(function: ast.FunctionDef) -> Iterator[str]:
    """The names in the hints of a function's parameters."""
    given = function.args
    for parameter in [
        *given.posonlyargs,
        *given.args,
        *given.kwonlyargs,
        given.vararg,
        given.kwarg,
    ]:
        if parameter is not None and parameter.annotation is not None:
            hint = parameter.annotation
            literals = {
                id(part) for each in ast.walk(hint) if is_literal(each) for part in ast.walk(each)
            }
            for part in ast.walk(hint):
                if isinstance(part, ast.Name) and id(part) not in literals:
                    yield part.id


def is_literal(hint: ast.AST) -> bool:
    return (
        isinstance(hint, ast.Subscript)
        and isinstance(hint.value, ast.Name)
        and hint.value.id == "Literal"
    )


TAKING = {name for name, function in functions() if not {*hints(function)} <= HARMLESS}

COVERED = {name for target in TARGETS for name in target.covers}


def test_every_function_of_the_core_that_takes_text_is_searched_or_has_a_reason():
    assert sorted(TAKING - COVERED - EXCEPTIONS.keys()) == []


def test_nothing_is_searched_and_excepted_too():
    assert COVERED & EXCEPTIONS.keys() == set()


def test_what_is_named_exists():
    names = {name for name, _ in functions()}
    assert sorted((COVERED | EXCEPTIONS.keys()) - names) == []


def test_each_target_has_a_name_of_its_own():
    names = [target.name for target in TARGETS]
    assert len(names) == len({*names})


def test_what_was_mended_is_of_targets():
    assert {each.target for each in MENDED} <= {target.name for target in TARGETS}


def test_the_same_number_is_the_same_text():
    assert [drawn(1, number, TARGETS) for number in range(50)] == [
        drawn(1, number, TARGETS) for number in range(50)
    ]


def found(monkeypatch: pytest.MonkeyPatch, seconds) -> bool:
    """Whether a cost in seconds, given by the size, is found to grow too fast."""
    monkeypatch.setattr(growth, "cost", lambda work, text: seconds(len(text)))
    return growth.growth(print, lambda size: "x" * size, 1 << 19) is not None


@pytest.mark.parametrize(
    ("seconds", "is_found"),
    [
        (lambda size: size * 1e-7, False),
        (lambda size: size * 1e-5, False),
        (lambda size: 0.05 + size * 1e-6, False),
        (lambda size: size**2 * 1e-12, True),
        (lambda size: size**2 * 1e-8, True),
        (lambda size: size**2 * 1e-6, True),
        (lambda size: size * 1e-8 + size**2 * 1e-13, True),
        (lambda size: 0.02 + size**2 * 1e-11, True),
        (lambda size: 0.01 if size < 100_000 else 0.08, False),
        (lambda size: size**2 * 1e-16, False),
    ],
    ids=[
        *("linear", "linear and slow", "linear with a constant", "quadratic", "quadratic and slow"),
        *("quadratic from the start", "both", "quadratic with a constant", "one step", "quadratic and never noticed"),
    ],
)  # fmt: skip
def test_growth_is_told_from_the_costs(monkeypatch, seconds, is_found):
    assert found(monkeypatch, seconds) == is_found


def test_one_slow_run_is_no_growth(monkeypatch):
    measured = []

    def seconds(size: int) -> float:
        measured.append(size)
        return size * 1e-6 * (10 if measured.count(size) == 1 and size > 20_000 else 1)

    assert not found(monkeypatch, seconds)


@pytest.mark.parametrize(
    "case",
    MENDED,
    ids=lambda case: " ".join(
        [case.target, case.dialect, repr(case.unit[:16]), *map(str, case.options.values())]
    ),
)
def test_what_once_grew_too_fast_grows_as_the_text_does(case):
    assert not all(measured(case) for _ in range(3)), "it grows too fast, three times in a row"
