"""After any sequence of changes, by us or by other programs, a prompt is the one that all rows give."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from cogency_rs import Memory, PostgreSQL, SQLite
from support.changed_logs import HAS_COGENCY, Scene

pytestmark = pytest.mark.timeout(300)

CALL = json.dumps({"name": "t", "args": {}})
RESULT = json.dumps([{"tool": "t", "status": "success", "content": "ok"}])

NEVER_RED_BY_CHANCE = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class Past(Scene):
    """A scene whose steps draw what they need: conversation, number from 0 to 4, user.

    Attributes:
        names: the names of the two conversations, of this example alone.
        folder: where backups are.
    """

    names: tuple[str, str]
    folder: Path
    contents = itertools.count()

    def row(self, number: int) -> tuple[str, str]:
        """The type and content of a new row."""
        type = ("user", "respond", "call", "result", "think")[number]
        content = {"call": CALL, "result": RESULT}.get(type, f"{type} {next(self.contents)}")
        return type, content

    def time(self) -> float:
        """A time; one of a few, so that rows have the same one."""
        return float(next(self.contents) * 7 % 5)


Step = Callable[[Past, str, int, str], Awaitable[Any]]


async def append(past: Past, name: str, number: int, user: str) -> None:
    await past.log.append(name, user_id=user, rows=[(*past.row(number), past.time())])


async def append_in_order(past: Past, name: str, number: int, user: str) -> None:
    rows = [(*past.row(place), 100.0 + next(past.contents)) for place in range(number)]
    await past.log.append(name, user_id=user, rows=rows)


async def delete_conversation(past: Past, name: str, number: int, user: str) -> None:
    await past.log.delete_conversation(name)


async def look(past: Past, name: str, number: int, user: str) -> None:
    await past.check(name, user=("", user)[number % 2])


OURS: dict[str, Step] = {
    "append": append,
    "append in order": append_in_order,
    "delete the conversation": delete_conversation,
    "look": look,
    "look again": look,
}

_NTH = "SELECT message_id FROM {}.messages WHERE conversation_id = '%s' ORDER BY message_id LIMIT 1 OFFSET %d"


def statement(text: str) -> Step:
    """A statement of another program; NTH stands for the id of a row, and NAME for the conversation."""

    async def step(past: Past, name: str, number: int, user: str) -> None:
        other = past.names[name == past.names[0]]
        type, content = past.row(number)
        filled = text.replace("NTH", f"({_NTH % (name, number)})")
        for word, value in {
            "NAME": f"'{name}'",
            "OTHER": f"'{other}'",
            "USER": f"'{user}'",
            "ROW": f"'{type}', '{content}'",
            "TIME": str(past.time()),
            "POOL": f"'id {number}'",
            "NUMBER": str(number * 3 - 2),
        }.items():
            filled = filled.replace(word, value)
        await past.sql(filled)

    return step


ANYWHERE: dict[str, Step] = {
    "delete a row": statement("DELETE FROM {}.messages WHERE message_id = NTH"),
    "delete all rows": statement("DELETE FROM {}.messages WHERE conversation_id = NAME"),
    "change a row": statement(
        "UPDATE {}.messages SET content = 'changed' WHERE message_id = NTH AND type NOT IN ('call', 'result')"
    ),
    "change a time": statement("UPDATE {}.messages SET timestamp = TIME WHERE message_id = NTH"),
    "change a user": statement("UPDATE {}.messages SET user_id = USER WHERE message_id = NTH"),
}

VALUES = (
    "(message_id, conversation_id, user_id, type, content, timestamp)"
    " VALUES (POOL, NAME, USER, ROW, TIME)"
)


async def their_append(past: Past, name: str, number: int, user: str) -> None:
    await past.cogency(name, user, *past.row(number), past.time())


async def back_up(past: Past, name: str, number: int, user: str) -> None:
    past.back_up(past.folder / "backup.db")


async def restore(past: Past, name: str, number: int, user: str) -> None:
    if (past.folder / "backup.db").exists():
        past.restore(past.folder / "backup.db")


async def replace_file(past: Past, name: str, number: int, user: str) -> None:
    if (past.folder / "backup.db").exists():
        past.replace_file(past.folder / "backup.db")


IN_A_FILE: dict[str, Step] = {
    **OURS,
    **ANYWHERE,
    "append by cogency": their_append if HAS_COGENCY else append,
    "insert": statement(f"INSERT OR IGNORE INTO messages {VALUES}"),
    "replace": statement(f"INSERT OR REPLACE INTO messages {VALUES}"),
    "insert or change": statement(
        f"INSERT INTO messages {VALUES} ON CONFLICT (message_id) DO UPDATE SET content = 'upserted' "
        "WHERE messages.type NOT IN ('call', 'result')"
    ),
    "replace a number": statement(
        "INSERT OR REPLACE INTO messages (rowid, message_id, conversation_id, user_id, type, content, timestamp)"
        " VALUES (NUMBER, POOL, NAME, USER, ROW, TIME)"
    ),
    "replace by an id": statement(
        "UPDATE OR REPLACE messages SET message_id = POOL WHERE message_id = NTH"
    ),
    "replace by a number": statement(
        "UPDATE OR REPLACE messages SET rowid = NUMBER WHERE message_id = NTH"
    ),
    "move": statement("UPDATE messages SET conversation_id = OTHER WHERE message_id = NTH"),
    "pack": statement("VACUUM"),
    "back up": back_up,
    "restore": restore,
    "replace the file": replace_file,
    "drop a trigger": statement("DROP TRIGGER IF EXISTS cogency_rs_deleted"),
}

COLUMNS = "(message_id, conversation_id, user_id, type, content, timestamp, number)"
TAIL = "USER, ROW, TIME, (SELECT coalesce(%s(number), 0) %s FROM {}.messages WHERE conversation_id = NAME)"

IN_A_DATABASE: dict[str, Step] = {
    **OURS,
    **ANYWHERE,
    "insert": statement(
        f"INSERT INTO {{}}.messages {COLUMNS} SELECT POOL, NAME, {TAIL % ('max', '+ 2')}"
    ),
    "insert before": statement(
        f"INSERT INTO {{}}.messages {COLUMNS} SELECT POOL, NAME, {TAIL % ('min', '- 1')}"
    ),
    "move": statement(
        "UPDATE {}.messages SET conversation_id = OTHER, number = ("
        " SELECT coalesce(max(number), 0) + 1 FROM {}.messages WHERE conversation_id = OTHER"
        ") WHERE conversation_id = NAME AND number = ("
        " SELECT min(number) FROM {}.messages WHERE conversation_id = NAME)"
    ),
    "truncate": statement("TRUNCATE {}.messages"),
    "disable the triggers": statement("ALTER TABLE {}.messages DISABLE TRIGGER ALL"),
    "enable the triggers": statement("ALTER TABLE {}.messages ENABLE TRIGGER ALL"),
}


def pasts(steps: Mapping[str, Step]) -> Any:
    step = st.tuples(
        st.sampled_from(sorted(steps)),
        st.sampled_from([0, 0, 1]),
        st.integers(0, 4),
        st.sampled_from(["u", "v"]),
    )
    return st.lists(step, min_size=5, max_size=30)


async def live(past: Past, steps: Mapping[str, Step], lived: Any) -> None:
    await append_in_order(past, past.names[0], 3, "u")
    for name, conversation, number, user in lived:
        await steps[name](past, past.names[conversation], number, user)
        await past.check(past.names[0])
    await past.check(*past.names, user="u")
    await past.check(*past.names)


examples = itertools.count()


def past_of(log: Any, place: str = "", folder: Path = Path()) -> Past:
    past = Past(log, place)
    past.names = (f"c{next(examples)}", f"d{next(examples)}")
    past.folder = folder
    return past


@NEVER_RED_BY_CHANCE
@given(pasts(OURS))
def test_in_memory(lived):
    asyncio.run(live(past_of(Memory()), OURS, lived))


@NEVER_RED_BY_CHANCE
@given(pasts(IN_A_FILE))
def test_in_a_file(tmp_path_factory, lived):
    async def main() -> None:
        folder = tmp_path_factory.mktemp("past")
        path = str(folder / "log.db")
        async with SQLite(path, synchronous="OFF") as log:
            await live(past_of(log, path, folder), IN_A_FILE, lived)

    asyncio.run(main())


@settings(NEVER_RED_BY_CHANCE, max_examples=30)
@given(pasts(IN_A_DATABASE))
def test_in_a_database(dsn, lived):
    pytest.importorskip("asyncpg", reason="the log in PostgreSQL is in the extra postgres")

    async def main() -> None:
        async with PostgreSQL(dsn) as log:
            await live(past_of(log, dsn), IN_A_DATABASE, lived)

    asyncio.run(main())
