"""A frozen dataclass of the package, once it is made, does what one of the standard library does."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import FrozenInstanceError, field, replace
from typing import Any

import pytest

from cogency_rs.loading import dataclass as loading


@dataclasses.dataclass(frozen=True)
class Slow:
    first: str
    second: int = 2
    third: list[int] = field(default_factory=lambda: [3])
    fourth: Any = field(default=None, repr=False, compare=False)


@loading.dataclass(frozen=True)
class Quick(loading.Later):
    first: str
    second: int = 2
    third: list[int] = loading.field(default_factory=lambda: [3])
    fourth: Any = loading.field(default=None, repr=False, compare=False)


dataclasses.fields(Quick)  # makes it


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("a",), {}),
        (("a", 5), {}),
        (("a", 5, [6], 7), {}),
        ((), {"first": "a", "fourth": 7}),
        (("a",), {"third": None}),
    ],
)
def test_its_fields_are_those_of_a_plain_one(given, named):
    assert vars(Quick(*given, **named)) == vars(Slow(*given, **named))


@pytest.mark.parametrize(
    ("given", "named"), [((), {}), (("a", 1, [], 2, 3), {}), (("a",), {"fifth": 5})]
)
def test_wrong_arguments_are_refused(given, named):
    with pytest.raises(TypeError):
        Quick(*given, **named)


def test_no_field_can_be_set():
    with pytest.raises(FrozenInstanceError):
        Quick("a").second = 3


def test_a_default_that_is_made_is_made_for_each():
    assert Quick("a").third is not Quick("a").third


def test_it_is_shown_compared_copied_and_sent_as_a_plain_one():
    quick = Quick("a", fourth=object)

    assert repr(quick) == repr(Slow("a")).replace("Slow", "Quick")
    assert inspect.signature(Quick) == inspect.signature(Slow)
    assert quick == Quick("a") == copy.copy(quick) == pickle.loads(pickle.dumps(quick))
    assert replace(quick, second=5) == Quick("a", 5)
