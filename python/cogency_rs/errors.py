"""The errors that a caller can catch.

They are one tree under `CogencyError`, with the class names and attributes of cogency 3.3.0, so that code written for
either package can handle both. A message says what was wrong, where, and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from .loading import PlainData

__all__ = [
    "ArgumentError",
    "BlockTool",
    "BusyError",
    "CallChangedError",
    "ConfigError",
    "DecisionError",
    "DeniedError",
    "HookError",
    "LLMError",
    "NoAnswerError",
    "OwnerError",
    "ProtocolError",
    "SkipTool",
    "StopReason",
    "StopRun",
    "StorageError",
    "ToolError",
    "ToolParseError",
    "UnknownOutcome",
]


class Portable(Exception):  # noqa: N818  # a kind of errors
    """An error that can be pickled whatever its class is made of, and whatever its `cause` is.

    A pool of processes would wait for ever for an error that cannot be read, or break.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles without calling its class, since some classes need more than a message."""
        state = vars(self)
        cause = state.get("cause")
        if not (cause is None or isinstance(cause, Portable)):
            state = {**state, "cause": _Sent(cause)}
        return _rebuilt, (type(self), self.args), state

    def __setstate__(self, state: dict[str, Any] | None) -> None:
        """Takes what `__reduce__` gave, also through `copy`."""
        cause = (state or {}).get("cause")
        vars(self).update(state or {})
        if isinstance(cause, _Sent):
            vars(self)["cause"] = cause.error


class LostError(Portable):
    """Takes the place of an error that cannot be pickled, with its text.

    Attributes:
        kind: the class of that error.
    """

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


class _Sent:
    """Somebody else's error on its way through a pickle; many can be written and not read."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __reduce__(self) -> tuple[Any, ...]:
        import pickle

        error = self.error
        try:
            is_same = type(pickle.loads(pickle.dumps(error))) is type(error)
        except Exception:
            is_same = False
        if is_same:
            return _Sent, (error,)
        try:
            text = str(error)
        except Exception:
            text = ""
        return _Sent, (LostError(text, type(error).__name__),)


def _rebuilt(kind: type[Portable], args: tuple[Any, ...]) -> Portable:
    error = kind.__new__(kind)
    error.args = args
    return error


class CogencyError(Portable):
    """The base class of the errors that this package raises.

    Attributes:
        cause: the exception that led to this one, or `None`.
    """

    def __init__(self, message: str, *, cause: Exception | None = None) -> None:
        super().__init__(message)
        self.cause = cause


class ConfigError(CogencyError, ValueError):
    """An argument or an option cannot work; raised before a turn starts. It is a `ValueError` too."""


class ArgumentError(ConfigError, TypeError):
    """An argument of the wrong type, or with an unknown name. It is a `TypeError` too, as Python raises for these."""


class DecisionError(ConfigError):
    """A decision about a call is refused: it is about another call, or one that was decided or has begun.

    Attributes:
        call_id: the id that the decision names.
    """

    def __init__(self, message: str, *, cause: Exception | None = None, call_id: str = "") -> None:
        super().__init__(message, cause=cause)
        self.call_id = call_id


class CallChangedError(DecisionError):
    """A decision about a call is refused, since the call is no longer what was shown; it can be shown again."""


class ProtocolError(CogencyError):
    """Text that breaks the protocol, read by a function that returns a value instead of events.

    Attributes:
        original_input: the text as it was given, or `None`.
    """

    def __init__(
        self, message: str, *, cause: Exception | None = None, original_input: str | None = None
    ) -> None:
        super().__init__(message, cause=cause)
        self.original_input = original_input


class ToolError(CogencyError):
    """A failure of a tool, in the tool's own words; tools raise it.

    Attributes:
        validation_failed: whether the arguments were at fault, not the tool.
        timeout: whether the tool ran out of time.
        executions: the `ToolExecution`s of the batch's calls, if an agent's run failed with its tools; else empty.
    """

    executions: tuple[Any, ...] = ()

    def __init__(
        self,
        message: str,
        *,
        cause: Exception | None = None,
        validation_failed: bool = False,
        timeout: bool = False,
    ) -> None:
        super().__init__(message, cause=cause)
        self.validation_failed = validation_failed
        self.timeout = timeout


class DeniedError(ToolError):
    """A call that requires approval was not approved."""


class UnknownOutcome(ToolError):  # noqa: N818  # not known to be an error
    """It is not known whether a call had its effect: the process or the connection that carried it out is gone."""


class BlockTool(CogencyError):  # noqa: N818  # an instruction more than an error
    """Raised by a hook around a call, instead of `next`, to keep the call from running. The model reads the message."""


class StopReason(StrEnum):
    """Why a run stopped. If there are several reasons, the first in this order counts.

    `REFUSED` means that the model refused to answer or its provider withheld the answer, `TRUNCATED` that the answer
    was cut repeatedly, or at a limit of yours before it could be used, `EMPTY_ANSWER` that the model wrote no answer,
    even when asked once more.
    """

    ERROR = "error"
    STOP_REQUESTED = "stop_requested"
    USER_REQUESTED = "user_requested"
    STEPS_LIMIT = "steps_limit"
    TOOL_CALLS_LIMIT = "tool_calls_limit"
    TOKEN_LIMIT = "token_limit"
    TIME_LIMIT = "time_limit"
    RETRY_LIMIT = "retry_limit"
    FINISH_REASON = "finish_reason"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    EMPTY_ANSWER = "empty_answer"
    COMPLETED = "completed"
    UNKNOWN = "unknown"


class StopRun(CogencyError, PlainData):  # noqa: N818
    """A reason to end a run once the running calls have their results: a tool or a hook raises it, or the run finds it.

    `RunResult.stop` is the one that counts. Two are equal if their attributes are.

    Args:
        reason: a `StopReason`, or its value. Any other text is in `context`, and the reason is `UNKNOWN`.

    Attributes:
        message: the reason as text, for the program that started the run.
        reason: the kind of reason.
        context: further facts, by name.
        source: where it comes from: a tool's or a hook's name, `"limits"`, `"recovery"`, `"model"` or `"user"`.
            Set where it is caught.
    """

    def __init__(
        self,
        message: str = "",
        *,
        reason: StopReason | str = StopReason.STOP_REQUESTED,
        context: Mapping[str, Any] | None = None,
        source: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.context: dict[str, Any] = dict(context or {})
        try:
            self.reason = StopReason(reason)
        except ValueError:
            self.reason, self.context = StopReason.UNKNOWN, {"reason": reason, **self.context}
        self.source = source

    def to_dict(self) -> dict[str, Any]:
        """Write it as a dict, which JSON can hold if it can hold the context."""
        return {
            "message": self.message,
            "reason": str(self.reason),
            "context": self.context,
            "source": self.source,
        }

    def told_by(self, source: str) -> StopRun:
        """The same from this source, without the traceback of the one that was raised."""
        return StopRun(self.message, reason=self.reason, context=self.context, source=source)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StopRun) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.reason, self.message, self.source))


class SkipTool(CogencyError):  # noqa: N818
    """Raised by a hook around a call, instead of `next`, to give it this value as its result without running it.

    Attributes:
        value: the content of the call's result.
    """

    def __init__(self, value: Any = None) -> None:
        super().__init__("the call is skipped")
        self.value = value


class StorageError(CogencyError):
    """The log could not be read or written.

    Attributes:
        retryable: whether the same call may succeed later, for instance after a lock or a network failure.
    """

    def __init__(
        self, message: str, *, cause: Exception | None = None, retryable: bool = False
    ) -> None:
        super().__init__(message, cause=cause)
        self.retryable = retryable


class BusyError(CogencyError):
    """Another run holds the conversation, and the caller did not want to wait, or would have waited for itself.

    Attributes:
        conversation_id: the conversation's id.
    """

    def __init__(
        self, message: str, *, cause: Exception | None = None, conversation_id: str
    ) -> None:
        super().__init__(message, cause=cause)
        self.conversation_id = conversation_id


class OwnerError(CogencyError):
    """A conversation belongs to another user. Nothing of it was read for the caller, and nothing was written.

    The message does not say whose it is.

    Attributes:
        conversation_id: the conversation's id.
        user_id: the user who asked for it.
    """

    def __init__(
        self,
        message: str,
        *,
        cause: Exception | None = None,
        conversation_id: str = "",
        user_id: str = "",
    ) -> None:
        super().__init__(message, cause=cause)
        self.conversation_id = conversation_id
        self.user_id = user_id


class HookError(CogencyError):
    """A hook failed, or returned something that it must not.

    Attributes:
        hook: the name of its class.
        trigger: the name of its method.
    """

    def __init__(
        self, message: str, *, hook: str, trigger: str, cause: Exception | None = None
    ) -> None:
        super().__init__(message, cause=cause)
        self.hook = hook
        self.trigger = trigger


class LLMError(CogencyError):
    """The model's service failed.

    Attributes:
        rate_limited: whether there were too many requests; wait, and try again.
        auth_failed: whether the credentials were refused.
        status: the HTTP status of the service's answer; `None` if there was none.
        request_id: the service's id of the request, which its support asks for; `None` if it sent none.
        headers: the headers of the service's answer, their names in small letters.
    """

    def __init__(
        self,
        message: str,
        *,
        cause: Exception | None = None,
        rate_limited: bool = False,
        auth_failed: bool = False,
        status: int | None = None,
        request_id: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, cause=cause)
        self.rate_limited = rate_limited
        self.auth_failed = auth_failed
        self.status = status
        self.request_id = request_id
        self.headers: Mapping[str, str] = headers or {}


class NoAnswerError(CogencyError):
    """A run ended without an answer, so that it has no output.

    Attributes:
        status: how the run ended; see `RunResult.status`.
        reason: why it stopped, the value of a `StopReason`; `None` if it did not stop.
    """

    def __init__(
        self,
        message: str,
        *,
        cause: Exception | None = None,
        status: str = "",
        reason: str | None = None,
    ) -> None:
        super().__init__(message, cause=cause)
        self.status = status
        self.reason = reason


class ToolParseError(CogencyError, ValueError):
    """The text of a single tool call cannot be read. It is a `ValueError` too.

    Attributes:
        original_json: the JSON text that was read, or `None`.
    """

    def __init__(self, message: str, original_json: str | None = None) -> None:
        super().__init__(message)
        self.original_json = original_json
