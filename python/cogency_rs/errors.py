"""The errors a caller can catch.

One tree under `CogencyError`, with the class names and attributes of cogency 3.3.0, so that code written
for one reads the other. A message says what was wrong, where, and what to do.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "BlockTool",
    "BusyError",
    "CogencyError",
    "ConfigError",
    "DeniedError",
    "LLMError",
    "ProtocolError",
    "SkipTool",
    "StorageError",
    "ToolError",
    "ToolParseError",
    "UnknownOutcomeError",
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
    """

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


class UnknownOutcomeError(ToolError):
    """It is not known whether a call had its effect: what carried it out was lost. It is not run again by itself."""


class BlockTool(CogencyError):  # noqa: N818  # an instruction more than an error
    """Raised by a hook before a call: it is not to run. The model reads the message."""


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
