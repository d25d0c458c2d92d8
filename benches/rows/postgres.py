"""The cost of many turns at once with the log in PostgreSQL, on a server of its own that waits for the disk."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import count, groupby
from pathlib import Path
from typing import Any

from figures import Samples
from measure import AbsentError, Bench
from sides import Tool, execution, stream

import cogency_rs

from .turns import text

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))  # for the tests' server
from support.postgres_server import NoServerError, Server

TURNS = 1_000
MOST_ROUNDS = 3
CONNECTIONS = 16

TEXT = text(2_000)
_names = count()

Floor = Callable[[Bench, str], Awaitable[float]]


@contextmanager
def serving() -> Iterator[Server]:
    """A server that waits for the disk.

    Raises:
        AbsentError: there is none on this machine.
    """
    try:
        server = Server(fsync="on")
    except NoServerError as error:
        raise AbsentError(f"there is no PostgreSQL: {error}") from error
    try:
        yield server
    finally:
        server.remove()


async def turns(bench: Bench, floor: Floor) -> Samples:
    """Seconds for all turns: with the log in PostgreSQL, and with the storages that it is compared with."""
    samples: dict[str, list[float]] = {"ours": [], "floor": []}
    with serving() as server:
        async with cogency_rs.PostgreSQL(server.address) as log:
            await _in(log)  # makes the tables, and warms up
            for _ in range(min(bench.rounds, MOST_ROUNDS)):
                samples["ours"].append(await _in(log))
                samples["floor"].append(await floor(bench, server.address))
    return samples


async def in_sqlite(bench: Bench, address: str) -> float:
    """Seconds for the same turns in a file."""
    path = bench.folder / f"{next(_names)}.db"
    async with cogency_rs.SQLite(path, synchronous="FULL") as log:
        return await _in(log)


async def bare(bench: Bench, address: str) -> float:
    """Seconds for only the rows of the turns, in the transactions in which turns save them."""
    import asyncpg

    rows = await _rows_of_a_turn()
    table = f"bare_{next(_names)}"
    insert = f"INSERT INTO {table} VALUES ($1, $2, $3, $4, $5, $6)"
    async with asyncpg.create_pool(address, min_size=CONNECTIONS, max_size=CONNECTIONS) as pool:
        await pool.execute(
            f"CREATE TABLE {table} (conversation text, number bigint, user_id text, type text, content text,"
            " timestamp double precision, PRIMARY KEY (conversation, number))"
        )

        async def turn(name: str) -> None:
            for _, group in groupby(enumerate(rows), key=lambda row: _transaction(row[1]["type"])):
                values = [(name, number, "u", *row.values()) for number, row in group]
                async with pool.acquire() as connection, connection.transaction():
                    await connection.executemany(insert, values)

        return await _timed(turn)


def _transaction(type: str) -> str:
    """The name of the transaction that saves rows of this type: neighbours with one name are saved together."""
    return type if type in {"user", "result"} else "answer"


async def _rows_of_a_turn() -> list[dict[str, Any]]:
    log = cogency_rs.Memory()
    await _turn(log, "c")
    return (await log.read("c")).rows


async def _in(log: Any) -> float:
    return await _timed(lambda name: _turn(log, name))


async def _timed(turn: Callable[[str], Awaitable[None]]) -> float:
    names = [f"conversation {next(_names)}" for _ in range(TURNS)]
    began = time.perf_counter()
    await asyncio.gather(*(turn(name) for name in names))
    return time.perf_counter() - began


async def _turn(log: Any, name: str) -> None:
    await log.append(name, user_id="u", rows=[("user", "go on", time.time())])
    turn = cogency_rs.Accumulator("u", name, execution=execution([Tool()], log))
    async for _ in turn.process(cogency_rs.parse_tokens(stream([TEXT]))):
        pass
