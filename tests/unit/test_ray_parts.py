"""The parts of `RayExecutor` that work without Ray: options, what is sent, what a worker does, what errors mean."""

from __future__ import annotations

import asyncio
import contextvars
import hashlib
import importlib.util
import pickle
import socket
import threading
from typing import Any

import pytest

from cogency_rs import Agent, CallOptions, Execution, ToolCall, tool
from cogency_rs.calls import tool_result as module_without_variables
from cogency_rs.errors import ConfigError, ToolError, UnknownOutcome
from cogency_rs.execution import execute_calls
from cogency_rs.executors import Executor
from cogency_rs.executors.ray import Actor, RayExecutor, cluster
from cogency_rs.executors.ray.cluster import Cluster, Once, check_answers, check_installed
from cogency_rs.executors.ray.sending import (
    LOST,
    NEVER_RAN,
    RETRIES,
    Slots,
    failure_of_call,
    ray_options,
    state_of,
)
from cogency_rs.executors.ray.shipping import (
    Absent,
    CarriedVariables,
    PackedError,
    RemoteCall,
    pack_call,
    unpack,
    unpack_error,
    variable_at,
)
from cogency_rs.executors.ray.worker import Errand, run_tool
from cogency_rs.guards.secrets import shown_url
from cogency_rs.hooks import Invocation
from cogency_rs.testing import ScriptedModel
from cogency_rs.tools import ToolOptions
from support.clock import in_exact_time
from support.mcp_servers import small

who = contextvars.ContextVar("who", default="nobody")

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="ray is not installed"
)


class Optioned:
    """A tool that has options."""

    name, description, schema = "optioned", "", {}

    def __init__(self, **options: Any) -> None:
        self.options = ToolOptions(**options)

    async def execute(self, **given: Any) -> dict[str, Any]:
        return {"given": sorted(given), "who": who.get()}


# Options


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"name": "optioned", "max_retries": 0, "retry_exceptions": False}),
        ({"remote": True}, {"name": "optioned", "max_retries": 0, "retry_exceptions": False}),
        (
            {"remote": {"num_gpus": 1}, "idempotent": True},
            {"name": "optioned", "num_gpus": 1, "max_retries": RETRIES, "retry_exceptions": False},
        ),
        (
            {"remote": {"max_retries": 1}, "idempotent": True},
            {"name": "optioned", "max_retries": 1, "retry_exceptions": False},
        ),
        (
            {"remote": Actor(num_cpus=2), "idempotent": True},
            {"num_cpus": 2, "max_concurrency": 1, "max_restarts": 0, "max_task_retries": 0},
        ),
        (
            {"remote": Actor(max_concurrency=3)},
            {"max_concurrency": 3, "max_restarts": 0, "max_task_retries": 0},
        ),
    ],
)
def test_ray_s_options_never_repeat_a_call_that_may_not_be_repeated(options, expected):
    assert ray_options(Optioned(**options)) == expected


@pytest.mark.parametrize(
    ("remote", "words"),
    [
        ({"max_retries": 3}, "needs idempotent=True"),
        ({"retry_exceptions": True}, "cannot have retry_exceptions"),
        ({"num_returns": 2, "max_restarts": 1}, "cannot have max_restarts, num_returns"),
        (Actor(max_retries=1), "an actor's state is lost with it"),
        (Actor(max_task_retries=1), "cannot have max_task_retries"),
    ],
)
def test_options_that_would_repeat_a_call_are_refused(remote, words):
    with pytest.raises(ConfigError, match=words):
        ray_options(Optioned(remote=remote))


def test_the_state_of_a_method_is_its_object_and_that_of_any_other_tool_is_the_tool():
    class Box:
        @tool(remote=Actor())
        def put(self) -> None:
            """Put."""

    box, plain = Box(), Optioned(remote=Actor())
    assert state_of(box.put) is box
    assert state_of(plain) is plain


@needs_ray
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_in_flight": 0}, "max_in_flight must be a whole number of at least 1"),
        ({"grace": 0}, "grace must be above 0 seconds"),
        ({"context_vars": ["who"]}, "context_vars must be ContextVar objects, got 'who'"),
    ],
)
def test_an_executor_refuses_options_with_impossible_values(options, words):
    with pytest.raises(ConfigError, match=words):
        RayExecutor(**options)


@needs_ray
async def test_tools_of_servers_and_agents_are_not_run_on_ray():
    async with small("t") as server:
        [on_server] = await server.tools()
    helper = Agent(ScriptedModel([]), tools=[]).as_tool("helper", "Helps.")
    ray = RayExecutor()
    assert [ray.takes(each) for each in (on_server, helper, Optioned(), None)] == [
        *(False, False, True, False),
    ]


# The connection to Ray


def test_without_ray_the_error_names_the_extra(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for refused in (check_installed, RayExecutor, Cluster(None, {}).connect):
        with pytest.raises(ConfigError, match=r"pip install 'cogency-rs\[ray\]'"):
            refused()


SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])


def answering(server: socket.socket, answer: bytes) -> threading.Thread:
    """Answer one client of a server, in two pieces, and close; in a thread, which is returned."""

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(100)
            connection.sendall(answer[:4])
            connection.sendall(answer[4:])

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


FORMS = ["127.0.0.1:{}", "ray://127.0.0.1:{}", "ray://localhost:{}"]


@pytest.mark.parametrize("form", FORMS)
def test_an_address_where_nothing_answers_is_an_error_at_once(form):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = form.format(server.getsockname()[1])
        head = answering(server, SETTINGS)
        check_answers(address)
        head.join()
    with pytest.raises(ConfigError, match=r"no Ray cluster answers at .*`ray start --head`"):
        check_answers(address)


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n", SETTINGS[:8], b""])
@pytest.mark.parametrize("form", FORMS)
def test_a_server_that_is_not_ray_is_an_error_at_once(form, answer):
    with socket.create_server(("127.0.0.1", 0)) as server:
        other = answering(server, answer)
        with pytest.raises(ConfigError, match=r"what answers at .* is not a Ray cluster"):
            check_answers(form.format(server.getsockname()[1]))
        other.join()


def test_a_server_that_says_nothing_is_an_error_in_time(monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 0.05)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(ConfigError, match="is not a Ray cluster"),
    ):
        check_answers(f"127.0.0.1:{server.getsockname()[1]}")


@needs_ray
@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "http://head:8265",
        "ray//head:1",
        "ray://head",
        "head:port",
        "head:123456",
        "somewhere",
    ],
)
def test_text_that_is_not_an_address_is_refused_at_construction(address, monkeypatch):
    with pytest.raises(ConfigError) as caught:
        RayExecutor(address)
    assert str(caught.value) == (
        f"{shown_url(address)!r} is not an address of a Ray cluster: "
        "give host:6379, or ray://host:10001 from outside of it; "
        "'auto' for the one that runs on this machine, 'local' for a new one, None for either"
    )
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(ConfigError, match="is not an address of a Ray cluster"):
        Cluster(None, {}).connect()


@needs_ray
def test_the_error_names_ray_s_client_if_it_is_not_installed(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name == "grpc" else find(name, *rest),
    )
    with pytest.raises(ConfigError, match=r"needs Ray's client.*pip install 'ray\[client\]'"):
        RayExecutor("ray://head:10001")
    RayExecutor("head:6379")


@pytest.mark.parametrize("address", [None, "", "auto", "local"])
def test_an_address_that_ray_looks_up_itself_is_not_checked(address):
    check_answers(address)


class FakeRay:
    """Ray's module, and its module that looks for a cluster: `found`, as the folder of a Ray names it."""

    def __init__(self, found: str | None) -> None:
        self.found = found
        self.given: list[str | None] = []

    def is_initialized(self) -> bool:
        return False

    def init(self, *, address: str | None) -> None:
        self.given.append(address)

    def shutdown(self) -> None:
        pass

    def canonicalize_bootstrap_address(self, address: str | None, folder: str | None) -> str | None:
        if address == "auto" and self.found is None:
            raise ConnectionError("Could not find any running Ray instance.")
        return self.found


@pytest.fixture
def connect(monkeypatch):
    """A function that connects with an address to a Ray that finds another one, and returns what Ray was given."""
    monkeypatch.setattr(cluster, "check_installed", lambda: None)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)

    def connect(address: str | None, found: str | None) -> str | None:
        ray = FakeRay(found)
        monkeypatch.setattr(cluster, "import_module", lambda name: ray)
        connection = Cluster(address, {})
        connection.connect()
        connection.close()
        [given] = ray.given
        return given

    return connect


@pytest.fixture
def closed() -> str:
    """An address where nothing answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize("address", [None, ""])
def test_a_new_ray_is_started_where_the_one_that_ray_finds_has_ended(
    connect, closed, address, caplog
):
    assert connect(address, found=closed) == "local"
    [record] = caplog.records
    assert record.message == (
        f"A new Ray is started: that of this machine, at {closed}, does not answer"
    )


def test_auto_is_an_error_at_once_where_the_one_that_ray_finds_has_ended(
    connect, closed, monkeypatch
):
    with pytest.raises(ConfigError, match=r"no Ray cluster answers at .*None to start its own Ray"):
        connect("auto", found=closed)
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    with pytest.raises(ConfigError, match="no Ray cluster answers at"):
        connect(None, found=closed)


def test_a_cluster_that_ray_finds_and_that_answers_is_used(connect):
    for address in (None, "auto"):
        with socket.create_server(("127.0.0.1", 0)) as server:
            head = answering(server, SETTINGS)
            assert connect(address, found=f"127.0.0.1:{server.getsockname()[1]}") == address
            head.join()


def test_where_ray_finds_nothing_it_does_as_it_does_by_itself(connect):
    for address in (None, "auto", "local"):
        assert connect(address, found=None) == address


def test_the_address_of_the_environment_is_checked_for_auto_too(connect, closed, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", closed)
    for address in (None, "auto"):
        with pytest.raises(ConfigError, match=f"no Ray cluster answers at '{closed}'"):
            connect(address, found=None)


# Work that is done once


class OneByOne(Executor):
    """Runs one tool at a time, and notes when each begins."""

    def __init__(self) -> None:
        self.slots = Slots(1)
        self.began: list[float] = []

    def takes(self, tool: Any) -> bool:
        return True

    async def run(self, invocation: Invocation, execution: Any) -> Any:
        async with self.slots.one(invocation):
            self.began.append(asyncio.get_running_loop().time())
            return await invocation.tool.execute(**invocation.call.args)


@in_exact_time
async def test_a_call_s_time_does_not_run_while_it_waits_for_a_place():
    @tool
    async def rest(seconds: float) -> None:
        """Take a while."""
        await asyncio.sleep(seconds)

    executor = OneByOne()
    ended = await execute_calls(
        [ToolCall("rest", {"seconds": seconds}) for seconds in (1, 1, 2, 1)],
        execution=Execution(tools=[rest]),
        hooks=[executor],
        calls=CallOptions(timeout=1.5),
    )
    statuses = [each.status for each in ended]
    assert statuses == ["success", "success", "timeout", "success"]
    assert executor.began == [0, 1, 2, 3.5]


async def test_work_is_done_once_for_all_callers_and_again_after_an_error():
    done: list[str] = []
    go = threading.Event()

    def work() -> int:
        go.wait()
        done.append("x")
        if len(done) == 1:
            raise OSError("not yet")
        return len(done)

    once = Once(work)
    given_up = asyncio.create_task(once.get())
    asked = [asyncio.create_task(once.get()) for _ in range(3)]
    await asyncio.sleep(0)
    given_up.cancel()
    go.set()
    assert [str(each) for each in await asyncio.gather(*asked, return_exceptions=True)] == [
        "not yet"
    ] * 3
    assert once.known() is None
    assert (await once.get(), await once.get(), once.known()) == (2, 2, 2)


# Packing and sending


def packed_errand(**changes: Any) -> bytes:
    """A pickled `RemoteCall`, with these changes."""
    sent: dict[str, Any] = {
        "call": ToolCall("optioned", {"x": 1}),
        "execution_id": "id",
        "conversation_id": "c",
        "user_id": "",
        "execution": Execution(sandbox_dir="box"),
        "state": {},
        "variables": [],
        "trace": {},
    }
    return pickle.dumps(RemoteCall(**{**sent, **changes}))


def run(made: Any, **changes: Any) -> Any:
    """A worker's reply to one call of a tool, which may be pickled already."""
    packed = made if isinstance(made, bytes) else pickle.dumps(made)
    digest = hashlib.sha256(packed).digest()
    return unpack(run_tool(pack_call(digest, packed, packed_errand(**changes))))


def test_a_worker_gives_a_tool_object_the_arguments_that_a_turn_gives():
    reply = run(Optioned(), user_id="u")
    assert reply.value.content["given"] == [
        *("access", "conversation_id", "sandbox_dir", "storage", "user_id", "x"),
    ]


def test_the_tool_named_shell_is_given_its_timeout():
    named = Optioned()
    named.name = "shell"
    reply = run(named, call=ToolCall("shell", {}), execution=Execution(shell_timeout=7))
    assert "timeout" in reply.value.content["given"]


def test_a_context_variable_is_set_for_the_call_and_not_after_it():
    token = who.set("ada")
    variables = CarriedVariables([who]).values()
    who.reset(token)
    assert variables == [((__name__, "who"), "ada")]
    assert run(Optioned(), variables=variables).value.content["who"] == "ada"
    assert who.get() == "nobody"


def test_a_variable_that_has_no_value_is_not_sent():
    assert CarriedVariables([contextvars.ContextVar("unset")]).values() == []


def test_a_variable_that_a_worker_cannot_import_is_made_there():
    place = ("__main__", "mine")
    assert variable_at(place) is variable_at(place)
    assert variable_at((__name__, "who")) is who
    assert variable_at((module_without_variables.__name__, "who")) is not who


def test_a_tool_that_a_worker_cannot_read_is_unusable():
    reply = run(b"no pickle")
    assert reply.unusable.startswith("UnpicklingError: ")


@pytest.mark.parametrize(
    "use",
    [
        lambda absent: absent.load_messages,
        lambda absent: absent["key"],
        lambda absent: absent(),
        lambda absent: list(absent),
        lambda absent: bool(absent),
        lambda absent: "x" in absent,
    ],
)
def test_an_object_that_stays_in_the_program_says_so_when_it_is_used(use):
    absent = pickle.loads(pickle.dumps(Absent("deps", "they stay")))
    with pytest.raises(ToolError, match=r"^deps cannot be used in another process: they stay$"):
        use(absent)


def test_an_exception_that_cannot_be_read_has_the_name_and_text_it_had():
    error = unpack_error(PackedError(b"broken", "DatabaseDown", "no route", "Traceback ..."))
    assert (type(error).__name__, str(error)) == ("DatabaseDown", "no route")
    assert "Traceback ..." in str(error.__cause__)


def test_a_tool_cannot_interrupt_the_program():
    packed = PackedError(pickle.dumps(KeyboardInterrupt()), "KeyboardInterrupt", "", "")
    assert isinstance(unpack_error(packed), Exception)


@needs_ray
def test_a_result_of_a_class_that_cannot_be_pickled_is_not_told_as_if_nothing_had_happened():
    class Local(str):
        def __reduce__(self) -> Any:
            raise TypeError("not this one")

    errand = Errand(pickle.loads(packed_errand()))
    error = unpack_error(unpack(errand.returned(Local("x"))).error)
    assert isinstance(error, UnknownOutcome)
    assert str(error) == "it ran, and its result cannot be sent back: TypeError: not this one"


def test_the_first_reason_to_stop_is_sent_back():
    sent: RemoteCall = pickle.loads(packed_errand())
    errand = Errand(sent)
    context = errand.context(0, sent.call)
    context.stop("first")
    context.stop("second")
    assert unpack(errand.returned("spoken")).stop == "first"
    assert (context.execution_id, context.sandbox_dir) == ("id", "box")


# What Ray's errors mean


def of_ray(*names: str) -> BaseException:
    """An exception whose class and base classes have these names, as Ray's have."""
    made: Any = Exception
    for name in reversed(names):
        made = type(name, (made,), {})
    return made("line 1\nline 2")


@pytest.mark.parametrize("name", LOST)
def test_a_call_that_was_lost_is_unknown(name):
    failed = failure_of_call(of_ray(name, "RayError"), "pay")
    assert isinstance(failed, UnknownOutcome)
    assert "It is not known whether the call to 'pay' happened: " in str(failed)


@pytest.mark.parametrize("name", NEVER_RAN)
def test_a_call_that_never_ran_is_a_failure(name):
    failed = failure_of_call(of_ray(name, "RayError"), "pay")
    assert not isinstance(failed, UnknownOutcome)
    assert "Tool 'pay' was not run: " in str(failed)
    assert "\n" not in str(failed)


def test_a_result_that_did_not_come_back_leaves_the_outcome_unknown():
    failed = failure_of_call(of_ray("RayTaskError", "RayError"), "pay")
    assert isinstance(failed, UnknownOutcome)
    assert "its result cannot be sent back: " in str(failed)


def test_after_an_unknown_error_the_outcome_is_unknown():
    failed = failure_of_call(of_ray("SomethingNewError", "RayError"), "pay")
    assert isinstance(failed, UnknownOutcome)
    assert "SomethingNewError: line 1 line 2" in str(failed)
