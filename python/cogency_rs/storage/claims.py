"""One run at a time in a conversation: who has it in this process, and the lease that other processes see.

There are two steps. Within a process, the runs of a conversation queue, and each that leaves wakes the next
one at once. The first in line takes the lease, which the storage keeps (`Leases`). A storage of one process has no
leases: there it is enough to be first. A lease has an owner, a number that grows with every owner, and a time at which
it expires, so that a process that died does not keep the conversation for ever. While it is held, timers renew it, not
a task, so a program that cancels all its tasks keeps it.

Invariant: in this process at most one claim on a conversation is first in line, and the storage refuses an append under
a lease that another process has taken since.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar, Token
from itertools import count
from types import TracebackType
from typing import Any, Protocol, Self
from weakref import ReferenceType, ref

from ..errors import BusyError, StorageError
from ..execution.shielded_wait import all_done
from ..outside import uuid7
from .log import Begun

logger: logging.Logger = logging.getLogger(__name__)

LEASE = 30.0
"""Seconds until a lease that is not renewed runs out."""

RENEWAL = 10.0
"""Seconds between two renewals."""

POLL, LONGEST_POLL = 0.05, 1.0
"""Seconds between two looks at another process's lease: at first, and at most."""


class Leases(Protocol):
    """The leases that a storage keeps.

    Everything but `holder` begins at once and is carried out in the order in which it was begun.
    """

    def take(
        self, conversation_id: str, owner: str
    ) -> asyncio.Future[int | str | tuple[int, Begun]]:
        """Take the lease if it is free, has expired, or its process has ended.

        Returns:
            The lease's number, from 1, perhaps with what was read under it; or the name of the process that has the
            lease.
        """
        ...

    async def holder(self, conversation_id: str) -> str | None:
        """The name of the process that has the lease; `None` if it can be taken."""
        ...

    def renew(self, conversation_id: str, owner: str) -> asyncio.Future[bool]:
        """Let the lease last for `LEASE` seconds from now; tell whether this owner still had it."""
        ...

    def release(self, conversation_id: str, owner: str) -> asyncio.Future[None]:
        """Give the lease back, if this owner has it."""
        ...


_inside: ContextVar[tuple[Claim, ...]] = ContextVar("cogency_rs_claims", default=())
"""The claims that the present code is part of: it would wait for itself if it waited for one of them."""


class Claim:
    """A conversation that a run has to itself, inside `async with`.

    Attributes:
        conversation_id: its id.
        owner: identifies the lease; never used twice. "" if the storage has no leases.
        number: grows with every claim on the conversation that is granted; 0 until this one is.
        begun: what was read when it was granted; `None` if nothing was asked for.
        place: what is done when it is first in line; `None` if it was from the start.
        is_lost: whether another process has taken the lease, since this one did not renew it in time. Nothing more can
            be appended under it.
    """

    def __init__(
        self,
        conversation_id: str,
        claims: Claims,
        leases: Leases | None,
        *,
        wait: bool,
        read: Callable[[], Begun] | None = None,
    ) -> None:
        self.conversation_id = conversation_id
        self.owner = "" if leases is None else uuid7()
        self.number = 0
        self.is_lost = False
        self.begun: Begun | None = None
        self._read = read
        self._claims = claims
        self._leases = leases
        self._wait = wait
        self.place: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        # Weak: the task refers to this, and what is over must be freed without a garbage collection.
        self._task: ReferenceType[asyncio.Task[Any]] | None = None

    async def __aenter__(self) -> Self:
        await self.take()
        self.enter_context()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _inside.set(tuple(claim for claim in _inside.get() if claim is not self))
        await self.give_back(kind)

    def enter_context(self) -> Token[tuple[Claim, ...]] | None:
        """Note that what runs in the present context from here on is part of this claim.

        For the context of a task that the claim's holder made, or for the time in which it awaits somebody else's code;
        never across the `yield` of a generator, which runs in its consumer's context.

        Returns:
            What resets it; `None` if it is noted already.
        """
        inside = _inside.get()
        return None if self in inside else _inside.set((*inside, self))

    async def take(self) -> None:
        """Wait for the conversation, and take it, without a note in the present context.

        Raises:
            BusyError: see `Log.claim`.
            StorageError: the storage cannot be written.
        """
        self._loop = asyncio.get_running_loop()
        self._refuse_if_inside()
        place = self._claims.enter(self, wait=self._wait)
        if place is not None:
            await self._come_first(place)
        if self._leases is None:
            self.number = self._claims.next_number()
            if self._read is not None:
                try:
                    self.begun = self._read()
                except BaseException:
                    self._let_go()
                    raise
        else:
            try:
                self.number = await self._take(self._leases)
            except BaseException:
                self._let_go()
                raise
            self._arm()
        task = asyncio.current_task()
        self._task = None if task is None else ref(task)

    async def give_back(self, kind: type[BaseException] | None) -> None:
        """Give the conversation back; `kind` is the exception that ended the work on it."""
        released = self._let_go()
        # A closed coroutine, perhaps one that the garbage collector closes, must not wait.
        if released is not None and kind is not GeneratorExit:
            await all_done([released])

    @property
    def is_abandoned(self) -> bool:
        """Whether it can never be left, since its event loop was closed."""
        return self._loop.is_closed()

    def _refuse_if_inside(self) -> None:
        first = self._claims.first(self.conversation_id)
        if first is not None and (first in _inside.get() or first.is_of_this_task):
            raise BusyError(
                f"this is part of a run of conversation {self.conversation_id!r}, so a second claim on it would "
                "wait for its own end; use another conversation, or no second claim",
                conversation_id=self.conversation_id,
            )

    @property
    def is_of_this_task(self) -> bool:
        """Whether the present task has taken it."""
        task = asyncio.current_task()
        return task is not None and self._task is not None and self._task() is task

    def busy(self, holder: str) -> BusyError:
        """The error for a conversation that another run has."""
        return BusyError(
            f"conversation {self.conversation_id!r} is being run by {holder}; wait for its end, or try again later",
            conversation_id=self.conversation_id,
        )

    async def _come_first(self, place: asyncio.Future[None]) -> None:
        """Wait until this is the first in line in this process."""
        try:
            while not place.done():
                await asyncio.wait([place], timeout=LONGEST_POLL)
                self._claims.pass_over_abandoned(self.conversation_id)
        except BaseException:
            self._claims.leave(self)
            raise

    async def _take(self, leases: Leases) -> int:
        """Wait until this claim has the lease; returns its number."""
        delay = POLL
        while True:
            taken = await leases.take(self.conversation_id, self.owner)
            if isinstance(taken, int):
                return taken
            if isinstance(taken, tuple):
                number, self.begun = taken
                return number
            holder: str | None = taken
            while holder is not None:
                if not self._wait:
                    raise self.busy(f"process {holder}")
                await asyncio.sleep(delay)
                delay = min(2 * delay, LONGEST_POLL)
                holder = await leases.holder(self.conversation_id)

    def _let_go(self) -> asyncio.Future[None] | None:
        """Give the conversation back, without waiting; the next in line takes the lease after that."""
        if self._timer is not None:
            self._timer.cancel()
        released: asyncio.Future[None] | None = None
        if self._leases is not None:
            # If the storage or the loop was closed, the lease expires on its own.
            with contextlib.suppress(StorageError, RuntimeError):
                released = self._leases.release(self.conversation_id, self.owner)
                released.add_done_callback(self._released)
        self._claims.leave(self)
        return released

    def _released(self, released: asyncio.Future[None]) -> None:
        if not released.cancelled() and (error := released.exception()) is not None:
            logger.warning(
                "The claim on conversation %r could not be given back; other processes wait until it runs out: %s",
                self.conversation_id,
                error,
            )

    def _arm(self) -> None:
        self._timer = self._loop.call_later(RENEWAL, self._renew)

    def _renew(self) -> None:
        if self._leases is not None:
            with contextlib.suppress(StorageError):  # the storage was closed
                renewed = self._leases.renew(self.conversation_id, self.owner)
                renewed.add_done_callback(self._renewed)

    def _renewed(self, renewed: asyncio.Future[bool]) -> None:
        if renewed.cancelled() or self._claims.first(self.conversation_id) is not self:
            return
        if (error := renewed.exception()) is not None:
            logger.warning(
                "The claim on conversation %r could not be renewed: %s", self.conversation_id, error
            )
        elif not renewed.result():
            self.is_lost = True
            logger.warning(
                "The claim on conversation %r was lost: it was not renewed in time, and another process has it",
                self.conversation_id,
            )
            return
        self._arm()


class ClaimOfRun(AbstractAsyncContextManager["Claim | None"]):
    """A claim that a generator holds from its first item to its last; entering it gives the claim.

    The context in which a generator runs is its consumer's, and a task that the consumer makes between two items is no
    part of the run. So nothing is noted there: the run notes it in the tasks of its calls, and around its hooks.

    Args:
        given: what the storage returned. One that is not a `Claim` is entered as it is.
        check: awaited with what the storage's manager gave when the conversation has been claimed; if it raises, the
            claim is given back.
    """

    __slots__ = ("_check", "_given")

    def __init__(
        self,
        given: AbstractAsyncContextManager[Any],
        check: Callable[[Any], Awaitable[None]] | None = None,
    ) -> None:
        self._given = given
        self._check = check

    async def __aenter__(self) -> Claim | None:
        given = self._given
        claim = given if isinstance(given, Claim) else None
        entered: Any = claim
        if claim is not None:
            await claim.take()
        else:
            entered = await given.__aenter__()
        if self._check is not None:
            try:
                await self._check(entered)
            except BaseException as error:
                await self.__aexit__(type(error), error, error.__traceback__)
                raise
        return claim

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        given = self._given
        if isinstance(given, Claim):
            await given.give_back(kind)
            return None
        return await given.__aexit__(kind, error, traceback)


@contextlib.contextmanager
def part_of(claim: Claim | None) -> Generator[None]:
    """What runs in this block, and no generator yields from, is part of the run that holds the claim."""
    token = None if claim is None else claim.enter_context()
    try:
        yield
    finally:
        if token is not None:
            with contextlib.suppress(ValueError):  # closed from another context
                _inside.reset(token)


class Claims:
    """The claims of one storage in this process: for each conversation, the line of claims.

    A storage of your own keeps one for each place that it writes to, and returns `claim` of it from its own `claim`.

    Args:
        on_free: called with a conversation that nobody claims any longer, perhaps by the garbage collector.
    """

    def __init__(self, on_free: Callable[[str], None] | None = None) -> None:
        self._on_free = on_free
        self.restart()

    def claim(
        self,
        conversation_id: str,
        *,
        wait: bool = True,
        leases: Leases | None = None,
        read: Callable[[], Begun] | None = None,
    ) -> Claim:
        """A claim on a conversation, for `async with`; see `Log.claim`.

        Args:
            conversation_id: its id.
            wait: whether to wait while another run has it.
            leases: what other processes see of claims; `None` if the storage is for one process at a time.
            read: reads what the claim has as `begun`, if there are no leases.
        """
        return Claim(conversation_id, self, leases, wait=wait, read=read)

    def restart(self) -> None:
        """Forget all claims, as the child of a fork must: they are the parent's."""
        # Reentrant: the garbage collector may close a coroutine, which leaves the line, while this thread has the lock.
        self._lock = threading.RLock()
        self._lines: dict[str, list[Claim]] = {}
        self._numbers = count(1)

    def first(self, conversation_id: str) -> Claim | None:
        """The claim that has a conversation, or is about to take it."""
        line = self._lines.get(conversation_id)
        try:
            return line[0] if line else None
        except IndexError:  # another thread left
            return None

    def owner(self, conversation_id: str) -> str | None:
        """The owner of the lease that this process has on a conversation; `None` without a lease."""
        claim = self.first(conversation_id)
        return claim.owner if claim is not None and claim.number else None

    def next_number(self) -> int:
        """The number of a claim if there are no leases; it grows with every claim."""
        return next(self._numbers)

    def enter(self, claim: Claim, *, wait: bool) -> asyncio.Future[None] | None:
        """Stand in line.

        Returns:
            `None` if `claim` is first; otherwise a future that is done when it is.

        Raises:
            BusyError: it would have to wait, and `wait` is false.
        """
        with self._lock:
            claim.place = None
            line = self._lines.get(claim.conversation_id)
            if line:
                self.pass_over_abandoned(claim.conversation_id)
                line = self._lines.get(claim.conversation_id)
            if not line:
                self._lines[claim.conversation_id] = [claim]
                return None
            if not wait:
                raise claim.busy("another run of this process")
            claim.place = asyncio.get_running_loop().create_future()
            line.append(claim)
            return claim.place

    def leave(self, claim: Claim) -> None:
        """Leave the line, from any place in it; wake the claim that is first then."""
        with self._lock:
            line = self._lines.get(claim.conversation_id)
            if not line:
                return
            if line[0] is claim:
                del line[0]
                self._wake_first(claim.conversation_id)
            else:
                line[:] = [other for other in line if other is not claim]

    def pass_over_abandoned(self, conversation_id: str) -> None:
        """Take claims out of the line whose event loop was closed before they could leave."""
        with self._lock:
            line = self._lines.get(conversation_id)
            if line and line[0].is_abandoned:
                del line[0]
                self._wake_first(conversation_id)

    def _wake_first(self, conversation_id: str) -> None:
        line = self._lines[conversation_id]
        while line:
            place = line[0].place
            if place is None:  # it was first from the start and waits for nothing
                return
            try:
                place.get_loop().call_soon_threadsafe(_settle, place)
            except RuntimeError:  # its loop was closed
                del line[0]
            else:
                return
        del self._lines[conversation_id]
        if self._on_free is not None:
            self._on_free(conversation_id)


def _settle(place: asyncio.Future[None]) -> None:
    if not place.done():
        place.set_result(None)
