"""The rows of the table, and what ours must reach in each."""

from __future__ import annotations

from functools import partial

from figures import Row, Share

from . import context, parsing, tools, turns

ROWS = (
    Row(
        "parse-event",
        "parse a turn of 200 KB (think, text, execute) in chunks of 4, event mode",
        "a bare `async for` over the same chunks",
        parsing.event_mode,
        (Share(1.5, "floor"),),
    ),
    Row(
        "parse-token",
        "parse 200 KB of text in chunks of 4, token mode",
        "an async generator in Python that yields one event dict for each chunk",
        parsing.token_mode,
        (Share(1.5, "floor"),),
    ),
    *(
        Row(
            f"execute/{count}",
            f"run {count:,} async tools that do nothing" if count > 1 else "run one such tool",
            "`asyncio.gather` of the same coroutines",
            partial(tools.batch, count=count),
            must,
        )
        for count, must in (
            (1, (Share(2.0, "cogency"),)),
            (8, (Share(1.2, "cogency"),)),
            (64, (Share(0.8, "cogency"),)),
            (1000, (Share(0.2, "cogency"), Share(1.3, "floor"))),
        )
    ),
    *(
        Row(
            f"turn-memory/{size}KB",
            f"a turn of {size} KB with four calls, a storage that does nothing",
            "a bare `async for` over the same chunks",
            partial(turns.in_memory, size=size * 1_000),
            (must,),
        )
        for size, must in ((2, Share(0.5, "cogency")), (20, Share(0.02, "cogency")))
    ),
    Row(
        "turn-sqlite",
        "a turn of 2 KB with four calls, SQLite on disk, `synchronous=FULL`",
        "as many commits as ours makes, on an open connection",
        turns.in_sqlite,
        (Share(1 / 15, "cogency"),),
    ),
    Row(
        "to-messages",
        "fold 6,000 events into messages",
        "one dict for each event",
        partial(context.to_messages, count=6_000),
        (Share(1 / 10, "cogency"),),
    ),
    Row(
        "assemble-next",
        "the next prompt after one more event behind 7,500, SQLite",
        "read one row, copy the messages",
        partial(context.assemble_next, count=7_500),
        (Share(1 / 30, "cogency"),),
    ),
)
"""All of them, in the order of the table."""
