"""Ids of rows begin with the time, and increase in the order in which they are made."""

from __future__ import annotations

import threading
import time
import uuid

from cogency_rs import outside as ids


def test_ids_are_uuid_version_7_and_begin_with_the_time():
    before = time.time_ns() // 1_000_000
    made = uuid.UUID(ids.uuid7())
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    # Earlier ids of the same millisecond may have pushed the counter into the next one.
    assert before <= made.int >> 80 <= time.time_ns() // 1_000_000 + 1


def test_ids_increase_however_many_are_made_in_a_millisecond():
    """The tests of the core set the clock back."""
    made = [ids.uuid7() for _ in range(2000)]
    assert made == sorted(set(made))
    assert {uuid.UUID(id).version for id in made} == {7}


def test_ids_differ_and_increase_in_every_thread():
    made = [[] for _ in range(4)]

    def make(mine):
        mine.extend(ids.uuid7() for _ in range(2000))

    threads = [threading.Thread(target=make, args=(mine,)) for mine in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(mine == sorted(mine) for mine in made)
    assert len({id for mine in made for id in mine}) == 8000
