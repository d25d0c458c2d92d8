"""What the status of a service's answer means, and what to do about it; needed for an error only."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FAILED", "Advice", "advice_of"]


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
