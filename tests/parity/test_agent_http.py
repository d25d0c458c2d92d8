"""A real agent over real HTTP, on plain cogency and with `install()`.

cogency's own `Agent`, with its own OpenAI provider on the `openai` SDK, talks to a server on 127.0.0.1 that streams a
script. `AGREE` and `DIFFER` in `http_scenarios` say what the user sees and what is in the log for each script.
Nothing depends on the time.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cogency_rs.compat import uninstall
from scripted_server import HOLD, ScriptedServer, Turn, in_pieces

from . import differences
from .http_scenarios import (
    ADD,
    AGREE,
    ANSWER,
    ANSWERED,
    DIFFER,
    END,
    EXECUTE,
    INSTALLED,
    PLAIN,
    QUERY,
    SUM,
    USER,
    Result,
    Seen,
    block,
    call,
    says,
)
from .http_stage import Stage, Tool, clients_closed, running
from .oracle import cogency, skip_without_cogency

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

skip_without_cogency()

pytestmark = pytest.mark.timeout(30)


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the environment's keys, proxies and addresses, and keep cogency from fetching a tokenizer's vocabulary."""
    for name in list(os.environ):
        if name.upper().startswith("OPENAI_") or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    monkeypatch.setenv("OPENAI_BASE_URL", "set by Stage.play")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(cogency("lib.metrics"), "tiktoken", None)
    monkeypatch.chdir(tmp_path)


# What a run shows.


@pytest.mark.parametrize("core", [PLAIN, INSTALLED])
@pytest.mark.parametrize("scenario", [*AGREE, *DIFFER], ids=str)
async def test_what_the_user_sees_and_what_is_stored(scenario, core, tmp_path):
    async with ScriptedServer(scenario.turns) as server:
        with running(core):
            played = await Stage(tmp_path, server).play(scenario.stream)
    expected = scenario.plain if core == PLAIN else scenario.installed
    assert played.seen == expected.written(core)
    assert played.telemetry == played.kinds - Counter(["user"])


@pytest.mark.parametrize("scenario", DIFFER, ids=str)
def test_a_difference_is_a_deliberate_one(scenario):
    assert scenario.because
    assert set(scenario.because) <= differences.ALL.keys()


@pytest.mark.parametrize("scenario", AGREE, ids=str)
async def test_the_model_is_sent_the_same_where_both_agree(scenario, tmp_path):
    requests = {}
    for core in (PLAIN, INSTALLED):
        folder = tmp_path / core
        folder.mkdir()
        async with ScriptedServer(scenario.turns) as server:
            with running(core):
                await Stage(folder, server).play(scenario.stream)
        requests[core] = [(each.path, _without_outcomes(each.body)) for each in server.exchanges]
    assert requests[INSTALLED] == requests[PLAIN] != []


def _without_outcomes(body: dict[str, Any]) -> dict[str, Any]:
    """A request with its results as plain cogency writes them: the content of a success without its outcome."""
    messages = []
    for message in body["input"]:
        content = message["content"]
        if message["role"] == "user" and content.startswith("<results>\n"):
            array = json.loads(content.removeprefix("<results>\n").removesuffix("\n</results>"))
            for item in array:
                outcome = item.pop("outcome", "")
                item.setdefault("content", outcome)
            content = array
        messages.append({**message, "content": content})
    return {**body, "input": messages}


@pytest.mark.parametrize("core", [PLAIN, INSTALLED])
async def test_a_request_carries_the_key_the_query_and_the_results_so_far(core, tmp_path):
    async with ScriptedServer([says(block(ADD)), ANSWER]) as server:
        with running(core):
            await Stage(tmp_path, server).play("event")
    first, second = server.exchanges
    results = json.dumps([result.written(core) for result in SUM])
    assert first.path == second.path == "/v1/responses"
    assert first.headers["authorization"] == "Bearer a key"
    assert first.body["stream"] is True
    assert first.body["input"] == [{"role": "user", "content": QUERY}]
    assert second.body["input"][0] == first.body["input"][0]
    assert second.body["input"][2] == {
        "role": "user",
        "content": f"<results>\n{results}\n</results>",
    }


@pytest.mark.parametrize(
    ("core", "expected"), [(PLAIN, []), (INSTALLED, [("respond", "The sum is")])]
)
async def test_in_token_mode_an_answer_arrives_while_the_model_still_writes(
    core, expected, tmp_path
):
    """`text_in_pieces` in `differences`."""
    seen_before = []
    async with ScriptedServer([Turn("The ", "sum ", "is", HOLD, " 5.", "<end>")]) as server:
        stage = Stage(tmp_path, server)

        class Watched(cogency("lib.llms").OpenAI):
            async def stream(self, messages: Any) -> AsyncIterator[str]:
                async for text in super().stream(messages):
                    yield text
                    # The agent asks for more, so all events of the text so far have been seen.
                    if text == "is":
                        assert server.exchanges[0].sent == ["The ", "sum ", "is"]
                        seen_before.extend(stage.lines("token")[1:])
                        server.release()

        with running(core):
            played = await stage.play("token", llm=Watched())
    assert seen_before == expected
    assert played.seen.events == [USER, ("respond", "The sum is 5."), END]


@pytest.mark.parametrize(("core", "outcome"), [(PLAIN, "left open"), (INSTALLED, "closed")])
async def test_the_rest_of_a_turn_is_closed_before_its_tools_run(core, outcome, tmp_path):
    """`source_with_a_close` in `differences`."""
    ended = asyncio.Event()

    class Watched(cogency("lib.llms").OpenAI):
        async def stream(self, messages: Any) -> AsyncIterator[str]:
            try:
                async for text in super().stream(messages):
                    yield text
            finally:
                ended.set()

    async def looks(**_: Any) -> str:
        return "closed" if ended.is_set() else "left open"

    look = call("look")
    turns = [Turn(*in_pieces(block(look)), HOLD, "never asked for"), ANSWER]
    async with ScriptedServer(turns) as server:
        with running(core):
            stage = Stage(tmp_path, server)
            played = await stage.play("event", tools=[Tool("look", looks)], llm=Watched())
    result = ("result", [Result("look", outcome)])
    expected = Seen(
        events=[USER, ("call", look), EXECUTE, result, ANSWERED, END],
        rows=[USER, ("call", look), result, ANSWERED],
    )
    assert played.seen == expected.written(core)
    assert "never asked for" not in server.exchanges[0].sent


PRINTED = """
user    Add 19 and 23
think   The sum first; the file can be written in the same batch.
respond I add them and write the sum down.
call    {"name": "add", "args": {"a": 19, "b": 23}}
call    {"name": "write", "args": {"file": "sum.txt", "content": "19 + 23 = 42", "overwrite": true}}
execute
result  [{"tool": "add", "status": "success", "content": "42"}, \
{"tool": "write", "status": "success", "outcome": "Wrote sum.txt (+1/-0)", "content": "19 + 23 = 42"}]
respond The sum is 42, and it is in sum.txt.
end
"""


async def test_the_example_prints_what_streams(capsys):
    try:
        async with clients_closed():
            await importlib.import_module("cogency_agent").ask_script("Add 19 and 23")
    finally:
        uninstall()
        sys.modules.pop("cogency_agent", None)
    lines = capsys.readouterr().out.splitlines()
    assert [line.rstrip() for line in lines] == PRINTED.splitlines()
