"""Explains why a service did not answer: an `LLMError` of one line says what happened, where, and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ..errors import LLMError
from ..guards.secrets import NO_SECRETS, Secrets, shown_url
from .connection import Connection
from .deltas import Finish
from .service_answer import NotStreamError, ReportedError

if TYPE_CHECKING:
    from .advice import Advice

__all__ = ["Service", "named_status_of"]

_LONGEST = 300  # characters of a service's own words
_LISTED = 10  # models that a message lists
_COMPARED = 500  # models that are compared with the one that was asked for
_LONGEST_NAME = 100  # characters of a model's name that are compared, or listed


_TOOL_NUMBER = re.compile(r"\btools[.\[]([0-9]{1,4})\b")
"""How a service names a tool by its place in the request: `tools.0.custom.input_schema`, `tools[0].function`."""

_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status for the code or type of an error that is reported inside a stream, which has no status of its own."""


_UNREACHABLE = {
    "unreachable": "no server answers at {url} ({words}); is the server running there?",
    "broken": "the connection to {url} broke off before an answer ({words}); try again",
    "certificate": (
        "{url} has a certificate that is not trusted here ({words}); correct base_url, or give the file of "
        "certificates that it goes with as verify="
    ),
    "proxy": "the proxy did not connect to {url} ({words}); correct proxy=, or {scheme}_PROXY and NO_PROXY",
    "redirect": (
        "{url} points to {target}, where a request with a key is not sent; if that is the API, give it as base_url"
    ),
    "slow": "no answer from {url} in time; try again, or give it more time with timeout=",
}
"""The message about a service that did not answer, by `TransportError.kind`."""


@dataclass(frozen=True)
class Service:
    """A model and where it is served, as errors name them.

    Attributes:
        connection: how it is reached.
        model: the model's name at the service.
        url: the address of the service, as it may be shown.
        key: the environment variable that its key is read from.
        secrets: returns what an error must not show.
    """

    connection: Connection
    model: str
    url: str
    key: str
    secrets: Callable[[], Secrets] = lambda: NO_SECRETS

    def with_secrets(self, secrets: Callable[[], Secrets]) -> Service:
        """The same, of whose errors these are kept out."""
        return Service(self.connection, self.model, self.url, self.key, secrets)

    async def not_asked(self, error: Exception, tools: Sequence[str]) -> LLMError:
        """Explain why a question got no answer at all; asks the service for its models if it lacks this one.

        Args:
            error: why.
            tools: the names of the tools that were declared; the service may name one by its number.
        """
        if self._is_missing(error):
            return self._error(error, await self._missing(error))
        return self._explained(error, tools=tools) or self._error(
            error, f"{self.url} was not asked ({self._words_of(error)}); correct the settings"
        )

    def broken(self, error: Exception) -> LLMError:
        """Explain why an answer ended before it was complete, or never began."""
        if isinstance(error, NotStreamError):
            return self._error(
                error,
                f"{self.url} did not answer with a stream of events, but with {error}; is base_url the address of an "
                "API that streams, with its path, such as /v1? A proxy or a login page in between can cause this, too",
            )
        if isinstance(error, ReportedError):
            explained = self._explained(error, is_answering=error.is_answering)
            return explained or self._error(error, f"{self.url} failed")
        if self.connection.kind_of(error) is None and (
            explained := self._explained(error, is_answering=True)
        ):
            return explained
        return self._error(
            error,
            f"the stream of the model {self.model} at {self.url} broke off ({self._words_of(error)}); "
            "its answer is incomplete, so try again",
        )

    def refused(self, finish: Finish) -> LLMError:
        """Say that the model refused to answer, or that its provider withheld the answer."""
        why = " ".join(self.secrets().hide(finish.details or finish.reason or "").split())
        return LLMError(
            f"the model {self.model} refused to answer ({why:.{_LONGEST}}); ask in another way, or ask another model"
        )

    def _explained(
        self, error: Exception, *, is_answering: bool = False, tools: Sequence[str] = ()
    ) -> LLMError | None:
        """The error by its status, or by the lack of one; `None` if neither says anything."""
        kind = self.connection.kind_of(error)
        if kind is not None and not is_answering:
            return self._error(error, self._unreachable(error, kind))
        status = _status_of(error)
        if status is None:
            return None
        words = f"{_label_of(error)}{self._words_of(error)}"
        number = _TOOL_NUMBER.search(words)
        if number is not None and int(number[1]) < len(tools):
            words = f"{words}; that is the tool {tools[int(number[1])]!r}"
        from .advice import advice_of

        advice = advice_of(status, f"{' '.join(_codes_of(error))} {words}".lower())
        cure = advice.cure.format(key=self.key, later=_later(error))
        where = " in the middle of an answer" if is_answering else ""
        return self._error(error, f"{self.url} {advice.what}{where} ({words}); {cure}", advice)

    def _unreachable(self, error: Exception, kind: str) -> str:
        words = self._words_of(error.__cause__ or error)
        sentence = _UNREACHABLE[kind if kind in _UNREACHABLE else "slow"]
        scheme = self.url.partition(":")[0].upper()
        return sentence.format(
            url=self.url, words=words, target=shown_url(str(error)), scheme=scheme
        )

    def _is_missing(self, error: Exception) -> bool:
        return _status_of(error) == 404 or "model_not_found" in _codes_of(error)

    async def _missing(self, error: Exception) -> str:
        offered = await _offered(self.connection)
        if offered is None:
            return (
                f"{self.url} has no such API ({_label_of(error)}{self._words_of(error)}); "
                "does base_url lack its path, such as /v1?"
            )
        if self.model in offered:
            return f"{self.url} did not find what it was asked for ({self._words_of(error)}); correct the settings"
        return f"{self.url} does not know the model {self.model}; it offers {_listed(self.model, offered)}"

    def _words_of(self, error: BaseException) -> str:
        """The service's words in one line, or else the exception's; without secrets."""
        words: Any = None
        if isinstance(error, Exception):
            reported = _reported(error)
            words = reported.get("message") or reported.get("detail") or reported.get("error")
        text = self.secrets().hide(str(words or error))
        text = " ".join(text.split()) or type(error).__name__
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

    def _error(self, error: Exception, message: str, advice: Advice | None = None) -> LLMError:
        secrets = self.secrets()
        headers = {
            secrets.hide(name): secrets.hide(value) for name, value in _headers_of(error).items()
        }
        return LLMError(
            secrets.hide(message),
            cause=secrets.clean(error),
            rate_limited=advice is not None and advice.rate_limited,
            auth_failed=advice is not None and advice.auth_failed,
            status=_sent_status_of(error),
            request_id=headers.get("x-request-id") or headers.get("request-id"),
            headers=headers,
        )


def _headers_of(error: Exception) -> Mapping[str, str]:
    """The headers of the service's answer; none if there was no answer."""
    for owner in (error, getattr(error, "response", None)):
        headers: Any = getattr(owner, "headers", None)
        if headers is not None:
            return {str(name).lower(): str(value) for name, value in headers.items()}
    return {}


def _later(error: Exception) -> str:
    seconds = _headers_of(error).get("retry-after", "")
    return f"in {seconds} s" if seconds.isdigit() else "later"


def _reported(error: Exception) -> Mapping[str, Any]:
    """The service's object that describes the error; providers wrap it, or do not, or send only its words."""
    body: Any = getattr(error, "body", None)
    if isinstance(body, str) and body:
        return {"message": body}
    if not isinstance(body, Mapping):
        return {}
    body = cast("Mapping[str, Any]", body)
    inner = body.get("error")
    return cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else body


def _codes_of(error: Exception) -> list[str]:
    """The service's code and type of the error, in this order. Some servers only repeat the status as the code."""
    reported = _reported(error)
    return [str(reported[key]) for key in ("code", "type") if reported.get(key)]


def _code_of(error: Exception) -> str:
    return next(iter(_codes_of(error)), "")


def _status_of(error: Exception) -> int | None:
    """The HTTP status; for an error inside a stream, the status that its code or type stands for."""
    named = named_status_of(error)
    return 500 if named is None and _reported(error) else named


def named_status_of(error: Exception) -> int | None:
    """The HTTP status that a service sent, or that the code or type of what it reported stands for."""
    sent = _sent_status_of(error)
    if sent is not None and 300 <= sent < 600:
        return sent
    reported = _reported(error)
    for named in (reported.get("code"), reported.get("type")):
        status = str(_STATUS_OF_TYPE.get(str(named), named))
        if status.isdigit() and 400 <= int(status) < 600:
            return int(status)
    return None


def _sent_status_of(error: Exception) -> int | None:
    """The HTTP status that a service sent."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _label_of(error: Exception) -> str:
    """The number or name of an error, to put before its text."""
    status = _sent_status_of(error)
    label = status if status is not None and status >= 400 else _code_of(error)
    return f"{label}: " if label else ""


async def _offered(connection: Connection) -> list[str] | None:
    """The models of a service; `None` if it does not say."""
    try:
        return await connection.models()
    except Exception:  # whatever this error is, the first one is reported
        return None


def _listed(wanted: str, offered: list[str]) -> str:
    """Names, those most like the wanted one first."""
    import difflib  # here, since only this error needs it

    # Comparing two names costs the square of their length or more.
    longest = min(4 * len(wanted), _LONGEST_NAME)
    alike = [name for name in offered if len(name) <= longest][:_COMPARED]
    nearest = difflib.get_close_matches(wanted[:_LONGEST_NAME], alike, n=3, cutoff=0.4)
    names = [*nearest, *(name for name in offered if name not in nearest)]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return (", ".join(f"{name:.{_LONGEST_NAME}}" for name in names[:_LISTED]) + more) or "none"
