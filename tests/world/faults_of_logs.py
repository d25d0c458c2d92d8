"""Faults of a log and of its leases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cogency_rs.storage import claims
from cogency_rs.storage.log import LogPage

from .database import ReadingLog, SharedDatabase, SharedLog, Way
from .mutation import fault, patched


def _appending(change: Callable[[Sequence[Any], Sequence[Any]], tuple[Any, Any]]) -> Any:
    """A log that saves something else than it was given."""

    def new(old: Any) -> Any:
        def append(self: Any, id: str, *, user_id: str = "", rows: Any, calls: Any = ()) -> Any:
            rows, calls = change(rows, calls)
            return old(self, id, user_id=user_id, rows=rows, calls=calls)

        return append

    return patched(SharedLog, "append", new)


def _pages(change: Callable[[list[Any]], list[Any]]) -> Any:
    """A log that gives other rows than it has."""

    def new(old: Any) -> Any:
        async def read(self: Any, id: str, *, user_id: str = "", after: Any = None) -> Any:
            page = await old(self, id, user_id=user_id)
            return LogPage(change(list(page.rows)), page.cursor, is_whole=True)

        return read

    return patched(SharedLog, "read", new)


@fault("rows are read in the order of the times at which they were written")
def _by_time() -> Any:
    def written_at(row: Any) -> float:
        found: float = row.get("written_at", row["timestamp"])
        return found

    with (
        _pages(lambda rows: sorted(rows, key=written_at)),
        patched(ReadingLog, "begin", lambda old: _apart),
    ):
        yield


def _apart(self: Any, id: str, *, wait: bool = True, **_: Any) -> Any:
    """A claim alone, so that rows are read as others are."""
    return self.claim(id, wait=wait)


@fault("a row of a report is dropped")
def _report_dropped() -> Any:
    with _appending(lambda rows, calls: ([r for r in rows if r[0] != "error"], calls)):
        yield


@fault("a row of a report comes after the rows of the next save")
def _report_late() -> Any:
    held: list[Any] = []

    def late(rows: Sequence[Any], calls: Any) -> tuple[Any, Any]:
        reports = [row for row in rows if row[0] == "error"]
        rows = [*[row for row in rows if row[0] != "error"], *held]
        held[:] = reports
        return rows, calls

    with _appending(late):
        yield


@fault("rows of one save come in another order")
def _turned_rows() -> Any:
    with _appending(lambda rows, calls: (list(reversed(rows)), calls)):
        yield


@fault("results are saved without the records of their calls")
def _no_records() -> Any:
    def without(rows: Sequence[Any], calls: Any) -> tuple[Any, Any]:
        return rows, () if any(row[0] == "result" for row in rows) else calls

    with _appending(without):
        yield


@fault("records of calls are saved without the results")
def _no_results() -> Any:
    def without(rows: Sequence[Any], calls: Any) -> tuple[Any, Any]:
        return [row for row in rows if row[0] != "result"], calls

    with _appending(without):
        yield


@fault("an answer without calls is not saved")
def _no_answer() -> Any:
    with _appending(lambda rows, calls: ([r for r in rows if r[0] != "respond"], calls)):
        yield


@fault("a request whose answer was lost is sent again")
def _sent_again() -> Any:
    def new(old: Any) -> Any:
        def ask(self: Any, work: Any, *, writes: bool) -> Any:
            trouble = self._troubles.get(self.requests + 1)
            if writes and trouble is not None and trouble.kind == "lost" and not self.is_calm:
                return old(self, lambda: (work(), work())[1], writes=writes)
            return old(self, work, writes=writes)

        return ask

    with patched(Way, "ask", new):
        yield


@fault("a log reads what it had a request ago")
def _stale() -> Any:
    def new(old: Any) -> Any:
        async def read(self: Any, id: str, *, user_id: str = "", after: Any = None) -> Any:
            page = await old(self, id, user_id=user_id)
            known = vars(self).setdefault("_seen_pages", {})
            before, known[id] = known.get(id, page), page
            return LogPage(list(before.rows), before.cursor, is_whole=True)

        return read

    with patched(SharedLog, "read", new):
        yield


@fault("an append under a lost lease is not refused")
def _no_fence() -> Any:
    with patched(SharedDatabase, "has", lambda old: lambda *_: True):
        yield


@fault("a lease is not renewed, and nothing is refused")
def _not_renewed() -> Any:
    with (
        patched(claims.Claim, "_arm", lambda old: lambda self: None),
        patched(SharedDatabase, "has", lambda old: lambda *_: True),
    ):
        yield


@fault("a lease that is held is given to another process")
def _lease_taken() -> Any:
    with (
        patched(SharedDatabase, "holder", lambda old: lambda *_: None),
        patched(SharedDatabase, "has", lambda old: lambda *_: True),
    ):
        yield


@fault("runs of one process do not wait for each other")
def _no_line() -> Any:
    with (
        patched(claims.Claims, "enter", lambda old: lambda *_, **__: None),
        patched(claims.Claims, "owner", lambda old: lambda *_: None),
        patched(SharedDatabase, "holder", lambda old: lambda *_: None),
    ):
        yield


@fault("a conversation is read with another's rows")
def _foreign() -> Any:
    def new(old: Any) -> Any:
        async def read(self: Any, id: str, *, user_id: str = "", after: Any = None) -> Any:
            other = f"{id[:-1]}0" if id.endswith("1") else id
            return await old(self, other, user_id="")

        return read

    with patched(SharedLog, "read", new):
        yield
