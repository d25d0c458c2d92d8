"""The rows of the table, each with the bounds that ours must reach."""

from __future__ import annotations

from functools import partial

from figures import Absolute, Bytes, Counted, Rate, Row, Share, Times

from . import (
    agents,
    calls,
    context,
    dialects,
    early,
    forks,
    load,
    parsing,
    postgres,
    program,
    remote,
    requests,
    tools,
    turns,
)

CHUNKS = "a bare `async for` over the same chunks"
BATCHED = "the same with results saved when the batch is over"
PLACES = (
    ("sqlite", "SQLite on disk, `synchronous=FULL`", calls.files),
    ("postgres", "PostgreSQL on a server of its own", calls.tables),
)
ENDINGS: tuple[tuple[calls.How, str], ...] = (
    ("together", "at once"),
    ("apart", "a millisecond apart"),
)
GATHER = "a bare `asyncio.gather` of the same coroutines"

ROWS = (
    Row(
        "parse-event",
        "parse a turn of 200 KB (think, text, execute) in chunks of 4 characters, event mode",
        CHUNKS,
        partial(parsing.event_mode, size=200_000),
        (Share(1.5, "floor"),),
    ),
    Row(
        "parse-token",
        "parse 200 KB of text in chunks of 4 characters, token mode",
        "an async generator in Python that yields one event dict for each chunk",
        partial(parsing.token_mode, size=200_000),
        (Share(1.5, "floor"),),
    ),
    Row(
        "parse-whole",
        "parse 1 MiB of ASCII text in one `feed`",
        "look for `<`, and copy the text",
        parsing.one_feed,
        (Absolute(parsing.MIB / 1e9),),
        Rate(parsing.MIB / 1e9, "GB/s"),
    ),
    *(
        Row(
            f"parse-json/{calls} call{'s' if calls > 1 else ''}",
            f"parse an execute block of 1 MiB in one `feed`, {calls:,} call{'s' if calls > 1 else ''}",
            "`json.loads` and `json.dumps` of the same array",
            partial(parsing.one_block, calls=calls),
            (Share(0.5, "floor"),),
        )
        for calls in (1, 1_000)
    ),
    *(
        Row(
            f"dialect-event/{name}",
            f"parse-event, as {name} writes such a turn",
            CHUNKS,
            partial(dialects.event_mode, dialect=name, size=200_000),
            (Share(1.6, "floor"),),
        )
        for name in dialects.TEXTS
    ),
    *(
        Row(
            f"dialect-token/{name}",
            f"parse-token, in the dialect {name}",
            "an async generator in Python that yields one event dict for each chunk",
            partial(dialects.token_mode, dialect=name, size=200_000),
            (Share(1.5, "floor"),),
        )
        for name in dialects.TEXTS
    ),
    *(
        Row(
            f"chat-reader/{name}",
            f"read a turn of 200 KB in {name} in chunks of 4 characters, into deltas of the chat API",
            "the same chunks through `Parser`, token mode",
            partial(dialects.chat_reader, dialect=name, size=200_000),
            (Share(1.3, "floor"),),
        )
        for name in dialects.TEXTS
    ),
    *(
        Row(
            f"dialect-whole/{name}",
            f"parse-whole, in the dialect {name}",
            "look for `<`, and copy the text",
            partial(dialects.one_feed, dialect=name),
            (Absolute(dialects.MIB / 1e9),),
            Rate(dialects.MIB / 1e9, "GB/s"),
        )
        for name in dialects.TEXTS
    ),
    *(
        Row(
            f"first-text/{name}",
            f"characters of {case} that the model sends until the user sees the first, token mode",
            "the characters until the text cannot be a tag",
            partial(parsing.first_text, name=name),
            (Share(1, "floor"),),
            Counted("characters"),
        )
        for name, case in (
            ("answer", "an answer"),
            ("after think", "an answer after thoughts"),
            ("near a tag", "an answer that begins `<thinking`"),
        )
    ),
    *(
        Row(
            f"execute/{count}",
            f"run {count:,} async tools that do nothing"
            if count > 1
            else "run one async tool that does nothing",
            GATHER,
            partial(tools.batch, count=count),
            must,
        )
        for count, must in (
            (1, (Share(2.0, "floor"),)),
            (8, (Share(1.7, "floor"),)),
            (64, (Share(1.5, "floor"),)),
            (1000, (Share(1.4, "floor"),)),
        )
    ),
    Row(
        "execute/1000 of one",
        "run one such tool 1,000 times",
        GATHER,
        partial(tools.one_tool, count=1000),
    ),
    Row(
        "blocking",
        "run 8 tools that block for 100 ms each",
        "one of them",
        partial(tools.blocking, count=8),
        (Share(1.1, "floor"),),
    ),
    *(
        Row(
            f"around/{count}",
            f"run {count:,} such tools through three hooks that only pass the call on"
            if count > 1
            else "run one such tool through three hooks that only pass the call on",
            "the same without hooks",
            partial(tools.through_hooks, count=count),
            must,
        )
        for count, must in ((1, (Share(2.3, "floor"),)), (64, ()))
    ),
    *(
        Row(
            f"turn-memory/{size} KB",
            f"a turn of {size} KB with four calls, a storage that does nothing",
            CHUNKS,
            partial(turns.in_memory, size=size * 1_000),
            (must,),
        )
        for size, must in ((2, Share(0.5, "cogency")), (20, Share(0.02, "cogency")))
    ),
    Row(
        "turn-token",
        "an answer of 20 KB in chunks of 4 characters, token mode, a storage that does nothing",
        "an async generator in Python that yields one event dict for each chunk",
        partial(turns.in_token_mode, size=20_000),
    ),
    Row(
        "turn-sqlite",
        "a turn of 2 KB with four calls, SQLite on disk, `synchronous=FULL`",
        "as many commits as ours makes, on an open connection",
        partial(turns.in_sqlite, size=2_000),
        (Share(1 / 15, "cogency"),),
    ),
    Row(
        "turn-commits",
        "the commits of that turn",
        "",
        partial(turns.commits, size=2_000),
        (Absolute(3),),
        Counted("commits"),
    ),
    *(
        Row(
            f"call-time/{place} {how}",
            f"a call of a batch of {calls.CALLS} that end {ending}, {disk}",
            BATCHED,
            partial(calls.seconds, where=where, how=how),
            (Share(1.5, "floor"),),
        )
        for place, disk, where in PLACES
        for how, ending in ENDINGS
    ),
    *(
        Row(
            f"call-commits/{place} {how}",
            f"the commits of that batch, {disk}",
            BATCHED,
            partial(calls.commits, where=where, how=how),
            (Share(1.5, "floor"),) if how == "together" else (Absolute(2 + calls.CALLS),),
            Counted("commits"),
        )
        for place, disk, where in PLACES
        for how, _ in ENDINGS
    ),
    *(
        Row(
            f"call-{of}/{place}",
            f"{of} of the log for each call of {calls.TURNS} such batches, {disk}",
            BATCHED,
            partial(calls.size, where=where, of=of),
            (),
            unit,
        )
        for of, unit in (("rows", Counted("rows")), ("bytes", Bytes()))
        for place, disk, where in PLACES
    ),
    *(
        Row(
            f"fork/{place} {turns:,}",
            f"fork a conversation of {turns:,} turns, each of four rows, and delete the fork: {place}",
            "read the rows and append them to another conversation",
            partial(forks.fork, where=where, turns=turns),
        )
        for place, where in (
            ("memory", forks.memory),
            ("sqlite", forks.file),
            ("postgres", forks.tables),
        )
        for turns in (10, 1_000, 10_000)
    ),
    Row(
        "early/8",
        "a batch of 8 reads of 50 ms each, written at 50 tokens a second: from the last token to the results",
        "the same with `CallOptions(eager=False)`",
        partial(early.from_last_token_to_results, count=8),
        (Share(0.15, "floor"),),
    ),
    *(
        Row(
            f"run-syncs/{name}",
            f"the commits of {what} that wait for the disk, SQLite, `synchronous=FULL`",
            "",
            partial(agents.synced_commits, answers=answers),
            (Absolute(most),),
            Counted("synced commits"),
        )
        for name, what, answers, most in (
            ("question", "a run that answers a question", agents.QUESTION, 2),
            ("call", "a run with one call", agents.CALL, 4),
        )
    ),
    Row(
        "agent-run",
        "one run of an agent: a step with four calls, then an answer; the log in memory",
        "the same turns, with a loop of their own",
        agents.one_run,
        (Share(1.5, "floor"),),
    ),
    *(
        Row(
            f"late-run/{turns}",
            f"a run of an agent with four calls, as turn {turns:,} of a conversation in SQLite",
            f"the same as turn {agents.EARLY}",
            partial(agents.late_run, turns=turns),
            (Share(share, "floor"),),
        )
        for turns, share in ((1_000, 1.3), (10_000, 1.5))
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
        "the next prompt after one more event after 7,500, SQLite",
        "read one row, copy the messages",
        partial(context.assemble_next, count=7_500),
        (Share(1 / 30, "cogency"),),
    ),
    *(
        Row(
            f"request/{endpoint}",
            f"the body of a request with 1,000 messages, `{path}`",
            "`json.dumps` of the messages, and a request of httpx",
            partial(requests.build, endpoint=endpoint, count=1_000),
            (Share(1.3, "floor"),),
        )
        for endpoint, path in (("chat", "/chat/completions"), ("messages", "/v1/messages"))
    ),
    *(
        Row(
            f"load/{name}",
            f"{load.TURNS:,} turns at once, SQLite on disk, tools of 20 ms: {what}",
            "the tools alone",
            partial(load.load, figure=figure),
            (),
            *unit,
        )
        for name, what, figure, unit in (
            ("turns", "turns in a second", "seconds", [Rate(load.TURNS, "turns/s")]),
            ("p50", "half of them are done", "p50", []),
            ("p99", "99 % of them are done", "p99", []),
            ("memory", "the most memory, for each", "memory", [Bytes()]),
        )
    ),
    *(
        Row(
            f"postgres/{name}",
            f"a turn of four calls in each of {postgres.TURNS:,} conversations at once, the log in PostgreSQL",
            floor,
            partial(postgres.turns, floor=plain),
            must,
            Rate(postgres.TURNS, "turns/s"),
        )
        for name, floor, plain, must in (
            (
                "bare",
                "transactions of the same rows on 16 connections of asyncpg",
                postgres.bare,
                (Share(2.0, "floor"),),
            ),
            ("sqlite", "the same turns, the log in SQLite on disk", postgres.in_sqlite, ()),
        )
    ),
    Row(
        "import",
        "`import cogency_rs` (`import cogency`) in a new process",
        "`import asyncio, dataclasses, sqlite3`",
        partial(program.importing, program="import cogency_rs"),
        (Share(1.2, "floor"),),
    ),
    Row(
        "import-turn",
        f"`{program.TURN}` (`import cogency`) in a new process",
        "`import asyncio, dataclasses, sqlite3`",
        partial(program.importing, program=program.TURN),
        (),
    ),
    Row(
        "wheel",
        "the size of the wheel",
        "",
        program.wheel,
        (Absolute(5e6),),
        Bytes(),
    ),
    *(
        Row(
            f"scaling/{name} {mode}",
            f"1 MiB and 2 MiB of {text} in chunks of 1 character, {mode} mode: how many times the time",
            "a bare `for` over the characters",
            partial(parsing.scaling, name=name, mode=mode),
            (Absolute(2.3),),
            Times(),
        )
        for name, (text, _) in parsing.ADVERSARIES.items()
        for mode in ("event", "token")
    ),
    # Last, because Ray leaves threads in the program that would disturb other rows.
    *(
        Row(
            f"remote/{count}",
            f"run {count:,} tools that do nothing on a local Ray of two workers",
            "as many bare Ray tasks",
            partial(remote.batch, count=count),
            (Share(1.3, "floor"),),
        )
        for count in (64,)
        if remote.IS_THERE
    ),
)
"""All rows, in the order of the table."""
