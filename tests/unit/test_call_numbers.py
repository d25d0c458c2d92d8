"""The calls of an answer are numbered from 0, however they are told apart."""

from __future__ import annotations

import pytest

from cogency_rs.models import ToolCallDelta
from cogency_rs.models.service_answer import CallNumbers

WHOLE = '{"a": 1}'


@pytest.mark.parametrize(
    ("pieces", "numbers"),
    [
        ([(0, "x", "f", WHOLE), (0, "y", "f", WHOLE)], [0, 1]),
        ([(7, "x", "f", WHOLE), (9, "y", "g", WHOLE)], [0, 1]),
        ([(None, None, "f", WHOLE), (None, None, "f", WHOLE)], [0, 1]),
        ([(0, None, "f", WHOLE), (0, "", "g", WHOLE)], [0, 1]),
        ([(0, "", "f", WHOLE), (0, "", "f", WHOLE)], [0, 1]),
        ([(0, None, "f", '{"a"'), (0, None, "f", ": 1}"), (0, None, "f", "")], [0, 0, 0]),
        ([(0, "x", "f", WHOLE), (0, None, "g", WHOLE)], [0, 1]),
        ([(0, "x", "f", '{"a"'), (0, "x", "f", ": 1}")], [0, 0]),
        # by their ids
        ([(None, "x", "f", ""), (None, "y", "f", ""), (None, "x", None, WHOLE), (None, "y", None, " ")], [0, 1, 0, 1]),
        ([(0, "x", "f", ""), (1, "x", "f", WHOLE)], [0, 0]),
        ([(0, "x", "f", '{"a"'), (1, "x", None, ": 1}")], [0, 0]),
        ([(None, "x", "f", WHOLE), (None, "x", "f", "")], [0, 0]),
        ([(0, "x", "f", WHOLE), (1, "y", "f", ""), (0, "x", None, " "), (1, "y", None, WHOLE)], [0, 1, 0, 1]),
        # with one id for all
        ([(0, "x", "f", WHOLE), (1, "x", "f", WHOLE)], [0, 1]),
        ([(0, "x", "f", WHOLE), (1, "x", "f", ""), (1, None, None, WHOLE)], [0, 1, 1]),
        ([(0, "x", "f", ""), (1, "x", "g", ""), (1, "x", None, WHOLE), (0, "x", None, WHOLE)], [0, 1, 1, 0]),
        ([(None, "x", "f", WHOLE), (None, "x", "f", WHOLE)], [0, 1]),
        # the rest under another index, or only the rest under one
        ([(0, "x", "f", WHOLE), (0, "y", "f", ""), (1, None, None, WHOLE)], [0, 1, 1]),
        ([(None, "x", "f", ""), (0, None, None, '{"a"'), (0, None, None, ": 1}")], [0, 0, 0]),
        ([(0, "x", "f", WHOLE), (1, None, None, WHOLE)], [0, 1]),
    ],
)  # fmt: skip
def test_a_piece_belongs_to_the_call_that_goes_on_or_begins_another(pieces, numbers):
    calls = CallNumbers()
    assert [calls.read(*piece).index for piece in pieces] == numbers


def test_an_id_and_a_name_come_once():
    calls = CallNumbers()
    assert calls.read(3, "x", "f", "{") == ToolCallDelta(0, "x", "f", "{")
    assert calls.read(3, "x", "f", "}") == ToolCallDelta(0, None, None, "}")
