"""Packs each tool once, packs its calls, and submits them as a task or to an actor; what Ray's errors mean.

The outcome of a call is unknown unless its error is in the table of errors after which the tool did not run.
"""

from __future__ import annotations

import asyncio
import hashlib
import pickle
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from ...calls.tool_result import reason
from ...calls.trace_context import trace_headers
from ...errors import ConfigError, ToolError, UnknownOutcome
from ...guards.secrets import NO_SECRETS, Secrets
from ...hooks import Invocation
from ...tools.options import options_of
from ...types import Execution
from .cluster import Once
from .shipping import Absent, CarriedVariables, RemoteCall, pack, pack_call
from .worker import StatefulWorker, run_tool

NEVER_RAN = {
    "RuntimeEnvSetupError": "its runtime_env cannot be set up on the worker",
    "TaskUnschedulableError": "no worker can run it",
    "ActorUnschedulableError": "no worker can run it",
    "TaskPlacementGroupRemoved": "its placement group was removed",
    "ActorPlacementGroupRemoved": "its placement group was removed",
    "PendingCallsLimitExceeded": "too many calls wait for its actor",
    "AuthenticationError": "Ray refuses the program's token",
}
"""Errors after which it is known that the tool did not run, and what they mean, by the names of Ray's classes."""

LOST = {
    "WorkerCrashedError": "the worker that ran it was lost",
    "LocalRayletDiedError": "Ray on this machine was lost",
    "NodeDiedError": "the machine that ran it was lost",
    "OutOfMemoryError": "its worker was killed because memory ran out",
    "ActorDiedError": "the actor that ran it was lost, and its state with it",
    "ActorUnavailableError": "the actor that ran it cannot be reached",
    "TaskCancelledError": "someone else cancelled it",
}
"""Errors after which it is not known whether the tool ran, and what they mean."""


def failure_of_call(error: Exception, name: str, secrets: Secrets = NO_SECRETS) -> ToolError:
    """What an error of Ray's means for a call.

    Args:
        error: what waiting for the call's reply raised.
        name: the tool's name.
        secrets: what the text must not show.
    """
    kinds = [each.__name__ for each in type(error).__mro__]
    for kind in kinds:
        if why := NEVER_RAN.get(kind):
            return ToolError(
                f"Tool '{name}' was not run: {why}: {one_line(error, secrets)}",
                cause=secrets.clean(error),
            )
        if why := LOST.get(kind):
            return _unknown(name, why, secrets.clean(error))
    if "RayTaskError" in kinds:
        return _failed_around(error, name, secrets)
    return _unknown(name, one_line(error, secrets), secrets.clean(error))


def failure_of_shipping(problem: str, name: str) -> ToolError:
    """The error for a tool that a worker cannot load."""
    advice = ""
    if "ModuleNotFoundError" in problem or "ImportError" in problem:
        advice = "; install what is missing on the workers, or name it in runtime_env"
    return ToolError(
        f"Tool '{name}' was not run, because a worker cannot load it: {problem}{advice}"
    )


def _failed_around(error: Exception, name: str, secrets: Secrets) -> ToolError:
    """The error for an exception on a worker that the tool did not raise: this package would have caught it."""
    text = secrets.hide(str(error))
    if "ModuleNotFoundError: " in text and "import" in text:
        problem = text[text.rindex("ModuleNotFoundError: ") :].splitlines()[0]
        return failure_of_shipping(problem, name)
    last = text.strip().splitlines()[-1:] or [""]
    return _unknown(name, f"its result cannot be sent back: {last[0]:.300}", secrets.clean(error))


def _unknown(name: str, why: str, error: Exception) -> UnknownOutcome:
    return UnknownOutcome(
        f"It is not known whether the call to '{name}' happened: {why}. Find out before it is called again.",
        cause=error,
    )


def one_line(error: Exception, secrets: Secrets = NO_SECRETS) -> str:
    """The class of an error and the beginning of its text, without secrets."""
    text = " ".join(secrets.hide(str(error)).split())
    return f"{type(error).__name__}{text and f': {text:.200}'}"


_NO_BOUND = nullcontext()


class Slots:
    """A number of places, for each event loop.

    Args:
        count: how many places; `None` for no bound.
    """

    def __init__(self, count: int | None) -> None:
        self._count = count
        self._free: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    def one(self, invocation: Invocation) -> AbstractAsyncContextManager[None]:
        """Hold a place for a call. The call's time limit does not run while it waits for the place."""
        return _NO_BOUND if self._count is None else self._one(invocation, self._count)

    @asynccontextmanager
    async def _one(self, invocation: Invocation, count: int) -> AsyncGenerator[None, None]:
        loop = asyncio.get_running_loop()
        free = self._free.setdefault(loop, asyncio.Semaphore(count))
        with invocation.waiting():
            await free.acquire()
        try:
            yield
        finally:
            free.release()


RETRIES = 3
"""How often Ray repeats a call whose worker was lost, if the tool says `idempotent=True`. This is Ray's default."""

OURS = frozenset({"max_restarts", "max_task_retries", "num_returns", "retry_exceptions"})
"""Options of Ray that would run a call twice, or would change what it returns."""


class Actor(dict[str, Any]):
    """`@tool(remote=Actor(num_cpus=1))`: the tool has state, so all its calls run in one Ray actor.

    The actor is created for the first call and holds the state from then on: the object that the tool is a method of,
    or the tool itself. All methods of one object share one actor, with the options of the tool that was called first.
    The actor carries out one call at a time, or as many as `max_concurrency` says. If it is lost, its state is lost
    too: no new actor is started, and further calls fail.

    Args:
        needs: options of Ray's actors, such as `num_cpus`, `num_gpus`, `resources` and `runtime_env`.
    """

    def __init__(self, **needs: Any) -> None:
        super().__init__(needs)


def is_stateful(tool: Any) -> bool:
    """Whether a tool runs in an actor."""
    return isinstance(options_of(tool).remote, Actor)


def state_of(tool: Any) -> Any:
    """The object that holds a tool's state: the object that the tool is a method of, or the tool itself."""
    return getattr(getattr(tool, "__wrapped__", None), "__self__", tool)


def ray_options(tool: Any) -> dict[str, Any]:
    """The options of a tool's task or actor, as Ray takes them.

    Raises:
        ConfigError: an option would run a call twice although the tool does not allow it, or a tool may not set it.
    """
    options = options_of(tool)
    needs = dict(options.remote) if isinstance(options.remote, Mapping) else {}
    if refused := sorted(map(str, OURS & needs.keys())):
        raise ConfigError(f"remote= of tool {tool.name!r} cannot have {', '.join(refused)}")
    if isinstance(options.remote, Actor):
        if "max_retries" in needs:
            raise ConfigError(
                f"remote= of tool {tool.name!r} cannot have max_retries: an actor's state is lost with it"
            )
        return {"max_concurrency": 1, **needs, "max_restarts": 0, "max_task_retries": 0}
    is_idempotent = options.idempotent is not False
    if not is_idempotent and needs.get("max_retries"):
        raise ConfigError(
            f"max_retries of tool {tool.name!r} needs idempotent=True: a call whose worker was lost may still have "
            "had its effect, so only a tool that can be run twice is run again"
        )
    return {
        "name": tool.name,
        "max_retries": RETRIES if is_idempotent else 0,
        **needs,
        "retry_exceptions": False,
    }


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
