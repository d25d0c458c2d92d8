"""A SQLite log read and written at the same time, from several threads and event loops."""

from __future__ import annotations

import asyncio
import threading

import pytest

from cogency_rs import SQLite
from support.log_files import contents, locked, writer_threads

pytestmark = pytest.mark.concurrency


async def test_every_read_sees_every_acknowledged_write(store):
    async def session(name):
        for n in range(25):
            await store.save_message(name, "u", "user", f"{n}")
            assert len(await store.load_messages(name, "u")) == n + 1

    await asyncio.gather(*(session(f"{name}") for name in range(8)))


async def test_more_reads_at_once_than_connections(store):
    await store.save_message("c", "u", "user", "hello")
    loaded = await asyncio.gather(*(store.load_messages("c", "u") for _ in range(50)))
    assert [contents(messages) for messages in loaded] == [["hello"]] * 50


async def test_objects_on_one_file_share_one_writing_thread(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    async with SQLite("store.db") as one, SQLite(tmp_path / "x" / ".." / "store.db") as two:
        await asyncio.gather(
            *(store.save_message("c", "u", "user", "x") for store in (one, two) * 20)
        )
        assert len(writer_threads()) == 1
        assert await two.count_user_messages("u") == 40


def test_several_event_loops_in_threads_write_at_once(path):
    store = SQLite(path)

    async def session(name):
        await asyncio.gather(
            *(store.save_message(name, "u", "user", f"{n}", 1.0) for n in range(50))
        )

    threads = [
        threading.Thread(target=lambda name=name: asyncio.run(session(name))) for name in "abcd"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    async def check():
        for name in "abcd":
            found = contents(await store.load_messages(name, "u"))
            assert found == [f"{n}" for n in range(50)]
        await store.close()

    asyncio.run(check())


def test_a_storage_goes_from_one_event_loop_to_the_next(path):
    store = SQLite(path)
    for n in range(3):
        asyncio.run(store.save_message("c", "u", "user", f"{n}", 1.0))
    assert contents(asyncio.run(store.load_messages("c", "u"))) == list("012")
    asyncio.run(store.close())


def test_a_waiter_whose_event_loop_was_closed_does_not_stop_the_writer(path):
    store = SQLite(path)
    asyncio.run(store.load_messages("c", "u"))
    with locked(path):
        loop = asyncio.new_event_loop()
        save = loop.create_task(store.save_message("c", "u", "user", "nobody waits"))
        save._log_destroy_pending = False
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
    asyncio.run(store.save_message("c", "u", "user", "after"))
    assert "after" in contents(asyncio.run(store.load_messages("c", "u")))
    asyncio.run(store.close())
