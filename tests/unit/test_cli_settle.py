"""`cogency-rs settle` and `show`: a person sees which calls are unknown, and says what became of them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from support.commands import Ended, run

pytest.importorskip("typer", reason="the command line is in the extra cli")

from cogency_rs import Agent, PostgreSQL, SQLite
from cogency_rs.storage import CallRecord
from cogency_rs.testing import ScriptedModel

CALL = ("call", json.dumps({"name": "pay", "args": {"euros": 9}}), 2.0)


async def _leave(db: str, conversation: str, id: str, storage: Any = SQLite, **fields: Any) -> None:
    fields = {"status": "open", "attempt": 1, "started_at": 1_000.0, "worker": "far:1"} | fields
    async with storage(db) as log:
        record = CallRecord(id, f"batch of {id}", 0, "pay", **fields)
        rows = [("user", "Pay.", 1.0), CALL]
        await log.append(
            conversation, user_id="ada", rows=rows, calls=[record._replace(status="open")]
        )
        told = [("result", '[{"tool": "pay", "status": "failure", "content": "unknown"}]', 3.0)]
        rows = told if fields["status"] == "unknown" else []
        await log.append(conversation, user_id="ada", rows=rows, calls=[record])


@pytest.fixture
def db(tmp_path) -> str:
    """A log with a call that a killed program has begun, one that the model knows as unknown, and one that ended."""
    path = str(tmp_path / "log.db")
    asyncio.run(_leave(path, "a talk", "call-1"))
    asyncio.run(_leave(path, "b", "call-2", status="unknown", completed_at=3.0))
    asyncio.run(_leave(path, "c", "call-3", status="success", completed_at=3.0))
    return path


def typed(command: str, path: str, *more: str) -> Ended:
    ended = run(command, path, *more)
    return Ended(ended.code, " ".join(ended.out.split()), ended.err)


def records(path: str, conversation: str) -> list[CallRecord]:
    async def read() -> list[CallRecord]:
        async with SQLite(path) as log:
            return await log.calls(conversation)

    return asyncio.run(read())


def test_show_says_which_calls_are_unknown_and_how_to_settle_them(db):
    listed = typed("show", db).out
    assert "2 calls whose outcome is unknown" in listed
    assert f"pay: cogency-rs settle {db} 'a talk' call-1" in listed
    assert f"pay: cogency-rs settle {db} b call-2" in listed
    one = typed("show", db, "b").out
    assert f"1 call whose outcome is unknown pay: cogency-rs settle {db} b call-2" in one
    assert "whose outcome is unknown" not in typed("show", db, "c").out
    assert "whose outcome" not in run("show", db, "--json").out


def test_a_call_that_a_process_may_be_running_is_not_shown_as_unknown(db):
    async def claimed() -> str:
        async with SQLite(db) as log, log.claim("a talk"):
            return (await asyncio.to_thread(typed, "show", db)).out

    assert "1 call whose outcome is unknown" in asyncio.run(claimed())


def test_settle_lists_what_is_unknown(db):
    listed = typed("settle", db)
    assert (listed.code, listed.err) == (0, "")
    assert f"2 calls whose outcome is unknown in {db}" in listed.out
    assert "execution_id batch of call-1-0" in listed.out
    assert "pay(euros=9), started 1970-01-01 00:16:40 UTC by process far:1" in listed.out
    assert f"cogency-rs settle {db} 'a talk' call-1" in listed.out
    assert f"1 call whose outcome is unknown in {db}" in typed("settle", db, "b").out
    assert f"0 calls whose outcome is unknown in {db}" in typed("settle", db, "c").out


@pytest.mark.parametrize(
    ("said", "status"), [(("receipt 7",), "ended"), (("--not-happened",), "saved")]
)
def test_what_a_person_says_is_in_the_log_for_the_next_run(db, said, status):
    ended = run("settle", db, "a talk", "call-1", *said)
    assert (ended.code, ended.err) == (0, "")
    assert "noted; the next run of 'a talk' has it" in ended.out
    [record] = records(db, "a talk")
    assert record.status == status
    assert f"1 call whose outcome is unknown in {db}" in typed("settle", db).out


def test_a_model_that_was_told_that_a_call_is_unknown_reads_what_was_said(db):
    run("settle", db, "b", "call-2", "receipt 7")
    [record] = records(db, "b")
    assert record.status == "success"
    model = ScriptedModel(["I see."])
    agent = Agent(model, storage=db)
    assert asyncio.run(_resumed(agent)) == "I see."
    assert 'it happened: "receipt 7"' in str(model.requests[-1].messages[-1])


async def _resumed(agent: Agent[Any, str]) -> str:
    result = await agent.resume("b", user_id="ada")
    await agent.storage.close()
    return result.text


WRONG = {
    "neither a result nor that it did not happen": (("b", "call-2"), "say what became of the call"),
    "both": (("b", "call-2", "x", "--not-happened"), "say what became of the call"),
    "no call": (("b", "--not-happened"), "say which call did not happen"),
    "a call that is over": (("c", "call-3", "x"), "is over (success)"),
    "a call that is not there": (("c", "call-9", "x"), "has no call 'call-9'"),
    "a conversation that is not there": (("z", "call-1", "x"), "has no call 'call-1'"),
}


@pytest.mark.parametrize(("said", "words"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_settled_is_one_clear_error(db, said, words):
    before = [records(db, each) for each in ("a talk", "b", "c")]
    ended = run("settle", db, *said)
    assert ended.code == 2
    assert words in " ".join(ended.err.split())
    assert [records(db, each) for each in ("a talk", "b", "c")] == before


def test_calls_in_a_database_are_settled_too(dsn):
    pytest.importorskip("asyncpg", reason="the log in PostgreSQL is in the extra postgres")
    asyncio.run(_leave(dsn, "a talk", "call-1", storage=PostgreSQL))
    assert "pay: cogency-rs settle DB 'a talk' call-1" in typed("show", dsn).out
    assert "pay(euros=9), started 1970-01-01 00:16:40 UTC" in typed("settle", dsn).out
    ended = run("settle", dsn, "a talk", "call-1", "receipt 7")
    assert (ended.code, ended.err) == (0, "")
    assert "0 calls whose outcome is unknown" in typed("settle", dsn).out


def test_a_log_that_is_not_there_is_not_made(tmp_path):
    ended = run("settle", str(tmp_path / "none.db"), "a", "b", "c")
    assert ended.code == 2
    assert "does not exist" in ended.err
    assert not list(tmp_path.iterdir())


def test_a_conversation_that_runs_is_left_alone(db):
    async def claimed() -> Ended:
        async with SQLite(db) as log, log.claim("b"):
            return await asyncio.to_thread(run, "settle", db, "b", "call-2", "x")

    ended = asyncio.run(claimed())
    assert ended.code == 1
    assert "is being run by process" in ended.err
