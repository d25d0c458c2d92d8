"""The errors a caller can catch.

One tree under `CogencyError`, with the class names and attributes of cogency 3.3.0, so that code written
for one reads the other. A message says what was wrong, where, and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .records import ToolExecution

__all__ = [
    "BlockTool",
    "BusyError",
    "CogencyError",
    "ConfigError",
    "DeniedError",
    "HookError",
    "LLMError",
    "ProtocolError",
    "SkipTool",
    "StopRun",
    "StorageError",
    "ToolError",
    "ToolParseError",
    "UnknownOutcome",
]


class CogencyError(Exception):
    """Anything this package raises on its own account.

    Attributes:
        cause: the exception that led to this one, or `None`.
    """

    def __init__(self, message: str, *, cause: Exception | None = None) -> None:
        super().__init__(message)
        self.cause = cause


class ConfigError(CogencyError):
    """Something handed over at construction cannot work; raised before a turn starts."""


class ProtocolError(CogencyError):
    """Text that breaks the protocol, where the caller asked for a value instead of events.

    Attributes:
        original_input: the text as it came, or `None`.
    """

    def __init__(
        self, message: str, *, cause: Exception | None = None, original_input: str | None = None
    ) -> None:
        super().__init__(message, cause=cause)
        self.original_input = original_input


class ToolError(CogencyError):
    """A tool's own failure, for tools to raise.

    Attributes:
        validation_failed: the arguments were at fault, not the tool.
        timeout: the tool ran out of time.
        executions: of an agent's run that fails with its tools, what became of the calls of the batch.
    """

    executions: tuple[ToolExecution, ...] = ()

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
    """A call that needs someone's agreement did not get it."""


class UnknownOutcome(ToolError):  # noqa: N818  # not known to be an error
    """A call of which nobody knows whether it happened: what carried it out is gone."""


class BlockTool(CogencyError):  # noqa: N818  # an instruction more than an error
    """Raised by a hook before a call: it is not to run. The model reads the message."""


class StopRun(CogencyError):  # noqa: N818
    """Raised by a tool or a hook: the run ends, once the calls that run have their results.

    Attributes:
        message: why, for the program that started the run.
        reason: a `StopReason`, or its value.
        context: what else there is to say, by name.
        source: the name of the tool, or of the class of hooks, that asked for it; set where it is caught.
    """

    def __init__(
        self,
        message: str = "",
        *,
        reason: str = "stop_requested",
        context: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.source = ""
        self.context: dict[str, Any] = dict(context or {})


class SkipTool(CogencyError):  # noqa: N818
    """Raised by a hook before a call: it is not to run, and has this value instead.

    Attributes:
        value: the content of the call's result.
    """

    def __init__(self, value: Any = None) -> None:
        super().__init__("the call is skipped")
        self.value = value


class StorageError(CogencyError):
    """The log could not be read or written.

    Attributes:
        retryable: whether the same call may succeed later (a lock, a network), so that trying again
            makes sense.
    """

    def __init__(
        self, message: str, *, cause: Exception | None = None, retryable: bool = False
    ) -> None:
        super().__init__(message, cause=cause)
        self.retryable = retryable


class BusyError(CogencyError):
    """A conversation that another run has, where the caller did not want to wait, or would wait for itself.

    Attributes:
        conversation_id: which one.
    """

    def __init__(
        self, message: str, *, cause: Exception | None = None, conversation_id: str
    ) -> None:
        super().__init__(message, cause=cause)
        self.conversation_id = conversation_id


class HookError(CogencyError):
    """A hook failed, or gave back what its trigger may not.

    Attributes:
        hook: the name of its class.
        trigger: the method.
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
        rate_limited: too many requests; wait and try again.
        auth_failed: the credentials were refused.
    """

    def __init__(
        self,
        message: str,
        *,
        cause: Exception | None = None,
        rate_limited: bool = False,
        auth_failed: bool = False,
    ) -> None:
        super().__init__(message, cause=cause)
        self.rate_limited = rate_limited
        self.auth_failed = auth_failed


class ToolParseError(ValueError):
    """A single tool call that cannot be read.

    Attributes:
        original_json: the JSON text that was tried, or `None`.
    """

    def __init__(self, message: str, original_json: str | None = None) -> None:
        super().__init__(message)
        self.original_json = original_json
