"""A call that is not quite right costs one step, not the conversation; and the context stays whole.

The tests use only public names, with the loop that the documentation shows.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import pytest

from cogency_rs import Accumulator, Execution, SQLite, assemble, parse_tokens, tool
from cogency_rs.errors import ConfigError
from cogency_rs.models import Finish
from cogency_rs.types import TurnOutcome
from support.agents import add, fail
from support.turns import MODES

GO_ON = {TurnOutcome.ACTED, TurnOutcome.MALFORMED, TurnOutcome.TRUNCATED}
Message = dict[str, str]


@tool
async def page(characters: int) -> str:
    """Return a long page."""
    return "x" * characters


TOOLS = [add, fail, page]
CALL = '{"name": "add", "args": {"a": 19, "b": 23}}'
RIGHT = f"<execute>[{CALL}]</execute>"


class Talk:
    """One conversation; at each step its model gives the next of these answers, whatever it is sent.

    Attributes:
        prompts: the messages that the model was sent, without the system prompt.
        events: the events that the user was sent.
    """

    def __init__(self, storage: Any, *answers: Any, mode: str = "event") -> None:
        self._answers = iter(answers)
        self._storage = storage
        execution = Execution(storage=storage, tools=TOOLS)
        self.turns = Accumulator("u", "c", execution=execution, stream=mode)
        self.prompts: list[list[Message]] = []
        self.events: list[Any] = []

    async def prompt(self, **options: Any) -> list[Message]:
        messages = await assemble("u", "c", tools=TOOLS, storage=self._storage, **options)
        return messages[1:]

    async def ask(self, query: str = "19 + 23?", *, max_steps: int = 20) -> str:
        """Ask the model until it answers; returns the text of the last step."""
        await self._storage.save_message("c", "u", "user", query)
        for _ in range(max_steps):
            self.prompts.append(await self.prompt())
            source = parse_tokens(self._say(), errors="event", lenient=True)
            answered = ""
            async with aclosing(self.turns.process(source)) as events:
                async for event in events:
                    self.events.append(event)
                    if event["type"] == "respond":
                        answered += event["content"]
            if self.turns.outcome not in GO_ON:
                return answered
        raise AssertionError(f"the model did not answer within {max_steps} steps")

    async def _say(self) -> AsyncIterator[Any]:
        answer = next(self._answers)
        for item in answer if isinstance(answer, tuple) else (answer,):
            if isinstance(item, str):
                for start in range(0, len(item), 3):
                    yield item[start : start + 3]
            elif isinstance(item, BaseException):
                raise item
            else:
                yield item

    def has_added(self) -> bool:
        return any(
            event["type"] == "result" and json.loads(event["content"])[0]["content"] == 42
            for event in self.events
        )


def alternates(messages: list[Message]) -> bool:
    roles = [message["role"] for message in messages]
    return roles == [["user", "assistant"][n % 2] for n in range(len(roles))]


# Every mistake once

MISTAKES = {
    "a fence": (0, f"<execute>```json\n[{CALL}]\n```</execute>"),
    "one object": (0, f"<execute>{CALL}</execute>"),
    "another name for args": (0, RIGHT.replace("args", "arguments")),
    "a comma at the end": (0, f"<execute>[{CALL},]</execute>"),
    "no closing tag": (0, f"<execute>[{CALL}]"),
    "no closing bracket": (1, f"Sure. <execute>[{CALL}</execute>"),
    "single quotes": (1, "<execute>[{'name': 'add'}]</execute>"),
    "half a call": (1, '<execute>[{"name": "add"'),
    "half a call, and a finish reason of stop": (1, ('<execute>[{"name": "add"', Finish("stop"))),
    "cut at the length limit": (1, ('<execute>[{"name": "add", "args": {"a": "', Finish("length"))),
    "text after the block": (1, "<execute>[7]</execute> Let me know if you need more."),
    "an unknown tool": (1, RIGHT.replace('"add"', '"ad"')),
    "a missing argument": (1, RIGHT.replace(', "b": 23', "")),
    "a misspelt argument": (1, RIGHT.replace('"b"', '"bb"')),
    "a value of another type": (1, RIGHT.replace("23", '"many"')),
}
"""For each mistake, how many further steps it costs, and what the model writes."""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("extra", "mistake"), MISTAKES.values(), ids=MISTAKES)
async def test_a_mistake_costs_at_most_one_step(mode, extra, mistake):
    answers = [mistake, RIGHT, "42."] if extra else [mistake, "42."]
    async with SQLite(":memory:") as log:
        talk = Talk(log, *answers, mode=mode)
        assert await talk.ask() == "42."
        assert talk.has_added()
        assert len(talk.prompts) == 2 + extra
        assert all(alternates(prompt) and prompt[-1]["role"] == "user" for prompt in talk.prompts)


@pytest.mark.parametrize("mode", MODES)
async def test_all_mistakes_in_one_conversation(mode):
    async with SQLite(":memory:") as log:
        answers = [mistake for _, mistake in MISTAKES.values()]
        talk = Talk(log, *answers, RIGHT, "42.", mode=mode)
        talk.turns.circuit_breaker.max_failures = 9
        assert await talk.ask(max_steps=len(answers) + 2) == "42."
        assert len(talk.prompts) == len(answers) + 2


@pytest.mark.parametrize("reason", ["length", "stop", None])
async def test_a_block_that_is_cut_at_any_character_costs_one_step(reason):
    for at in range(len("<execute>["), len(RIGHT) - len("]</execute>") + 1):
        async with SQLite(":memory:") as log:
            talk = Talk(log, (RIGHT[:at], Finish(reason)), RIGHT, "42.")
            assert await talk.ask() == "42."
            assert (len(talk.prompts), talk.has_added()) == (3, True)


# What the model is shown


@pytest.mark.parametrize("mode", MODES)
async def test_the_next_prompt_shows_the_model_its_own_text_and_what_was_wrong(mode):
    async with SQLite(":memory:") as log:
        wrong = '<execute>{"name": add}</execute>'
        talk = Talk(log, f"<think>hm</think>Sure. {wrong}", RIGHT, "42.", mode=mode)
        await talk.ask()
        question, own, report = talk.prompts[1]
        assert (question["role"], own["role"], report["role"]) == ("user", "assistant", "user")
        assert own["content"].replace(" \n", "\n") == f"<think>hm</think>\nSure.\n{wrong}"
        assert "expected a JSON value at line 1, column 19" in report["content"]
        assert "one JSON array" in report["content"]


@pytest.mark.parametrize("mode", MODES)
async def test_a_mistake_is_not_shown_after_a_later_step_has_succeeded(mode):
    async with SQLite(":memory:") as log:
        talk = Talk(log, "<execute>[7]</execute>", RIGHT, "42.", "Yes.", mode=mode)
        await talk.ask()
        await talk.ask("Sure?")
        for prompt in talk.prompts[2:]:
            assert "[7]" not in json.dumps(prompt)
            assert "alformed" not in json.dumps(prompt)
        rows = await log.load_messages("c", "u", include=["error"])
        assert [json.loads(row["content"])["raw"] for row in rows] == ["<execute>[7]</execute>"]


async def test_each_of_several_mistakes_in_a_row_is_shown():
    async with SQLite(":memory:") as log:
        talk = Talk(log, "<execute>[7]</execute>", "<execute>[8]</execute>", RIGHT, "42.")
        await talk.ask()
        assert [message["content"] for message in talk.prompts[2] if message["role"] == "assistant"] == [
            "<execute>[7]</execute>",
            "<execute>[8]</execute>",
        ]  # fmt: skip


async def test_a_stream_that_breaks_is_the_run_s_error_and_not_the_model_s():
    async with SQLite(":memory:") as log:
        talk = Talk(log, ("Well. <execute>[", ConnectionError("reset")), RIGHT, "42.")
        with pytest.raises(ConnectionError, match="reset"):
            await talk.ask()
        *_, own, report = await talk.prompt()
        assert own["content"].split() == ["Well.", "<execute>["]
        assert "The stream broke off" in report["content"]
        assert "alformed" not in report["content"]


@pytest.mark.parametrize("mode", MODES)
async def test_the_word_results_is_text_like_any_word(mode):
    text = "The tag <results> holds what tools return. So the answer is 42."
    async with SQLite(":memory:") as log:
        talk = Talk(log, text, mode=mode)
        assert await talk.ask() == text
        assert (await talk.prompt())[-1] == {"role": "assistant", "content": text}


READ_BACK = """
import asyncio, json, sys
from cogency_rs import SQLite, assemble

async def main():
    async with SQLite(sys.argv[1]) as log:
        print(json.dumps((await assemble("u", "c", tools=[], storage=log))[1:]))

asyncio.run(main())
"""


async def test_the_log_read_back_in_another_process_gives_the_same_prompt(tmp_path: Path):
    async with SQLite(tmp_path / "log.db") as log:
        answers = ["<execute>[7]</execute> so", RIGHT.replace(', "b": 23', ""), RIGHT[:30]]
        talk = Talk(log, *answers, RIGHT, "42.", "Yes.")
        for max_steps in (1, 2, 3, 5):
            with suppress(AssertionError):
                await talk.ask("And?", max_steps=max_steps)
            program = [sys.executable, "-c", READ_BACK, str(tmp_path / "log.db")]
            done = await asyncio.to_thread(
                subprocess.run, program, capture_output=True, text=True, check=True
            )
            assert json.loads(done.stdout) == await talk.prompt()


# The breaker


@pytest.mark.parametrize("mode", MODES)
async def test_three_equal_mistakes_in_one_batch_do_not_end_the_run(mode):
    three = f"<execute>[{', '.join([CALL.replace('19', 'null')] * 3)}]</execute>"
    async with SQLite(":memory:") as log:
        talk = Talk(log, three, RIGHT, "42.", mode=mode)
        assert await talk.ask() == "42."


async def test_after_a_failed_question_the_next_one_is_not_ended_at_its_first_failure():
    fails = '<execute>[{"name": "fail", "args": {}}]</execute>'
    async with SQLite(":memory:") as log:
        talk = Talk(log, *[fails] * 3, fails, RIGHT, "42.")
        await talk.ask()
        assert talk.turns.outcome is TurnOutcome.FAILED
        assert await talk.ask("Again?") == "42."
        assert all(
            isinstance(json.loads(event["content"]), list)
            for event in talk.events
            if event["type"] == "result"
        )


# A context that stays whole


async def run_of_six(log: SQLite, question: str = "first?") -> Talk:
    talk = Talk(log, *[RIGHT] * 6, "42.", *[RIGHT] * 6, "42.")
    await talk.ask(question)
    return talk


@pytest.mark.parametrize("window", [1, 2, 3, 10, 13, 14, 100])
async def test_a_window_never_cuts_the_question_off_and_never_leaves_results_without_calls(window):
    async with SQLite(":memory:") as log:
        talk = await run_of_six(log)
        await log.save_message("c", "u", "user", "second?")
        prompt = await talk.prompt(history_window=window)
        assert prompt[-1] == {"role": "user", "content": "second?"}
        assert prompt[0]["content"] in ("first?", "second?")
        assert alternates(prompt)
        assert len(prompt) <= window


async def test_the_question_of_a_long_run_is_always_there():
    async with SQLite(":memory:") as log:
        talk = await run_of_six(log)
        with suppress(AssertionError):
            await talk.ask("second?", max_steps=6)
        for window in (1, 2, 10):
            prompt = await talk.prompt(history_window=window)
            assert prompt[0] == {"role": "user", "content": "second?"}
            assert len(prompt) == 13
            assert alternates(prompt)


async def test_after_a_cancelled_turn_there_are_not_two_user_messages_in_a_row():
    async with SQLite(":memory:") as log:
        talk = Talk(log, "42.")
        await log.save_message("c", "u", "user", "first?")
        await talk.ask("second?")
        assert talk.prompts[0] == [{"role": "user", "content": "first?\n\nsecond?"}]


@pytest.mark.parametrize("characters", [99_999, 5_000_000])
async def test_the_shown_part_of_a_result_is_bounded_and_the_log_keeps_all(characters):
    call = json.dumps([{"name": "page", "args": {"characters": characters}}])
    async with SQLite(":memory:") as log:
        talk = Talk(log, f"<execute>{call}</execute>", "Long.")
        await talk.ask()
        shown = talk.prompts[1][-1]["content"]
        [row] = await log.load_messages("c", "u", include=["result"])
        assert json.loads(row["content"])[0]["content"] == "x" * characters
        item = json.loads(shown.removeprefix("<results>").removesuffix("</results>"))[0]
        if characters < 100_000:
            assert item["content"] == "x" * characters
        else:
            assert len(shown) < 101_000
            assert f"{characters:,}" in item["content"]


# Wrong arguments that are noticed


async def test_a_row_of_an_unknown_type_is_refused():
    async with SQLite(":memory:") as log:
        with pytest.raises(ConfigError, match=r"'assistant'.*respond"):
            await log.save_message("c", "u", "assistant", "Hello.")
        assert await log.load_messages("c", "u") == []


async def test_swapped_ids_are_noticed():
    async with SQLite(":memory:") as log:
        await log.save_message("talk", "ada", "user", "Hello.")
        assert len(await assemble("ada", "talk", tools=[], storage=log)) == 2
        with pytest.raises(ConfigError, match="swapped"):
            await assemble("talk", "ada", tools=[], storage=log)
        assert len(await assemble("ada", "new", tools=[], storage=log)) == 1
