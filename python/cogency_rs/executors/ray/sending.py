"""Packs each tool once, packs its calls, and submits them as a task or to an actor."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ...calls.tool_result import reason
from ...calls.trace_context import trace_headers
from ...errors import ToolError
from ...hooks import Invocation
from ...types import Execution
from .failures import failure_of_shipping, one_line
from .once import Once
from .options import is_stateful, ray_options, state_of
from .shipping import Absent, CarriedVariables, RemoteCall, pack, pack_call
from .slots import Slots
from .worker import StatefulWorker, run_tool

__all__ = ["LARGE", "ActorOf", "PackedTool", "Sending"]

LARGE = 100 * 1024
"""A tool of this many bytes or more is put into Ray's store instead of being sent with each call."""

MOST_KEPT = 256
"""Tools that are kept ready to be sent."""

UNBOUND = Slots(None)

STORAGE = Absent(
    "storage",
    "the log stays in the program; give the tool remote=False, or let it return what should be saved",
)
DEPS = Absent(
    "deps",
    "they stay in the program, unless RayExecutor(send_deps=True) sends a copy with each call",
)


class ActorOf:
    """The actor of one state.

    Args:
        state: the object with the state. It is kept alive here, so that no other object gets its `id`.
        slots: how many calls the actor carries out at once.
        make: makes the actor, and blocks until it is there.

    Attributes:
        is_lost: whether it has died, and its state with it.
    """

    def __init__(self, state: Any, slots: Slots, make: Callable[[], Any]) -> None:
        self.state = state
        self.slots = slots
        self.handle: Once[Any] = Once(make)
        self.is_lost = False


@dataclass(frozen=True)
class PackedTool:
    """A tool in the form in which it is sent.

    Attributes:
        tool: the tool. It is kept alive here, so that no other object gets its `id`.
        digest: the digest of its bytes, by which a worker finds a tool that it has read already.
        data: its bytes; empty if Ray's store has them.
        submit: sends a call's bytes to a task or an actor.
        actor: the actor that it runs in, if it has state.
    """

    tool: Any
    digest: bytes
    data: bytes
    submit: Callable[[Any], Any]
    actor: ActorOf | None = None

    @property
    def slots(self) -> Slots:
        """How many calls may be carried out at once."""
        return UNBOUND if self.actor is None else self.actor.slots


class Sending:
    """Sends the tools and calls of one executor.

    Args:
        variables: context variables that are sent with each call.
        send_deps: whether `Execution.deps` is sent, too.
    """

    def __init__(self, variables: CarriedVariables, *, send_deps: bool) -> None:
        self._variables = variables
        self._send_deps = send_deps
        self._execution: tuple[Any, Execution] | None = None
        self._tools: dict[int, tuple[Any, Once[PackedTool]]] = {}
        self._actors: dict[int, ActorOf] = {}

    def forget(self) -> list[ActorOf]:
        """Drop all tools and actors, since the connection ends; returns the actors."""
        actors, self._actors, self._tools = [*self._actors.values()], {}, {}
        self._execution = None
        return actors

    async def tool(self, tool: Any, ray: Any) -> PackedTool:
        """Pack a tool, once, and make its actor if it has one.

        Raises:
            ToolError: the tool cannot be sent, Ray refuses its options, or its actor cannot be made or is lost.
        """
        actor, handle = (self._actor(tool, ray) if is_stateful(tool) else None), None
        if actor is not None:
            if actor.is_lost:
                raise ToolError(
                    f"Tool '{tool.name}' was not run: the actor that it ran in was lost, and its state with it; a new "
                    "RayExecutor starts over"
                )
            handle = await actor.handle.get()
        _, packed = self._tools.get(id(tool), (None, None))
        if packed is None:
            if len(self._tools) >= MOST_KEPT:
                self._tools.clear()
            packed = Once(partial(self._pack, tool, actor, handle, ray))
            self._tools[id(tool)] = tool, packed
        return await packed.get()

    def call(self, tool: PackedTool, invocation: Invocation, execution: Any) -> bytes:
        """Pack a call of a tool.

        Raises:
            ToolError: a part of the call cannot be sent; names it.
        """
        context = invocation.context
        takes_context = getattr(invocation.tool, "takes_context", False) is True
        here = self._sendable(execution)
        call = RemoteCall(
            invocation.call,
            context.execution_id,
            context.conversation_id,
            context.user_id,
            here,
            dict(context.state) if takes_context else {},
            self._variables.values(),
            trace_headers(),
        )
        if call.is_plain:
            return pack_call(tool.digest, tool.data, pickle.dumps(call))
        try:
            return pack_call(tool.digest, tool.data, pack(call, self._variables))
        except Exception as error:
            what = next(filter(self._is_stuck, call.parts().items()), ("its call", None))[0]
            raise ToolError(
                f"Tool '{invocation.call.name}' was not run: {what} cannot be sent to a worker: {one_line(error)}",
                cause=error,
            ) from error

    def _sendable(self, execution: Any) -> Execution:
        """The part of an execution that is sent; the same for all calls of a batch."""
        if self._execution is None or self._execution[0] is not execution:
            deps = execution.deps
            sent = replace(
                execution,
                storage=None if execution.storage is None else STORAGE,
                tools=(),
                deps=deps if deps is None or self._send_deps else DEPS,
            )
            self._execution = execution, sent
        return self._execution[1]

    def _is_stuck(self, part: tuple[str, Any]) -> bool:
        try:
            pack(part[1], self._variables)
        except Exception:
            return True
        return False

    # What follows runs in a thread.

    def _pack(self, tool: Any, actor: ActorOf | None, handle: Any, ray: Any) -> PackedTool:
        state = None if actor is None else actor.state
        data = self._packed(tool, tool.name, state)
        digest = hashlib.sha256(data).digest()
        if actor is None:
            submit = _accepted(tool, lambda: ray.remote(**ray_options(tool))(run_tool))
        else:
            submit = handle.run_tool.options(name=tool.name)
        if len(data) <= LARGE:
            return PackedTool(tool, digest, data, submit.remote, actor)
        stored = partial(submit.remote, packed_tool=ray.put(data))
        return PackedTool(tool, digest, b"", stored, actor)

    def _actor(self, tool: Any, ray: Any) -> ActorOf:
        state = state_of(tool)
        actor = self._actors.get(id(state))
        if actor is None:
            slots = Slots(ray_options(tool)["max_concurrency"])
            actor = ActorOf(state, slots, partial(self._make_actor, tool, state, ray))
            self._actors[id(state)] = actor
        return actor

    def _make_actor(self, tool: Any, state: Any, ray: Any) -> Any:
        data = self._packed(state, tool.name, None)
        made = _accepted(tool, lambda: ray.remote(StatefulWorker).options(**ray_options(tool)))
        handle = made.remote(data)
        try:
            problem = ray.get(handle.ready.remote())
        except Exception as error:
            raise failure_of_shipping(one_line(error), tool.name) from error
        if problem is not None:
            ray.kill(handle)
            raise failure_of_shipping(problem, tool.name)
        return handle

    def _packed(self, value: Any, name: str, state: Any) -> bytes:
        try:
            return pack(value, self._variables, state)
        except Exception as error:
            advice = (
                "make what cannot be pickled inside the tool, or say remote=False to run it here"
            )
            if "ContextVar" in str(error):
                advice = "name its context variables in RayExecutor(context_vars=[...])"
            raise ToolError(
                f"Tool '{name}' was not run: it cannot be sent to a worker: {reason(error)}; {advice}",
                cause=error,
            ) from error


def _accepted(tool: Any, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except Exception as error:
        raise ToolError(
            f"Tool '{tool.name}' was not run: Ray refuses its remote= options: {one_line(error)}",
            cause=error,
        ) from error
