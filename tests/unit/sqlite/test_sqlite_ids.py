"""Ids of rows: the time in front, and an order that no clock undoes."""

from __future__ import annotations

import threading
import time
import uuid

from cogency_rs import ids


def test_ids_are_uuid_version_7_with_the_time_in_front():
    before = time.time_ns() // 1_000_000
    made = uuid.UUID(ids.uuid7())
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    # Ids made before, within one millisecond, may have pushed the counter into the next.
    assert before <= made.int >> 80 <= time.time_ns() // 1_000_000 + 1


def test_ids_increase_however_many_are_made_in_a_millisecond():
    """That a clock which is set back changes nothing is a test of the core."""
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
