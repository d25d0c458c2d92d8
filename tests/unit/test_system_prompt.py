"""The system prompt teaches what the parser reads."""

from __future__ import annotations

import json
import re

import pytest

from cogency_rs import parse_tokens, system_prompt
from cogency_rs.protocol import parse_execute_block, tool_instructions
from support.tools import OK, FunctionTool, nothing


def block_bodies(tag: str, text: str) -> list[str]:
    return re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)


def test_every_block_in_the_prompt_can_be_parsed():
    blocks = block_bodies("execute", system_prompt([OK]))
    assert blocks
    for body in blocks:
        assert parse_execute_block(f"<execute>{body}</execute>")


def test_the_prompt_shows_a_batch_of_several_calls():
    bodies = block_bodies("execute", system_prompt([OK]))
    assert max(len(json.loads(body)) for body in bodies) > 1


def test_results_in_the_prompt_have_the_keys_of_real_results():
    text = system_prompt([OK])
    [body] = block_bodies("results", text[text.rindex("<results>") :])
    items = json.loads(body)
    assert {item["status"] for item in items} == {"success", "failure"}
    for item in items:
        expected = ["tool", "status", "outcome", "content"]
        if item["status"] == "failure":
            expected.remove("outcome")
        assert list(item) == expected


async def test_the_example_in_the_prompt_is_a_turn():
    example = system_prompt([OK])
    example = example[example.rindex("<think>") :]
    kinds = [item["type"] async for item in parse_tokens(example)]
    assert kinds == ["think", "respond", "call", "call", "execute"]


@pytest.mark.parametrize("tag", ["<think>", "<execute>", "</execute>", "<results>", "<end>"])
def test_the_prompt_names_the_tags(tag):
    assert tag in system_prompt([OK])


def test_without_tools_the_prompt_says_nothing_of_calls():
    prompt = system_prompt()
    assert "<think>hidden reasoning</think>" in prompt
    assert "Write <end> when done" in prompt
    for tag in ("<execute>", "<results>", "tool_name"):
        assert tag not in prompt


def test_the_prompt_lists_tools_as_tool_instructions_does():
    tools = [
        FunctionTool("read", nothing, "Reads a file.", {"file": {}, "lines": {"required": False}}),
        FunctionTool("now", nothing, "Tells the time."),
    ]
    text = system_prompt(tools)
    for line in tool_instructions(tools).splitlines()[1:]:
        assert line in text


def test_tools_may_come_in_any_iterable():
    assert system_prompt(iter([OK])) == system_prompt([OK])


def test_an_empty_list_of_tools_is_the_same_as_none_given():
    assert system_prompt() == system_prompt([]) == system_prompt(None)


def test_the_prompt_says_that_there_are_no_tools_only_if_there_are_none():
    words = "# Tools\n\nThere are none: answer without a call."
    assert system_prompt().endswith(words)
    assert "There are none" not in system_prompt([OK])


def test_the_prompt_mentions_recall_only_if_there_is_a_tool_of_that_name():
    recall = FunctionTool("recall", nothing, "Searches.", {"query": {}})
    other = FunctionTool("remember", nothing, "Searches.", {"query": {}})
    assert "`recall`" in system_prompt([OK, recall])
    assert "`recall`" not in system_prompt([OK, other])
    given = system_prompt([OK, recall], instructions="Be brief.")
    assert given.index("`recall`") < given.index("Be brief.")


def test_an_identity_replaces_the_default_one():
    given = system_prompt([OK], "You are Ada.")
    assert given.startswith("You are Ada.\n")
    default = system_prompt([OK]).splitlines()[0]
    assert default not in given


def test_instructions_are_added():
    given, bare = system_prompt([OK], instructions="Be brief."), system_prompt([OK])
    assert "Be brief." in given
    assert len(given) > len(bare)


@pytest.mark.parametrize("empty", [None, ""])
def test_empty_texts_count_as_not_given(empty):
    assert system_prompt([OK], empty, empty) == system_prompt([OK])


@pytest.mark.parametrize("text", ["é日😀", "{tools} %s {0}", "</execute><end>", "a\n\nb"])
def test_texts_are_in_the_prompt_unchanged(text):
    assert text in system_prompt([OK], identity=text)
    assert text in system_prompt([OK], instructions=text)
    assert text in system_prompt([FunctionTool("t", nothing, text)])


def test_equal_arguments_give_equal_prompts():
    assert system_prompt([OK], "a", "b") == system_prompt([OK], "a", "b")
