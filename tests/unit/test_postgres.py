"""The log in PostgreSQL: the tests of the protocol, and those of this storage alone."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cogency_rs import PostgreSQL, SQLite
from cogency_rs.errors import ConfigError
from cogency_rs.storage import CallRecord
from cogency_rs.storage.postgres.connection import pack, unpack
from cogency_rs.storage.postgres.writes import Write, WriteStep, steps_of
from cogency_rs.testing import LogConformance
from support.postgres_server import ask
from support.waiting import until

pytest.importorskip("asyncpg", reason="the log in PostgreSQL is in the extra postgres")

pytestmark = pytest.mark.timeout(120)


class TestPostgreSQL(LogConformance):
    @pytest.fixture(autouse=True)
    def _dsn(self, dsn: str) -> None:
        self.dsn = dsn

    async def make_log(self) -> PostgreSQL:
        return PostgreSQL(self.dsn)

    async def reopen(self, log: PostgreSQL) -> PostgreSQL:
        return PostgreSQL(self.dsn)

    async def lose_claim(self, log: PostgreSQL, conversation_id: str) -> None:
        await ask(
            self.dsn,
            "UPDATE {}.conversations SET lease_owner = 'another', lease_number = lease_number + 1",
        )

    async def delete_row(self, log: PostgreSQL, content: str) -> None:
        await ask(self.dsn, "DELETE FROM {}.messages WHERE content = $1", content)

    async def change_row(self, log: PostgreSQL, content: str, new: str) -> None:
        await ask(self.dsn, "UPDATE {}.messages SET content = $1 WHERE content = $2", new, content)


class TestPostgreSQLFromTwoPrograms(TestPostgreSQL):
    """Reopens the log by another address, with its own connections and claims, as another program would."""

    async def reopen(self, log: PostgreSQL) -> PostgreSQL:
        return PostgreSQL(self.dsn.replace("127.0.0.1", "localhost"))


# The methods of cogency's storage return what those of SQLite return

ROWS = [
    ("c", "u", "user", "Where is the Ärger with 100% of tests?", 1.0),
    ("c", "u", "respond", "Here.", 2.0),
    ("c", "v", "user", "TESTS, tests and tests", 2.0),
    ("c", "u", "think", "a \\ and a _", 2.0),
    ("d", "u", "user", "no test here, nul \0 and \x01", 3.0),
    ("d", "u", "user", "tests of tests", 4.0),
    ("d", "u", "error", "later", 0.5),
]

QUESTIONS = {
    "load_messages": [
        ("c", "u"),
        ("c", ""),
        ("c", "u", ["user", "think"]),
        ("c", "u", None, ["user"]),
        ("c", "u", ["user"], ["user"]),
        ("c", "", [], [], 2),
        ("d", "u", None, None, 1),
        ("c", "u", None, None, 0),
    ],
    "load_messages_by_conversation_id": [("c", 5), ("d", 1), ("e", 1)],
    "load_user_messages": [("u",), ("u", 1.0), ("u", 0, 2), ("w",)],
    "count_user_messages": [("u",), ("u", 3.5), ("w",)],
    "load_profile": [("u",), ("v",)],
    "load_latest_metric": [("c",), ("d",), ("e",)],
    "search_messages": [
        ("test", "u", None),
        ("TEST here", "u", "c"),
        ("test", "u", None, 1),
        ("100%", "u", None),
        ("t_st", "u", None),
        ("\\", "u", None),
        ("ärger", "u", None),
        ("Ärger", "u", None),
        ("  ", "u", None),
    ],
    "conversations": [(), ("u",), ("", 1), ("w",)],
    "delete_profile": [("u",), ("u",)],
    "delete_conversation": [("c",), ("c",), ("e",)],
}


async def fill(log: Any) -> None:
    for row in ROWS[:2]:
        assert await log.save_message(*row)
    assert len(await log.save_messages(ROWS[2:])) == len(ROWS) - 2
    assert await log.save_messages([]) == []
    await log.save_profile("u", {"who": "first"})
    await log.save_profile("u", {"who": "Ada", "style": None, "other": 1, "_meta": {"n": 1}})
    await log.save_event("c", "metric", '{"step": {"n": 1}}', 2.0)
    await log.save_event("c", "metric", '{"step": {"n": 2}, "total": {"n": 3}}', 3.0)
    await log.save_event("c", "other", "{}", 4.0)
    await log.save_event("d", "metric", "", 4.0)
    await log.save_request("c", "u", "[]", "answer", 5.0)


async def test_every_method_returns_what_sqlite_returns(dsn):
    async with PostgreSQL(dsn) as log, SQLite(":memory:") as other:
        await fill(log)
        await fill(other)
        for method, calls in QUESTIONS.items():
            for arguments in calls:
                found, expected = [
                    await getattr(storage, method)(*arguments) for storage in (log, other)
                ]
                assert found == expected, (method, arguments)


async def test_messages_of_an_unknown_type_are_refused(dsn):
    async with PostgreSQL(dsn) as log:
        with pytest.raises(ConfigError, match="assistant"):
            await log.save_message("c", "u", "assistant", "hello")
        with pytest.raises(ConfigError, match="assistant"):
            await log.save_messages([*ROWS, ("c", "u", "assistant", "hello", None)])
        assert await log.conversations() == []


async def test_a_message_without_a_time_gets_the_present_time(dsn):
    async with PostgreSQL(dsn) as log:
        before = time.time()
        await log.save_message("c", "u", "user", "hello")
        [row] = await log.load_messages("c", "u")
        assert before <= row["timestamp"] <= time.time()


# Writes that are grouped


async def test_appends_that_wait_together_are_one_transaction(dsn):
    async with PostgreSQL(dsn) as log:
        await log.append("c", user_id="u", rows=[("user", "first", 0.0)])
        await asyncio.gather(
            *(
                log.append(f"c{n % 7}", user_id="u", rows=[("user", str(n), 1.0)])
                for n in range(300)
            )
        )
    # How many appends wait together depends on the machine, so the bound is generous.
    [(transactions,)] = await ask(dsn, "SELECT count(DISTINCT xmin::text) FROM {}.messages")
    assert transactions <= 300 / 10


async def test_a_row_that_is_changed_by_hand_makes_the_page_whole(dsn):
    async with PostgreSQL(dsn) as log:
        rows = [("user", content, 1.0) for content in "abc"]
        await log.append("c", user_id="u", rows=rows)
        for statement in (
            "UPDATE {}.messages SET content = 'B' WHERE content = 'b'",
            "DELETE FROM {}.messages WHERE content = 'a'",
        ):
            cursor = (await log.read("c")).cursor
            await ask(dsn, statement)
            page = await log.read("c", after=cursor)
            assert page.is_whole
        assert [row["content"] for row in page.rows] == ["B", "c"]


async def test_the_calls_of_one_batch_may_be_opened_and_settled_at_once(dsn):
    call = CallRecord("id", "b", 0, "t")
    done = call._replace(id="another", name="another", status="success", attempt=1)
    async with PostgreSQL(dsn) as log:
        await asyncio.gather(
            log.append("c", user_id="u", rows=[("call", "{}", 1.0)], calls=[call]),
            log.append("c", user_id="u", rows=[("result", "[]", 2.0)], calls=[done]),
        )
        assert await log.calls("c") == [call._replace(status="success", attempt=1)]


class Exclusive(Write):
    """A write that joins only a step without its conversations; it is never carried out."""

    def fits(self, step: WriteStep) -> bool:
        return step.owners.keys().isdisjoint(self.owners)


class Shared(Exclusive):
    """A write that also joins a step with its conversations, if their owners are the same."""

    def fits(self, step: WriteStep) -> bool:
        return all(step.owners.get(id, owner) == owner for id, owner in self.owners.items())


@given(
    st.lists(
        st.tuples(
            st.sampled_from([Exclusive, Shared]),
            st.dictionaries(st.sampled_from("abc"), st.sampled_from([None, "x"]), max_size=2),
        ),
        max_size=30,
    )
)
def test_steps_keep_the_order_within_each_conversation(kinds_and_owners):
    async def make() -> tuple[list[Write], list[WriteStep]]:
        writes: list[Write] = [kind(owners) for kind, owners in kinds_and_owners]
        return writes, steps_of(writes)

    writes, steps = asyncio.run(make())
    done = [write for step in steps for write in step.writes]
    assert sorted(map(id, done)) == sorted(map(id, writes))
    for conversation in "abc":
        in_order = [write for write in writes if conversation in write.owners]
        assert [write for write in done if conversation in write.owners] == in_order
    for step in steps:
        assert len({type(write) for write in step.writes}) == 1
        for write in step.writes:
            assert write.owners.items() <= step.owners.items()


@given(st.text(st.sampled_from("\0\x01" + "01a")))
def test_every_text_can_be_stored_and_read_again(text):
    assert "\0" not in pack(text)
    assert unpack(pack(text)) == text


def test_a_log_may_be_used_from_several_event_loops(dsn):
    log = PostgreSQL(dsn)

    async def append(number: int) -> None:
        async with log.claim("c"):
            await log.append("c", user_id="u", rows=[("user", str(number), float(number))])

    threads = [threading.Thread(target=asyncio.run, args=(append(n),)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(asyncio.run(log.read("c")).rows) == 8
    asyncio.run(log.close())


async def test_the_last_object_closes_the_connections(dsn):
    query = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE $1 AND pid <> pg_backend_pid()"
    one, two = PostgreSQL(dsn), PostgreSQL(dsn)
    await asyncio.gather(*(one.append("c", rows=[("user", "x", 1.0)]), two.read("c")))
    pattern = f'%{dsn.partition("&schema=")[2]}".%'
    await one.close()
    assert (await ask(dsn, query, pattern))[0][0] >= 1
    await two.append("c", user_id="u", rows=[("user", "still open", 1.0)])
    del two
    gc.collect()

    async def are_closed() -> bool:
        return not (await ask(dsn, query, pattern))[0][0]

    await until(are_closed, "the connections stay open")
