"""`RayExecutor`: runs tools on Ray.

Invariants: a call is submitted at most once; stopping a call here also stops it on its worker, and waits for its end
for a limited time; nothing here blocks the event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from contextvars import ContextVar
from functools import partial
from typing import Any

from ...calls.tool_result import reason
from ...errors import ConfigError, ToolError, UnknownOutcome
from ...execution.shielded_wait import all_done, outlast
from ...guards.arguments import check_count, check_seconds
from ...hooks import Invocation
from ...tools.options import options_of
from ...tools.workers import in_thread
from .. import Executor
from .cluster import Cluster, Once, check_address, check_installed
from .sending import (
    LARGE,
    ActorOf,
    PackedTool,
    Sending,
    Slots,
    failure_of_call,
    failure_of_shipping,
    ray_options,
)
from .shipping import CarriedVariables, RemoteReply, unpack, unpack_error

logger: logging.Logger = logging.getLogger(__name__)


class RayExecutor(Executor):
    """Runs tools on Ray: `execute_tools(..., hooks=[RayExecutor()])`.

    Each call is a Ray task, or a call of an actor if the tool says `remote=Actor(...)`. A call whose worker is lost is
    `unknown`, and is not run again unless the tool says `idempotent=True`. Approval, retries, time limits and so on
    work as for any other tool.

    Use it as an async context manager, or `await start()`, to connect before the first call. If the program has
    called `ray.init` itself, that connection is used, and is left open.

    Args:
        address: the cluster's address: `host:6379`, or from outside it `ray://host:10001`, which needs `ray[client]`;
            `"auto"` for the one running on this machine, `"local"` for a new one, `None` for the one in
            `RAY_ADDRESS`, or else for the last one that was started on this machine, or a new one if that has ended.
        max_in_flight: how many calls of one event loop may be on Ray at once. Others wait here, and their time
            limits do not run meanwhile. `None` for no bound.
        context_vars: context variables whose values are sent with each call.
        send_deps: send a copy of `Execution.deps` with each call; otherwise tools that use it fail.
        every_tool: run all tools on Ray except those with `remote=False`; otherwise only those with `remote=...`.
        grace: seconds that a stopped call has to end on its worker; after that, a task's worker is ended.
        settings: further arguments of `ray.init`, such as `{"num_cpus": 4, "runtime_env": {...}}`.

    Raises:
        ConfigError: Ray is not installed, an option has a value that cannot work, or `address` is not an address.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        max_in_flight: int | None = None,
        context_vars: Iterable[ContextVar[Any]] = (),
        send_deps: bool = False,
        every_tool: bool = True,
        grace: float = 5.0,
        settings: dict[str, Any] | None = None,
    ) -> None:
        check_installed()
        check_address(address)
        check_count("max_in_flight", max_in_flight)
        check_seconds("grace", grace)
        carried = list(context_vars)
        given: list[object] = [*carried]
        for each in given:
            if not isinstance(each, ContextVar):
                raise ConfigError(f"context_vars must be ContextVar objects, got {each!r}")
        self._sending = Sending(CarriedVariables(carried), send_deps=send_deps)
        self._every_tool = every_tool
        self._grace = grace
        self._cluster = Cluster(address, settings or {})
        self._ray: Once[Any] = Once(self._cluster.connect)
        self._in_flight = Slots(max_in_flight)

    async def start(self) -> None:
        """Connect to Ray, if that has not been done.

        Raises:
            ConfigError: no cluster answers at the address.
        """
        await self._ray.get()

    async def aclose(self) -> None:
        """End the actors, and the connection if it was made here. The executor may be started again."""
        ray = self._ray.known()
        actors = self._sending.forget()
        self._ray = Once(self._cluster.connect)
        if ray is not None:
            await in_thread(partial(self._close, ray, actors))

    def _close(self, ray: Any, actors: list[ActorOf]) -> None:
        for actor in actors:
            handle = actor.handle.known()
            if handle is not None:
                ray.kill(handle)
        self._cluster.close()

    async def __aenter__(self) -> RayExecutor:
        """Connect to Ray."""
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.aclose()

    def takes(self, tool: Any) -> bool:
        """Whether a tool runs on Ray."""
        remote = options_of(tool).remote
        if tool is None or remote is False:
            return False
        return self._every_tool or remote is not None

    def check(self, tool: Any) -> None:
        """Refuse a tool whose `remote=` has options that cannot be honoured.

        Raises:
            ConfigError: there is such an option; names it.
        """
        ray_options(tool)

    async def run(self, invocation: Invocation, execution: Any) -> Any:
        """Run the tool of a call on Ray; see `Executor`.

        Raises:
            ToolError: the tool could not be sent, or no worker could run it.
        """
        name = invocation.call.name
        with invocation.waiting():
            try:
                ray = await self._ray.get()
            except ConfigError as error:
                raise ToolError(f"Tool '{name}' was not run: {error}", cause=error) from error
        if not ray.is_initialized():  # otherwise Ray would start a local cluster on its own
            raise ToolError(
                f"Tool '{name}' was not run: the program has closed its connection to Ray"
            )
        async with self._in_flight.one(invocation):
            tool = await self._sending.tool(invocation.tool, ray)
            async with tool.slots.one(invocation):
                sent: Any = self._sending.call(tool, invocation, execution)
                if len(sent) > LARGE:
                    sent = await in_thread(partial(ray.put, sent))
                reply = await self._reply(tool, sent, ray)
        return _outcome(reply, invocation)

    async def _reply(self, tool: PackedTool, sent: Any, ray: Any) -> RemoteReply:
        """Submit a call, and wait until it is over.

        Raises:
            ToolError: Ray could not run the call, or it is not known whether it ran.
        """
        reference = tool.submit(sent)
        coming: asyncio.Future[Any] = asyncio.wrap_future(reference.future())
        try:
            await all_done([coming])
        except asyncio.CancelledError:
            ending = asyncio.ensure_future(self._stop(tool, reference, coming, ray))
            await outlast([ending])
            raise
        try:
            data: bytes = coming.result()
        except Exception as error:
            if tool.actor is not None and any(
                c.__name__ == "ActorDiedError" for c in type(error).__mro__
            ):
                tool.actor.is_lost = True
            failed = failure_of_call(error, tool.tool.name, self._cluster.secrets)
            logger.warning("%s", failed, exc_info=failed.cause)
        else:
            return await self._read(tool, data)
        raise failed from failed.cause  # out of the block, so that its context is not Ray's error

    async def _read(self, tool: PackedTool, data: bytes) -> RemoteReply:
        try:
            reply: RemoteReply = (
                unpack(data) if len(data) < LARGE else await in_thread(partial(unpack, data))
            )
        except Exception as error:
            raise UnknownOutcome(
                f"Tool '{tool.tool.name}' ran, and its result cannot be read here: {reason(error)}",
                cause=error,
            ) from error
        if reply.unusable is not None:
            raise failure_of_shipping(reply.unusable, tool.tool.name)
        return reply

    async def _stop(
        self, tool: PackedTool, reference: Any, coming: asyncio.Future[Any], ray: Any
    ) -> None:
        """Stop a call on its worker, and wait until it is over.

        A task that does not stop when asked is ended together with its worker.
        """
        coming.add_done_callback(_look_at)
        for force in (False, True) if tool.actor is None else (False,):
            try:
                await in_thread(partial(ray.cancel, reference, force=force))
            except Exception:
                logger.warning("Ray could not cancel a call to %r", tool.tool.name, exc_info=True)
            over, _ = await asyncio.wait([coming], timeout=self._grace)
            if over:
                return
        logger.warning(
            "A call to %r still runs on Ray, %g s after it was cancelled",
            tool.tool.name,
            self._grace,
        )


def _look_at(coming: asyncio.Future[Any]) -> None:
    """Retrieve the outcome of a stopped call, so that asyncio does not warn that nobody did."""
    if not coming.cancelled():
        coming.exception()


def _outcome(reply: RemoteReply, invocation: Invocation) -> Any:
    """What a tool returned. Hands on the events that it emitted.

    An exception of the tool is raised here.
    """
    context = invocation.context
    for event in reply.events:
        context.emit(event)
    if reply.stop is not None:
        context.stop(reply.stop)
    if reply.error is None:
        return reply.value
    error = unpack_error(reply.error)
    if reply.value is None:
        raise error
    reply.value.exception = error
    return reply.value
