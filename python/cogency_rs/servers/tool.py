"""A tool of a server, as an agent sees it, and the server's answer to a call as a result."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from ..calls.tool_result import failure
from ..errors import ConfigError, ToolError, UnknownOutcome
from ..guards.json import read_json
from ..tools.cogency import without_injected
from ..tools.context import ToolContext
from ..tools.options import ToolOptions
from ..tools.registry import CheckedTool, compiled
from ..types import ToolResult

if TYPE_CHECKING:
    from ..guards.secrets import Secrets


STATUS = "cogency-rs/status"
"""The key in an answer's `_meta` whose value, `"unknown"`, says that the outcome of the call is not known."""

LONGEST_PART = 10_000
"""Characters that are shown of a part whose kind MCP does not define."""


class Answer(NamedTuple):
    """A server's answer to a call.

    Attributes:
        result: as the server sent it, unchecked.
        broken: how it differs from what MCP or the server itself promises; empty if it does not.
    """

    result: Mapping[str, Any]
    broken: str = ""


def as_tool_result(answer: Answer, tool: str, secrets: Secrets) -> ToolResult:
    """Make a result of a server's answer, whatever it is: what was answered reaches the model.

    Args:
        answer: what the server sent.
        tool: which tool was called.
        secrets: what the text of an error must not show. The content of a success is data, and stays exact.

    Returns:
        The result's content is the answer's text; or its structured content, if the text says nothing more; or an
        object with `text` and `structured`, if each says something of its own. An image, a recording or a file is named
        in the text, with its type and size. An answer that is broken has a note as its outcome.
    """
    result = answer.result
    found: Any = result.get("content")
    parts: list[Any] = [] if found is None else [found]
    if isinstance(found, list):
        parts = cast("list[Any]", found)
    text = "\n".join(filter(None, map(_text_of, parts)))
    structured: Any = result.get("structuredContent")
    if result.get("isError"):
        words = secrets.hide(text or _said_nothing(structured, tool))
        meta: Any = result.get("_meta")
        is_unknown = isinstance(meta, dict) and cast("Any", meta).get(STATUS) == "unknown"
        return failure(words, UnknownOutcome(words), "unknown") if is_unknown else failure(words)
    outcome = "Success"
    if answer.broken:
        outcome = f"The server answered, but not as it promises: {secrets.hide(answer.broken)}"
    if structured is None:
        return ToolResult(outcome, text)
    value = _bare(structured)
    texts = [part["text"] for part in parts if _is_text(part)]
    if _only_wraps(structured, text, parts):
        return ToolResult(outcome, text)
    if len(texts) == len(parts) and _is_same(texts, text, structured, value):
        return ToolResult(outcome, value)
    return ToolResult(outcome, {"text": text, "structured": value})


def _said_nothing(structured: Any, tool: str) -> str:
    if structured is not None:
        return json.dumps(structured, ensure_ascii=False)
    return f"'{tool}' failed, and its server does not say why"


def _bare(structured: Any) -> Any:
    """The value inside `{"result": value}`, which is how a server wraps a value that is not an object."""
    match structured:
        case {"result": value, **others} if not others:
            return value
        case _:
            return structured


def _only_wraps(structured: Any, text: str, parts: list[Any]) -> bool:
    """Whether the structured content is an object of one value, and that is the text, or a copy of all parts.

    The official server for files answers so.
    """
    values: list[Any] = [*structured.values()] if isinstance(structured, dict) else []
    if len(values) != 1:
        return False
    value: Any = values[0]
    if isinstance(value, str):
        return value.strip() == text.strip()
    return bool(value) and isinstance(value, list) and value == parts


def _is_same(texts: list[str], text: str, structured: Any, value: Any) -> bool:
    """Whether the text only repeats the structured content, as servers do for clients that read nothing but text."""
    if not texts or text == value or _has(value, text):
        return True
    read = [_read(each) for each in texts]
    whole = _read(text)
    return whole in (structured, value) or read in (structured, value) or texts == value


def _has(value: Any, text: str) -> bool:
    """Whether the text is one of an object's values."""
    if not isinstance(value, dict):
        return False
    values = cast("dict[str, Any]", value).values()
    return any(isinstance(each, str) and each.strip() == text.strip() for each in values)


def _read(text: str) -> Any:
    try:
        return read_json(text)
    except ValueError:
        return text


def _is_text(part: Any) -> bool:
    match part:
        case {"type": "text", "text": str()}:
            return True
        case _:
            return False


def _text_of(part: Any) -> str:
    """One part of an answer as text; a part that is not text is named, and one of an unknown kind is shown."""
    match part:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image" | "audio" as kind, "data": str(data)}:
            return f"[{kind}: {part.get('mimeType')}, {_size(data)}]"
        case {"type": "resource_link", "uri": str(uri)}:
            return f"[resource: {part.get('name')}, {uri}{_kind_of(part)}]"
        case {"type": "resource", "resource": {"uri": str(uri), "blob": str(blob), **others}}:
            return f"[resource: {uri}{_kind_of(others)}, {_size(blob)}]"
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text), **others}}:
            return f"[resource: {uri}{_kind_of(others)}]\n{text}"
        case _:
            shown = json.dumps(part, ensure_ascii=False)
            return shown if len(shown) <= LONGEST_PART else f"{shown[:LONGEST_PART]} …"


def _kind_of(resource: Mapping[Any, Any]) -> str:
    kind = resource.get("mimeType")
    return f", {kind}" if kind else ""


def _size(encoded: str) -> str:
    """The size of base64 text once it is decoded."""
    count = len(encoded) * 3 // 4 - encoded[-2:].count("=")
    return f"{count} bytes" if count < 10_000 else f"{count / 1000:.0f} kB"


class OnProgress(Protocol):
    """Called with how far a call has come, of how much, and a message."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Take the progress of a call."""
        ...


class LostAnswer(UnknownOutcome):
    """A server may have carried out a call, and there is no answer.

    Args:
        what: what happened.
        more: what else is known, as the end of a sentence.
        cause: the error of the SDK.
        timeout: whether the time of the call was up.

    Attributes:
        what: what happened.
        more: what else is known.
    """

    def __init__(
        self, what: str, more: str = "", *, cause: Exception | None = None, timeout: bool = False
    ) -> None:
        message = f"{what}, so whether the call had an effect is not known{more}"
        super().__init__(message, cause=cause, timeout=timeout)
        self.what, self.more = what, more

    def as_failure(self) -> ToolError:
        """The same for a call that has no effect that matters."""
        return ToolError(f"{self.what}{self.more}", cause=self.cause, timeout=self.timeout)


EXECUTION_ID = "cogency-rs/execution_id"
"""The key in `_meta` whose value is the call's `execution_id`."""


class CallOnServer(Protocol):
    """Calls a tool of a server."""

    def __call__(
        self,
        name: str,
        args: Mapping[str, Any],
        on_progress: OnProgress | None = None,
        *,
        execution_id: str | None = None,
        timeout: float | None = None,
    ) -> Awaitable[ToolResult]:
        """Call it: its name there, the arguments, a callback for progress, what identifies the call, and a limit."""
        ...


@dataclass(frozen=True, eq=False)
class MCPTool(CheckedTool):
    """A tool of a server. The server gets the model's arguments, and in `_meta` the `execution_id` of the call.

    Attributes:
        name: the name that the model calls.
        description: what it does, in the server's words.
        schema: its parameters, as JSON Schema.
        server: the name of its server.
        remote_name: its name on that server.
        options: how its calls are carried out.
        url: where the server is, as it may be shown; `None` for a program that was started here.
        limit: seconds that the server may take without a report of progress, unless `options.timeout` says how many.
        hints: what the server says of the tool's effects: its `annotations`, such as `readOnlyHint`.
    """

    name: str
    description: str
    schema: dict[str, Any]
    server: str
    remote_name: str
    options: ToolOptions = field(repr=False)
    call: CallOnServer = field(repr=False)
    url: str | None = field(default=None, repr=False)
    limit: float | None = field(default=None, repr=False)
    hints: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)

    def named(self, name: str, server: str | None = None) -> MCPTool:
        """The same tool with another name for the model, and perhaps with another name of its server."""
        return replace(self, name=name, server=self.server if server is None else server)

    def faults(self, args: Mapping[str, Any]) -> list[str]:
        """Say what is wrong with the model's arguments. A schema that cannot be used leaves that to the server."""
        try:
            schema = compiled(self, self.schema)
        except ConfigError:
            return []
        return schema.faults(args)

    @property
    def takes_context(self) -> bool:
        """Always true: it reports the progress of its calls."""
        return True

    @property
    def run_checked(self) -> Callable[..., Any]:
        """Call it with arguments in which there are no `faults`."""
        return self._run

    async def execute(self, **given: Any) -> ToolResult:
        """Call it. Only the model's arguments are sent, not what cogency's executor adds to them.

        Returns:
            The server's answer. If the answer is marked as an error, the result is a failure with its text.

        Raises:
            UnknownOutcome: the server may have carried out the call, and there is no answer that can be read. If the
                tool only reads or is idempotent, that is a `ToolError`.
            ToolError: the server could not be started or reached, or refused the call.
        """
        args = without_injected(given, self.name, self.schema.get("properties", {}))
        if problems := self.faults(args):
            return failure(f"Invalid arguments for tool '{self.name}': {'; '.join(problems)}")
        return await self._run(args, None)

    @property
    def keeps_time(self) -> bool:
        """Whether the limit of a call is kept here, where progress extends it, and not by what carries out the call."""
        return self.options.timeout is not None

    @property
    def has_effects_elsewhere(self) -> bool:
        """Whether a call without an answer may have had an effect: its outcome is unknown then, and not a failure."""
        says = self.hints.get("readOnlyHint") is True or self.hints.get("idempotentHint") is True
        return not (says or self.options.may_run_twice)

    async def _run(self, args: Mapping[str, Any], context: ToolContext[Any] | None) -> ToolResult:
        limit = self.limit if self.options.timeout is None else self.options.timeout
        try:
            if context is None:
                return await self.call(self.remote_name, args, None, timeout=limit)
            emit = context.emit

            async def tell(progress: float, total: float | None, message: str | None) -> None:
                told = {"progress": progress, "total": total, "message": message}
                emit({"type": "progress", "tool": self.name, **told})

            id = context.execution_id
            return await self.call(self.remote_name, args, tell, execution_id=id, timeout=limit)
        except LostAnswer as lost:
            if self.has_effects_elsewhere:
                raise
            failed = lost.as_failure()
        raise failed from failed.cause
