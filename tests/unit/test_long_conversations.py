"""A conversation of more than 10,000 rows goes on: the model is shown its end, from a question on."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from cogency_rs import Agent, History, Memory, assemble
from cogency_rs._core import FoldOptions
from cogency_rs.context import foldings, history
from cogency_rs.context.assembly import StoredRows
from cogency_rs.context.history import Pin
from cogency_rs.testing import ScriptedModel
from support.storages import every_log

__all__ = ["every_log"]

MOST = 10_000

Typed = tuple[str, str]
"""The type of a row, and its content."""


def talk(turns: int, answers: int = 1) -> list[Typed]:
    """Turns of a question, `q0`, `q1` and so on, and as many rows of an answer."""
    return [
        row
        for turn in range(turns)
        for row in [("user", f"q{turn}"), *[("respond", f"a{turn}")] * answers]
    ]


def timed(rows: list[Typed], start: float = 0.0) -> list[tuple[str, str, float]]:
    return [(type, content, start + number) for number, (type, content) in enumerate(rows)]


async def shown(storage: Any, user: str = "u", history: History | None = None) -> list[str]:
    messages = await assemble(user, "c", tools=[], storage=storage, history=history)
    return [message["content"] for message in messages[1:]]


ENDS: list[tuple[str, list[Typed], str, int]] = [
    # the conversation; the first message that is shown, and how many messages there are
    ("10,000 rows are shown whole", talk(5000), "q0", 10_000),
    ("of 10,002 rows, the oldest turn is left out", talk(5001), "q1", 10_000),
    ("it begins with a whole turn", talk(3400, 2), "q67", 6666),
    ("the last turn is shown whole", [*talk(5), ("user", "all"), *talk(1, 10_050)[1:]], "all", 2),
]


@pytest.mark.parametrize(
    ("rows", "first", "count"), [pytest.param(*end, id=name) for name, *end in ENDS]
)
async def test_a_long_conversation_is_shown_from_its_end(every_log, rows, first, count):
    await every_log.append("c", user_id="u", rows=timed(rows))
    for _ in range(2):
        messages = await shown(every_log)
        assert (messages[0], len(messages)) == (first, count)


async def test_rows_without_a_question_are_shown_whole(every_log):
    await every_log.append("c", user_id="u", rows=timed([("respond", "a")] * 10_001))
    [only] = await shown(every_log)
    assert only.count("a") == 10_001


async def test_a_conversation_that_grows_long_is_cut_and_goes_on(every_log):
    await every_log.append("c", user_id="u", rows=timed(talk(4999)))
    for turn in range(4999, 5003):
        await every_log.append("c", user_id="u", rows=timed(talk(turn + 1)[-2:], 2.0 * turn))
        messages = await shown(every_log)
        assert (messages[0], messages[-1]) == (f"q{max(0, turn - 4999)}", f"a{turn}")


async def test_a_run_that_began_with_all_of_a_conversation_goes_on_so(every_log, monkeypatch):
    """Also if other prompts were made from the conversation's end meanwhile."""
    monkeypatch.setattr(history, "MOST_ROWS", 4)
    conversation, pin = StoredRows(every_log, "u", "c"), Pin()
    rows = timed(talk(12))
    for end in range(0, len(rows), 2):
        await every_log.append("c", user_id="u", rows=rows[end : end + 2])
        foldings._kept.clear()  # as if others had been used since
        for of_run, most in ((Pin(), 4), (pin, end + 2)):
            _, messages = await History().load(conversation, FoldOptions(), of_run)
            assert len(messages) == min(end + 2, most)


async def test_only_the_rows_of_the_user_count(every_log):
    await every_log.append("c", user_id="u", rows=timed(talk(5000)))
    await every_log.append("c", user_id="v", rows=timed(talk(10), 20_000.0))
    assert (await shown(every_log, "u"))[0] == "q0"
    assert (await shown(every_log, ""))[0] == "q10"


async def test_a_window_is_counted_from_the_end(every_log):
    await every_log.append("c", user_id="u", rows=timed(talk(5500)))
    assert await shown(every_log, history=History(window=3)) == ["q5499", "a5499"]
    assert await shown(every_log, history=History(max_tokens=4)) == ["q5499", "a5499"]


async def test_the_newest_rows_of_a_log_are_a_page(every_log):
    await every_log.append("c", user_id="u", rows=timed(talk(3)))
    await every_log.append("c", user_id="v", rows=[("user", "v's", 10.0)])
    for user, limit, contents, is_whole in [
        ("", 2, ["a2", "v's"], False),
        ("", 7, ["q0", "a0", "q1", "a1", "q2", "a2", "v's"], True),
        ("u", 3, ["a1", "q2", "a2"], False),
        ("v", 3, ["v's"], True),
        ("w", 3, [], True),
    ]:
        page = await every_log.newest("c", user_id=user, limit=limit)
        assert ([row["content"] for row in page.rows], page.is_whole) == (contents, is_whole)
        assert (await every_log.read("c", user_id=user, after=page.cursor)).rows == []


class LoadsMessages:
    """A storage that can only load rows."""

    def __init__(self, rows: list[Typed]) -> None:
        self.rows = [{"type": type, "content": content} for type, content in rows]

    async def load_messages(self, *_: Any, limit: int | None = None) -> list[dict[str, Any]]:
        return self.rows[-limit:] if limit else self.rows


class IgnoresLimits(LoadsMessages):
    async def load_messages(self, *_: Any, limit: int | None = None) -> list[dict[str, Any]]:
        return self.rows


class ReadsOnly(Memory):
    """A log that overrides `read`, and so does not have `newest` in our sense."""

    async def read(self, conversation_id: str, **options: Any) -> Any:
        return await super().read(conversation_id, **options)


@pytest.mark.parametrize("kind", [LoadsMessages, IgnoresLimits])
async def test_any_storage_s_long_conversation_is_shown_from_its_end(kind):
    messages = await shown(kind(talk(5100)))
    assert (messages[0], len(messages)) == ("q100", MOST)


async def test_a_log_without_the_newest_rows_is_read_whole():
    log = ReadsOnly()
    await log.append("c", user_id="u", rows=timed(talk(5100)))
    messages = await shown(log)
    assert (messages[0], len(messages)) == ("q100", MOST)


# Runs


CALL = '<execute>[{"name": "no_such_tool", "args": {}}]</execute>'


@pytest.mark.parametrize(("turns", "first"), [(4998, "q0"), (5100, "q101")])
async def test_the_prompts_of_a_run_begin_with_one_another(turns, first):
    """Also if the conversation grows above 10,000 rows during the run."""
    log = Memory()
    await log.append("c", user_id="u", rows=timed(talk(turns)))
    model = ScriptedModel([CALL, CALL, CALL, "done"])
    result = await Agent(model, storage=log).run("go", conversation_id="c", user_id="u")
    assert result.output == "done"
    sent = [request.messages[1:] for request in model.requests]
    assert sent[0][0]["content"] == first
    for before, after in itertools.pairwise(sent):
        assert after[: len(before)] == before
