"""Messages of a chat API to messages of text in a dialect, and back: what a chat template does, and its inverse."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, TypeGuard

from .._core import ChatReader, Dialect, ToolSchemas
from ..errors import ConfigError
from ..tools.registry import is_object
from ..types import ToolCall, ToolResult


def error_body(error: Exception, *, param: str | None = None) -> dict[str, Any]:
    """Write the body of a server's answer, with status 400, to a request that a reader or a writer refused.

    Args:
        error: what `ChatReader(...)`, `ChatWriter(...)` or `ChatWriter.write` raised.
        param: the part of the request that it is about.
    """
    described = {
        "message": str(error),
        "type": "invalid_request_error",
        "param": param,
        "code": None,
    }
    return {"error": described}


Message = Mapping[str, Any]

PROBE = re.compile(r"qZ(\d+)x(.*?)qZ\1x", re.DOTALL)
"""A placeholder for a result, with which the frame around results is found: a word, a quote, and the word again."""


PROBE_ID = re.compile(r"qI(\d+)q")
"""A placeholder for a call's id in that frame: a dialect may write the id there and not in the call."""


class ChatWriter:
    """Writes the messages of a chat API as a model of a dialect reads them, and reads them back.

    Args:
        dialect: how the model writes its calls: a preset's name, or a `Dialect`.
        tools: the tools that the model may call, as `ChatReader` takes them; the system message declares them.

    Raises:
        ConfigError: there is no such dialect, or JSON cannot hold a tool's schema.
        TypeError: `tools` is not made of tools.
    """

    def __init__(self, dialect: str | Dialect, tools: Iterable[Any] | None = None) -> None:
        self._dialect = Dialect(dialect) if isinstance(dialect, str) else dialect
        listed = list(tools or ())
        self._tools = ToolSchemas(listed) if listed else None
        self._declaration = self._dialect.declare(listed) if listed else ""
        shown = self._dialect.write_turn("text", reasoning="thought")
        answer = ChatReader(self._dialect, begins_in_think=False).read(shown)
        self._keeps_reasoning = answer.get("reasoning_content", "").strip() == "thought"

    def write(self, messages: Iterable[Message]) -> list[dict[str, str]]:
        """Write messages as text.

        Args:
            messages: as in a request to the API: `system` or `developer`, `user`, `assistant` with `content`,
                `reasoning_content` (or `reasoning`) and `tool_calls`, and `tool` with a `tool_call_id`.

        Returns:
            Messages with a `role` and `content`, for a chat template without tools. The declaration of the tools ends
            the first system message, and is one of its own if there is none. The results of an answer's calls are one
            message of the `user`, in the order of the calls. Text from outside is made safe, see `Dialect.inert`.

        Raises:
            ConfigError: a message has an unknown role, a call has no result or arguments that are not a JSON object, a
                result has no call, or the dialect cannot hold a call.
        """
        written: list[dict[str, str]] = []
        declaration = self._declaration
        waiting: list[ToolCall] = []
        called = 0  # before those
        results: dict[str, ToolResult] = {}

        def answer_calls() -> None:
            nonlocal called
            if not waiting:
                return
            missing = [call.id for call in waiting if call.id not in results]
            if missing:
                raise ConfigError(
                    f"the call {missing[0]!r} has no result: add a message of the role `tool`"
                )
            found = [results.pop(str(call.id)) for call in waiting]
            content = self._dialect.write_results(found, calls=waiting, first=called)
            written.append({"role": "user", "content": content})
            called += len(waiting)
            waiting.clear()

        for message in messages:
            role = message.get("role")
            if role == "tool":
                id = str(message.get("tool_call_id"))
                if all(call.id != id for call in waiting):
                    raise ConfigError(
                        f"the result of {id!r} answers no call of the answer before it"
                    )
                results[id] = ToolResult(outcome="", content=_text(message))
                continue
            answer_calls()
            match role:
                case "system" | "developer":
                    content, declaration = _joined(_text(message), declaration), ""
                case "user":
                    content = self._dialect.inert(_text(message))
                case "assistant":
                    waiting.extend(_calls(message))
                    reasoning = message.get("reasoning_content") or message.get("reasoning")
                    content = self._dialect.write_turn(
                        _text(message),
                        reasoning=reasoning if self._keeps_reasoning else None,
                        calls=waiting,
                        tools=self._tools,
                        first=called,
                    )
                case _:
                    raise ConfigError(f"there is no role {role!r}")
            written.append({"role": str(role), "content": content})
        answer_calls()
        if declaration:
            written.insert(0, {"role": "system", "content": declaration})
        return written

    def read(self, messages: Iterable[Message]) -> list[dict[str, Any]]:
        """Read messages of text back: the inverse of `write`.

        A call has the id that the dialect wrote, or one made from its number in the conversation. What is lost is the
        space around an answer's texts, and reasoning where the dialect has no marks for it.
        """
        numbers = count()
        reader = ChatReader(
            self._dialect, self._tools, ids=lambda: f"call_{next(numbers)}", begins_in_think=False
        )
        read: list[dict[str, Any]] = []
        calls: Sequence[Any] = ()
        for message in messages:
            role, content = message["role"], message["content"]
            found = self._results(content, calls) if role == "user" and calls else []
            calls = ()
            match role:
                case "user" if found:
                    read += found
                case "assistant":
                    answer = reader.read(content)
                    for key in ("content", "reasoning_content"):
                        if answer.get(key):
                            answer[key] = self._dialect.exact(answer[key].strip()) or None
                    calls = answer.get("tool_calls", ())
                    read.append(answer)
                case "system" | "developer":
                    kept = content.removesuffix(self._declaration).removesuffix("\n\n")
                    if kept or not self._declaration:
                        read.append(
                            {"role": role, "content": kept if self._declaration else content}
                        )
                case _:
                    read.append({"role": role, "content": self._dialect.exact(content)})
        return read

    def _results(self, text: str, calls: Sequence[Any]) -> list[dict[str, Any]]:
        """The results in a message, which answers these calls; nothing if it does not hold one for each."""
        shown = [call["id"] for call in calls]
        hidden = [f"qI{number}q" for number in range(len(calls))]
        return [*self._framed(text, calls, shown)] or [*self._framed(text, calls, hidden)]

    def _framed(
        self, text: str, calls: Sequence[Any], ids: Sequence[str]
    ) -> Iterator[dict[str, Any]]:
        """The results in a message that has these ids in the frame around them."""
        frame = self._dialect.write_results(
            [ToolResult(outcome="", content=f'qZ{n}x"qZ{n}x') for n in range(len(calls))],
            calls=[
                ToolCall(call["function"]["name"], {}, id)
                for call, id in zip(calls, ids, strict=True)
            ],
        )
        pieces = PROBE.split(frame)
        mark = _mark(pieces[0]).match(text)
        if len(pieces) != 3 * len(calls) + 1 or mark is None:
            return
        at, read, found = mark.end(), [*mark.groups()], list[str]()
        for number, (quote, behind) in enumerate(zip(pieces[2::3], pieces[3::3], strict=True)):
            is_last = number == len(calls) - 1
            mark = _mark(behind, r"\Z" if is_last else "").search(text, at)
            if mark is None:
                return
            shown, at = text[at : mark.start()], mark.end()
            read += mark.groups()
            found.append(
                self._dialect.exact(shown)
                if quote == '"'
                else json.loads(f'"{shown}"', strict=False)
            )
        for number, id in zip(PROBE_ID.findall(frame), read, strict=True):
            calls[int(number)]["id"] = id
        for call, content in zip(calls, found, strict=True):
            yield {"role": "tool", "tool_call_id": call["id"], "content": content}


def _mark(text: str, end: str = "") -> re.Pattern[str]:
    """A part of the frame around results, with a group for each id in it."""
    return re.compile(PROBE_ID.sub(r"(\\S+?)", re.escape(text)) + end)


def _joined(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether a value is an array in JSON's sense."""
    return isinstance(value, list)


def _text(message: Message) -> str:
    """The text of a message, whose content may be a list of parts."""
    content: Any = message.get("content")
    if _is_list(content):
        return "".join(str(part.get("text", "")) for part in content if is_object(part))
    if content is None or isinstance(content, str):
        return content or ""
    raise ConfigError(f"the content of a message must be text or a list of parts, not {content!r}")


def _calls(message: Message) -> Iterator[ToolCall]:
    for call in message.get("tool_calls") or ():
        function: Any = call.get("function") or {}
        args: Any = function.get("arguments") or "{}"
        try:
            args = json.loads(args) if isinstance(args, str) else args
        except json.JSONDecodeError as error:
            raise ConfigError(
                f"the arguments of the call {call.get('id')!r} are not JSON: {error}"
            ) from error
        if not is_object(args):
            raise ConfigError(f"the arguments of the call {call.get('id')!r} must be a JSON object")
        yield ToolCall(str(function.get("name")), args, str(call.get("id")))
