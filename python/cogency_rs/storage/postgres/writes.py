"""The writes that wait, and the steps into which they are grouped.

Each step is one statement, so it is a separate transaction and no lock waits for this program. Appends that wait
together make one step, whatever their conversations, and so do leases. The writes of one conversation keep their order;
those of different conversations may change theirs, which nobody could tell.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping
from math import inf
from typing import Any, ClassVar

from ..rows import END_OF_TIME, risen
from ..sql_log import RowsToSave, SavedCall, SavedPart, Waiter
from .connection import Address, PostgresConnection, pack

STEP_CHARACTERS = 2**24
"""Characters of text in one step of several appends, at most."""


class Write(Waiter):
    """A write that a caller waits for.

    Attributes:
        owners: the write's conversations, each with the owner of the lease that must still be there, or `None`. Earlier
            writes of these conversations are done first.
        size: characters of text in it.
        is_repeatable: whether doing it twice is the same as doing it once.
    """

    __slots__ = ("owners", "size")

    is_repeatable: ClassVar[bool] = True

    def __init__(self, owners: Mapping[str, str | None], size: int = 0) -> None:
        super().__init__()
        self.owners = owners
        self.size = size

    @abstractmethod
    def fits(self, step: WriteStep) -> bool:
        """Whether it can join a step of its own kind."""

    @abstractmethod
    async def carry_out(
        self, step: WriteStep, connection: PostgresConnection, address: Address
    ) -> None:
        """Do all writes of a step whose first write this is, and set the value of each."""


class WriteStep:
    """Writes of one kind that are done by one statement.

    Attributes:
        writes: in order.
        owners: the conversations of these writes, with the owners of their leases.
        size: characters of text in them.
        author: the program, and the number of this step among the program's; set when the step begins.
    """

    def __init__(self, writes: Iterable[Write]) -> None:
        self.author: tuple[str, int] = ("", 0)
        self.writes: list[Write] = []
        self.owners: dict[str, str | None] = {}
        self.size = 0
        for write in writes:
            self.add(write)

    def add(self, write: Write) -> None:
        """Add a write."""
        self.writes.append(write)
        self.owners |= write.owners
        self.size += write.size

    @property
    def is_repeatable(self) -> bool:
        """Whether doing it twice is the same as doing it once."""
        return self.writes[0].is_repeatable

    async def carry_out(self, connection: PostgresConnection, address: Address) -> None:
        """Do the step, and set the value of each write."""
        await self.writes[0].carry_out(self, connection, address)


def steps_of(writes: Iterable[Write]) -> list[WriteStep]:
    """Group `writes` into as few steps as keep the order within each conversation.

    Args:
        writes: in the order in which they were begun.
    """
    steps: list[WriteStep] = []
    latest: dict[str, int] = {}
    for write in writes:
        first = max((latest.get(id, 0) for id in write.owners), default=0)
        for number in range(first, len(steps)):
            if type(steps[number].writes[0]) is type(write) and write.fits(steps[number]):
                steps[number].add(write)
                break
        else:
            number = len(steps)
            steps.append(WriteStep([write]))
        latest |= dict.fromkeys(write.owners, number)
    return steps


class AppendWrite(Write):
    """Rows and calls that are saved together.

    Args:
        saved: those.
        value: what the caller gets when they are saved.
    """

    __slots__ = ("saved",)

    def __init__(self, saved: RowsToSave, value: object) -> None:
        about: dict[str, str | None] = dict.fromkeys(row[1] for row in saved.messages)
        size = sum(len(row[4]) for row in saved.messages)
        size += sum(len(call.result or "") for *_, call in saved.calls)
        size += sum(len(part[5]) for part in saved.parts)
        super().__init__(about | saved.owners, size)
        self.saved, self.value = saved, value

    def fits(self, step: WriteStep) -> bool:
        """False if the step would hold too much text, or has another owner for one of the conversations."""
        return step.size + self.size <= STEP_CHARACTERS and all(
            step.owners.get(id, owner) == owner for id, owner in self.owners.items()
        )

    async def carry_out(
        self, step: WriteStep, connection: PostgresConnection, address: Address
    ) -> None:
        """Save the rows and calls of all appends of a step."""
        appends = [write.saved for write in step.writes if isinstance(write, AppendWrite)]
        messages = [row for saved in appends for row in saved.messages]
        counts, latest, places = dict.fromkeys(step.owners, 0), dict[str, float](), list[int]()
        rising: list[float] = []
        for _, id, _, _, _, timestamp in messages:
            counts[id] += 1
            places.append(counts[id])
            before = latest.get(id, -inf)
            rising.append(stored := risen(timestamp, before))
            latest[id] = stored if stored < END_OF_TIME else before
        ids = sorted(counts, key=pack)
        heads = {id: number for number, id in enumerate(ids, start=1)}
        columns: list[list[Any]] = [
            [pack(id) for id in ids],
            [counts[id] for id in ids],
            [latest.get(id, -inf) for id in ids],
            [step.owners[id] for id in ids],
            [heads[row[1]] for row in messages],
            places,
            *([pack(row[column]) for row in messages] for column in (1, 0, 2, 3, 4)),
            rising,
            [row[5] for row in messages],
            *_columns_of(call for saved in appends for call in saved.calls),
            *_columns_of_parts(part for saved in appends for part in saved.parts),
        ]
        numbered = ", ".join(f"${number}" for number in range(1, len(columns) + 3))
        await connection.fetchval(
            f"SELECT {address.tables}.append({numbered})", *step.author, *columns
        )


_CALL_COLUMNS = 18


def _columns_of(calls: Iterable[SavedCall]) -> list[list[Any]]:
    """The columns of the table of calls. If a call is there twice, the later state counts."""
    rows: dict[tuple[str, str, int], tuple[Any, ...]] = {}
    for conversation_id, user_id, message_id, call in calls:
        key = (conversation_id, call.batch, call.position)
        row = (user_id, message_id, call.id, call.name, call.server)
        if key in rows:
            known = rows[key]  # the same call, which may have got its row by now
            row = (known[3], known[4] or message_id, *known[5:8])
        times = (call.started_at, call.completed_at)
        state = (
            call.status,
            call.attempt,
            *times,
            call.worker,
            call.decision,
            call.result,
            call.settling,
            call.provider_id,
            call.digest,
        )
        rows[key] = (*key, *row, *state)
    if not rows:
        return [[] for _ in range(_CALL_COLUMNS)]
    return [[pack(value) for value in column] for column in zip(*rows.values(), strict=True)]


_PART_COLUMNS = 7


def _columns_of_parts(parts: Iterable[SavedPart]) -> list[list[Any]]:
    columns = [[pack(value) for value in column] for column in zip(*parts, strict=True)]
    return columns or [[] for _ in range(_PART_COLUMNS)]


class UnrepeatableWrite(Write):
    """A statement that is a separate step.

    Args:
        work: runs the statement, and returns the value for the caller.
        conversations: the conversations that it changes.
    """

    __slots__ = ("work",)

    is_repeatable = False

    def __init__(
        self,
        work: Callable[[PostgresConnection], Awaitable[Any]],
        conversations: Iterable[str] = (),
    ) -> None:
        super().__init__(dict.fromkeys(conversations))
        self.work = work

    def fits(self, step: WriteStep) -> bool:
        """Never."""
        return False

    async def carry_out(
        self, step: WriteStep, connection: PostgresConnection, address: Address
    ) -> None:
        """Run it."""
        self.value = await self.work(connection)
