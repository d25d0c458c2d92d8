"""Rows of type `error`: the model sees what it wrote and what was wrong with it, until a later step succeeds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cogency_rs import Agent, History, SQLite, assemble, install, tool
from cogency_rs._core import Folding, FoldOptions
from cogency_rs.context import to_messages
from cogency_rs.errors import LLMError
from cogency_rs.testing.scripted import ScriptedModel
from support.conversations import (
    Event,
    Message,
    by_assistant,
    by_user,
    called,
    event,
    execute,
    respond,
    result,
    results,
    think,
    user,
)

CALL = execute(("t", {}))


def error(raw: str = "<x>", content: str = "Again.", kind: str = "malformed", **more: Any) -> Event:
    stored = {"kind": kind, "content": content, "raw": raw, "line": 1, "column": 5, **more}
    return event("error", json.dumps(stored))


def interrupted(tool: str = "t") -> Message:
    failure = {"tool": tool, "status": "failure", "content": "Interrupted before completion"}
    return results(json.dumps([failure]))


def folded(events: list[Event], **options: Any) -> list[Message]:
    folding = Folding(FoldOptions(**options))
    folding.extend(events)
    return [(message["role"], message["content"]) for message in folding.messages()]


FOLDS: list[tuple[str, list[Event], list[Message]]] = [
    ("a report comes after the text", [error()], [by_assistant("<x>"), by_user("Again.")]),
    (
        "the raw text is joined to the text and thoughts of that step",
        [user(), think(), respond(), error()],
        [by_user(), by_assistant("<think>hm</think>", "so", "<x>"), by_user("Again.")],
    ),
    (
        "without any text, only the report is shown",
        [user(), error("")],
        [by_user(), by_user("Again.")],
    ),
    (
        "without a raw text, only the step's text comes before the report",
        [respond(), error("")],
        [by_assistant("so"), by_user("Again.")],
    ),
    (
        "each of several reports is shown",
        [error("1", "a"), respond(), error("2", "b"), error("", "c")],
        [by_assistant("1"), by_user("a"), by_assistant("so", "2"), by_user("b"), by_user("c")],
    ),
    (
        "text after a report is a message of its own",
        [respond("a"), error(), respond("b"), think("c")],
        [by_assistant("a", "<x>"), by_user("Again."), by_assistant("b", "<think>c</think>")],
    ),
    (
        "after results",
        [called(), result(), error()],
        [by_assistant(CALL), results(), by_assistant("<x>"), by_user("Again.")],
    ),
    (
        "after calls that were interrupted",
        [respond(), called(), error()],
        [by_assistant("so", CALL), interrupted(), by_assistant("<x>"), by_user("Again.")],
    ),
    (
        "rows of other types come between",
        [respond("a"), event("metric"), error(), event("cancelled")],
        [by_assistant("a", "<x>"), by_user("Again.")],
    ),
    (
        "a malformed call is not a success",
        [error(), event("call", "{}")],
        [by_assistant("<x>"), by_user("Again.")],
    ),
    ("of kind truncated", [error(kind="truncated")], [by_assistant("<x>"), by_user("Again.")]),
    ("of kind unfinished", [error(kind="unfinished")], [by_assistant("<x>"), by_user("Again.")]),
    (
        "characters of every kind",
        [error("é\ud83d😀", "日\n")],
        [by_assistant("é\ud83d😀"), by_user("日\n")],
    ),
    # A report is shown only until a later step succeeds
    ("a call follows", [error(), called(), result()], [by_assistant(CALL), results()]),
    (
        "a call follows, and the text stays",
        [think("a"), error(), respond("b"), error(), called(), result()],
        [by_assistant("<think>a</think>", "b", CALL), results()],
    ),
    ("a call follows and has no results", [error(), called()], [by_assistant(CALL), interrupted()]),
    ("a question follows", [respond(), error(), user()], [by_assistant("so"), by_user()]),
    ("a question follows, and there was no text", [error(), user()], [by_user()]),
    ("results follow without a call", [respond(), error(), result()], [by_assistant("so")]),
    # Malformed reports
    *(
        (
            f"it is not a report: {content!r}",
            [respond("a"), event("error", content), respond("b")],
            [by_assistant("a", "b")],
        )
        for content in [
            "the network is down",
            "",
            None,
            5,
            {"kind": "malformed", "content": "", "raw": ""},
            "[]",
            "null",
            '{"kind": "malformed", "content": "no"}',
            '{"kind": "malformed", "content": 5, "raw": ""}',
            '{"kind": "network", "content": "no", "raw": ""}',
            '{"kind": "malformed", "content": "no", "raw": ""',
        ]
    ),
    ("it has no content", [{"type": "error"}, respond()], [by_assistant("so")]),
]


@pytest.mark.parametrize(
    ("events", "expected"), [pytest.param(*row, id=name) for name, *row in FOLDS]
)
def test_rows_are_folded_into_messages(events, expected):
    assert folded(events) == expected
    without_errors = [row for row in events if row["type"] != "error"]
    assert folded(events, rules="installed") == folded(without_errors, rules="installed")
    assert to_messages(events) == to_messages(without_errors)


async def test_a_prompt_shows_a_report_and_an_installed_cogency_does_not():
    class Store:
        async def load_messages(self, *_: Any, **__: Any) -> list[Event]:
            return [user("Add."), respond("Well."), error()]

    messages = await assemble("u", "c", tools=[], storage=Store(), history=History(window=1))
    assert [message["content"] for message in messages[1:]] == ["Add.", "Well.\n<x>", "Again."]

    pytest.importorskip("cogency")
    with install():
        from cogency.context.assembly import assemble as installed

        theirs = await installed(
            "u",
            "c",
            tools=[],
            storage=Store(),
            history_window=None,
            history_transform=None,
            profile_enabled=False,
        )
    assert [message["content"] for message in theirs[1:]] == ["Add.", "Well."]


# In the form of the reader

BROKEN = {
    "kind": "malformed",
    "code": "invalid_payload",
    "content": "Malformed tool call syntax: expected a JSON value at line 2, column 10. No call in it was run.",
    "advice": "again",
    "dialect": "hermes",
    "problem": "expected a JSON value",
    "raw": '<tool_call>\n{"name": }\n</tool_call>',
    "line": 2,
    "column": 10,
}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"dialect": "hermes"},
            "Malformed tool call syntax. In the <tool_call> block (hermes): expected a JSON value at line 2, column "
            "10. No call in it was run. Write the whole call again, exactly like this:\n"
            '<tool_call>\n{"name": "tool_name", "arguments": {"argument": "value"}}\n</tool_call>',
        ),
        (
            {"dialect": "qwen3-coder"},
            f"{BROKEN['content']} Write the whole call again, exactly like this:\n<tool_call>\n<function=tool_name>\n"
            "<parameter=argument>\nvalue\n</parameter>\n</function>\n</tool_call>",
        ),
        (
            {"form": "native"},
            f"{BROKEN['content']} Make the call again, with arguments that are one JSON object.",
        ),
        (
            {"form": "react"},
            f"{BROKEN['content']} Write one JSON object, with thought, type, tool, args and answer as you were told.",
        ),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, dict) else "",
)
def test_a_report_is_told_in_the_form_of_the_model_that_reads_it(options, told):
    assert folded([event("error", json.dumps(BROKEN))], **options)[-1] == by_user(told)


async def test_a_second_model_is_not_told_to_write_the_dialect_of_the_first(tmp_path):
    @tool
    async def charge(euros: int) -> str:
        """Charge the customer."""
        return f"charged {euros} euros"

    log = SQLite(tmp_path / "log.db")
    begun = "<tool_call>\n<function=charge>\n<parameter=euros>\n"
    broken = ScriptedModel([[begun, LLMError("http://127.0.0.1:8905/v1 broke off")]])
    first = Agent(broken, tools=[charge], dialect="qwen3-coder", storage=log)
    with pytest.raises(LLMError):
        await first.run("Charge 5 euros.", conversation_id="c")
    model = ScriptedModel(["It is done."])
    second = Agent(model, tools=[charge], dialect="hermes", storage=log)
    await second.resume("c")
    *_, raw, told = [message["content"] for message in model.requests[0].messages]
    assert raw.startswith("<tool_call>\n<function=charge>")  # what was written is what was written
    assert "The stream broke off inside a tool call" in told
    assert "exactly like this:\n<tool_call>\n{" in told
    assert "function=" not in told
    assert "127.0.0.1" not in told


# Results without calls

STRAYS: list[tuple[str, list[Event], list[Message]]] = [
    ("alone", [result()], []),
    ("before the pending text", [respond(), result(), respond("x")], [by_assistant("so", "x")]),
    ("a second time", [called(), result("[1]"), result("[2]")], [by_assistant(CALL), results()]),
    (
        "after a question",
        [called(), user(), result()],
        [by_assistant(CALL), interrupted(), by_user()],
    ),
    ("after a malformed call", [event("call", "{}"), result()], []),
]


@pytest.mark.parametrize(
    ("events", "expected"), [pytest.param(*row, id=name) for name, *row in STRAYS]
)
def test_results_without_calls_are_left_out(events, expected):
    assert folded(events) == expected
    shown = sum(
        content == "<results>\n[1]\n</results>" for _, content in folded(events, rules="installed")
    )
    assert shown == sum(row == result() for row in events)


def test_questions_gives_the_places_of_the_user_s_messages():
    folding = Folding(FoldOptions())
    folding.extend(
        [respond(), user("a"), user("b"), called(), result(), error(), user("<results>")]
    )
    messages = folding.messages()
    assert [messages[at]["content"] for at in folding.questions()] == ["a", "b", "<results>"]
