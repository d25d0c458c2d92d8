"""What a driver works with: the model, the tools, and the conversation as a prompt."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Hashable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from .._core import Dialect, FoldOptions
from ..calls.record import ToolExecution
from ..context.assembly import Placed, StoredRows, assemble_after, bounds_of, placed, prompt_parts
from ..context.history import (
    History,
    Messages,
    Pin,
    after_system,
    copied,
    estimate_tokens,
    tokens_in,
    tokens_of,
)
from ..context.rows import part_of
from ..errors import ConfigError
from ..guards.arguments import check_text
from ..models import (
    ExtraDelta,
    Finish,
    ModelRequest,
    OpaqueDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from ..models.request import limit_of
from ..runs.context import ModelResponse, RunContext
from ..storage.log import Part
from ..telemetry import current
from ..tools.cogency import guidance_for
from ..tools.toolbox import Toolbox
from ..tools.workers import in_thread
from ..types import CallMode, Dialects, Execution, StreamMode
from .answer import decoded, encoded
from .prompt import Prompts, SystemPrompt
from .returned import Returned
from .run_hooks import Triggers

_T = TypeVar("_T")


Instructions = str | Callable[[RunContext[Any]], str | Awaitable[str]]
"""The beginning of the system prompt: a text, or a function that is called before each step."""


@dataclass
class Runtime:
    """The objects that the steps of one run share. It is made once in each run, before its first step.

    Attributes:
        ctx: the run.
        model: the model to ask.
        execution: the tools, and what they run with.
        history: how much of the conversation is shown.
        instructions: the program's; the system prompt begins with them, and if they are empty with a neutral sentence.
        answer_form: what the system prompt says of the form of the final answer.
        stream: whether text is emitted as it arrives, or whole.
        calls: whether calls are shown while they are written, too.
        eager: whether the driver emits an event `call_ready`, with the `content` of the later `call` event, as soon as
            a call is complete, so that the call may begin before its batch is complete.
        output_schema: the JSON Schema of the final answer, for a model that wants it; `None` for any text.
        finish_reason: why the model stopped, in the current step.
        output_limit: the user's setting at which the answer of the current step was cut, such as "max_tokens=100".
        used: the tokens of the current step.
        toolbox: which tool a call means.
        visible_tools: the tools that the prompt lists, in their order.
        refused: failed executions for calls of the current step that its driver could not read; they are in the `Step`,
            and not in the log.
        error: an exception to raise when the current step is over and in `RunResult.steps`.
        returned: what the provider wants back with each batch of calls, by its number, from 0 after the last question.
        newest: the same of the current step's answer; `None` if it is of no such form.
        prompts: what was written for these tools, in earlier runs too.
        has_threads: whether a step may wait for a thread.
    """

    ctx: RunContext[Any]
    model: Any
    execution: Execution
    toolbox: Toolbox
    triggers: Triggers
    history: History
    instructions: Instructions = ""
    answer_form: str = ""
    stream: StreamMode = "token"
    calls: CallMode = "whole"
    eager: bool = False
    output_schema: Mapping[str, Any] | None = None
    finish_reason: str | None = None
    output_limit: str | None = None
    used: Usage = field(default_factory=Usage)
    refused: Sequence[ToolExecution] = ()
    error: Exception | None = None
    returned: dict[int, Returned] = field(init=False)
    newest: Returned | None = field(init=False, default=None)
    prompts: Prompts = field(default_factory=Prompts)
    has_threads: bool = True
    visible_tools: list[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.returned = {}
        self._begins_with = self.instructions if isinstance(self.instructions, str) else ""
        self._pin = Pin()
        # Once in each run: the list must not change between two of its prompts.
        tools = self.execution.tools
        listed = [place for place, tool in enumerate(tools) if _is_visible(tool, self.ctx)]
        self._visible = tuple(listed)
        self.visible_tools = self.prompts.get(
            ("visible", self._visible), lambda: [tools[place] for place in listed]
        )

    async def ask_instructions(self) -> None:
        """Ask for the instructions of the next step, if a function gives them.

        Raises:
            ArgumentError: what it gives is not text. Its own exceptions pass on.
        """
        if isinstance(self.instructions, str):
            return
        given: Any = self.instructions(self.ctx)
        if inspect.isawaitable(given):
            given = await given
        check_text("what the function instructions returns", given)
        self._begins_with = given

    async def messages(
        self, dialect: Dialects = "cogency", *, declares_tools: bool = True
    ) -> Messages:
        """The conversation as a prompt, written in a dialect: the system prompt, then the messages.

        Args:
            dialect: how the model writes its calls and reads results.
            declares_tools: whether the system prompt teaches the model its tools.
        """
        return [*map(dict, await self.kept_messages(dialect, declares_tools=declares_tools))]

    async def kept_messages(
        self,
        dialect: Dialects = "cogency",
        *,
        declares_tools: bool = True,
        prompt: SystemPrompt | None = None,
    ) -> Messages:
        """The same; the dicts are those of the next prompts too, and must not be changed.

        To copy all messages of a long conversation takes longer than everything else in a step.

        Args:
            dialect: see `messages`.
            declares_tools: see `messages`.
            prompt: writes the system prompt from its parts.

        Raises:
            ConfigError: `prompt` left out something without which no call can be read.
        """
        tools, visible = (self.visible_tools, self._visible) if declares_tools else ((), ())
        begins_with, answer_form = self._begins_with or None, self.answer_form or None
        parts = await self.of_tools(
            ("parts", dialect, visible, begins_with),
            lambda: prompt_parts(tools, begins_with, answer_form, dialect),
        )

        def place() -> Placed:
            if prompt is None:
                return placed(parts)
            from .prompt import own_prompt

            return placed(own_prompt(prompt, parts, dialect, tools, answer_form or ""))

        return await assemble_after(
            self.prompts.get((dialect, prompt, visible, begins_with), place),
            None,
            self._stored,
            history=self.history,
            options=self._fold_options("text", dialect),
            pin=self._pin,
        )

    async def of_tools(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """What `make` makes of the tools, kept by a key."""
        return await self.prompts.get_awaited(key, lambda: self.apart(make))

    async def apart(self, make: Callable[[], _T]) -> _T:
        """What `make` makes of the tools: in a thread if servers have any, since their schemas may be long."""
        if self.has_threads and self.toolbox.has_servers:
            made: _T = await in_thread(make)
            return made
        return make()

    async def grammar(
        self, dialect: Dialect, *, calls: str, parallel: bool, reasoning: Literal["auto", "open"]
    ) -> str | None:
        """The grammar of answers with calls of these tools, in GBNF; `None` if there are no tools.

        Raises:
            ConfigError: the dialect cannot hold one of the tools, or its schema has no end.
        """
        if not self.visible_tools:
            return None

        def write() -> str:
            return dialect.grammar(
                self.visible_tools, calls=calls, parallel=parallel, reasoning=reasoning
            ).text

        return await self.of_tools(
            ("grammar", dialect, calls, parallel, reasoning, self._visible), write
        )

    async def native_messages(self, prompt: str, complete: Callable[[Messages], None]) -> Messages:
        """The conversation as providers of tool calls want it back: a system prompt, then the messages.

        Calls are shown under the one names of their tools. No text of them opens or ends a turn, whatever the model's
        chat template is. The dicts are those of the next prompts too, and must not be changed.

        Args:
            prompt: the system prompt.
            complete: completes the messages after the last question, before the history transforms them. The calls
                among these have `reasoning`: what the log knows of the reasoning that led to them, without a signature.
        """
        from .prompt import any_model

        options = self._fold_options("native", any_model())
        _, messages = await self.history.load(self._stored, options, self._pin, complete)
        return after_system(prompt, messages)

    async def react_messages(self) -> Messages:
        """The conversation as thoughts, actions and observations, for `after_system`; else like `native_messages`."""
        from .prompt import any_model

        options = self._fold_options("react", any_model())
        return (await self.history.unsent(self._stored, options, self._pin))[1]

    @property
    def _stored(self) -> StoredRows:
        return StoredRows(self.ctx.storage, self.ctx.user_id, self.ctx.conversation_id)

    def _fold_options(
        self, form: Literal["text", "native", "react"], dialect: Dialects
    ) -> FoldOptions:
        service = self._service if form == "native" else ""

        def make() -> FoldOptions:
            return FoldOptions(
                form=form,
                escape_tags=True,
                max_result_chars=self.history.max_result_chars,
                tool_result_chars=bounds_of(self.execution.tools, self.history),
                tool_names=None if form == "text" else self.toolbox.other_names(),
                dialect=dialect,
                service=service,
            )

        return self.prompts.get(("fold", form, dialect, service), make)

    def parts_of_calls(self) -> tuple[Part, ...]:
        """What the log keeps with the calls of the current step's answer."""
        return () if self.newest is None else part_of(*self.newest, self._service)

    @property
    def _service(self) -> str:
        """The service that can read what it wrote. Its models read each other's."""
        address: object = getattr(self.model, "base_url", None) or getattr(self.model, "name", None)
        return address if isinstance(address, str) else ""

    async def rows(self) -> Sequence[Any]:
        """The rows that the history leaves, oldest first: for drivers that write their own prompt."""
        return await self.history.rows(self._stored, self._pin)

    @property
    def introduction(self) -> str:
        """The beginning of a system prompt that a driver writes: the instructions, and the form of the answer."""

        def write() -> str:
            about_tools = guidance_for(tool.name for tool in self.visible_tools)
            asked = "\n\n".join(filter(None, (*about_tools, self.answer_form)))
            parts = prompt_parts((), self._begins_with or None, asked or None, "hermes")
            return "\n\n".join(filter(None, (parts.identity, parts.instructions)))

        return self.prompts.get(("introduction", self._visible, self._begins_with), write)

    def until(self, marks: tuple[str, ...]) -> tuple[str, ...] | None:
        """`ModelRequest.until`: these marks in a run whose text nobody sees while it comes."""
        return marks if self.stream == "event" else None

    async def after_system(self, prompt: str, messages: Messages) -> Messages:
        """The messages to send: a system prompt, then `messages`, transformed and merged as the history says."""
        return after_system(prompt, await self.history.sent(messages))

    async def ask(
        self,
        request: ModelRequest | Callable[[], Awaitable[ModelRequest]],
        *,
        model: Any = None,
        read: Callable[[Any], Any] | None = None,
    ) -> AsyncGenerator[Any, None]:
        """Ask the model. Its tokens count towards the run, even if the answer is not read to its end.

        Args:
            request: the request, or a function that makes it when the answer is first read.
            model: a model to ask in place of the agent's.
            read: converts each piece, except a plain `str` of the model; a piece for which it returns `None` is left
                out.

        Yields:
            The answer's `str`s and `Delta`s, or what `read` returns for them.

        Raises:
            TypeError: the model yields something that is neither text nor a `Delta`.

        Exceptions of the model pass on.
        """
        if not isinstance(request, ModelRequest):
            request = await request()
        if self.triggers.has("before_model_request"):
            request = replace(request, messages=copied(request.messages))
            request = await self.triggers.change("before_model_request", request)
        answer = _Answer(request, self.history)
        asked = self.model if model is None else model
        source: Any = await self._asked(asked, request)
        try:
            if self.triggers.has("after_model_response"):
                response = await self._whole_response(request, source, answer)
                ended = response.finish_reason
                for delta in response.deltas:
                    piece = delta if read is None else read(delta)
                    if piece is not None:
                        yield piece
            else:
                async for delta in source:
                    if type(delta) is str:
                        answer.write(delta)
                        yield delta
                        continue
                    if type(delta) is TextDelta:  # most are
                        answer.write(delta.text)
                    else:
                        delta = answer.take(delta)
                    piece = delta if read is None else read(delta)
                    if piece is not None:
                        yield piece
                ended = answer.finish_reason
            self.finish_reason = ended
            if ended is not None and Finish(ended).kind == "length":
                self.output_limit = limit_of(asked, request)
        finally:
            close = getattr(source, "aclose", None)
            if close is not None:
                await close()
            usage = answer.usage
            self.used = self.used + usage
            self.ctx.account.take_usage(usage)

    async def _whole_response(
        self, request: ModelRequest, source: AsyncIterator[Any], answer: _Answer
    ) -> ModelResponse:
        """The whole answer, as hooks leave it."""
        from ..runs.context import ModelResponse

        deltas: list[Any] = []
        async for delta in source:
            answer.take(delta)
            deltas.append(delta)
        response = ModelResponse(request.id, tuple(deltas), answer.usage)
        return await self.triggers.change("after_model_response", response)

    async def _asked(self, model: Any, request: ModelRequest) -> AsyncIterator[Any]:
        tracing = current()
        if tracing is None:
            return await _answer_to(model, request)
        return tracing.answer(
            model, request, self.ctx.conversation_id, lambda: _answer_to(model, request)
        )


class _Answer:
    """Observes an answer while it passes: how many tokens it uses, and why it ends."""

    __slots__ = ("_characters", "_count", "_reported", "_request", "_written", "finish_reason")

    def __init__(self, request: ModelRequest, history: History) -> None:
        self._request = request
        self._count = history.count_tokens
        self._characters = 0  # they are enough for the estimate
        self._written = bytearray()
        self._reported: Usage | None = None
        self.finish_reason: str | None = None

    def take(self, delta: Any) -> Any:
        """Take the next piece; returns it in the form that drivers know."""
        match delta:
            case Usage():
                self._reported = delta
            case Finish(reason):
                self.finish_reason = reason
            case TextDelta(text) | ReasoningDelta(text):
                self.write(text)
            case ToolCallDelta():
                self.write(delta.arguments)
            case str():
                self.write(delta)
            case OpaqueDelta() | ExtraDelta():
                pass
            case _:
                kind = type(delta).__name__
                raise TypeError(f"a model gives str or a Delta, not {kind}: {delta!r:.100}")
        return delta

    def write(self, text: str) -> None:
        """Count a piece of text."""
        if self._count is estimate_tokens:
            self._characters += len(text)
        else:
            self._written += encoded(text)

    @property
    def _tokens(self) -> int:
        """How many tokens the answer has so far."""
        if self._count is estimate_tokens:
            return tokens_in(self._characters)
        return self._count(decoded(self._written))

    @property
    def usage(self) -> Usage:
        """The tokens that it used: as the model reported them, or else an estimate."""
        reported = self._reported
        if reported is not None and not reported.is_estimate:
            return reported
        if reported is not None:  # reported so far, if the answer was closed before its end
            return replace(reported, output_tokens=self._tokens)
        read = tokens_of(self._request.messages, self._count)
        return Usage(input_tokens=read, output_tokens=self._tokens, is_estimate=True)


async def _answer_to(model: Any, request: ModelRequest) -> AsyncIterator[Any]:
    """The pieces of an answer, whatever kind of model it is.

    Raises:
        TypeError: the model's return value is not an answer.
    """
    ask = getattr(model, "stream", None)
    keeps = getattr(model, "keeps_messages", False) is True
    messages = request.messages if keeps else copied(request.messages)
    if not callable(ask):
        source = model(messages)
    elif keeps:
        source = ask(request)
    else:
        source = ask(replace(request, messages=messages))
    if inspect.isasyncgen(source):  # as most models give
        return source
    if inspect.isawaitable(source):
        source = await source
    if isinstance(source, str):
        return _whole(source)
    if not isinstance(source, AsyncIterable):
        raise TypeError(
            f"a model must return an async iterable of text, not {type(source).__name__}: make it an "
            "`async def` with `yield`"
        )
    given: Any = source  # pyright: ignore[reportUnknownVariableType]
    return aiter(given)


async def _whole(text: str) -> AsyncGenerator[str, None]:
    """A whole answer as its only piece."""
    yield text


def _is_visible(tool: Any, ctx: RunContext[Any]) -> bool:
    from ..tools.options import options_of

    visible = options_of(tool).visible
    return visible if isinstance(visible, bool) else bool(visible(ctx))


def check_model(model: object) -> None:
    """Check that an object can be asked.

    Raises:
        ConfigError: it is `None`, a coroutine, or something else that cannot be asked.
    """
    if model is None:
        raise ConfigError(
            "an agent needs a model: a function from messages to an async iterable of text, or an object with "
            "stream(request), such as OpenAIModel(...)"
        )
    if inspect.iscoroutine(model) or inspect.isasyncgen(model) or asyncio.isfuture(model):
        name = getattr(model, "__qualname__", type(model).__name__)
        if inspect.iscoroutine(model):
            model.close()
        raise ConfigError(
            f"the model is what {name}(...) returned; give the function itself: {name}"
        )
    if not (callable(model) or callable(getattr(model, "stream", None))):
        raise ConfigError(
            f"{model!r} cannot be a model; write LocalModel(file), OpenAIModel(name) or AnthropicModel(name), or give "
            "a function of messages, or an object with stream(request)"
        )
