"""The bytes that are sent to a worker and back.

Invariant: nothing that belongs to one process is sent. Instead of the log a worker has an `Absent`, whose use is an
error that says so; a context variable is sent as the place where it is found.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NoReturn, cast

from ...errors import ToolError
from ...tools.function_tool import FunctionTool
from ...types import Execution, ToolCall

ModulePlace = tuple[str, str]
"""A module, and a name in that module."""

STATE = "state"

DIGEST = 32
"""Bytes of a digest."""

LENGTH = 4
"""Bytes of a length."""


class Absent:
    """Replaces, on a worker, an object that stays in the program: any use is a failure that says so."""

    def __init__(self, what: str, advice: str) -> None:
        self._text = f"{what} cannot be used in another process: {advice}"

    def _refuse(self, *_: Any) -> NoReturn:
        raise ToolError(self._text)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python looks for by itself, as in copying
            raise AttributeError(name)
        self._refuse()

    __call__ = __getitem__ = __iter__ = __len__ = __contains__ = __aenter__ = __enter__ = _refuse
    __bool__: Any = _refuse

    def __exit__(self, *_: Any) -> None: ...

    async def __aexit__(self, *_: Any) -> None: ...

    def __reduce__(self) -> Any:
        return _absent, (self._text,)


def _absent(text: str) -> Absent:
    made = Absent.__new__(Absent)
    made._text = text  # pyright: ignore[reportPrivateUsage]
    return made


@dataclass(slots=True)
class RemoteCall:
    """A call, and everything that its tool may ask for.

    Attributes:
        call: the call, with arguments that have been checked.
        execution_id: the id of the call, the same in every attempt.
        conversation_id: the conversation's id.
        user_id: the id of the user whose turn it is; may be empty.
        execution: the batch's `Execution`, as far as it can be sent.
        state: what hooks have written; for tools that take a `ToolContext`.
        variables: the places and values of context variables.
        trace: the trace context, as W3C headers.
    """

    call: ToolCall
    execution_id: str
    conversation_id: str
    user_id: str
    execution: Execution
    state: dict[str, Any]
    variables: list[tuple[ModulePlace, Any]]
    trace: dict[str, str]

    def __reduce__(self) -> Any:
        """Pickle field by field, which takes a third of the time of pickling nested objects."""
        call: Any = self.call
        if type(call) is ToolCall:  # other classes are pickled as they are
            call = (call.name, call.args, call.id, call.server)
        here: Any = self.execution
        if type(here) is Execution:
            here = (here.storage, (), here.shell_timeout, here.sandbox_dir, here.access, here.deps)
        mine = (self.execution_id, self.conversation_id, self.user_id)
        return _remote_call, (call, here, mine, self.state, self.variables, self.trace)

    @property
    def is_plain(self) -> bool:
        """Whether everything in it is JSON or of this package, so that plain pickle can write it."""
        deps = self.execution.deps
        return (deps is None or type(deps) is Absent) and not self.state and not self.variables

    def parts(self) -> dict[str, Any]:
        """The parts that the program gave, by their names, so that an error can name the one that cannot be sent."""
        named = {f"context variable {name!r}": value for (_, name), value in self.variables}
        return {"deps": self.execution.deps, "state": self.state, "args": self.call.args, **named}


def _remote_call(call: Any, here: Any, mine: tuple[str, str, str], *rest: Any) -> RemoteCall:
    if isinstance(call, tuple):
        call = ToolCall(*cast("tuple[Any, ...]", call))
    if isinstance(here, tuple):
        here = Execution(*cast("tuple[Any, ...]", here))
    return RemoteCall(call, *mine, here, *rest)


@dataclass(slots=True)
class RemoteReply:
    """The outcome of a call.

    Attributes:
        value: what the tool returned, checked to be JSON.
        error: the exception that it raised; see `pack_error`.
        unusable: why the tool could not be started.
        events: the events that it emitted, in order.
        stop: the message of its first `ToolContext.stop`.
    """

    value: Any = None
    error: PackedError | None = None
    unusable: str | None = None
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    stop: str | None = None

    def __reduce__(self) -> Any:
        """Pickle field by field, as `RemoteCall` does."""
        return RemoteReply, (self.value, self.error, self.unusable, self.events, self.stop)


# Context variables


class CarriedVariables:
    """Context variables whose values are sent with each call.

    A variable cannot be pickled. A variable of a module is found in the worker by the names of the module and the
    variable. A variable of the main program is made in the worker under its name; functions of the main program see it.

    Args:
        variables: those that are carried.
    """

    def __init__(self, variables: Iterable[ContextVar[Any]]) -> None:
        self._places = {variable: _place_of(variable) for variable in variables}

    def values(self) -> list[tuple[ModulePlace, Any]]:
        """The present values; variables without a value are left out."""
        now = copy_context()
        return [(place, now[each]) for each, place in self._places.items() if each in now]

    def place(self, variable: object) -> ModulePlace | None:
        """The place of one of these variables; `None` for anything else."""
        if not isinstance(variable, ContextVar):
            return None
        return self._places.get(cast("ContextVar[Any]", variable))


_made: dict[ModulePlace, ContextVar[Any]] = {}


def variable_at(place: ModulePlace) -> ContextVar[Any]:
    """The context variable at this place, in a worker."""
    module, name = place
    if module not in ("", "__main__"):
        found = getattr(import_module(module), name, None)
        if isinstance(found, ContextVar):
            return cast("ContextVar[Any]", found)
    return _made.setdefault(place, ContextVar(name))


def _place_of(variable: ContextVar[Any]) -> ModulePlace:
    for module, names in [(each, vars(sys.modules[each])) for each in [*sys.modules]]:
        for name, value in [*names.items()]:
            if value is variable:
                return module, name
    return "", variable.name


# Bytes


def pack(value: Any, variables: CarriedVariables | None = None, state: object = None) -> bytes:
    """Write a value for a worker.

    Args:
        value: the value to send.
        variables: context variables that it may refer to.
        state: an object that is left out of the bytes, since the actor has it already.

    Raises whatever the pickling of the value raises.
    """
    stream = io.BytesIO()
    _pickler()(stream, variables, state).dump(value)
    return stream.getvalue()


def unpack(data: bytes, state: object = None) -> Any:
    """Read what `pack` wrote.

    Args:
        data: the bytes.
        state: the object that was left out.
    """
    return _Unpickler(io.BytesIO(data), state).load()


def pack_call(digest: bytes, tool: bytes, call: bytes) -> bytes:
    """Join what a worker needs for a call into one piece, because Ray takes its time for each.

    Args:
        digest: the digest of the packed tool.
        tool: the packed tool; empty if it is in Ray's store.
        call: a packed `RemoteCall`.
    """
    return b"".join((digest, len(tool).to_bytes(LENGTH, "big"), tool, call))


def unpack_call(data: bytes) -> tuple[bytes, bytes, RemoteCall]:
    """Read what `pack_call` wrote."""
    begin = DIGEST + LENGTH
    end = begin + int.from_bytes(data[DIGEST:begin], "big")
    call: RemoteCall = unpack(data[end:])
    return data[:DIGEST], data[begin:end], call


def pack_reply(reply: RemoteReply) -> bytes:
    """Write a reply for the program. Raises whatever the pickling of its value raises."""
    try:
        return pickle.dumps(reply)
    except Exception:
        return pack(reply)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, state: object) -> None:
        super().__init__(file)
        self._state = state

    def persistent_load(self, pid: Any) -> Any:
        return self._state if pid == STATE else variable_at(pid)


_found: list[Any] = []


def _pickler() -> Callable[..., Any]:
    """The class that writes values; made late, because it needs Ray's cloudpickle."""
    if not _found:
        cloudpickle: Any = import_module("ray.cloudpickle")
        begin, otherwise = (
            cloudpickle.CloudPickler.__init__,
            cloudpickle.CloudPickler.reducer_override,
        )

        class Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]
            def __init__(
                self, file: io.BytesIO, variables: CarriedVariables | None, state: object
            ) -> None:
                begin(self, file)
                self._variables, self._state = variables, state

            def persistent_id(self, obj: Any) -> Any:
                if obj is self._state and obj is not None:
                    return STATE
                return None if self._variables is None else self._variables.place(obj)

            def reducer_override(self, obj: Any) -> Any:
                place = _module_place(obj) if isinstance(obj, FunctionTool) else None
                return otherwise(self, obj) if place is None else (_named, place)

        _found.append(Pickler)
    made: Callable[..., Any] = _found[0]
    return made


def _module_place(tool: Any) -> ModulePlace | None:
    """The place of this tool in a module, so that a worker finds it there and the function's globals are not sent."""
    module: str = getattr(tool, "__module__", "__main__")
    name: str = getattr(tool, "__qualname__", "")
    found = getattr(sys.modules.get(module), name, None)
    return (module, name) if module != "__main__" and found is tool else None


def _named(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


# What a tool raised


class RemoteTraceback(Exception):  # noqa: N818
    """The traceback that an exception had on a worker, as its cause here."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class RemoteError(Exception):
    """Replaces a tool's exception that cannot be sent from its worker. Its class has the name of that exception's."""


@dataclass(slots=True)
class PackedError:
    """An exception: pickled, if that can be read again; and the names of its class, its text and its traceback."""

    data: bytes | None
    kind: str
    text: str
    traceback: str


def pack_error(error: BaseException, traceback: str) -> PackedError:
    """Write an exception for the program."""
    try:
        data: bytes | None = pack(error)
        unpack(data or b"")  # many exceptions can be pickled, but not unpickled
    except Exception:
        data = None
    try:
        text = str(error)
    except Exception:
        text = ""
    return PackedError(data, type(error).__name__, text, traceback)


def unpack_error(packed: PackedError) -> BaseException:
    """Read what `pack_error` wrote: an exception whose cause is its traceback on the worker."""
    found: Any = None
    if packed.data is not None:
        with suppress(Exception):
            found = unpack(packed.data)
    error: BaseException = type(packed.kind, (RemoteError,), {})(packed.text)
    # An interrupted tool must not interrupt the program.
    if isinstance(found, BaseException) and not isinstance(found, KeyboardInterrupt):
        error = found
    error.__cause__ = RemoteTraceback(packed.traceback)
    return error
