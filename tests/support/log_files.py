"""The file of a SQLite log as other programs see it, and saves that wait for one another."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading


@contextlib.contextmanager
def locked(path):
    """Another program's open write transaction on `path`."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close()


def select(path, query, *values):
    """Run a query on the file itself, as another program would."""
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query, values).fetchall()
    finally:
        connection.close()


def writer_threads():
    return [thread for thread in threading.enumerate() if thread.name == "cogency-writer"]


async def start(*coroutines):
    """Start tasks and let each run until it waits."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    for _ in range(3):
        await asyncio.sleep(0)
    return tasks


def contents(messages):
    return [message["content"] for message in messages]
