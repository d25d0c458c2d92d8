"""The clocks of tests of time limits; see `support/clock.py`."""

from __future__ import annotations

import asyncio

import pytest

from support.clock import in_exact_time, let_pass


def test_a_sleep_takes_exactly_its_seconds_and_no_real_time():
    passed: list[float] = []

    @in_exact_time
    async def sleeps() -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await asyncio.sleep(3600)
        passed.append(loop.time() - began)

    sleeps()
    assert passed == [3600]


def test_a_loop_that_spins_is_an_error():
    @in_exact_time
    async def spins() -> None:
        loop = asyncio.get_running_loop()

        def again() -> None:
            loop.call_soon(again)

        again()
        await asyncio.sleep(1)

    with pytest.raises(AssertionError, match="the event loop spins"):
        spins()


async def test_seconds_that_pass_end_what_waits_for_them():
    sleeping = asyncio.create_task(asyncio.sleep(3600))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(7200):
            await asyncio.sleep(0)
            let_pass(3600)
            await sleeping
            let_pass(3600)
            await asyncio.Event().wait()
