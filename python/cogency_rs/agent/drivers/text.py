"""A model that writes its calls as text, in any dialect."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Sequence
from functools import cache, partial
from typing import Any, Literal, Self, TypeAlias

from ..._core import Dialect, Finish, Limits, PromptParts, ToolSchemas, turning_marks
from ...context.assembly import written_dialect
from ...errors import ConfigError, LLMError
from ...guards.arguments import check_choice, check_dialect, check_flag, out_of_range, refused
from ...models import Delta, ModelRequest, ReasoningDelta, TextDelta, ToolCallDelta, ToolDeclaration
from ...protocol import LateEvents, ReadingOptions, TextStream
from ...runs.context import RunContext
from ...tools.toolbox import spelled
from ...types import Dialects
from ..prompt import SystemPrompt
from ..runtime import Runtime

Constrain: TypeAlias = bool | Literal["first", "required"]


class TextDriver:
    """Teaches the model a dialect in the system prompt, and reads what it writes while it streams.

    Args:
        dialect: how the model writes its calls: a name of `Dialect.presets()`, a `Dialect`, or a tuple of these. The
            first is what the prompt and the history are written in. By default that of the agent; see `Agent`.
        lenient: read calls as small models write them, too; see `parse_tokens`.
        begins_in_think: whether an answer begins inside reasoning; by default as the dialect says.
        limits: bounds on a block of calls.
        constrain: whether the model's server holds it to a grammar in which every call can be read, as llama.cpp's
            does: `True`; `"first"` if the first answer of a run must be calls, too; `"required"` if each must, so that
            only a tool or a limit ends the run. A server that refuses the grammar is asked without it from then on, and
            a warning is logged. By default `True` for a `LocalModel`.
        parallel: `False` to hold each answer to one call at most, which small models need: else many go on to call
            until their tokens run out. It is the grammar that does so, so that `constrain` is then `True` by default.
        prompt: writes the system prompt: a function from the parts of ours (`parts.identity`, `parts.calls`,
            `parts.instructions`, `parts.tools`; `parts.text` is all of them) to a text, whole in one message. What it
            must not leave out are the names of the tools, and the mark that opens a call.
        tools_in: where the tools are declared: in the `"prompt"`, or in the `"request"` for a server that applies the
            model's template to them and gives calls back as text.

    Attributes:
        dialect: how the model writes its calls.
        takes_dialect: whether it was given none, so that an agent gives it one.

    Raises:
        ConfigError: there is no such dialect; the message lists those there are.
    """

    def __init__(
        self,
        dialect: Dialects | None = None,
        *,
        lenient: bool = True,
        begins_in_think: bool | None = None,
        limits: Limits | None = None,
        constrain: Constrain | None = None,
        parallel: bool = True,
        prompt: SystemPrompt | None = None,
        tools_in: Literal["prompt", "request"] = "prompt",
    ) -> None:
        check_flag("lenient", lenient)
        given: Any = constrain
        if not (given is None or isinstance(given, bool) or given in ("first", "required")):
            wrong = out_of_range if isinstance(given, str) else refused
            raise wrong("constrain", constrain, 'True, False, "first" or "required"')
        check_flag("parallel", parallel)
        if not parallel:
            if constrain is False or tools_in == "request":
                raise ConfigError(
                    "parallel=False is held by our grammar: leave constrain and tools_in out"
                )
            constrain = constrain or True
        if not (prompt is None or callable(prompt)):
            raise refused(
                "prompt", prompt, "a function from the parts of the system prompt to its text"
            )
        check_choice("tools_in", tools_in, "prompt", "request")
        if tools_in == "request" and (prompt is not None or constrain):
            raise ConfigError(
                'with tools_in="request", the server writes the prompt of the tools: leave prompt and constrain out'
            )
        self.takes_dialect = dialect is None
        self._speak("cogency" if dialect is None else dialect)
        self._lenient = lenient
        self._begins_in_think = begins_in_think
        self._limits = limits
        # The server writes of the tools what there is to write, and makes a grammar of them itself.
        self._tools_in = tools_in
        self._constrain = constrain if tools_in == "prompt" else False
        self._parallel = parallel
        self._prompt = prompt if tools_in == "prompt" else _without_tools
        self.may_learn = False

    def _speak(self, dialect: Dialects) -> None:
        first = dialect[0] if isinstance(dialect, tuple) and dialect else dialect
        if not isinstance(first, str | Dialect):
            raise refused("dialect", dialect, "a dialect's name, a Dialect, or a tuple of these")
        check_dialect(dialect)
        self.dialect = _spoken(dialect)
        self._first = written_dialect(self.dialect)
        self._stop = tuple(self._first.stop)
        self._turning = tuple(turning_marks(self.dialect))
        self._reading: tuple[Sequence[Any], ReadingOptions] | None = None

    def speaking(self, dialect: Dialects, *, until_told: bool = False) -> Self:
        """A driver like this one, with this dialect; only until the model's server tells another, with `until_told`."""
        driver = self._copied()
        driver.takes_dialect = False
        driver.may_learn = until_told
        driver._speak(dialect)
        return driver

    def _copied(self) -> Self:
        copied = object.__new__(type(self))
        vars(copied).update(vars(self))
        return copied

    def step(self, run: RunContext[Any], runtime: Runtime) -> AsyncIterable[Any]:
        """Make one step; see `Driver.step`."""
        # A mock has every attribute.
        if self.may_learn and getattr(runtime.model, "tells_template", False) is True:
            return LateEvents(partial(self._learned, run, runtime))
        if runtime.toolbox.has_servers and not self._is_known(runtime.execution.tools):
            return LateEvents(partial(self._prepared, run, runtime))
        return self._read_step(run, runtime)

    async def _learned(self, run: RunContext[Any], runtime: Runtime) -> TextStream:
        """A step in the dialect that the model's server tells, which is that of the steps after it too."""
        clock = asyncio.get_running_loop().time
        began = clock()
        found = await runtime.model.detect_dialect()
        if found is not None:
            self.may_learn = False
            self._speak(found.dialect)
        # Its own copy: what another run learns meanwhile is not for this step.
        return self._copied()._read_step(run, runtime, waited=clock() - began)

    async def _prepared(self, run: RunContext[Any], runtime: Runtime) -> TextStream:
        """A step once the schemas of the tools are read, which may be long."""
        await runtime.apart(partial(self._reading_for, runtime.execution.tools))
        return self._read_step(run, runtime)

    def _read_step(
        self, run: RunContext[Any], runtime: Runtime, *, waited: float = 0.0
    ) -> TextStream:
        whole = self._reading_for(runtime.execution.tools)
        reading: ReadingOptions = {**whole, "calls": runtime.calls}
        return TextStream(self._text(run, runtime, waited), reading, runtime.stream)

    def call_form(self, tools: Iterable[Any]) -> str:
        """A call of one of these tools as an example, for a model that wrote none; "" without tools."""
        from ..prompt import example_call

        call = example_call(tools)
        return "" if call is None else self._first.write_calls([call]).strip()

    def _is_known(self, tools: Sequence[Any]) -> bool:
        return self._reading is not None and self._reading[0] is tools

    def _reading_for(self, tools: Sequence[Any]) -> ReadingOptions:
        """How answers are read, made once for all runs with these tools."""
        known = self._reading
        if known is None or known[0] is not tools:
            reading: ReadingOptions = {
                "dialect": self.dialect,
                "tools": ToolSchemas(spelled(tools)),
                "calls": "whole",
                "limits": self._limits,
                "errors": "event",
                "lenient": self._lenient,
                "begins_in_think": self._begins_in_think,
            }
            known = self._reading = (tools, reading)
        return known[1]

    def _text(
        self, run: RunContext[Any], runtime: Runtime, waited: float
    ) -> AsyncGenerator[str | ReasoningDelta | Finish, None]:
        async def request() -> ModelRequest:
            by_server = self._tools_in == "request"
            messages = await runtime.kept_messages(
                self.dialect, declares_tools=not by_server, prompt=self._prompt
            )
            return ModelRequest(
                messages,
                tools=await _declarations(runtime) if by_server else (),
                stop=self._stop,
                until=runtime.until(self._turning),
                grammar=await self._grammar(run, runtime),
                waited=waited,
            )

        return runtime.ask(request, read=_read)

    async def _grammar(self, run: RunContext[Any], runtime: Runtime) -> str | None:
        constrain = self._constrain
        is_asked_for = constrain is not None
        if constrain is None:
            constrain = getattr(runtime.model, "takes_grammar", False) is True
        if constrain is False:
            return None
        must_call = constrain == "required" or (constrain == "first" and run.step == 0)
        must_call = must_call and not run.account.is_out_of_calls
        try:
            return await runtime.grammar(
                self._first,
                calls="required" if must_call else "auto",
                parallel=self._parallel,
                reasoning="open" if self._begins_in_think else "auto",
            )
        except ConfigError:
            if is_asked_for:
                raise
            return None  # a tool that no grammar can hold is still read


def _without_tools(parts: PromptParts) -> str:
    return "\n\n".join(filter(None, (parts.identity, parts.instructions)))


def _spoken(dialect: Dialects) -> Dialects:
    """A dialect as an agent speaks it."""
    if isinstance(dialect, tuple):
        return tuple(map(_spoken_one, dialect))
    return _spoken_one(dialect)


def _spoken_one(dialect: str | Dialect) -> str | Dialect:
    is_cogency = dialect == "cogency" or dialect == Dialect("cogency")
    return _cogency() if is_cogency else dialect


@cache
def _cogency() -> Dialect:
    """Cogency's dialect as an agent speaks it: unlike that of cogency 3.3.0, with no mark in text from outside."""
    dialect = Dialect("cogency")
    return dialect.replace(prompt={**dialect.to_dict()["prompt"], "inert": "joined"})


def _read(delta: str | Delta) -> str | ReasoningDelta | Finish | None:
    """The part of an answer's piece that a parser reads; `None` for nothing.

    Raises:
        LLMError: it is a call, which is not text.
    """
    match delta:
        case TextDelta(text):
            return text
        case ReasoningDelta(text):
            return delta if text else None
        case ToolCallDelta():
            raise LLMError(
                "the server itself parsed a tool call out of the model's text, so the text lacks it: turn off its tool "
                'parser (llama.cpp, vLLM: model=OpenAIModel(…, tool_choice="none")), or use Agent(driver="native")'
            )
        case str() | Finish():
            return delta
        case _:  # usage, which the runtime has counted
            return None


async def _declarations(runtime: Runtime) -> tuple[ToolDeclaration, ...]:
    from .driver import declarations

    return await declarations(runtime)
