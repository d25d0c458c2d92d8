"""The end of a SQLite log: waiting saves are written, and its thread and its extra files are gone."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading

import pytest

from cogency_rs import SQLite
from cogency_rs.errors import StorageError
from cogency_rs.storage.sqlite import writer
from support.log_files import contents, select, start, writer_threads

pytestmark = pytest.mark.concurrency


@pytest.mark.parametrize("queue_limit", [1, 1024])
async def test_close_waits_for_saves_under_way(path, monkeypatch, queue_limit):
    monkeypatch.setattr(writer, "QUEUE_LIMIT", queue_limit)
    store = SQLite(path)
    saves = await start(*(store.save_message("c", "u", "user", f"{n}") for n in range(20)))
    await store.close()
    assert select(path, "SELECT COUNT(*) FROM messages") == [(20,)]
    assert len(set(await asyncio.gather(*saves))) == 20


@pytest.mark.parametrize("use", ["saves", "loads", "nothing"])
async def test_the_last_close_ends_the_thread_and_leaves_only_the_database_file(path, use):
    store = SQLite(path)
    if use == "saves":
        await store.save_message("c", "u", "user", "hello")
    elif use == "loads":
        await store.load_messages("c", "u")
    await store.close()
    for thread in writer_threads():
        thread.join(10)
    assert not writer_threads()
    if use != "nothing":
        assert [file.name for file in path.parent.iterdir()] == ["store.db"]


async def test_closing_one_object_does_not_affect_others_on_the_file(path):
    one, two = SQLite(path), SQLite(path)
    await one.save_message("c", "u", "user", "one", 1.0)
    await one.close()
    await two.save_message("c", "u", "user", "two", 2.0)
    assert contents(await two.load_messages("c", "u")) == ["one", "two"]
    await two.close()


async def test_a_closed_storage_refuses_further_calls(path):
    store = SQLite(path)
    await store.close()
    for call in (store.save_message("c", "u", "user", "x"), store.load_messages("c", "u")):
        with pytest.raises(StorageError, match="closed; open a new one"):
            await call
    await store.close()  # a second close is harmless


async def test_a_file_can_be_opened_again_after_its_last_close(path):
    for n in range(3):
        async with SQLite(path) as store:
            await store.save_message("c", "u", "user", f"{n}")
            assert await store.count_user_messages("u") == n + 1


def test_objects_come_and_go_on_one_file_in_many_threads(path):
    saved = []

    async def visit(name, n):
        store = SQLite(path)
        await store.save_message(name, "u", "user", f"{n}")
        saved.append((name, f"{n}"))
        if n % 2:  # the others are dropped without a close
            await asyncio.gather(store.close(), store.close())

    def visits(name):
        for n in range(30):
            asyncio.run(visit(name, n))

    threads = [threading.Thread(target=visits, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(saved) == 120
    assert sorted(select(path, "SELECT conversation_id, content FROM messages")) == sorted(saved)


@pytest.mark.parametrize("where", ["file", ":memory:"])
async def test_a_storage_that_is_dropped_ends_its_thread(path, where):
    store = SQLite(path if where == "file" else where)
    await store.save_message("c", "u", "user", "hello")
    await store.load_messages("c", "u")
    [thread] = writer_threads()
    del store
    gc.collect()
    await asyncio.to_thread(thread.join, 10)
    assert not thread.is_alive()


@pytest.mark.parametrize("where", ["store.db", ":memory:"])
def test_a_program_ends_cleanly_without_close(tmp_path, where):
    program = f"""
import asyncio
from cogency_rs import SQLite
store = SQLite({where!r})
async def main():
    await store.save_message("c", "u", "user", "hello")
    await store.load_messages("c", "u")
asyncio.run(main())
print("done")
"""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    assert [file.name for file in tmp_path.iterdir()] == [where] * (where == "store.db")
