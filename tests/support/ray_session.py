"""A program with one local Ray, which carries out batches of calls for `test_ray.py`.

It reads requests as lines of JSON, each with the arguments of `Session.calls`, and answers each with a line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import tempfile
import threading
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

from cogency_rs import CallOptions, Execution, Hooks, ToolCall, tool
from cogency_rs.execution import execute_calls
from cogency_rs.executors.ray import RayExecutor
from cogency_rs.tools import FunctionTool
from support import ray_tools
from support.clock import let_pass
from support.waiting import until

SETTINGS = {
    "num_cpus": 2,
    "object_store_memory": 80_000_000,
    "include_dashboard": False,
    "log_to_driver": False,
    "logging_level": "ERROR",
}


class Log(logging.Handler):
    """Keeps what is logged, as text."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self.format(record))


lock = threading.Lock()


@tool(remote=ray_tools.LIGHT)
def locked() -> bool:
    """Use a lock of the program, which cannot be sent to another process."""
    return lock.locked()


ballast = bytearray(300_000)


@tool(remote=ray_tools.LIGHT)
def heavy() -> int:
    """Refer to a large value, which is sent with the tool."""
    return len(ballast)


class Redirect(Hooks):
    """Replaces each call with a call of another tool."""

    async def around_call(self, invocation: Any, next: Any) -> Any:
        return await next(replace(invocation, call=ToolCall("where_here", {})))


class Session:
    """Carries out the requests of the tests, with the executors and the state that they share."""

    def __init__(self, folder: str) -> None:
        self.shelf = ray_tools.Shelf()
        self.executors: dict[str, RayExecutor] = {}
        self.settings = {**SETTINGS, "_temp_dir": folder}

    def executor(self, options: dict[str, Any]) -> RayExecutor:
        """The executor for these options, which is made only once, so that Ray is started only once."""
        options = {"grace": 1.0, "context_vars": [ray_tools.who], **options}
        found = self.executors.get(repr(options))
        if found is None:
            found = RayExecutor(settings=self.settings, **options)
            self.executors[repr(options)] = found
        return found

    def tools(self) -> list[Any]:
        found = [each for each in vars(ray_tools).values() if isinstance(each, FunctionTool)]
        shelf = self.shelf
        mine = [shelf.put, shelf.look, shelf.use, shelf.hold, shelf.burn]
        return [*found, *mine, ray_tools.Plain(), locked, heavy]

    async def calls(
        self,
        calls: list[Any],
        executor: dict[str, Any] | None = None,
        cancel_after: str | None = None,
        late_after: str | None = None,
        meanwhile: tuple[str, str] | None = None,
        options: dict[str, Any] | None = None,
        timeout: float | None = None,
        execution: dict[str, Any] | None = None,
        who: str | None = None,
        new_shelf: bool = False,
        redirect: bool = False,
        in_trace: bool = False,
        worker_path: str | None = None,
    ) -> dict[str, Any]:
        """Carry out a batch.

        It is cancelled as soon as the file `cancel_after` has a line, and an hour passes as soon as `late_after` has
        one. When the first file of `meanwhile` has a line, three more calls are carried out, without a bound, and then
        the second file gets a line.
        """
        if new_shelf:
            self.shelf = ray_tools.Shelf()
        if who:
            ray_tools.who.set(who)
        if in_trace:
            enter_trace()
        tools = self.tools()
        if worker_path:
            needs = {"runtime_env": {"env_vars": {"PYTHONPATH": worker_path}}, **ray_tools.LIGHT}
            tools.append(tool(wait, name="elsewhere", remote=needs))
        events: list[Any] = []
        batch = asyncio.create_task(
            execute_calls(
                [ToolCall(name, args) for name, args in calls],
                execution=Execution(tools=tools, **(execution or {})),
                hooks=[self.executor(executor or {}), *([Redirect()] if redirect else [])],
                on_event=events.append,
                conversation_id="c",
                user_id="u",
                calls=CallOptions(timeout=timeout),
                **(options or {}),
            )
        )
        if cancel_after is not None:
            # A batch that is over before the file has a line says in its records why.
            await until(lambda: ray_tools.has_lines(cancel_after) or batch.done(), "no call began")
            batch.cancel()
        if late_after is not None:
            await until(lambda: ray_tools.has_lines(late_after) or batch.done(), "no call began")
            let_pass(3600)
        if meanwhile is not None:
            begun, file = meanwhile
            await until(lambda: ray_tools.has_lines(begun) or batch.done(), "no call began")
            await execute_calls(
                [ToolCall("where", {})] * 3,
                execution=Execution(tools=tools),
                hooks=[self.executor({})],
            )
            ray_tools.note(file)
        try:
            executions = [each.to_dict() for each in await batch]
        except asyncio.CancelledError:
            executions = None
        return {
            "pid": os.getpid(),
            "executions": executions,
            "events": events,
        }


async def wait() -> None:
    """Do nothing."""


def enter_trace() -> None:
    from opentelemetry import context, trace

    span = trace.SpanContext(0xABC, 0xDEF, is_remote=False, trace_flags=trace.TraceFlags(1))
    context.attach(trace.set_span_in_context(trace.NonRecordingSpan(span)))


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # since Ray prints to standard output
    log = Log()
    logging.getLogger("cogency_rs").addHandler(log)
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        # As a Ray leaves it that was killed: nothing answers there.
        (Path(folder) / "ray_current_cluster").write_text("127.0.0.1:1")
        session = Session(folder)
        for line in sys.stdin:
            request = json.loads(line)
            log.texts.clear()
            try:
                # A new loop each time, as `run_sync` has.
                answer: Any = asyncio.run(session.calls(**request))
                answer["log"] = log.texts
            except BaseException:
                answer = {"raised": traceback.format_exc()}
            answers.write(json.dumps(answer) + "\n")
            answers.flush()

        async def close() -> None:
            for executor in session.executors.values():
                await executor.aclose()

        asyncio.run(close())


if __name__ == "__main__":
    main()
