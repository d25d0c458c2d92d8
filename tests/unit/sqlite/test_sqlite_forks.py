"""A SQLite log in a process that forks: parent and child both go on."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from cogency_rs import SQLite, outside as ids
from support.log_files import contents


def in_a_fork(function):
    """Run `function` in a forked child; fail with the error that it raised there."""
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            function()
        except BaseException as error:
            os.write(writing, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        error_text = pipe.read().decode()
    _, status = os.waitpid(pid, 0)
    assert not error_text
    assert os.waitstatus_to_exitcode(status) == 0


def needs_fork(test):
    """Mark a test that forks this process, with its threads."""
    for mark in (
        pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
        pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning"),
    ):
        test = mark(test)
    return test


@needs_fork
def test_parent_and_child_both_go_on(path):
    store = SQLite(path)
    asyncio.run(store.save_message("c", "u", "user", "before", 1.0))
    asyncio.run(store.load_messages("c", "u"))

    def child():
        assert contents(asyncio.run(store.load_messages("c", "u"))) == ["before"]
        asyncio.run(store.save_message("c", "u", "user", "child", 2.0))
        asyncio.run(store.close())

    in_a_fork(child)
    asyncio.run(store.save_message("c", "u", "user", "parent", 3.0))
    found = contents(asyncio.run(store.load_messages("c", "u")))
    assert found == ["before", "child", "parent"]
    asyncio.run(store.close())


@needs_fork
def test_a_fork_during_saves_neither_loses_nor_doubles_a_row(path):
    store = SQLite(path)
    asyncio.run(store.load_messages("c", "u"))
    stop = threading.Event()
    saved = []

    async def session(name):
        n = 0
        while not stop.is_set():
            await store.save_message("parent", "u", "user", f"{name}{n}")
            saved.append(f"{name}{n}")
            await store.load_messages("parent", "u", limit=5)
            n += 1

    async def sessions():
        await asyncio.gather(*(session(name) for name in "abc"))

    thread = threading.Thread(target=lambda: asyncio.run(sessions()))
    thread.start()
    try:
        for n in range(5):
            in_a_fork(lambda n=n: asyncio.run(store.save_message("child", "u", "user", f"{n}")))
    finally:
        stop.set()
        thread.join()
    found = contents(asyncio.run(store.load_messages("parent", "u")))
    assert sorted(found) == sorted(saved)
    found = contents(asyncio.run(store.load_messages("child", "u")))
    assert found == list("01234")
    asyncio.run(store.close())


@needs_fork
def test_the_child_has_its_own_copy_of_memory():
    store = SQLite(":memory:")
    asyncio.run(store.save_message("c", "u", "user", "before"))

    def child():
        asyncio.run(store.save_message("c", "u", "user", "child"))
        assert contents(asyncio.run(store.load_messages("c", "u"))) == ["before", "child"]

    in_a_fork(child)
    assert contents(asyncio.run(store.load_messages("c", "u"))) == ["before"]
    asyncio.run(store.close())


@needs_fork
def test_ids_differ_from_those_of_the_child():
    reading, writing = os.pipe()
    in_a_fork(lambda: os.write(writing, ids.uuid7().encode()))
    os.close(writing)
    with os.fdopen(reading) as pipe:
        assert pipe.read() != ids.uuid7()
