"""Tools on a real Ray: how a call ends when its tool fails, its worker is lost or its time is up.

Tools write lines to files, and the tests count the lines: no effect happens twice.

One program with one local Ray carries out the calls of all these tests; see `ray_session.py`.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.programs import environment
from support.ray_environment import ray_variables
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed"),
    pytest.mark.timeout(300),
]

SESSION = Path(__file__).resolve().parents[1] / "support" / "ray_session.py"


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., dict[str, Any]]]:
    """A function that has the program carry out calls, and returns its answer."""
    folder = tmp_path_factory.mktemp("ray")
    with (folder / "stderr").open("w") as stderr:
        program = subprocess.Popen(
            [sys.executable, SESSION],
            env={**environment(), **ray_variables(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )

    def ask(*calls: Any, **request: Any) -> dict[str, Any]:
        assert program.stdin
        assert program.stdout
        program.stdin.write(json.dumps({"calls": calls, **request}) + "\n")
        program.stdin.flush()
        line = program.stdout.readline()
        assert line, (folder / "stderr").read_text()[-4000:]
        answer = json.loads(line)
        assert "raised" not in answer, answer["raised"]
        return answer

    yield ask
    assert program.stdin
    program.stdin.close()
    try:
        program.wait(60)
    finally:
        program.kill()
        program.wait()
        program.stdout.close()  # type: ignore[union-attr]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file in which tools leave their lines."""
    return tmp_path / "effects"


def lines(file: Path) -> list[str]:
    return file.read_text().split("\n")[:-1] if file.exists() else []


def outcomes(answer: dict[str, Any]) -> list[tuple[str, Any]]:
    """The status of each call, and what the model reads of it."""
    return [
        (
            each["record"]["status"],
            each["result"]["outcome"] if each["result"]["error"] else each["result"]["content"],
        )
        for each in answer["executions"]
    ]


def is_alive(pid: int) -> bool:
    # It may end at any moment, also between two looks at it.
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


# Where tools run


def test_tools_run_in_other_processes_unless_they_are_local(ask):
    answer = ask(["where", {}], ["where_blocking", {}], ["where_here", {}])
    (_, first), (_, second), (_, here) = outcomes(answer)
    assert answer["pid"] not in (first, second)
    assert answer["pid"] == here


def test_a_new_ray_is_started_where_one_that_has_ended_left_its_address(ask):
    """The program's folder has such an address, which Ray itself would try for minutes."""
    assert [status for status, _ in outcomes(ask(["where", {}]))] == ["success"]


def test_a_hook_may_redirect_a_call_to_a_local_tool(ask):
    answer = ask(["where", {}], redirect=True)
    assert outcomes(answer) == [("success", answer["pid"])]


def test_results_are_in_call_order_whichever_call_ends_first(ask, file):
    names = {"first": "second", "second": "third", "third": None}
    calls = [
        ["follow", {"file": str(file), "name": name, "after": after}]
        for name, after in names.items()
    ]
    assert [content for _, content in outcomes(ask(*calls))] == ["first", "second", "third"]
    assert lines(file) == ["third", "second", "first"]


def test_a_call_that_is_refused_is_not_sent(ask, file):
    answer = ask(["note_and_perish", {"fil": str(file)}], ["nobody", {}])
    assert [
        (each["record"]["status"], each["record"]["attempt"]) for each in answer["executions"]
    ] == [
        ("failure", 0),
        ("failure", 0),
    ]
    assert lines(file) == []


def test_calls_in_flight_are_capped(ask, file, tmp_path):
    """The first call is held until three later ones, of another executor, have been sent and have ended."""
    begun = tmp_path / "begun"
    calls = [["hold_until", {"file": str(file), "begun": str(begun)}]] * 4
    meanwhile = [str(begun), str(file)]
    answer = ask(*calls, executor={"max_in_flight": 1}, meanwhile=meanwhile)
    assert [status for status, _ in outcomes(answer)] == ["success"] * 4
    assert lines(begun) == ["began", "ended"] * 4


def test_a_large_value_arrives_whole(ask):
    [(status, content)] = outcomes(ask(["large", {"size": 5_000_000}]))
    assert (status, content) == ("success", "x" * 5_000_000)


def test_a_tool_and_its_arguments_may_be_large(ask):
    answer = ask(["heavy", {}], ["heavy", {}], ["measure", {"text": "x" * 300_000}])
    assert outcomes(answer) == [("success", 300_000)] * 3


# Failures


@pytest.mark.parametrize(
    ("how", "outcome", "kind"),
    [
        ("raises", "KeyError: 'gone'", "KeyError"),
        ("unsendable", "UnsendableError: this and that", "UnsendableError"),
        ("words", "in its own words", "ToolError"),
        ("exits", "the tool asked the program to exit with 3", "SystemExit"),
        ("not json", "its content (object) is not a JSON value: ", None),
    ],
)
def test_a_tool_s_exception_is_the_same_as_in_the_program(ask, how, outcome, kind):
    answer = ask(["fail", {"how": how}])
    [(status, text)] = outcomes(answer)
    assert status == "failure"
    assert text.startswith(f"Tool execution failed: {outcome}")
    exception = answer["executions"][0]["result"]["exception"]
    assert (exception and exception[0]) == kind


def test_a_failure_that_a_tool_returns_keeps_its_exception(ask):
    [each] = ask(["fail", {"how": "returns"}])["executions"]
    assert each["result"] == {
        "outcome": "no luck",
        "content": None,
        "error": True,
        "status": None,
        "exception": ["OSError", "disk"],
    }


def test_a_tool_that_cancels_itself_has_failed(ask):
    assert outcomes(ask(["fail", {"how": "cancels"}])) == [
        ("cancelled", "Tool execution failed: the tool cancelled itself")
    ]


def test_a_tool_that_interrupts_its_worker_does_not_interrupt_the_program(ask):
    (status, _), (other, _) = outcomes(ask(["fail", {"how": "interrupts"}], ["where", {}]))
    assert (status, other) == ("unknown", "success")


def test_the_traceback_of_the_worker_is_in_the_log_record(ask):
    [text] = ask(["fail", {"how": "raises"}])["log"]
    assert "Tool 'fail' failed" in text
    assert 'raise KeyError("gone")' in text
    assert "worker.py" not in text


def test_a_tool_that_cannot_be_pickled_fails_only_its_call(ask):
    (status, text), (other, _) = outcomes(ask(["locked", {}], ["where", {}]))
    assert (status, other) == ("failure", "success")
    assert "it cannot be sent to a worker: TypeError: cannot pickle '_thread.lock' object" in text
    assert "say remote=False" in text


def test_a_worker_without_the_package_fails_the_call(ask, tmp_path):
    (tmp_path / "cogency_rs").mkdir()
    (tmp_path / "cogency_rs" / "__init__.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'cogency_rs'\")"
    )
    [(status, text)] = outcomes(ask(["elsewhere", {}], worker_path=str(tmp_path)))
    assert status == "failure"
    assert "a worker cannot load it: ModuleNotFoundError: No module named 'cogency_rs'" in text
    assert "install what is missing on the workers, or name it in runtime_env" in text


# Lost workers


def test_a_call_whose_worker_is_killed_is_unknown_and_had_its_effect_once(ask, file):
    answer = ask(["note_and_perish", {"file": str(file)}], ["where", {}])
    (status, text), (other, _) = outcomes(answer)
    assert (status, other) == ("unknown", "success")
    assert "It is not known whether the call to 'note_and_perish' happened" in text
    assert answer["executions"][0]["result"]["exception"][0] == "UnknownOutcome"
    assert len(lines(file)) == 1


def test_an_idempotent_call_is_run_again(ask, file):
    assert outcomes(ask(["perish_once", {"file": str(file)}])) == [("success", "done")]
    assert len(lines(file)) == 2


def test_the_id_of_a_call_is_the_same_in_every_attempt_and_in_its_record(ask, file):
    answer = ask(["raise_twice", {"file": str(file)}])
    [each] = answer["executions"]
    assert outcomes(answer) == [("success", each["record"]["id"])]
    assert each["record"]["attempt"] == 3
    assert lines(file) == [each["record"]["id"]] * 3


@pytest.mark.parametrize("name", ["execution_id", "context"])
def test_a_model_cannot_write_the_id(ask, name):
    answer = ask(["told", {name: "mine"}])
    assert f"argument '{name}' is not known" in outcomes(answer)[0][1]


# Time and cancellation


def test_a_coroutine_whose_time_is_up_is_cancelled_before_its_call_ends(ask, file):
    [(status, text)] = outcomes(ask(["wait_for_ever", {"file": str(file)}], late_after=str(file)))
    assert (status, text) == ("timeout", "Tool 'wait_for_ever' timed out after 3600 s")
    assert lines(file) == ["began", "stopped"]


def test_a_tool_that_will_not_stop_loses_its_worker(ask, file):
    [(status, _)] = outcomes(ask(["tick", {"file": str(file)}], late_after=str(file)))
    assert status == "timeout"
    [pid] = {*lines(file)}
    # Ray reports the end of a process a moment before it is gone.
    wait_until(lambda: not is_alive(int(pid)), "the worker goes on")


def test_a_call_that_never_got_a_worker_does_not_start_later(ask, file):
    [(status, _)] = outcomes(ask(["too_big", {"file": str(file)}]))
    assert status == "timeout"
    assert lines(file) == []


@pytest.mark.parametrize("name", ["wait_for_ever", "hold"])
def test_a_batch_that_is_cancelled_stops_its_calls_on_their_workers(ask, file, name):
    answer = ask(
        [name, {"file": str(file)}],
        cancel_after=str(file),
        timeout=3600,
    )
    assert answer["executions"] is None
    assert lines(file) == ["began", "stopped"]


# State


def test_tools_of_one_object_share_an_actor_that_lasts(ask):
    ask(["put", {"thing": "a"}], new_shelf=True)
    answer = ask(["put", {"thing": "b"}], ["look", {}])
    (_, put), (_, first) = outcomes(answer)
    [(_, second)] = outcomes(ask(["look", {}]))
    assert put == ["a", "b"]
    assert first == second
    assert first["pid"] != answer["pid"]


def test_each_object_has_its_own_actor(ask):
    ask(["put", {"thing": "a"}], new_shelf=True)
    [(_, content)] = outcomes(ask(["put", {"thing": "b"}], new_shelf=True))
    assert content == ["b"]


def test_state_is_used_by_one_call_at_a_time_even_after_a_call_was_given_up(ask, file):
    ask(["look", {}], new_shelf=True)
    use = ["use", {"file": str(file)}]
    late = ask(use, timeout=0.5)
    assert outcomes(late)[0][0] == "timeout"
    answer = ask(use, use, ["look", {}], ["note_here", {"file": str(file)}])
    assert [status for status, _ in outcomes(answer)] == ["success"] * 4
    assert outcomes(answer)[2][1]["most"] == 1


def test_an_actor_that_is_lost_is_not_made_again(ask, file):
    ask(["put", {"thing": "a"}], new_shelf=True)
    [(status, text)] = outcomes(ask(["burn", {"file": str(file)}]))
    assert (status, "its state with it" in text) == ("unknown", True)
    [(status, text)] = outcomes(ask(["burn", {"file": str(file)}]))
    assert (status, "was not run: the actor that it ran in was lost" in text) == ("failure", True)
    assert len(lines(file)) == 1


# What a tool receives


def test_a_tool_gets_the_context_of_its_call(ask):
    answer = ask(
        ["told", {}],
        execution={"sandbox_dir": "box", "access": "project"},
        options={"state": {"noted": 1}},
    )
    assert outcomes(answer)[0][1] == {
        "call": {},
        "ids": [answer["executions"][0]["record"]["id"], "c", "u"],
        "place": ["box", "project"],
        "state": {"noted": 1},
    }


def test_a_plain_tool_object_gets_the_arguments_of_the_turn(ask):
    [(_, received)] = outcomes(ask(["plain", {"x": 1}]))
    assert received == ["access", "conversation_id", "sandbox_dir", "storage", "user_id", "x"]


@pytest.mark.parametrize(
    ("call", "executor", "expected"),
    [
        ("use_deps", {"send_deps": True}, ("success", 42)),
        ("use_deps", {}, ("failure", "deps cannot be used in another process: they stay in")),
        ("use_storage", {}, ("failure", "storage cannot be used in another process: the log")),
    ],
)
def test_objects_of_the_program_are_sent_or_refused_with_a_message(ask, call, executor, expected):
    execution = {"deps": {"answer": 42}, "storage": "the log"}
    [(status, shown)] = outcomes(ask([call, {}], executor=executor, execution=execution))
    assert status == expected[0]
    assert shown == expected[1] or expected[1] in shown


def test_events_of_a_tool_arrive_in_order(ask):
    answer = ask(["speak", {}])
    assert [event["number"] for event in answer["events"]] == [0, 1, 2]
    assert {event["execution_id"] for event in answer["events"]} == {
        answer["executions"][0]["record"]["id"]
    }


@pytest.mark.skipif(
    importlib.util.find_spec("opentelemetry") is None, reason="opentelemetry is not installed"
)
def test_context_variables_and_the_trace_are_sent_so_that_remote_spans_are_children(ask):
    answer = ask(["whoami", {}], who="ada", in_trace=True)
    assert outcomes(answer) == [("success", ["ada", "abc", "def"])]
    assert outcomes(ask(["whoami", {}])) == [("success", ["nobody", "0", "0"])]
