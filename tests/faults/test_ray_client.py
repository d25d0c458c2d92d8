"""Tools on a Ray cluster that is reached through its client, `ray://host:port`, have the same outcomes."""

from __future__ import annotations

import importlib.util
import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from support.ports import free_port
from support.programs import environment, program
from support.ray_environment import ray_variables
from support.waiting import wait_until

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed"),
    pytest.mark.skipif(
        importlib.util.find_spec("grpc") is None, reason="ray[client] is not installed"
    ),
    pytest.mark.timeout(300),
]

CALLS = """
from cogency_rs.execution import execute_calls
from cogency_rs.executors.ray import Actor, RayExecutor

@tool(remote=True)
def add(a: int, b: int) -> int:
    "Add."
    return a + b

@tool(remote=True)
def large(n: int) -> str:
    "Give much."
    return "x" * n

@tool(remote=True)
def die() -> None:
    "Die."
    os.kill(os.getpid(), signal.SIGKILL)

@tool(remote=True, timeout=0.5)
async def hang() -> None:
    "Hang."
    await asyncio.sleep(3600)

class Counter:
    n = 0

    @tool(remote=Actor(num_cpus=0))
    def count(self) -> int:
        "Count."
        self.n += 1
        return self.n

async def main(address):
    counter = Counter()
    calls = [("add", {"a": 1, "b": 2}), ("large", {"n": 300_000}), ("die", {}), ("hang", {})] + [("count", {})] * 2
    settings = {"log_to_driver": False, "logging_level": "ERROR"}
    executor = RayExecutor(address, settings=settings)
    for left in reversed(range(4)):  # on a busy machine, a head that is still starting drops its first clients
        try:
            await executor.start()
            break
        except ConfigError:
            if not left:
                raise
    async with executor as ray:
        records = await execute_calls(
            [ToolCall(*call) for call in calls],
            execution=Execution(tools=[add, large, die, hang, counter.count]),
            hooks=[ray],
        )
    values = [len(value) if isinstance(value := record.value, str) else value for record in records]
    statuses = [record.status for record in records]
    print(json.dumps([[*zip(statuses, values)], counter.n]))

asyncio.run(main(sys.argv[1]))
"""


def test_a_call_through_ray_s_client_has_the_outcome_of_one_from_the_cluster(tmp_path: Path):
    env = {**environment(), **ray_variables(tmp_path)}
    port = free_port()
    options = {
        "port": free_port(),
        "ray-client-server-port": port,
        "num-cpus": 2,
        "include-dashboard": "false",
        "object-store-memory": 80_000_000,
    }
    begin = "import sys; from ray.scripts.scripts import main; sys.argv[0] = 'ray'; main()"
    with (tmp_path / "head").open("w") as log:
        head = subprocess.Popen(
            [sys.executable, "-c", begin, "start", "--head", "--block"]
            + [f"--{name}={value}" for name, value in options.items()],
            env=env,
            stdout=log,
            stderr=log,
        )
        try:
            wait_until_it_listens(port, head)
            ran = subprocess.run(
                program(CALLS, f"ray://127.0.0.1:{port}"),
                env=env,
                capture_output=True,
                text=True,
                timeout=240,
                check=False,
            )
        finally:
            head.terminate()
            head.wait()
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert json.loads(ran.stdout.splitlines()[-1]) == [
        [
            ["success", 3],
            ["success", 300_000],
            ["unknown", None],
            ["timeout", None],
            ["success", 1],
            ["success", 2],
        ],
        0,
    ]


def wait_until_it_listens(port: int, head: subprocess.Popen[bytes]) -> None:
    def listens() -> bool:
        assert head.poll() is None, "the head of the cluster has ended"
        with socket.socket() as asking:
            return asking.connect_ex(("127.0.0.1", port)) == 0

    wait_until(listens, "the head of the cluster does not listen")
