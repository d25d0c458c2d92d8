"""In the middle of a turn the event loop is closed, or the program ends or forks; each test runs its own program."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from support.aftermath import KINDS, Scene, on_disk
from support.programs import environment, printed, program
from support.turns import Row, types

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.timeout(100)


# The loop is closed

CLOSES_ITS_LOOP = """
import gc, logging, selectors, warnings
from itertools import count
# Python warns of tasks and coroutines whose loop is closed, and the package logs results that could not be saved.
# Here both are expected.
warnings.simplefilter("ignore")
logging.disable()
sys.unraisablehook = lambda _: None

async def model():
    for chunk in ("<think>hm</think>so", f" it is{block('good', 'slow', 'good')}"):
        await rounds(1)
        yield chunk

class Rounds(selectors.DefaultSelector):
    # Stops its loop after some rounds, each of which waits until there is something to do.

    def __init__(self, left):
        super().__init__()
        self.left = left

    def select(self, timeout=None):
        self.left -= 1
        if self.left:
            return super().select(timeout)
        asyncio.get_running_loop().stop()
        return super().select(0)

async def check(scene):
    async with scene:
        pass

def main(folder, mode, kind, store):
    slow = Does(lambda: rounds(4), lambda _: time.sleep(0))
    for at in count(1):
        storage = on_disk(Path(folder) / str(at)) if store == "disk" else in_memory()
        scene = Scene(storage, mode=mode, kind=kind, tools={"slow": slow})
        scene.has_died = True
        loop = asyncio.SelectorEventLoop(Rounds(at))
        loop.set_exception_handler(lambda *_: None)
        turn = loop.create_task(carry_out(scene.turns, parse_tokens(model())))
        turn.add_done_callback(lambda _: loop.stop())
        loop.run_forever()
        done = turn.done()
        loop.close()
        del turn
        while gc.collect():
            pass
        asyncio.run(check(scene))
        if done:
            break
    print("closed in", at, "places")

main(*sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("mode", "kind", "store"),
    [
        ("event", "async", "disk"),
        ("token", "async", "memory"),
        ("event", "plain", "memory"),
        ("token", "plain", "disk"),
        ("event", "blocking", "disk"),
        ("token", "blocking", "memory"),
    ],
)
def test_a_loop_that_is_closed_after_any_of_its_rounds(mode, kind, store, tmp_path):
    """Nothing of the turn is left, and the next event loop goes on with the same accumulator and storage."""
    assert printed(CLOSES_ITS_LOOP, tmp_path, mode, kind, store).startswith("closed in ")


# The program ends

ENDS = """
class Reporting(LogWitness):
    # Prints each row that is saved, so that the report outlives the program.
    async def append(self, conversation_id, *, user_id, rows, calls=()):
        await self.inner.append(conversation_id, user_id=user_id, rows=rows, calls=calls)
        rows = [Row(conversation_id, user_id, *row) for row in rows]
        for row in rows:
            os.write(1, (json.dumps(row) + "\\n").encode())
        reach(rows[-1].type)

ways = {
    "exits": lambda: sys.exit(5),
    "is interrupted": lambda: os.kill(os.getpid(), signal.SIGINT),
    "is told to terminate": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "leaves at once": lambda: os._exit(5),
    "is killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "runs in a daemon thread, and its main thread ends": threading.Event().set,
}

once = threading.Lock()

def reach(place):
    if place == when and once.acquire(blocking=False):
        loop.call_soon_threadsafe(ways[way])

async def awaits():
    reach("tools")
    await asyncio.Event().wait()

def blocks(_):
    reach("tools")
    threading.Event().wait()

async def main():
    global loop
    loop = asyncio.get_running_loop()
    slow = Calls().tool(kind, "slow", Does(awaits, blocks))
    async with on_disk(Path(folder)) as storage:
        turns = accumulator(with_tools(slow, storage=Reporting(storage)), stream=mode)
        await carry_out(turns, parse_tokens(f"<think>hm</think>so{block('slow', 'slow')}"))

folder, mode, kind, when, way = sys.argv[1:]
if way.startswith("runs in"):
    threading.Thread(target=asyncio.run, args=(main(),), daemon=True).start()
    ways[way].__self__.wait()
else:
    asyncio.run(main())
"""

ORDERLY = ["exits", "is interrupted"]
ABRUPT = [
    "is told to terminate",
    "leaves at once",
    "is killed",
    "runs in a daemon thread, and its main thread ends",
]

SAFE = {"think": ["think"], "call": ["think", "respond", "call", "call"]}
SAFE["tools"] = SAFE["call"]
"""The rows that are in the log when a turn reaches each place."""


def ended(folder: Path, *arguments: str) -> list[Row]:
    """Run a program that ends in the middle of a turn; returns the rows whose saves had returned."""
    command = program(ENDS, folder, *arguments)
    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert "Fatal" not in done.stderr
    assert done.returncode in {0, 5, 130, -signal.SIGINT, -signal.SIGTERM, -signal.SIGKILL}
    return [Row(*json.loads(line)) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("way", [*ORDERLY, *ABRUPT])
@pytest.mark.parametrize(
    ("mode", "when", "kind"),
    [
        ("token", "think", "async"),
        ("event", "call", "async"),
        ("event", "tools", "async"),
        ("token", "tools", "plain"),
        ("event", "tools", "blocking"),
    ],
)
async def test_a_program_that_ends_in_the_middle_of_a_turn(mode, when, kind, way, tmp_path):
    """Rows whose saves returned are in the log. If the program could cancel its turn, its calls have their results."""
    safe = ended(tmp_path, mode, kind, when, way)
    async with Scene(on_disk(tmp_path), mode=mode) as scene:
        scene.log.acknowledged += safe
        # A save that the end of the program cancelled may still have happened.
        scene.log.unconfirmed += [row for row in await scene.rows() if row not in safe]
        scene.has_died = way in ABRUPT
    if way in ABRUPT:
        assert types(safe)[: len(SAFE[when])] == SAFE[when]
    elif when == "tools":
        assert types(safe) == [*SAFE[when], "result"]


# The program forks

FORKS = """
storage = on_disk(Path(sys.argv[1]))

async def turn_of_its_own():
    tools = [Calls().tool(kind, "good", GOOD) for kind in ["async"]]
    turns = Accumulator("user", "child", execution=Execution(storage=storage, tools=tools))
    async for _ in turns.process(parse_tokens(f"so{block('good')}")):
        pass
    await storage.close()

def forks():
    pid = os.fork()
    if pid == 0:
        try:
            if child == "works":
                asyncio.run(turn_of_its_own())
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    return ToolResult("forked")

async def main(mode, kind):
    async with Scene(storage, mode=mode, kind=kind, tools={"forks": does(forks)}) as scene:
        text = f"<think>hm</think>so{block('good', 'forks', 'good')}"
        events = await carry_out(scene.turns, parse_tokens(text))
        [array] = results_in(events)
        print([item["content"] for item in array])
        if child == "works":
            loaded = await storage.load_messages("child", "user")
            print(types(loaded))

import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of a fork with threads
child = sys.argv[4]
asyncio.run(main(*sys.argv[2:4]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("child", ["ends", "works"])
@pytest.mark.parametrize(("mode", "kind"), [*zip(["event", "token", "event"], KINDS, strict=True)])
def test_a_program_that_forks_in_the_middle_of_a_turn(mode, kind, child, tmp_path):
    expected = ["good", "forked", "good"]
    rows = ["respond", "call", "result"]
    output = printed(FORKS, tmp_path, mode, kind, child).splitlines()
    assert output == [str(expected), str(rows)][: 2 if child == "works" else 1]
