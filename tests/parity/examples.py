"""The vocabulary of the examples in `differences`: one meaning, written for both sides.

An example is an expression. `evaluate` runs it with cogency's names or with ours and returns plain values, with long
texts cut short.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from cogency_rs import Execution, ToolCall, ToolResult
from cogency_rs.errors import ToolError
from cogency_rs.protocol import format_call_agent
from support.public_modules import PUBLIC_MODULES

from .oracle import (
    OUR_REPORT,
    THEIR_REPORT,
    Log,
    LogOfAda,
    Parsed,
    Raised,
    Script,
    Scripted,
    Sleeper,
    Stored,
    cogency,
    content_of,
    our_parse,
    outcome,
    result_fields,
    run,
    shape,
    stream,
    their_parse,
)

REPORT = "Error: Malformed tool call syntax. …"
LONGEST_CONTENT = 40


class Side:
    """The names that an example may use, with the functions of one of the two packages."""

    def __init__(self, modules: Callable[[str], Any], parse: Callable[..., Parsed]) -> None:
        self._parse = parse
        self.parse_tokens = modules("parser").parse_tokens
        self.parse_execute_block = modules("parser").parse_execute_block
        self.execute_tools = modules("executor").execute_tools
        self.Accumulator = modules("accumulator").Accumulator
        self.format_results_array = modules("codec").format_results_array
        self.parse_tool_result = modules("codec").parse_tool_result
        self.tool_instructions = modules("codec").tool_instructions
        self.to_messages = modules("conversation").to_messages
        self.assemble = modules("assembly").assemble
        self.SQLite = modules("sqlite").SQLite

    def names(self) -> dict[str, Any]:
        methods = {name: getattr(self, name) for name in dir(self) if not name.startswith("_")}
        return {**WORDS, **methods}

    # The parser.

    def events(self, source: Any, **options: Any) -> list[tuple[str, ...]]:
        parsed = self._parse(source, **options)
        found = [brief(event) for event in parsed.events]
        return found + ([(parsed.raised.kind,)] if parsed.raised else [])

    def lengths(self, text: str) -> list[int]:
        return [len(content_of(event)) for event in self._parse(text).events]

    def report(self, text: str) -> str:
        return content_of(self._parse(text).events[0])

    def calls(self, text: str) -> Any:
        return plain(outcome(lambda: [asdict(call) for call in self.parse_execute_block(text)]))

    def is_closed_after(self, text: str) -> bool:
        async def read() -> bool:
            source = stream([text, "more"])
            async for _ in self.parse_tokens(source):
                pass
            return await anext(source, None) is None

        return asyncio.run(read())

    # Tools.

    def result(self, tool: Any, name: str = "t", args: Any = (), schema: Any = None) -> Any:
        tool = tool if isinstance(tool, Scripted) else Scripted("t", tool)
        tool.schema = schema or {}
        calls = [ToolCall(name, {} if args == () else args)]
        execution = Execution("storage", [tool], 7, "sandbox", "system")
        running = self.execute_tools(
            calls, execution=execution, user_id="user", conversation_id="conversation"
        )
        try:
            results = run(running)
        except BaseException as error:  # an exception that no tool should raise
            return plain(Raised.of(error))
        return plain(results) if isinstance(results, Raised) else result_fields(results[0])

    def batch(self, calls: Any, tools: Any) -> Any:
        execution = Execution("storage", tools, 7, "sandbox", "system")
        results = run(
            self.execute_tools(
                calls, execution=execution, user_id="user", conversation_id="conversation"
            )
        )
        return plain(results) if isinstance(results, Raised) else list(map(_content, results))

    def array(self, *results: ToolResult) -> Any:
        calls = [ToolCall("t", {})] * len(results)
        return plain(outcome(self.format_results_array, calls, list(results)))

    # The accumulator.

    def emitted(self, source: Any, tool: Script | None = None, **options: Any) -> Any:
        return self._turn(source, tool, **options)[0]

    def saved(self, source: Any, tool: Script | None = None, **options: Any) -> Any:
        return self._turn(source, tool, **options)[1]

    def exactly(self, source: Any, **options: Any) -> list[dict[str, Any]]:
        return self._turn(source, None, whole=True, **options)[0]

    def saved_in_turns(
        self, *turns: Any, tool: Script | None = None, until: str | None = None, **options: Any
    ) -> list[tuple[str, ...]]:
        log = Log(None)
        execution = self._execution(log, tool)

        async def read() -> None:
            accumulator = self.Accumulator("user", "conversation", execution=execution, **options)
            for events in turns:
                async for event in accumulator.process(stream(events)):
                    if event["type"] == until:
                        break

        asyncio.run(read())
        return [row[2:4] for row in log.rows]

    def saved_when_cancelled(self, events: Any) -> list[tuple[str, ...]]:
        log = Log(None)

        async def read() -> list[tuple[str, ...]]:
            asleep = Sleeper("t")
            execution = Execution(log, [asleep], 7, "sandbox", "system")
            accumulator = self.Accumulator("user", "conversation", execution=execution)

            async def consume() -> None:
                async for _ in accumulator.process(stream(events)):
                    pass

            turn = asyncio.create_task(consume())
            await asleep.started.wait()
            turn.cancel()
            await asyncio.wait([turn])
            return [("CancelledError",)] if turn.cancelled() else []

        raised = asyncio.run(read())
        return [row[2:4] for row in log.rows] + raised

    def public_state(self, accumulator: Any) -> list[str]:
        made = accumulator("user", "conversation", execution=self._execution(Log(None), None))
        return sorted(name for name in vars(made) if not name.startswith("_"))

    def _turn(
        self,
        source: Any,
        tool: Script | None,
        failing_save: int | None = None,
        whole: bool = False,
        **options: Any,
    ) -> tuple[list[Any], list[Any]]:
        log = Log(failing_save)
        emitted: list[Any] = []

        async def read() -> Any:
            accumulator = self.Accumulator(
                "user", "conversation", execution=self._execution(log, tool), **options
            )
            events = self.parse_tokens(source) if isinstance(source, str) else stream(source)
            async for event in accumulator.process(events):
                emitted.append(exact(event) if whole else brief(shape(event)))  # noqa: PERF401

        raised = run(read())
        rows: list[Any] = [row[2:4] for row in log.rows]
        ends = [] if raised is None else [(raised.kind,)]
        return emitted + ends, rows + ends

    def _execution(self, log: Log, tool: Script | None) -> Execution:
        tools = [] if tool is None else [Scripted("t", tool)]
        return Execution(log, tools, 7, "sandbox", "system")

    # The next prompt.

    def messages(self, rows: Any) -> Any:
        messages = outcome(self.to_messages, rows)
        if isinstance(messages, Raised):
            return (messages.kind,)
        return [(message["role"], cut(message["content"], 60)) for message in messages]

    def prompt(self, rows: Any, profile: Any = None, window: int | None = None) -> Any:
        messages = run(
            self.assemble(
                "user",
                "conversation",
                tools=[],
                storage=Stored(rows, profile),
                history_window=window,
                history_transform=None,
                profile_enabled=profile is not None,
            )
        )
        return plain(messages)

    def history(self, rows: Any, window: int | None = None) -> Any:
        messages = self.prompt(rows, window=window)
        if isinstance(messages, tuple):
            return messages
        return [(message["role"], cut(message["content"], 60)) for message in messages[1:]]

    def beginning_of_history(self, rows: Any) -> Any:
        messages = self.prompt(rows)
        if isinstance(messages, tuple):
            return messages
        return messages[1]["role"], messages[1]["content"]

    def end_of_history(self, rows: Any) -> str:
        last: str = self.prompt(rows)[-1]["content"]
        return last[-55:]

    def prompt_of_swapped_ids(self) -> Any:
        options = {"history_window": None, "history_transform": None, "profile_enabled": False}
        storage = LogOfAda([{"type": "user", "content": "hello"}])
        messages = run(self.assemble("talk", "ada", tools=[], storage=storage, **options))
        if isinstance(messages, Raised):
            return plain(messages)
        return [message["role"] for message in messages]

    def listed(self, schema: Any) -> Any:
        tool = SimpleNamespace(name="t", description="does something", schema=schema)
        return plain(outcome(self.tool_instructions, [tool]))

    # The log.

    def found(self, messages: list[str], query: str) -> list[str]:
        async def search() -> list[str]:
            with TemporaryDirectory() as folder:
                log = self.SQLite(str(Path(folder, "log.db")))
                for time, message in enumerate(messages):
                    await log.save_message("conversation", "user", "user", message, float(time))
                found = [each.content for each in await log.search_messages(query, "user", None)]
                await getattr(log, "close", _nothing)()
                return found

        return asyncio.run(search())

    def system_prompt_is_cogencys(self) -> bool:
        prompt = cogency("context.system").prompt
        return self.prompt([])[0]["content"] == prompt(tools=[], identity=None, instructions=None)


def _theirs(name: str) -> Any:
    rooms = {"conversation": "context", "assembly": "context", "sqlite": "lib"}
    room = rooms.get(name, "core")
    return cogency(f"{room}.{name}")


THEIRS = "cogency 3.3.0"
OURS = "cogency-rs"


def evaluate(code: str, side: str) -> Any:
    """The value of an example with the names of `side`."""
    if side == THEIRS:
        names = Side(_theirs, lambda source, **_: their_parse(source)).names()
    else:
        names = Side(lambda _: _Ours, our_parse).names()
    return eval(code, names)


class _Ours:
    """In place of each of cogency's modules: our functions."""


for _module in PUBLIC_MODULES:
    for _name in _module.__all__:
        setattr(_Ours, _name, staticmethod(getattr(_module, _name)))


async def _nothing() -> None:
    """In place of a method that cogency does not have."""


def brief(event: Any) -> tuple[str, ...]:
    fields = dict(event)
    content = fields.get("content")
    if content is None:
        return (fields["type"],)
    is_report = OUR_REPORT.fullmatch(content) or THEIR_REPORT.fullmatch(content)
    return (fields["type"], REPORT if is_report else cut(content, LONGEST_CONTENT))


def exact(event: dict[str, Any]) -> dict[str, Any]:
    time = event["timestamp"]
    return {**event, "timestamp": "now" if time > 1e9 else time}


def cut(text: str, most: int) -> str:
    return text if len(text) <= most + 60 else f"{text[:most]}…"


def plain(value: Any) -> Any:
    """The kind and text of a `Raised`; any other value as it is."""
    return (value.kind, value.text) if isinstance(value, Raised) else value


def raised(thunk: Callable[[], Any]) -> Any:
    found = outcome(thunk)
    return plain(found) if isinstance(found, Raised) else "nothing"


def _event(kind: str) -> Callable[[str], list[dict[str, Any]]]:
    return lambda content: [{"type": kind, "content": content, "timestamp": 1.0}]


def _call(name: str, **args: Any) -> list[dict[str, Any]]:
    return _event("call")(format_call_agent(ToolCall(name, args)))


def _error_row(kind: str, content: str, raw: str) -> list[dict[str, Any]]:
    return _event("error")(json.dumps({"kind": kind, "content": content, "raw": raw}))


def _content(result: Any) -> Any:
    """The part of a result that the model is shown first; a value that is not a result is returned as it is."""
    return getattr(result, "content", result)


def _shows(name: str) -> Script:
    """A tool that gives back one of its arguments."""
    return Script(refuse=lambda args: ToolResult("shown", content=args.get(name)))


class _Falsy(Scripted):
    def __bool__(self) -> bool:
        return False


WORDS: dict[str, Any] = {
    "CancelledError": asyncio.CancelledError,
    "Execution": Execution,
    "ToolCall": ToolCall,
    "ToolError": ToolError,
    "ToolResult": ToolResult,
    "call": _call,
    "call_row": _event("call"),
    "dumps": json.dumps,
    "end": [{"type": "end", "timestamp": 1.0}],
    "error": _event("error"),
    "error_row": _error_row,
    "execute": [{"type": "execute", "timestamp": 1.0}],
    "falsy": lambda script: _Falsy("t", script),
    "inf": math.inf,
    "log": Log(None),
    "metric": [{"type": "metric", "step": {}, "total": {}, "timestamp": 1.0}],
    "nan": math.nan,
    "raised": raised,
    "raises": Script,
    "respond": _event("respond"),
    "result_row": _event("result"),
    "returns": Script,
    "shows": _shows,
    "tool": Scripted,
    "user_row": _event("user"),
}
