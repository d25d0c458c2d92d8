"""Calls that need approval: the agent asks at once, or the run waits until it is resumed, even by another process."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from cogency_rs import Agent, Approval, Hooks, Memory, RunLimits, RunResult, SQLite, ToolCall, tool
from cogency_rs.errors import ConfigError
from cogency_rs.hooks import ToolApproved, ToolDenied
from cogency_rs.testing import ScriptedModel
from support.agents import add, adding, agent, calls, model_of, prompts, results, rows, types
from support.ways import in_both_ways

pytestmark = [in_both_ways, pytest.mark.timeout(60)]


class Mail:
    """A tool that sends mail and needs approval, and the addresses that it sent mail to."""

    def __init__(self, **options: Any) -> None:
        self.sent: list[str] = []

        @tool(**{"requires_approval": True, **options})
        async def send(to: str) -> str:
            """Send mail."""
            self.sent.append(to)
            return f"sent to {to}"

        self.tool = send


def sending(*to: str, more: tuple[Any, ...] = ()) -> str:
    return calls(*(ToolCall("send", {"to": each}) for each in to), *more)


def mailing(
    *answers: Any, mail: Mail | None = None, **options: Any
) -> tuple[Agent[Any, str], Mail]:
    mail = mail or Mail()
    return agent(*answers, tools=[mail.tool, add], **options), mail


# Asked at once: F28, F29


@pytest.mark.parametrize("answer", [True, ToolApproved()])
async def test_f29_a_call_that_was_approved_runs(answer):
    mine, mail = mailing(sending("ada"), "done", approve=lambda ctx, call: answer)
    assert (await mine.run("?")).output == "done"
    assert mail.sent == ["ada"]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (False, "Tool 'send' execution was rejected by user."),
        (ToolDenied(), "Tool 'send' execution was rejected by user."),
        (ToolDenied("not her"), "Tool 'send' execution was rejected by user. Reason: not her"),
    ],
    ids=["F29 no", "F29 denied", "F29 denied with a message"],
)
async def test_f29_a_call_that_was_rejected_does_not_run_and_the_model_is_told(answer, says):
    mine, mail = mailing(sending("ada"), "done", approve=lambda ctx, call: answer)
    result = await mine.run("?", conversation_id="c")
    [execution] = result.steps[0].executions
    assert (execution.status, execution.error, mail.sent) == ("denied", says, [])
    assert says in prompts(mine)[1][-1]["content"]


async def test_f29_a_call_without_an_answer_in_time_is_rejected():
    async def never(ctx: Any, call: Any) -> bool:
        await asyncio.Event().wait()
        return True

    mine, mail = mailing(sending("ada"), "done", approve=Approval(never, timeout=0.02))
    [execution] = (await mine.run("?")).steps[0].executions
    assert (execution.status, mail.sent) == ("denied", [])
    assert str(execution.error).startswith("Tool 'send' execution was rejected by user.")


async def test_f28_a_preview_that_raises_is_a_refusal():
    def preview(ctx: Any, call: Any) -> bool:
        raise OSError("no preview of that")

    mine, mail = mailing(sending("ada"), "done", approve=preview)
    [execution] = (await mine.run("?")).steps[0].executions
    assert (execution.status, mail.sent) == ("denied", [])
    assert "no preview of that" in str(execution.error)


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        (True, {"approved": True}),
        (ToolApproved({"to": "bob"}), {"approved": True, "args": {"to": "bob"}}),
        (False, {"approved": False, "message": ""}),
        (ToolDenied("not her"), {"approved": False, "message": "not her"}),
    ],
    ids=["granted", "with other arguments", "rejected", "rejected with a reason"],
)
async def test_the_table_of_calls_has_the_decision(answer, decision):
    more = (ToolCall("add", {"a": 1, "b": 2}),)
    mine, _ = mailing(sending("ada", more=more), "done", approve=lambda ctx, call: answer)
    await mine.run("?", conversation_id="c")
    asked, other = await mine.storage.calls("c")
    assert json.loads(asked.decision) == decision
    assert other.decision is None, "no approval was asked for"


async def test_a_call_that_is_denied_without_asking_has_no_decision_in_the_table():
    child, mail = mailing(sending("ada"), "done")
    parent = agent(
        calls(ToolCall("child", {"question": "?"})), "done", tools=[child.as_tool("child", "It.")]
    )
    await parent.run("?")
    assert mail.sent == []
    [conversation] = await child.storage.conversations()
    [record] = await child.storage.calls(conversation.conversation_id)
    assert (record.status, record.decision) == ("denied", None)


# The run waits


async def test_without_an_approve_the_run_waits_and_no_call_of_the_batch_runs():
    ran: list[int] = []

    @tool
    async def note(n: int) -> None:
        """Note."""
        ran.append(n)

    mail = Mail()
    mine = agent(sending("ada", more=(ToolCall("note", {"n": 1}),)), tools=[mail.tool, note])
    result = await mine.run("?", conversation_id="c")
    assert (result.status, result.stop, mail.sent, ran) == ("waiting", None, [], [])
    assert [(call.name, call.args) for call in result.waiting] == [("send", {"to": "ada"})]
    assert result.steps[0].kind == "tool_execution"
    assert types(mine) == ["user", "call", "call"]


async def waiting_run(*to: str, mail: Mail | None = None, after: Any = "done") -> tuple[Any, ...]:
    mine, mail = mailing(sending(*to), after, mail=mail)
    result = await mine.run("?", conversation_id="c")
    assert result.status == "waiting"
    return mine, mail, [str(call.id) for call in result.waiting]


async def test_approved_calls_run_and_the_run_goes_on():
    mine, mail, [id] = await waiting_run("ada")
    result = await mine.resume("c", {id: True})
    assert (result.output, result.status, mail.sent) == ("done", "completed", ["ada"])
    [record] = await mine.storage.calls("c")
    assert (record.id, record.status, record.attempt) == (id, "success", 1)
    assert json.loads(record.decision) == {"approved": True}
    assert types(mine) == ["user", "call", "result", "respond"]
    model_of(mine).assert_complete()


async def test_decisions_may_come_one_after_the_other():
    mine, mail, ids = await waiting_run("ada", "bob", "eve")
    first = await mine.resume("c", {ids[1]: False})
    assert (first.status, mail.sent) == ("waiting", [])
    assert [call.id for call in first.waiting] == [ids[0], ids[2]]
    second = await mine.resume("c", {ids[0]: True})
    assert [call.id for call in second.waiting] == [ids[2]]
    assert (await mine.resume("c")).status == "waiting"
    last = await mine.resume("c", {ids[2]: ToolDenied("never eve")})
    assert (last.status, mail.sent) == ("completed", ["ada"])
    assert [each.status for each in last.steps[0].executions] == ["success", "denied", "denied"]
    assert "never eve" in results(mine)[0][2]["content"]


async def test_a_decision_cannot_be_changed_later():
    mine, mail, ids = await waiting_run("ada", "bob")
    await mine.resume("c", {ids[0]: False})
    with pytest.raises(ConfigError, match=r"call '.*' of 'send' is refused, .* was decided before"):
        await mine.resume("c", {ids[0]: True, ids[1]: True})
    assert mail.sent == []
    await mine.resume("c", {ids[1]: True})
    assert mail.sent == ["bob"]


async def test_arguments_may_be_edited():
    mine, mail, [id] = await waiting_run("ada")
    result = await mine.resume("c", {id: ToolApproved({"to": "bob"})})
    assert mail.sent == ["bob"]
    assert result.steps[0].executions[0].args == {"to": "bob"}


async def test_a_predicate_decides_which_calls_of_a_batch_wait():
    mail = Mail(requires_approval=lambda call: call.args["to"] == "eve")
    mine, mail, ids = await waiting_run("ada", "eve", mail=mail)
    assert len(ids) == 1
    assert (await mine.resume("c", {ids[0]: True})).status == "completed"
    assert mail.sent == ["ada", "eve"]


async def test_a_decision_for_an_unknown_call_is_refused_and_no_other_counts():
    mine, mail, [id] = await waiting_run("ada")
    with pytest.raises(ConfigError, match=r"about 'nobody' is refused, .* 'c' has no such call"):
        await mine.resume("c", {id: True, "nobody": True})
    assert mail.sent == []
    assert (await mine.resume("c", {id: True})).status == "completed"
    assert mail.sent == ["ada"]


async def test_a_decision_that_comes_twice_is_ignored_and_logged(caplog):
    mine, mail, [id] = await waiting_run("ada")
    await mine.resume("c", {id: True})
    result = await mine.resume("c", {id: True})
    assert (result.output, result.status, mail.sent) == ("done", "completed", ["ada"])
    assert f"call '{id}' of 'send' was made before, so it is ignored" in caplog.text
    assert len(model_of(mine).requests) == 2


async def test_another_decision_after_the_run_is_over_is_refused():
    mine, mail, [id] = await waiting_run("ada")
    await mine.resume("c", {id: False})
    with pytest.raises(ConfigError, match="was decided before"):
        await mine.resume("c", {id: True})
    assert (mail.sent, len(model_of(mine).requests)) == ([], 2)


async def test_a_new_question_gives_up_the_calls_that_wait():
    mine, mail, [id] = await waiting_run("ada", after="never mind")
    result = await mine.run("Something else?", conversation_id="c")
    assert (result.output, mail.sent) == ("never mind", [])
    assert types(mine) == ["user", "call", "result", "user", "respond"]
    assert "nobody had approved" in results(mine)[0][0]["content"]
    [record] = await mine.storage.calls("c")
    assert record.status == "denied"
    with pytest.raises(ConfigError, match=r"since the call is over \(denied\)"):
        await mine.resume("c", {id: True})
    assert mail.sent == []


async def test_an_agent_with_an_approve_resumes_a_run_that_another_left_waiting():
    mine, mail, _ = await waiting_run("ada", "bob")
    asked: list[str] = []

    async def approve(ctx: Any, call: ToolCall) -> bool:
        asked.append(call.args["to"])
        return call.args["to"] == "bob"

    model = ScriptedModel(["asked"])
    other = Agent(model, tools=[mail.tool], storage=mine.storage, approve=approve)
    assert (await other.resume("c")).output == "asked"
    assert (asked, mail.sent) == (["ada", "bob"], ["bob"])


async def test_hooks_are_asked_when_the_calls_run():
    seen: list[str] = []

    class Watch(Hooks):
        async def around_call(self, invocation: Any, next: Any) -> Any:
            seen.append(invocation.call.name)
            return await next(invocation)

    mine, mail = mailing(sending("ada"), "done", hooks=[Watch()])
    result = await mine.run("?", conversation_id="c")
    assert seen == []
    await mine.resume("c", {str(result.waiting[0].id): True})
    assert (seen, mail.sent) == (["send"], ["ada"])


async def test_two_callers_that_resume_at_once_run_no_call_twice():
    mine, mail, [id] = await waiting_run("ada")
    both = await asyncio.gather(mine.resume("c", {id: True}), mine.resume("c", {id: True}))
    assert [each.output for each in both] == ["done", "done"]
    assert mail.sent == ["ada"]


async def test_resumed_calls_do_not_count_as_a_step():
    mine, _, [id] = await waiting_run("ada")
    result = await mine.resume("c", {id: True}, limits=RunLimits(steps=1))
    assert (result.output, len(result.steps)) == ("done", 2)


async def test_resume_streams_too():
    mine, _, [id] = await waiting_run("ada")
    async with mine.resume("c", {id: True}) as events:
        seen = [event["type"] async for event in events]
    assert seen == ["call", "execute", "result", "metric", "respond", "metric"]
    assert events.result.output == "done"


# Resumed without waiting


@pytest.mark.parametrize("storage", [Memory, lambda: SQLite(":memory:")], ids=["memory", "SQLite"])
async def test_resuming_an_answered_conversation_gives_its_answer_and_asks_no_model(storage):
    log = storage()
    mine = agent("So.\n" + adding(1, 2), "It is 3.", storage=log)
    first = await mine.run("?", conversation_id="c")
    again = await mine.resume("c")
    assert (again.output, again.status, again.steps) == (first.output, "completed", ())
    assert len(model_of(mine).requests) == 2
    if isinstance(log, SQLite):
        await log.close()


async def test_resuming_a_run_that_a_tool_ended_gives_its_output():
    @tool(ends_run=True)
    async def finish() -> dict[str, int]:
        """Finish."""
        return {"n": 3}

    mine = agent("Well.\n" + calls("finish"), tools=[finish])
    assert (await mine.run("?", conversation_id="c")).output == {"n": 3}
    assert (await mine.resume("c")).output == {"n": 3}
    assert len(model_of(mine).requests) == 1


async def test_resuming_after_a_broken_answer_asks_the_model_again_and_tells_it():
    mine = agent(["It is ", ConnectionError("dead")], "3.")
    with pytest.raises(ConnectionError):
        await mine.run("?", conversation_id="c")
    assert rows(mine)[-1][0] == "error"
    assert (await mine.resume("c")).output == "It is 3."
    assert [each["role"] for each in prompts(mine)[1]] == ["user", "assistant", "user"]
    assert prompts(mine)[1][1]["content"] == "It is "
    assert "Go on exactly where it stopped" in prompts(mine)[1][2]["content"]


async def test_the_error_that_failed_a_run_is_in_the_log_and_not_in_prompts():
    mine = agent(ConnectionError("dead"), "It is 3.")
    with pytest.raises(ConnectionError):
        await mine.run("?", conversation_id="c")
    assert json.loads(rows(mine)[-1][1])["content"] == "ConnectionError: dead"
    assert (await mine.resume("c")).output == "It is 3."
    assert prompts(mine)[1] == [{"role": "user", "content": "?"}]


async def test_a_run_that_was_stopped_by_a_limit_goes_on():
    mine = agent(adding(1, 2), "3", limits=RunLimits(steps=1))
    assert (await mine.run("?", conversation_id="c")).status == "stopped"
    assert (await mine.resume("c")).output == "3"


async def test_an_answer_that_breaks_a_requirement_does_not_end_the_run():
    """A program may die between the answer and the report of what is wrong with it."""
    log = Memory()
    log.append("c", rows=[("user", "?", 1.0), ("respond", "I would rather not.", 2.0)])
    mine = agent(
        adding(1, 2), storage=log, limits=RunLimits(require_tool=True, stop_at_tools=["add"])
    )
    assert (await mine.resume("c")).output == 3
    assert types(mine) == ["user", "respond", "error", "call", "result", "end"]
    assert "calls no tool" in prompts(mine)[0][-1]["content"]


# Another process

PRELUDE = """
import asyncio, json, os, signal, sys
from pathlib import Path
from cogency_rs import *
from cogency_rs.hooks import ToolDenied
from cogency_rs.testing import ScriptedModel

path, log = sys.argv[1], Path(sys.argv[2])

def done(what):
    with log.open("a") as file:
        file.write(what + "\\n")

@tool(requires_approval=True)
async def send(to: str) -> str:
    "Send mail."
    done(to)
    return "sent to " + to

def block(*calls):
    calls = [{"name": name, "args": args} for name, args in calls]
    return "<execute>" + json.dumps(calls) + "</execute>"
"""


def python(code: str, *arguments: Any) -> subprocess.CompletedProcess[str]:
    program = PRELUDE + textwrap.dedent(code)
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)


async def test_another_process_resumes_with_the_decision(tmp_path: Path):
    path, log = tmp_path / "log.db", tmp_path / "sent"
    first = python(
        """
        async def main():
            async with SQLite(path) as storage:
                model = ScriptedModel([block(("send", {"to": "ada"}), ("send", {"to": "bob"}))])
                result = await Agent(model, tools=[send], storage=storage).run("?", conversation_id="c")
                print(result.status, *[call.id for call in result.waiting])
        asyncio.run(main())
        """,
        path,
        log,
    )
    assert (first.returncode, first.stderr) == (0, "")
    status, ada, bob = first.stdout.split()
    assert (status, log.exists()) == ("waiting", False)
    second = python(
        """
        async def main():
            async with SQLite(path) as storage:
                agent = Agent(ScriptedModel(["done"]), tools=[send], storage=storage)
                print((await agent.resume("c", {sys.argv[3]: True})).status)
                print((await agent.resume("c", {sys.argv[4]: ToolDenied("no")})).output)
                print((await agent.resume("c", {sys.argv[4]: ToolDenied("no")})).output)
        asyncio.run(main())
        """,
        *(path, log, ada, bob),
    )
    assert (second.returncode, second.stdout.split()) == (0, ["waiting", "done", "done"])
    assert log.read_text().split() == ["ada"]


async def test_calls_that_need_approval_are_denied_if_the_storage_does_not_keep_calls():
    class Rows:
        def __init__(self) -> None:
            self.rows: list[dict[str, Any]] = []

        async def save_message(self, c: str, u: str, type: str, content: str, at: float) -> None:
            self.rows.append({"type": type, "content": content, "timestamp": at})

        async def load_messages(self, c: str, u: str, limit: int | None = None) -> Any:
            return self.rows

    mine, mail = mailing(sending("ada"), "done", storage=Rows())
    result: RunResult[str] = await mine.run("?", conversation_id="c")
    assert (result.output, mail.sent) == ("done", [])
    assert result.steps[0].executions[0].status == "denied"
    with pytest.raises(ConfigError, match="is not a Log"):
        await mine.resume("c")
