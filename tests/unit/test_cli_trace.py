"""`cogency-rs timeline --trace`: what happened when, in the Trace Event Format, read back as a viewer reads it."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from support import logs
from support.logs import Stored, call, failure, record, success

pytest.importorskip("typer", reason="the command line is in the extra cli")

from cogency_rs.cli.log import rows
from cogency_rs.cli.trace import LONGEST, trace
from cogency_rs.cli.turns import LoggedBatch, LoggedCall, LoggedText, LoggedTurn, turns_of

if TYPE_CHECKING:
    from pathlib import Path

# The fields that the format requires of an event, by its phase: complete, instant, metadata.
FIELDS = {
    "X": {"ph", "name", "cat", "pid", "tid", "ts", "dur", "args"},
    "i": {"ph", "name", "cat", "pid", "tid", "ts", "s", "args"},
    "M": {"ph", "name", "pid", "tid", "args"},
}

SESSION = [
    Stored("user", "Why?", 0),
    Stored("think", "First look.", 0.5, 1.5),
    Stored("call", call("a", n=1), 2, call=record("a", 0, 2.5, 4)),
    Stored("call", call("b"), 2, call=record("b", 1, 2.25, 3, "timeout")),
    Stored("result", json.dumps([success("a", "fine", "all\nof it"), failure("b", "late")]), 2, 4),
    Stored("call", call("c"), 5),
    Stored("result", json.dumps([success("c", "fine")]), 5, 6.5),
    Stored("respond", "東京", 7, 8),
]


def events_of(text: str) -> list[dict[str, Any]]:
    """The events of a trace, after a check that each of them is as the format requires."""

    def refused(constant: str) -> Any:
        raise ValueError(f"{constant} is not JSON")

    found = json.loads(text, parse_constant=refused)
    assert set(found) == {"displayTimeUnit", "otherData", "traceEvents"}
    for event in found["traceEvents"]:
        assert set(event) == FIELDS[event["ph"]]
        numbers = [event[key] for key in ("pid", "tid", "ts", "dur") if key in event]
        assert all(type(number) is int and number >= 0 for number in numbers)
        assert event.get("s", "t") == "t"
    return found["traceEvents"]


def traced(tmp_path: Path, stored: list[Stored], conversation: str = "staging") -> list[dict]:
    path = logs.write(tmp_path / "log.db", stored, conversation=conversation)
    return events_of(trace(conversation, turns_of(rows(path, conversation))))


def names(events: list[dict], what: str) -> dict[int, str]:
    return {event["tid"]: event["args"]["name"] for event in events if event["name"] == what}


def slices(events: list[dict]) -> list[tuple[str, str, int, int]]:
    """Thread, name, begin and end (in milliseconds) of complete events."""
    threads = names(events, "thread_name")
    return [
        (threads[e["tid"]], e["name"], e["ts"] // 1000, (e["ts"] + e["dur"]) // 1000)
        for e in events
        if e["ph"] == "X"
    ]


def test_a_conversation_is_a_process_with_a_thread_for_the_model_and_lanes_for_the_tools(tmp_path):
    events = traced(tmp_path, SESSION)
    assert list(names(events, "process_name").values()) == ["conversation staging"]
    assert slices(events) == [
        ("turns", "turn 1", 0, 8000),
        ("model", "think", 500, 1500),
        ("tools, lane 1", "a", 2500, 4000),
        ("tools, lane 2", "b", 2250, 3000),
        ("tools, lane 1", "c", 5000, 6500),
        ("model", "respond", 7000, 8000),
    ]
    sorted_by = [event["args"] for event in events if event["name"] == "thread_sort_index"]
    assert sorted_by == [{"sort_index": number} for number in (1, 2, 3, 4)]


def test_the_user_s_message_is_an_instant(tmp_path):
    [user] = [event for event in traced(tmp_path, SESSION) if event["ph"] == "i"]
    assert (user["name"], user["ts"], user["args"]) == ("user", 0, {"text": "Why?"})


def test_an_event_of_a_call_has_its_id_name_and_status(tmp_path):
    a, b, c = [event["args"] for event in traced(tmp_path, SESSION) if event.get("cat") == "call"]
    assert (a["name"], a["status"], a["arguments"]) == ("a", "success", '{"n": 1}')
    assert (a["outcome"], a["content"]) == ("fine", "all\nof it")
    assert (b["name"], b["status"], b["content"]) == ("b", "timeout", "late")
    assert len({a["id"], b["id"]}) == 2
    # The last call has no record in the table of calls, so its times are those of its batch.
    assert "id" not in c
    assert (c["status"], c["duration"]) == (
        "success",
        "of its batch; that of the call is not in the log",
    )
    assert "duration" not in a


def test_rows_whose_ids_hold_no_times_are_instants(tmp_path):
    stored = [row._replace(id=str(number), call=None) for number, row in enumerate(SESSION)]
    assert slices(traced(tmp_path, stored)) == []


def test_a_call_without_a_result_is_an_instant_that_says_so(tmp_path):
    events = traced(tmp_path, [Stored("user", "u", 0), Stored("call", call("a"), 1)])
    [instant] = [event for event in events if event.get("cat") == "call"]
    assert (instant["ph"], instant["args"]["status"]) == ("i", "no result in the log")


HOSTILE = '\x1b[2J"</script>\x00\u202e東京\U0001f642\n'


def test_hostile_text_is_shown_and_lone_surrogates_are_replaced(tmp_path):
    hostile_call = json.dumps(
        {"name": HOSTILE + "\ud83d", "args": {HOSTILE: [float("nan"), "\udc00"]}}
    )
    stored = [
        Stored("user", HOSTILE * 500, 0),
        Stored(HOSTILE, HOSTILE, 1),
        Stored("call", hostile_call, 2),
        Stored("call", "[" * 9, 2),
    ]
    events = traced(tmp_path, stored, conversation=HOSTILE)
    texts = [event["name"] for event in events]
    texts += [text for event in events for text in event["args"].values() if isinstance(text, str)]
    assert [text for text in texts if not text.replace("\n", "").isprintable()] == []
    shown = '␛[2J"</script>␀\\u202e東京🙂 '
    assert {shown, f"{shown}\ufffd", "call"} <= {event["name"] for event in events}
    [process] = names(events, "process_name").values()
    assert process == f"conversation {shown}"
    assert LONGEST / 2 < max(map(len, texts)) <= LONGEST


times = st.floats(0, 20).map(lambda time: round(time, 7))
spans = st.tuples(times, times).map(sorted)


@st.composite
def turns(draw) -> list[LoggedTurn]:
    """Turns in the order in which they began; their times may overlap, as after a clock was set back."""
    made = [LoggedTurn(number, dated=True) for number in range(1, draw(st.integers(1, 4)) + 1)]
    for turn in made:
        for began, ended in draw(st.lists(spans, min_size=1, max_size=6)):
            if draw(st.booleans()):
                turn.entries.append(
                    LoggedText(draw(st.sampled_from(["user", "think"])), "", began, ended)
                )
                continue
            calls = [
                LoggedCall(
                    f"t{n}",
                    {},
                    "",
                    began,
                    {},
                    *draw(st.sampled_from([(began, ended), (None,) * 2])),
                )
                for n in range(draw(st.integers(1, 4)))
            ]
            turn.entries.append(LoggedBatch(calls, began, ended))
    return sorted(made, key=lambda turn: turn.began)


@given(turns())
def test_no_two_slices_of_a_thread_overlap(turns):
    events = [event for event in events_of(trace("c", turns)) if event["ph"] == "X"]
    for _, group in itertools.groupby(sorted(events, key=lambda e: e["tid"]), lambda e: e["tid"]):
        placed = list(group)
        for one, after in itertools.pairwise(sorted(placed, key=lambda e: (e["ts"], e["dur"]))):
            assert one["ts"] + one["dur"] <= after["ts"]


# The command.


@pytest.fixture
def two_turns(tmp_path) -> Path:
    later = [row._replace(at=row.at + 10, saved=row.saved and row.saved + 10) for row in SESSION]
    return logs.write(tmp_path / "log.db", [*SESSION, *(row._replace(call=None) for row in later)])


@pytest.mark.parametrize(
    ("options", "turns"),
    [((), ["turn 2"]), (("--turn", "1"), ["turn 1"]), (("--all",), ["turn 1", "turn 2"])],
)
def test_the_last_turn_another_one_or_all_are_written(command, two_turns, options, turns):
    file = two_turns.with_name("out.json")
    ended = command("timeline", two_turns, "staging", "--trace", file, *options)
    assert ended.out.startswith(f"{file}: ")
    written = events_of(file.read_text(encoding="utf-8"))
    assert [event["name"] for event in written if event.get("cat") == "turn"] == turns


def test_a_picture_and_a_trace_are_written_by_one_command(command, two_turns):
    picture, file = two_turns.with_name("out.svg"), two_turns.with_name("out.json")
    ended = command("timeline", two_turns, "staging", "-o", picture, "--trace", file)
    assert ended.out.splitlines() == [
        f"{path}: turn 2 of 2, 3 calls, 1 failed" for path in (picture, file)
    ]
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    assert events_of(file.read_text(encoding="utf-8"))


def test_a_trace_goes_to_standard_output_on_request(command, two_turns):
    assert events_of(command("timeline", two_turns, "staging", "--trace", "-").out)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ([], "no file is named; give -o FILE for a picture, or --trace FILE for a trace"),
        (
            ["-o", "out", "--trace", "out"],
            "out cannot be both; name one file with -o and another with --trace",
        ),
        (["--trace", "log.db"], "log.db is the log itself; name another file with --trace"),
        (
            ["--trace", "none/out"],
            "none/out cannot be written (No such file or directory); name another file with --trace",
        ),
    ],
)
def test_files_that_cannot_be_used_are_refused(command, two_turns, monkeypatch, options, complaint):
    monkeypatch.chdir(two_turns.parent)
    before = two_turns.read_bytes()
    ended = command("timeline", two_turns.name, "staging", *options)
    assert (ended.code, ended.out, ended.err) == (2, "", f"cogency-rs: {complaint}\n")
    assert two_turns.read_bytes() == before
