"""Answers of a service that are not streams, although their status says that all is well: pages, and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ..json_text import read_json

__all__ = ["NotStreamError", "ReportedError", "check_stream"]


class NotStreamError(Exception):
    """The service answered with something that is not a stream of events. The text says what came.

    Attributes:
        body: what came, whole: what of it may be shown is for the service to say.
    """

    def __init__(self, what: str, body: str) -> None:
        super().__init__(what)
        self.body = body


class ReportedError(Exception):
    """The service reported an error with a status that says that all is well.

    Attributes:
        body: what it reported.
    """

    def __init__(self, body: Mapping[str, Any]) -> None:
        super().__init__("the service reported an error")
        self.body = body


async def check_stream(stream: Any) -> None:
    """Check that an SDK's stream has events in it.

    Only a body that is declared to be a page or JSON is read. If it holds events all the same, it can still be read as
    a stream.

    Raises:
        ReportedError: it is an error.
        NotStreamError: it is something else.
    """
    response = stream.response
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = kind == "application/json" or kind.endswith("+json")
    if not is_json and kind not in _PAGES:
        return
    text = (await response.aread()).decode(errors="replace").strip()
    if text.startswith(_EVENTS):
        return
    if is_json and (reported := _error_in(text)) is not None:
        raise ReportedError(reported)
    what = "JSON" if is_json else "a page"
    raise NotStreamError(f"{what if text else 'an empty body'}, {kind}", text)


_PAGES = frozenset({"text/html", "application/xhtml+xml", "application/xml", "text/xml"})
_EVENTS = ("data:", "event:", "id:", "retry:", ":")


def _error_in(text: str) -> Mapping[str, Any] | None:
    """The error that a body reports; `None` if it reports none."""
    try:
        body = read_json(text)
    except ValueError:
        return None
    if not isinstance(body, Mapping):
        return None
    body = cast("Mapping[str, Any]", body)
    is_error = (
        body.get("error") or body.get("detail") or "error" in (body.get("type"), body.get("object"))
    )
    return body if is_error else None
