"""An agent's conversations: what waits in them for a person, and one that begins as a part of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from ..calls.record import CallRecord
from ..calls.tool_result import Happened, NotHappened
from ..errors import ConfigError, ToolParseError
from ..guards.arguments import check_count, check_text, refused
from ..storage.log import Row, is_log
from ..tools.toolbox import ResolvedCall, Toolbox
from ..types import ToolCall
from .settings import AgentSettings


@dataclass(frozen=True)
class PendingCall:
    """A call that waits for a person.

    Attributes:
        conversation_id: the conversation that it is part of.
        user_id: whose conversation that is; may be empty.
        id: its id, for `Agent.resume` or `Agent.settle`.
        execution_id: the same, as the tool is told it: what to look for where its effect would be.
        name: the tool's name.
        args: its arguments; `None` if the log does not tell which row is the call's.
        preview: what its tool says that it would do, if it waits for approval and the tool says anything.
        digest: of what is shown for the decision; see `ToolApproved.digest`.
        needs: `"approval"`, a decision for `resume`; or `"settling"`, since it is not known whether it happened.
        why: why that could not be found out; "" if nobody tried.
        attempt: how many times it was started.
        started_at: when it was started, in UTC; `None` if it was not.
        worker: the process that started it, `"host:pid"`.
    """

    conversation_id: str
    user_id: str
    id: str
    execution_id: str
    name: str
    args: dict[str, Any] | None
    preview: str | None
    digest: str | None
    needs: Literal["approval", "settling"]
    why: str
    attempt: int
    started_at: datetime | None
    worker: str | None


class PendingCalls:
    """The methods of an agent for what waits for a person."""

    __slots__ = ()

    _settings: AgentSettings

    async def pending(self, user_id: str = "") -> list[PendingCall]:
        """List the calls that wait for a person, in all conversations that no run has now.

        Reads the rows of the conversations that have such calls. In PostgreSQL it also costs time linear in all calls.

        Args:
            user_id: only this user's; "" for everybody's.

        Raises:
            ConfigError: the log cannot list them.
            StorageError: the log cannot be read.
        """
        check_text("user_id", user_id)
        storage: Any = self._settings.storage
        given: object = storage
        if not hasattr(type(given), "unsettled_calls"):
            raise ConfigError(
                f"{storage!r} cannot list what waits across conversations: it has no method unsettled_calls"
            )
        found: dict[tuple[str, str], list[CallRecord]] = {}
        for conversation_id, user, record in await storage.unsettled_calls(user_id):
            found.setdefault((conversation_id, user), []).append(record)
        pending: list[PendingCall] = []
        for (conversation_id, user), unsettled in found.items():
            rows, records = await _conversation(storage, conversation_id, user)
            calls, places = (
                _calls_of(rows, records),
                {(each.batch, each.position) for each in unsettled},
            )
            for record in records:
                if (record.batch, record.position) not in places:
                    continue
                resolved = self._recalled(record, calls.get(record.id))
                if record.status != "waiting":
                    pending.append(_pending(conversation_id, user, record, calls.get(record.id)))
                elif await _is_asked_about(record, resolved):
                    preview = None if resolved.tool is None else await _preview(resolved)
                    call = calls.get(record.id)
                    pending.append(_pending(conversation_id, user, record, call, preview))
        return pending

    async def settle(
        self, conversation_id: str, call_id: str, result: Any, *, user_id: str = ""
    ) -> CallRecord:
        """Say what a person found out about a call whose outcome is unknown.

        If the model has not read the call's results yet, `resume` goes on with what was found out: with the result, or
        by running the call. If it has, those results stay as they are, and the call does not run: the model reads
        what was found out as a message in the next run, and `resume` lets it answer that at once.

        Args:
            conversation_id: the conversation's id.
            call_id: the call's id, from `pending`, `RunResult` or the log.
            result: what the tool would have returned; or `NotHappened()`.
            user_id: the id of the conversation's user.

        Returns:
            The record of the call as it is now.

        Raises:
            ConfigError: there is no such call, its outcome is not unknown, the result is not a JSON value, or the log
                keeps no calls. Nothing was written.
            BusyError: a run has the conversation, with `RunLimits(on_busy="error")`.
            OwnerError: it is another user's conversation.
            StorageError: the log could not be read or written.
        """
        from ..storage.claims import ClaimOfRun
        from ..storage.log import check_user
        from ..turn.saves import save_to_the_end

        for name, text in (
            ("conversation_id", conversation_id),
            ("call_id", call_id),
            ("user_id", user_id),
        ):
            check_text(name, text)
        settings = self._settings
        storage: Any = settings.storage
        if not is_log(storage):
            raise ConfigError(
                f"a call can be settled only in a storage that keeps calls: {storage!r} is not a Log"
            )
        outcome = _outcome(result)
        async with ClaimOfRun(
            storage.claim(conversation_id, wait=settings.limits.on_busy == "wait")
        ):
            await check_user(storage, conversation_id, user_id)
            rows, records = await _conversation(storage, conversation_id, user_id)
            record = _named(call_id, conversation_id, records)
            from .resumption import settled, settled_late, told_later

            news: tuple[Row, ...] = ()
            if record.status == "unknown":  # the row of results is there, and the model has read it
                call = _calls_of(rows, records).get(record.id)
                now, news = settled_late(record, outcome), (told_later(record, call, outcome),)
            else:
                now = settled(record, outcome, "person")
            await save_to_the_end(storage, conversation_id, user_id, news, [now])
        return now

    def _recalled(self, record: CallRecord, call: ToolCall | None) -> ResolvedCall:
        from ..types import ToolCall

        tools: Toolbox = self._settings.tools.toolbox
        named = call or ToolCall(record.name, {})
        named.id = record.id
        return tools.recall(named, record.name, record.server)


async def _is_asked_about(record: CallRecord, resolved: ResolvedCall) -> bool:
    """Whether a person must decide about a call that waits; other calls wait for that."""
    from ..hooks.approval import need_of

    if record.decision is not None:
        return False
    return resolved.tool is None or await need_of(resolved) is True


async def _preview(resolved: ResolvedCall) -> str | None:
    """What a call would do, or why that cannot be shown."""
    from ..calls.tool_result import reason
    from ..hooks.approval import preview_of

    try:
        return await preview_of(resolved)
    except Exception as error:
        return f"its preview failed: {reason(error)}"


def _pending(
    conversation_id: str,
    user_id: str,
    record: CallRecord,
    call: ToolCall | None,
    preview: str | None = None,
) -> PendingCall:
    from ..calls.record import utc
    from .resumption import why_unknown

    return PendingCall(
        conversation_id=conversation_id,
        user_id=user_id,
        id=record.id,
        execution_id=record.execution_id,
        name=record.name,
        args=None if call is None else call.args,
        preview=preview,
        digest=record.digest,
        needs="approval" if record.status == "waiting" else "settling",
        why=why_unknown(record),
        attempt=record.attempt,
        started_at=None if record.started_at is None else utc(record.started_at),
        worker=record.worker,
    )


async def _conversation(
    storage: Any, conversation_id: str, user_id: str
) -> tuple[Sequence[Mapping[str, Any]], Sequence[CallRecord]]:
    """The rows of a conversation, and the records of its calls."""
    from ..calls.record import told_apart

    page = await storage.read(conversation_id, user_id=user_id)
    return page.rows, told_apart(await storage.calls(conversation_id, user_id=user_id))


def _calls_of(
    rows: Sequence[Mapping[str, Any]], records: Sequence[CallRecord]
) -> dict[str, ToolCall]:
    """The calls of a conversation, by id: its rows and its records are in the same order."""
    from ..protocol import parse_tool_call

    with_row = [each for each in records if each.status != "early" and not each.is_dropped]
    written = [row["content"] for row in rows if row["type"] == "call"]
    found: dict[str, ToolCall] = {}
    # From the end: plain cogency may have written earlier ones, and keeps no records.
    for record, content in zip(reversed(with_row), reversed(written), strict=False):
        try:
            found[record.id] = parse_tool_call(content)
        except ToolParseError:
            continue
    return found


def _outcome(result: Any) -> Happened | NotHappened:
    from ..calls.tool_result import Happened, NotHappened, as_result

    if isinstance(result, NotHappened):
        return result
    given = result if isinstance(result, Happened) else Happened(result)
    found = as_result(given.result)
    if found.error and not getattr(given.result, "error", False):
        raise refused("result", given.result, f"a JSON value or NotHappened() ({found.outcome})")
    return given


def _named(call_id: str, conversation_id: str, records: Sequence[CallRecord]) -> CallRecord:
    """The call that is meant."""
    record = next((each for each in records if call_id in (each.id, each.execution_id)), None)
    if record is None:
        raise ConfigError(
            f"conversation {conversation_id!r} has no call {call_id!r}: take the ids from pending()"
        )
    record.check_state()
    if record.status in ("open", "delegated", "unknown"):
        return record
    if record.completed_at is not None:
        raise ConfigError(
            f"the call {call_id!r} of '{record.name}' is over ({record.status}), so there is nothing to settle"
        )
    raise ConfigError(
        f"the call {call_id!r} of '{record.name}' has not begun ({record.status}), so its outcome is not unknown: "
        "resume() goes on with it"
    )


class Forking:
    """The method of an agent that forks conversations."""

    __slots__ = ()

    _settings: AgentSettings

    async def fork(
        self,
        conversation_id: str,
        *,
        at: int | None = None,
        new_id: str | None = None,
        user_id: str = "",
    ) -> str:
        """Begin a conversation that has the first rows of another one, as if they had been said in it.

        Only what was said is copied: calls that are running, waiting or unknown stay with the other conversation alone.
        Calls at the end that have no results are left out, with the text that the model wrote
        before them. The other conversation may be running; it does not change. The log notes where the new one comes
        from.

        Args:
            conversation_id: the conversation to take the rows from.
            at: how many of its rows; all by default.
            new_id: the id of the new conversation; by default one is made.
            user_id: the id of the user of both.

        Returns:
            The id of the new conversation.

        Raises:
            ConfigError: there is no such conversation, `at` leaves nothing of it, the new one exists, or the log cannot
                fork conversations. Nothing was written.
            OwnerError: it is another user's conversation.
            BusyError: a run has the new conversation.
            StorageError: the log could not be read or written.
        """
        from ..outside import uuid7
        from ..storage.claims import ClaimOfRun
        from ..storage.log import check_user
        from .stored_state import rows_before_open_calls

        check_text("conversation_id", conversation_id)
        check_text("new_id", new_id, or_none=True)
        check_text("user_id", user_id)
        check_count("at", at)
        storage: Any = self._settings.storage
        given: object = storage
        if not hasattr(type(given), "fork"):
            raise ConfigError(f"{storage!r} cannot fork conversations: it has no method fork")
        await check_user(storage, conversation_id, user_id)
        rows = (await storage.read(conversation_id, user_id=user_id)).rows
        if not rows:
            raise ConfigError(
                f"the log has no conversation {conversation_id!r}, so it cannot be forked"
            )
        taken = rows_before_open_calls(rows[:at])
        if not taken:
            raise ConfigError(
                f"the first {at or len(rows)} rows of conversation {conversation_id!r} hold nothing but calls "
                "without results: fork it later"
            )
        new = new_id or uuid7()
        async with ClaimOfRun(storage.claim(new, wait=False)):
            if new == conversation_id or await storage.owner(new) is not None:
                raise ConfigError(
                    f"the conversation {new!r} already exists: give another new_id, or none"
                )
            await storage.fork(conversation_id, new, user_id=user_id, rows=taken)
        return new
