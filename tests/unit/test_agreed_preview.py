"""A call that was approved with its preview does what the preview said, or is refused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cogency_rs import Execution, SQLite, ToolCall, execute_tools, tool
from cogency_rs.hooks import ToolApproved
from cogency_rs.tools import Preview, file_tools
from cogency_rs.tools.options import options_of
from support.agents import agent, calls

EDIT = ToolCall("edit_file", {"path": "a.txt", "old": "two", "new": "2"})
WRITE = ToolCall("write_file", {"path": "a.txt", "content": "all new\n"})
MAKE = ToolCall("write_file", {"path": "b.txt", "content": "all new\n"})

CHANGED = (
    "was not run: what it would do has changed since it was approved. Look again, and call it again if it is "
    "still needed"
)


@pytest.fixture
def place(tmp_path) -> Path:
    place = tmp_path / "place"
    place.mkdir()
    (place / "a.txt").write_text("one\ntwo\n" + "line\n" * 20)
    return place


def preview(place: Path, call: ToolCall) -> str:
    [found] = [tool for tool in file_tools(place) if tool.name == call.name]
    show = options_of(found).preview
    assert show is not None
    return str(show(call))


def nothing(place: Path) -> None:
    pass


def near_the_edit(place: Path) -> None:
    (place / "a.txt").write_text("one\ntwo\n" * 2)


def far_from_the_edit(place: Path) -> None:
    with (place / "a.txt").open("a") as file:
        file.write("more\n")


def of_the_kind_of_line_ends(place: Path) -> None:
    text = (place / "a.txt").read_bytes()
    (place / "a.txt").write_bytes(text.replace(b"\n", b"\r\n"))


def that_makes_the_file(place: Path) -> None:
    (place / "b.txt").write_text("all new")


@pytest.mark.parametrize(
    ("call", "change", "runs"),
    [
        (EDIT, nothing, True),
        (WRITE, nothing, True),
        (MAKE, nothing, True),
        (EDIT, near_the_edit, False),
        (EDIT, far_from_the_edit, False),
        (EDIT, of_the_kind_of_line_ends, False),
        (WRITE, far_from_the_edit, False),
        (MAKE, far_from_the_edit, True),
        (MAKE, that_makes_the_file, False),
    ],
    ids=lambda value: value.name if isinstance(value, ToolCall) else getattr(value, "__name__", ""),
)
async def test_a_file_that_changed_since_the_preview_is_left_as_it_is(
    place, tmp_path, call, change: Callable[[Path], None], runs: bool
):
    shown = preview(place, call)

    def approve(_context: Any, _call: ToolCall) -> ToolApproved:
        change(place)
        return ToolApproved(preview=shown)

    [result] = await execute_tools(
        [call], execution=Execution(storage=None, tools=file_tools(place)), approve=approve
    )
    assert result.error is not runs
    if not runs:
        assert result.outcome == f"Tool '{call.name}' {CHANGED}"
        assert "all new\n" not in (place / call.args["path"]).read_text()


@pytest.mark.parametrize("changes", [False, True])
async def test_the_preview_is_kept_with_the_decision_for_another_process(place, tmp_path, changes):
    async with SQLite(tmp_path / "log.db") as storage:
        asking = agent(calls(WRITE, MAKE), tools=file_tools(place), storage=storage)
        write, make = (await asking.run("Write.", conversation_id="c")).waiting
        decided = {str(write.id): ToolApproved(preview=preview(place, write))}
        assert (await asking.resume("c", decided)).status == "waiting"
        if changes:
            far_from_the_edit(place)
        going_on = agent("Done.", tools=file_tools(place), storage=storage)
        assert (await going_on.resume("c", {str(make.id): False})).status == "completed"
        record, _ = await storage.calls("c")
    assert record.status == ("denied" if changes else "success")
    assert ((place / "a.txt").read_text() == "all new\n") is not changes


SECOND = ToolCall("edit_file", {"path": "./a.txt", "old": "one", "new": "1"})


@pytest.mark.parametrize(
    ("first", "second", "agreed", "statuses", "text"),
    [
        (EDIT, SECOND, (True, True), ["success", "success"], "1\n2\n"),
        (SECOND, EDIT, (True, True), ["success", "success"], "1\n2\n"),
        (WRITE, EDIT, (True, True), ["success", "failure"], "all new\n"),
        (EDIT, WRITE, (True, True), ["success", "success"], "all new\n"),
        # The second change was shown as one of the text that the first would leave.
        (EDIT, SECOND, (False, True), ["denied", "denied"], "one\ntwo\n"),
        (EDIT, SECOND, (True, False), ["success", "denied"], "one\n2\n"),
    ],
)
async def test_changes_of_one_file_are_previewed_one_after_the_other(
    place, first, second, agreed, statuses, text
):
    (place / "a.txt").write_text("one\ntwo\n")
    tools = {tool.name: tool for tool in file_tools(place)}
    asking = agent(calls(first, second), "Done.", tools=tools.values())
    waiting = (await asking.run("Change it.", conversation_id="c")).waiting
    decided: dict[str, ToolApproved | bool] = {}
    for call, is_agreed in zip(waiting, agreed, strict=True):
        show: Any = options_of(tools[call.name]).preview
        shown = show(call)
        decided[str(call.id)] = ToolApproved(preview=shown) if is_agreed else False
    await asking.resume("c", decided)
    assert [record.status for record in await asking.storage.calls("c")] == statuses
    assert (place / "a.txt").read_text() == text


async def test_a_preview_that_fails_or_is_gone_is_a_refusal():
    ran: list[str] = []

    def broken(_: ToolCall) -> str:
        raise OSError("gone")

    def made(name: str, asks: Any) -> Any:
        def act() -> str:
            ran.append(name)
            return "done"

        return tool(act, name=name, requires_approval=asks)

    tools = [
        made("broken", Preview(broken)),
        made("none", True),
        made("same", Preview(lambda _: "shown")),
    ]
    results = await execute_tools(
        [ToolCall(each.name, {}) for each in tools],
        execution=Execution(storage=None, tools=tools),
        approve=lambda _context, _call: ToolApproved(preview="shown"),
    )
    assert [result.error for result in results] == [True, True, False]
    assert [result.outcome for result in results[:2]] == [
        f"Tool '{name}' {CHANGED}" for name in ("broken", "none")
    ]
    assert ran == ["same"]


async def test_a_preview_does_not_keep_the_program_from_ending():
    threads: list[threading.Thread] = []

    def show(call: ToolCall) -> str:
        threads.append(threading.current_thread())
        return "shown"

    @tool(requires_approval=Preview(show))
    async def send() -> str:
        """Send."""
        return "sent"

    approve = lambda context, call: ToolApproved(preview="shown")  # noqa: E731
    [result] = await execute_tools(
        [ToolCall("send", {})], execution=Execution(tools=[send]), approve=approve
    )
    assert result.content == "sent"
    assert [each.daemon for each in threads] == [True]
