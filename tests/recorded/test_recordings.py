"""Text that models really wrote: the true calls are found, and chunking never matters.

The recordings stay outside the project; without them these tests skip.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cogency_rs import parse_tokens
from cogency_rs.protocol import parse_execute_block
from support.outlines import Outline, read, runs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from pathlib import Path


def lines(recordings: Path, name: str) -> list[dict]:
    file = recordings / name
    if not file.exists():
        pytest.skip(f"no {name} among the recordings")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def agent_turns(recordings) -> list[dict]:
    return lines(recordings, "agent_turns.jsonl")


@pytest.fixture(scope="module")
def wild_turns(recordings) -> list[dict]:
    return lines(recordings, "wild_turns.jsonl")


@pytest.fixture(scope="module")
def streams(recordings) -> list[dict]:
    return lines(recordings, "streams.jsonl")


@pytest.fixture(scope="module")
def texts(agent_turns, wild_turns, streams) -> dict[str, str]:
    """Every recorded text by its id."""
    turns = {turn["id"]: turn["text"] for turn in [*agent_turns, *wild_turns]}
    return turns | {stream["id"]: "".join(stream["tokens"]) for stream in streams}


def calls(outlines: Iterable[Outline]) -> list[dict]:
    return [json.loads(content) for kind, content in outlines if kind == "call"]


def test_an_agent_s_turn_gives_its_calls(agent_turns):
    assert [
        turn["id"] for turn in agent_turns if calls(read([turn["text"]])) != turn["calls"]
    ] == []


def test_an_agent_s_turn_gives_its_calls_in_token_mode(agent_turns):
    found = {turn["id"]: calls(read(turn["text"], stream="token")) for turn in agent_turns}
    assert [turn["id"] for turn in agent_turns if found[turn["id"]] != turn["calls"]] == []


def test_an_agent_s_turn_ends_with_execute(agent_turns):
    assert [
        turn["id"] for turn in agent_turns if read([turn["text"]])[-1] != ("execute", None)
    ] == []


def test_parse_execute_block_finds_an_agent_s_calls(agent_turns):
    found = {
        turn["id"]: [
            {"name": call.name, "args": call.args} for call in parse_execute_block(turn["text"])
        ]
        for turn in agent_turns
    }
    assert [turn["id"] for turn in agent_turns if found[turn["id"]] != turn["calls"]] == []


def test_one_character_at_a_time_gives_the_same_events(texts):
    assert [name for name, text in texts.items() if read(text) != read([text])] == []


def test_token_mode_gives_the_same_text(texts):
    assert [
        name
        for name, text in texts.items()
        if runs(read([text], stream="token")) != runs(read([text]))
    ] == []


def test_token_mode_gives_the_same_text_one_character_at_a_time(texts):
    assert [
        name
        for name, text in texts.items()
        if runs(read(text, stream="token")) != runs(read([text]))
    ] == []


def test_words_give_the_same_events(texts):
    def words(text: str) -> list[str]:
        return [word + " " for word in text.split(" ")]

    assert [name for name, text in texts.items() if read(words(text)) != read([text + " "])] == []


def test_a_stream_at_its_recorded_boundaries_gives_the_events_of_its_text(streams):
    assert [
        stream["id"]
        for stream in streams
        if read(stream["tokens"]) != read(["".join(stream["tokens"])])
    ] == []


def test_a_stream_in_token_mode_gives_the_text_of_event_mode(streams):
    assert [
        stream["id"]
        for stream in streams
        if runs(read(stream["tokens"], stream="token")) != runs(read(stream["tokens"]))
    ] == []


def test_a_stream_in_token_mode_gives_text_while_it_runs(streams):
    """Nearly every token of a stream is text, and comes out on its own."""
    late = [
        stream["id"]
        for stream in streams
        if len(read(stream["tokens"], stream="token")) < len(stream["tokens"]) // 2
    ]
    assert late == []


async def test_parse_tokens_gives_what_the_parser_gives(streams):
    async def source(tokens: list[str]) -> AsyncIterator[str]:
        for token in tokens:
            yield token

    found = {
        stream["id"]: [
            (event["type"], event.get("content"))
            async for event in parse_tokens(source(stream["tokens"]))
        ]
        for stream in streams
    }
    assert [
        stream["id"] for stream in streams if found[stream["id"]] != read(stream["tokens"])
    ] == []
