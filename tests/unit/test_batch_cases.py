"""The table of what a batch does, on asyncio.

`tests/tokio_cases.rs` and `tests/python_tools/table.rs` run it on Tokio.
"""

from __future__ import annotations

import pytest

from support.batch_cases import CASES, carried_out
from support.clock import in_exact_time


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_batch_on_asyncio_keeps_to_the_table(case):
    @in_exact_time
    async def run() -> None:
        results, journal = await carried_out(case)
        assert journal == case["journal"]
        assert results == case["results"]

    run()


def test_every_difference_has_its_reason():
    different = [case["tokio"] for case in CASES if "tokio" in case]
    assert all(one["reason"].endswith(".") and one["texts"] for one in different)


def test_no_two_cases_have_one_name():
    assert len({case["name"] for case in CASES}) == len(CASES)
