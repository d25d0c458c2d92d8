"""Explains why a service did not answer, in an `LLMError` of one line, and when the request is sent again."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from .._core import Finish
from ..errors import LLMError
from ..guards.secrets import NO_SECRETS, Secrets, shown_url
from ..outside import random, time
from .connection import Connection, StatusError, TransportError
from .service_answer import IncompleteError, NotStreamError, ReportedError


class Advice(NamedTuple):
    """What a status means.

    Attributes:
        what: what the service did; it follows the address in the message.
        cure: what to do.
    """

    what: str
    cure: str
    rate_limited: bool = False
    auth_failed: bool = False


_SEND_LESS = "send less of the conversation, as History(max_tokens=...) does"
_REFUSED = Advice("refused the request", "correct the settings or the messages")
FAILED = Advice("failed", "nothing is wrong with the request: try again later")
_TOO_LONG = Advice("refused a prompt that is too long", _SEND_LESS)
_REASONING = Advice(
    "wants its reasoning back, or does not take it",
    'OpenAIModel(…, reasoning_key="reasoning_content") sends it back; without reasoning_key it is not sent',
)
_NO_CREDIT = Advice("asks for payment first", "add credit to the account, or raise its limit")

_NOWHERE = Advice(
    "gave neither an answer nor the address of one",
    "is base_url the address of an API, with its path, such as /v1?",
)

_BY_STATUS = {
    401: Advice("refused the key", "set {key}, or give api_key=", auth_failed=True),
    402: _NO_CREDIT,
    403: Advice(
        "does not allow this key to do that",
        "use another key, or another model",
        auth_failed=True,
    ),
    408: Advice("took too long", "try again, or give it more time with timeout="),
    413: _TOO_LONG,
    429: Advice("limits how often it may be asked", "try again {later}", rate_limited=True),
    503: Advice("is overloaded", "try again {later}"),
    504: Advice("took too long", "try again, or give it more time with timeout="),
    529: Advice("is overloaded", "try again {later}"),
}

_BY_WORD = {
    "insufficient_quota": _NO_CREDIT,
    "billing_error": _NO_CREDIT,
    "context_length_exceeded": _TOO_LONG,
    "context length": _TOO_LONG,
    "prompt is too long": _TOO_LONG,
    "exceed_context_size": _TOO_LONG,
    "reasoning_content": _REASONING,
}
"""Advice by a service's code or words, which say more than its status."""


def advice_of(status: int, words: str) -> Advice:
    """What a status means, with the words of the service in small letters."""
    if status < 500:
        for word, advice in _BY_WORD.items():
            if word in words:
                return advice
    if status < 400:
        return _NOWHERE
    return _BY_STATUS.get(status) or (FAILED if status >= 500 else _REFUSED)


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


_AGAIN_AFTER = frozenset({408, 409, 429})
"""Statuses that pass, besides those from 500 on."""

_NEVER_AGAIN = frozenset({"certificate", "redirect", "slow_in_all"})

_FIRST, _LONGEST_WAIT = 0.5, 8.0  # seconds
_LONGEST_NAMED = 60.0
"""A service that wants a longer wait is not waited for: the caller decides."""


def seconds_before_retry(error: Exception, attempt: int) -> float | None:
    """How long to wait before the request is sent again; `None` if that would not help.

    A service says how long by `retry-after-ms` or `retry-after`, in seconds or as a date. Else it is half a second,
    then twice as long each time, up to 8 seconds, less up to a quarter by chance, so that clients that failed together
    do not come back together. `x-should-retry` decides, where a service sends it.

    An error reported after a status of 200 is treated as the status that it names. An answer that ended before it
    began is treated as one that never came. The caller must have seen nothing of the answer.

    Args:
        error: how the last request failed.
        attempt: how many requests were sent before this one.
    """
    headers: Mapping[str, str] = {}
    match error:
        case StatusError(status_code=status):
            headers = error.headers
            wanted = headers.get("x-should-retry")
            if not (wanted == "true" if wanted in ("true", "false") else _passes(status)):
                return None
        case TransportError(kind=kind) if kind not in _NEVER_AGAIN:
            pass
        case IncompleteError():
            pass
        case _:
            named_status = named_status_of(error)
            if named_status is None or not _passes(named_status):
                return None
    named = _named(headers)
    if named is not None:
        return named if named <= _LONGEST_NAMED else None
    return min(_FIRST * 2.0**attempt, _LONGEST_WAIT) * (1 - random() / 4)  # no secret


def _passes(status: int) -> bool:
    return status in _AGAIN_AFTER or status >= 500


def _named(headers: Mapping[str, str]) -> float | None:
    """The seconds that a service names; `None` if it names none."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        return seconds if 0 <= seconds < float("inf") else None
    from email.utils import parsedate_to_datetime  # seldom needed, and slow to import

    try:
        date = parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    return max(0.0, date.timestamp() - time())
