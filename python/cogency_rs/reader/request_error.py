"""The API's own shape of an error, for a request that a reader or a writer refuses."""

from __future__ import annotations

from typing import Any

__all__ = ["error_body"]


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
