"""What tools do in a world: effects in a ledger, and what a bank says of them afterwards."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from cogency_rs import ToolCall, tool
from cogency_rs.execution import Happened, NotHappened, UnsettledCall
from cogency_rs.tools import Preview
from cogency_rs.tools.context import ToolContext

from .ledger import Effect
from .loop import HERE

if TYPE_CHECKING:
    from .world import World

__all__ = ["TOOLS", "Bank"]


class Bank:
    """Where tools have their effects.

    Args:
        world: the world that it is in.
    """

    def __init__(self, world: World) -> None:
        self._world, self._plan, self._ledger = world, world.plan, world.ledger
        self._fenced: dict[str, int] = {}
        self._on_the_way: list[
            tuple[str, Any]
        ] = []  # calls that have begun and had no effect yet, and who makes them

    def may_come(self, mark: str) -> bool:
        """Whether a process that lives is still about to carry a call out."""
        return any(each == mark and not process.is_dead for each, process in self._on_the_way)

    async def act(self, name: str, mark: str, amount: int, context: ToolContext[Any]) -> Any:
        """What every tool does: it takes time, and has its effect in the middle."""
        here: Any = HERE.get()
        ledger = self._ledger
        began, key = ledger.event(), context.execution_id
        now = self._world.loop.time()
        before = now - (60.0 if self._plan.troubles else 3.0)
        rates = (self.rate(0.0 if here.plan.stopped_at else before), self.rate(now))
        call = self._world.mind.calls.get(mark)
        before, after = call.seconds if call is not None else (0.0, 0.0)
        if before:
            self._on_the_way.append((mark, here))
            try:
                await asyncio.sleep(before)
            finally:
                self._on_the_way.remove((mark, here))
        if name == "fail":
            ledger.refused.append(mark)
            raise ValueError(f"no money for {mark}")
        if self._fenced.get(key, 0) > began:  # the bank has said that it did not happen
            raise ValueError(f"too late for {mark}")
        if name != "look":
            ledger.effects.append(Effect(mark, amount, key, ledger.event(), here.name, rates))
        if after:
            await asyncio.sleep(after)
        return {"receipt": f"R{mark[1:]}"}

    def rate(self, when: float | None = None) -> int:
        """What the preview of a charge says at a time, or now."""
        moment = self._world.loop.time() if when is None else when
        return sum(changes <= moment for changes in self._plan.rates)

    def reconcile(self, call: UnsettledCall) -> Any:
        """What a bank says of a call: it looks for the key, and refuses such a request that began before."""
        mark = call.args["c"]
        if any(
            each.mark == mark and each.key == call.execution_id for each in self._ledger.effects
        ):
            return Happened({"receipt": f"R{mark[1:]}"})
        self._fenced[call.execution_id] = self._ledger.event()
        return NotHappened()


def _bank() -> Bank:
    here: Any = HERE.get()
    found: Bank = here.world.bank
    return found


async def _reconcile(call: UnsettledCall) -> Any:
    return _bank().reconcile(call)


@tool
async def pay(c: str, amount: int, context: ToolContext[Any]) -> Any:
    """Pay."""
    return await _bank().act("pay", c, amount, context)


@tool(idempotent=True)
async def send(c: str, amount: int, context: ToolContext[Any]) -> Any:
    """Send."""
    return await _bank().act("send", c, amount, context)


@tool(read_only=True)
async def look(c: str, amount: int, context: ToolContext[Any]) -> Any:
    """Look."""
    return await _bank().act("look", c, amount, context)


@tool(requires_approval=True)
async def wire(c: str, amount: int, context: ToolContext[Any]) -> Any:
    """Wire."""
    return await _bank().act("wire", c, amount, context)


@tool(reconcile=_reconcile)
async def book(c: str, amount: int, context: ToolContext[Any]) -> Any:
    """Book."""
    return await _bank().act("book", c, amount, context)


def _preview(call: ToolCall) -> str:
    return f"at rate {_bank().rate()}"


@tool(requires_approval=Preview(_preview), reconcile=_reconcile)
async def charge(c: str, amount: int, context: ToolContext[Any]) -> Any:
    """Charge."""
    return await _bank().act("charge", c, amount, context)


@tool
async def fail(c: str, amount: int, context: ToolContext[Any]) -> Any:
    """Fail."""
    return await _bank().act("fail", c, amount, context)


TOOLS = (pay, send, look, wire, book, charge, fail)
