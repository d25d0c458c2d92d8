"""What the Python package does with the file of `tests/sqlite_log.rs`: python other_side.py VERB FILE."""

import asyncio
import json
import sqlite3
import sys

from cogency_rs import SQLite


async def read(log):
    page = await log.read("c")
    rows = [[row["type"], row["content"], row["timestamp"]] for row in page.rows]
    return {"rows": rows, "owner": await log.owner("c")}


async def go_on(log):
    rows = [("respond", "It is 5.", 3e9), ("user", "And 5 + 5?", 3e9)]
    await log.append("c", user_id="ada", rows=rows)


async def schema(log):
    await log.append("schema", user_id="ada", rows=[("user", "x", 1.0)])
    with sqlite3.connect(log.db_path) as connection:
        return sorted(connection.execute("SELECT name, sql FROM sqlite_master").fetchall(), key=str)


async def main():
    async with SQLite(sys.argv[2]) as log:
        print(json.dumps(await globals()[sys.argv[1]](log)))


asyncio.run(main())
