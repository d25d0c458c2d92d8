"""The sources of a turn: a text for our parser, a source that fails, the events of another parser."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from cogency_rs import parse_tokens
from cogency_rs.errors import ToolParseError
from cogency_rs.protocol import LateEvents, Limits
from support.tools import (
    FAIL,
    OK,
    FunctionTool,
    block,
    nested_call,
    rounds,
    stored,
    with_tools,
)
from support.turns import (
    LOGS,
    MODES,
    STORED_OK,
    Chunks,
    Entry,
    Log,
    accumulator,
    both,
    carry_out,
    check_answered,
    emitted,
    event,
    events_of,
    saved,
    types,
)
from support.ways import in_both_ways, only_at_the_end

pytestmark = [in_both_ways, pytest.mark.timeout(20)]


# The source


async def test_a_text_that_is_there_only_once_something_was_asked_is_read_as_any_other():
    def asked(source: Chunks) -> LateEvents:
        async def make() -> Any:
            await rounds(1)
            return parse_tokens(source)

        return LateEvents(make)

    def contents(events: list[Any]) -> list[str]:
        return [each["content"] for each in events]

    source = Chunks("a ", "b")
    turns = accumulator(with_tools(storage=Log()), stream="token")
    shown = [event async for event in turns.process(asked(source))]
    assert (contents(shown), source.closed) == (["a ", "b"], 1)
    source = Chunks("a ", "b")
    alone = [event async for event in asked(source)]
    assert (contents(alone), source.closed) == (["a b"], 1)


@only_at_the_end("the source is read on while calls that began early run")
@pytest.mark.parametrize("mode", MODES)
async def test_the_source_is_closed_before_the_tools_run(mode):
    source = Chunks("a", block("look"), "b")
    seen: list[tuple[int, int]] = []

    async def look(**_: Any) -> None:
        seen.append((source.asked, source.closed))

    turns = accumulator(with_tools(FunctionTool("look", look), storage=Log()), stream=mode)
    await carry_out(turns, parse_tokens(source))
    assert (seen, source.closed) == ([(2, 1)], 1)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["a", "a<end>", "<execute>oops</execute>", f"a{block('ok')}"])
async def test_the_source_is_closed_once_when_the_turn_is_over(text, mode):
    source = Chunks(text)
    turns = accumulator(with_tools(OK, storage=Log()), stream=mode)
    await carry_out(turns, parse_tokens(source))
    assert source.closed == 1


@pytest.mark.parametrize("mode", MODES)
async def test_after_end_no_further_chunk_is_read(mode):
    source = Chunks("a", "<end>", "b")
    await carry_out(accumulator(with_tools(storage=Log()), stream=mode), parse_tokens(source))
    assert source.asked == 2


@pytest.mark.parametrize("origin", ["text", "events"])
@pytest.mark.parametrize(
    ("chunks", "journals"),
    [
        ((), {"event": [], "token": []}),
        (
            ("a ", "b"),
            {
                "event": both("respond", "a b"),
                "token": [
                    emitted("respond", "a "),
                    emitted("respond", "b"),
                    saved("respond", "a b"),
                ],
            },
        ),
        (
            ("<think>hm",),
            {"event": both("think", "hm"), "token": [emitted("think", "hm"), saved("think", "hm")]},
        ),
        (
            ("a <thin",),
            {
                "event": both("respond", "a <thin"),
                "token": [
                    emitted("respond", "a"),
                    emitted("respond", " <thin"),
                    saved("respond", "a <thin"),
                ],
            },
        ),
    ],
    ids=["no text", "text", "a thought", "an incomplete tag"],
)
@pytest.mark.parametrize("mode", MODES)
async def test_text_is_saved_and_emitted_before_the_source_s_error_is_raised(
    chunks, journals, mode, origin
):
    journal: list[Entry] = []
    error = ConnectionError("gone")
    turns = accumulator(with_tools(storage=Log(journal)), stream=mode)
    events = parse_tokens(Chunks(*chunks, error), stream=mode)
    with pytest.raises(ConnectionError) as caught:
        await carry_out(turns, events if origin == "text" else events_of(events), journal)
    assert caught.value is error
    assert merged(journal) == merged(journals[mode])


def merged(journal: list[Entry]) -> list[Entry]:
    """The journal, with neighbouring emissions of one type joined."""
    entries: list[Entry] = []
    for entry in journal:
        if entries and entry[0] == "emitted" and entries[-1][:2] == entry[:2]:
            entry = (*entry[:2], entries.pop()[2] + entry[2])
        entries.append(entry)
    return entries


@pytest.mark.parametrize("mode", MODES)
async def test_a_source_that_fails_inside_a_block_runs_none_of_its_calls(mode):
    log, error = Log(), TimeoutError("gone")
    ran: list[bool] = []
    turns = accumulator(
        with_tools(FunctionTool("t", lambda **_: ran.append(True)), storage=log), stream=mode
    )
    source = Chunks(block("t").removesuffix("]</execute>"), error)
    with pytest.raises(TimeoutError) as caught:
        await carry_out(turns, parse_tokens(source))
    assert (caught.value, ran, types(log.rows)) == (error, [], ["respond"])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "error",
    [ConnectionError("gone"), ValueError("bad"), RuntimeError("no"), asyncio.CancelledError()],
    ids=lambda error: type(error).__name__,
)
async def test_a_source_that_fails_is_closed(error, mode):
    source = Chunks("a", error, "b")
    with pytest.raises(type(error)) as caught:
        await carry_out(accumulator(with_tools(storage=Log()), stream=mode), parse_tokens(source))
    assert (caught.value, source.asked, source.closed) == (error, 2, 1)


@pytest.mark.parametrize("mode", MODES)
async def test_a_chunk_that_is_not_text_is_a_type_error_after_the_text_before_it(mode):
    log, source = Log(), Chunks("a", 5, "b")
    with pytest.raises(TypeError, match="int"):
        await carry_out(accumulator(with_tools(storage=log), stream=mode), parse_tokens(source))
    assert (types(log.rows), source.asked, source.closed) == (["respond"], 2, 1)


async def test_a_source_that_cannot_be_closed_does_not_stop_the_turn():
    class Stuck(Chunks):
        async def aclose(self) -> None:
            raise OSError("stuck")

    log = Log()
    await carry_out(accumulator(with_tools(OK, storage=log)), parse_tokens(Stuck(block("ok"))))
    assert types(log.rows) == ["call", "result"]


@pytest.mark.parametrize("source", [None, 5, ["a"]], ids=repr)
async def test_anything_but_a_source_is_a_type_error(source):
    with pytest.raises(TypeError):
        await carry_out(accumulator(with_tools(storage=Log())), source)


# A source of our own is read directly


async def test_token_mode_streams_from_a_parser_made_for_events():
    source = Chunks("Hel", "lo")
    stream = accumulator(with_tools(storage=Log()), stream="token").process(parse_tokens(source))
    first = await anext(stream)
    assert (first["content"], source.asked) == ("Hel", 1)
    await stream.aclose()


async def test_event_mode_joins_from_a_parser_made_for_tokens():
    events = await carry_out(
        accumulator(with_tools(storage=Log())), parse_tokens(Chunks("Hel", "lo"), stream="token")
    )
    assert [item["content"] for item in events] == ["Hello"]


async def test_the_limits_of_the_parser_hold():
    log = Log()
    events = parse_tokens(block("ok", "ok"), limits=Limits(max_calls=1))
    await carry_out(accumulator(with_tools(OK, storage=log)), events)
    assert types(log.rows) == ["respond"]


@pytest.mark.parametrize("mode", MODES)
async def test_the_rest_of_a_parser_that_has_begun_is_read_as_events(mode):
    events = parse_tokens(Chunks("<think>a</think>", "b", "c", block("ok")))
    first = await anext(events)
    log = Log()
    rest = await carry_out(accumulator(with_tools(OK, storage=log), stream=mode), events)
    assert (first["content"], types(log.rows)) == ("a", ["respond", "call", "result"])
    assert rest[0]["content"] == "bc"


async def test_a_parser_that_a_turn_has_read_yields_nothing_to_later_readers():
    events = parse_tokens(Chunks("a", "b"))
    turns = accumulator(with_tools(storage=Log()))
    first = await carry_out(turns, events)
    assert [item["content"] for item in first] == ["ab"]
    assert (await carry_out(turns, events), [item async for item in events]) == ([], [])


async def test_a_closed_parser_yields_nothing():
    source = Chunks("a")
    events = parse_tokens(source)
    await events.aclose()
    assert await carry_out(accumulator(with_tools(storage=Log())), events) == []


async def test_a_whole_text_is_a_source():
    log = Log()
    await carry_out(accumulator(with_tools(OK, storage=log)), parse_tokens(f"a{block('ok')}"))
    assert types(log.rows) == ["respond", "call", "result"]


# A foreign parser


async def test_a_foreign_parser_may_have_several_batches():
    source = Chunks(
        event("call", stored("ok")),
        event("execute"),
        event("respond", "and"),
        event("call", stored("fail")),
        event("call", stored("ok")),
        event("execute"),
        event("end"),
    )
    log = Log()
    events = await carry_out(accumulator(with_tools(OK, FAIL, storage=log)), source)
    check_answered(log.rows)
    assert types(log.rows) == ["call", "result", "respond", "call", "call", "result"]
    assert types(events) == [
        *("call", "execute", "result"),
        *("respond", "call", "call", "execute", "result", "end"),
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"args": {"a": 1}, "name": "ok", "id": 7}', stored("ok", a=1)),
        ('{"name":"ok"}', stored("ok")),
        ('Sure: {"name": "ok", "args": {}}, done.', stored("ok")),
        ('{"name": "ok", "args": {"a": """x\\ny"""}}', stored("ok", a="x\ny")),
        ('{"name": "ok", "args": {"a": NaN}}', stored("ok", a=float("nan"))),
        ('{"name": "ok", "args": {"a": "é\\ud83d"}}', stored("ok", a="é\ud83d")),
    ],
)
async def test_a_foreign_call_is_read_leniently_and_kept_exactly(content, expected):
    log = Log()
    source = Chunks(event("call", content), event("execute"))
    events = await carry_out(accumulator(with_tools(OK, storage=log)), source)
    assert log.rows[0].content == events[0]["content"] == expected
    check_answered(log.rows)


@pytest.mark.parametrize("nested", [150, 250, 900])
async def test_a_foreign_call_may_be_nested_as_deep_as_python_reads(nested):
    content = nested_call(nested)
    log = Log()
    source = Chunks(event("call", content), event("execute"))
    await carry_out(accumulator(with_tools(OK, storage=log)), source)
    assert log.rows[0].content == content
    check_answered(log.rows)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("content", ["", "nonsense", "[]", "{}", '{"name": 5}', '{"name": "ok", '])
async def test_a_foreign_call_that_cannot_be_read_is_an_error(content, mode):
    journal: list[Entry] = []
    source = Chunks(event("respond", "a"), event("call", content), event("execute"))
    turns = accumulator(with_tools(OK, storage=Log(journal)), stream=mode)
    with pytest.raises(ToolParseError):
        await carry_out(turns, source, journal)
    assert sorted(journal) == sorted(both("respond", "a"))
    assert (source.asked, source.closed) == (2, 1)


@pytest.mark.parametrize("type", ["metric", "user", "interrupt", "cancelled", "bogus", ""])
@pytest.mark.parametrize("mode", MODES)
async def test_an_event_of_another_type_is_neither_saved_nor_emitted(type, mode):
    log = Log()
    source = Chunks(event("respond", "a"), event(type, "x"), event("respond", "b"))
    events = await carry_out(accumulator(with_tools(storage=log), stream=mode), source)
    assert "".join(item["content"] for item in events) == "ab"
    assert "".join(row.content for row in log.rows) == "ab"


async def test_a_foreign_result_is_neither_saved_nor_emitted():
    log = Log()
    source = Chunks(event("result", "[1]"), event("respond", "a"), event("result", "[2]"))
    events = await carry_out(accumulator(with_tools(storage=log)), source)
    assert (types(events), types(log.rows)) == (["respond"], ["respond"])


@pytest.mark.parametrize("content", [None, ""])
@pytest.mark.parametrize("mode", MODES)
async def test_an_event_of_text_without_content_is_left_out(content, mode):
    log = Log()
    items = [{"type": "respond", "content": content, "timestamp": 1.0}, {"type": "think"}]
    events = await carry_out(
        accumulator(with_tools(storage=log), stream=mode), Chunks(*items, event("respond", "a"))
    )
    assert [(row.type, row.content) for row in log.rows] == [("respond", "a")]
    assert "".join(item["content"] for item in events) == "a"


@pytest.mark.parametrize("item", [None, 5, {}, {"type": 5}, {"type": "respond", "content": 5}])
async def test_anything_but_an_event_is_an_error_and_closes_the_source(item):
    source = Chunks(event("respond", "a"), item)
    log = Log()
    with pytest.raises((TypeError, KeyError)):
        await carry_out(accumulator(with_tools(storage=log)), source)
    assert (types(log.rows), source.closed) == (["respond"], 1)


@pytest.mark.parametrize("last", [event("end"), ConnectionError("gone"), None])
@pytest.mark.parametrize("kind", LOGS)
async def test_calls_that_a_foreign_parser_never_executes_have_a_result_each(kind, last):
    """The calls have been saved, and without results the log could not be sent to a model again."""
    log = kind()
    items = [event("call", stored("ok")), event("call", stored("ok"))]
    source = Chunks(*items, *([last] if last else []))
    with suppress(ConnectionError):
        await carry_out(accumulator(with_tools(OK, storage=log)), source)
    check_answered(log.rows)


@pytest.mark.parametrize(
    "items",
    [
        [event("call", STORED_OK), event("end")],
        [event("call", STORED_OK), event("respond", "a")],
        [
            *[event("call", STORED_OK), event("execute"), event("respond", "a")],
            *[event("call", STORED_OK), event("respond", "b")],
        ],
    ],
    ids=["then end", "then text", "in a second batch"],
)
async def test_results_of_calls_that_never_ran_are_not_older_than_the_calls(items):
    """A log is read in the order of its timestamps."""
    log = Log()
    await carry_out(accumulator(with_tools(OK, storage=log)), Chunks(*items, pause=1))
    check_answered(sorted(log.rows, key=lambda row: row.timestamp))


async def test_any_async_iterable_is_a_source():
    class Events:
        def __aiter__(self) -> Any:
            return events_of(Chunks(event("respond", "a")))

    assert types(await carry_out(accumulator(with_tools(storage=Log())), Events())) == ["respond"]


async def test_a_foreign_generator_runs_its_cleanup_when_the_turn_is_over():
    steps: list[str] = []

    async def events() -> Any:
        try:
            yield event("end")
        finally:
            await rounds(2)
            steps.append("cleaned up")

    await carry_out(accumulator(with_tools(storage=Log())), events())
    assert steps == ["cleaned up"]
