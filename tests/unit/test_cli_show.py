"""`cogency-rs show`: a log as a person reads it, and as lines of JSON."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from support import commands, logs
from support.logs import Stored, call, failure, success

pytest.importorskip("typer", reason="the command line is in the extra cli")

from rich.cells import cell_len
from rich.console import Console

from cogency_rs.cli.page import Page
from cogency_rs.cli.show import ConversationPrinter
from cogency_rs.cli.turns import LoggedText, LoggedTurn

if TYPE_CHECKING:
    from pathlib import Path

ANSI = re.compile(r"\x1b\[[0-9;]*m")
RED = re.compile(r"\x1b\[31m([^\x1b]*)\x1b\[0m")


@pytest.fixture
def path(tmp_path) -> Path:
    return logs.write(tmp_path / "store.db", logs.SESSION)


LISTED = """\
2 conversations in store.db
staging
    user ada, 13 rows, 2026-09-21 14:13:20 to 14:13:27
    The assistant on staging stops answering. Why?
other
    1 row, 2026-09-21 14:15:00
"""

SHOWN = """\
conversation staging, 1 turn

turn 1  2026-09-21 14:13:20  8.71 s ────────────────────────────────────────────
      0 ms  user      The assistant on staging stops answering. Why?
    610 ms  think     Production works and staging does not: compare the two.
    1.25 s  respond   I'll see which files there are.
    1.90 s  call      list(path="config")
                      success  104 ms  2 entries in config
                        production.toml
                        staging.toml
    2.55 s  respond   Both files at once, with the log:
    4.40 s  calls     4 together, over after 2.41 s
                      1  search(path="logs/staging.log", text="WARN")
                         success  2 of 8 lines hold "WARN"
                           09:15:48 WARN answer 414
                           09:17:20 WARN answer 415
                      2  check(path="config")
                         success  2 TOML files in config, all valid
                      3  read(path="config/staging.toml")
                         success  config/staging.toml, 3 lines
                           [model]
                           name = "small-1"
                           stop = "</exec>"
                      4  read(path="CHANGES.md")
                         failure  CHANGES.md does not exist
    7.40 s  think     The stop tag.
    7.63 s  respond   Staging stops at `</exec>` instead of `</execute>`.
"""


def test_without_a_conversation_all_are_listed(path):
    logs.write(path, [Stored("respond", "x", 100)], conversation="other", user="")
    ended = commands.run("show", "store.db", cwd=path.parent)
    assert (ended.code, ended.out, ended.err) == (0, LISTED, "")


def test_a_conversation_reads_from_top_to_bottom(path):
    ended = commands.run("show", path, "staging")
    assert (ended.code, ended.out, ended.err) == (0, SHOWN, "")


def test_on_a_terminal_it_is_the_same_in_colour_and_failures_are_red(path):
    out = commands.run("show", path, "staging", FORCE_COLOR="1", COLUMNS="80").out
    assert ANSI.sub("", out) == SHOWN
    assert [text.strip() for text in RED.findall(out)] == ["failure", "CHANGES.md does not exist"]


def test_without_colour_nothing_is_red(path):
    out = commands.run("show", path, "staging", FORCE_COLOR="1", COLUMNS="80", NO_COLOR="1").out
    assert ANSI.sub("", out) == SHOWN
    assert [code for code in ANSI.findall(out) if re.search(r"[34]\d", code)] == []


def test_only_one_user_s_conversations_are_listed_on_request(command, path):
    logs.write(path, [Stored("user", "Hi", 0)], user="bob")
    listed = command("show", path, "--user", "bob", "--json").objects
    assert [entry["user_id"] for entry in listed] == ["bob"]
    assert command("show", path, "staging", "--user", "bob", "--json").objects[0]["content"] == "Hi"


def test_a_log_without_conversations_says_so(command, tmp_path):
    path = logs.write(tmp_path / "new.db", [])
    assert command("show", path).out == f"0 conversations in {path}\n"


# For machines.


def test_the_list_as_json(command, path):
    assert command("show", path, "--json").objects == [
        {
            "conversation_id": "staging",
            "user_id": "ada",
            "rows": 13,
            "first": logs.BEGIN,
            "last": logs.BEGIN + 7.63,
            "question": "The assistant on staging stops answering. Why?",
        }
    ]


def test_a_conversation_as_json(command, path):
    entries = command("show", path, "staging", "--json").objects
    kinds = ["user", "think", "respond", "calls", "respond", "calls", "think", "respond"]
    assert [entry["type"] for entry in entries] == kinds
    assert {entry["turn"] for entry in entries} == {1}
    assert entries[1] == {
        "turn": 1,
        "type": "think",
        "content": "Production works and staging does not: compare the two.",
        "began": pytest.approx(logs.BEGIN + 0.61),
        "ended": pytest.approx(logs.BEGIN + 1.24),
    }
    assert entries[3] == {
        "turn": 1,
        "type": "calls",
        "calls": [
            {
                "name": "list",
                "args": {"path": "config"},
                "content": call("list", path="config"),
                "result": success("list", "2 entries in config", "production.toml\nstaging.toml"),
                "status": None,
                "began": None,
                "ended": None,
            }
        ],
        "began": pytest.approx(logs.BEGIN + 1.902),
        "ended": pytest.approx(logs.BEGIN + 2.006),
    }
    assert [one["result"]["status"] for one in entries[5]["calls"]] == ["success"] * 3 + ["failure"]


def test_a_missing_result_or_name_is_null_in_json(command, tmp_path):
    rows = [Stored("call", "no JSON", 0, id="1"), Stored("cancelled", "", 1, id="2")]
    path = logs.write(tmp_path / "log.db", rows)
    [calls, cancelled] = command("show", path, "staging", "--json").objects
    unknown = dict.fromkeys(["name", "result", "status", "began", "ended"])
    assert calls["calls"] == [{"args": {}, "content": "no JSON", **unknown}]
    assert (calls["ended"], cancelled["ended"]) == (None, None)


TIMED = [
    Stored("user", "u", 0),
    Stored("call", call("a"), 1, call=logs.record("a", 0, 1.5, 1.75)),
    Stored("call", call("b"), 1, call=logs.record("b", 1, 1.25, 3.0, "timeout")),
    Stored("result", json.dumps([success("a", "ok"), failure("b", "late")]), 1, 3),
]


def test_calls_whose_times_are_in_the_log_show_them(command, tmp_path):
    path = logs.write(tmp_path / "log.db", TIMED)
    lines = [line.strip() for line in command("show", path, "staging").out.splitlines()]
    assert "success  250 ms  ok" in lines
    assert "timeout  1.75 s  late" in lines
    [_, batch] = command("show", path, "staging", "--json").objects
    assert [(one["status"], one["began"], one["ended"]) for one in batch["calls"]] == [
        ("success", logs.BEGIN + 1.5, logs.BEGIN + 1.75),
        ("timeout", logs.BEGIN + 1.25, logs.BEGIN + 3.0),
    ]


# Large conversations.


class Many(Sequence[LoggedTurn]):
    """A sequence of turns that notes how much output had been written when each turn was read."""

    def __init__(self, number: int, out: io.StringIO) -> None:
        self._number = number
        self._out = out
        self.written: list[int] = []

    def __len__(self) -> int:
        return self._number

    def __getitem__(self, index: Any) -> Any:
        if index >= self._number:
            raise IndexError
        self.written.append(len(self._out.getvalue()))
        return LoggedTurn(index + 1, True, [LoggedText("user", "Why?", logs.BEGIN, None)])


def test_the_first_turns_are_written_before_the_last_is_put_together():
    out = io.StringIO()
    turns = Many(2000, out)
    ConversationPrinter(Page(Console(file=out, width=80))).show("long", turns)
    assert out.getvalue().count("Why?") == 2000
    assert turns.written[500] > 0  # the first turns have already been written
    assert len(set(turns.written)) < 100  # several turns are written at once, which is faster


# Other rows that a log may hold.


def shown(command, tmp_path: Path, rows: list[Stored], *options: str) -> list[str]:
    """The lines of one turn, without its heading."""
    path = logs.write(tmp_path / "log.db", rows)
    lines = command("show", path, "staging", *options).out.splitlines()
    return lines[next(n for n, line in enumerate(lines) if line.startswith("turn 1 ")) + 1 :]


def answered(*results: dict) -> list[Stored]:
    return [
        *(Stored("call", call(result["tool"]), 0) for result in results),
        Stored("result", json.dumps(results), 0, 1),
    ]


BODY = " " * 24


@pytest.mark.parametrize(
    ("result", "lines"),
    [
        (success("t", "done"), ["success  1.00 s  done"]),  # as earlier versions wrote it
        (success("t", "done", 0), ["success  1.00 s  done", "  0"]),
        (success("t", "done", {"a": [1, "é"]}), ["success  1.00 s  done", '  {"a": [1, "é"]}']),
        (success("t", None, 0), ["success  1.00 s  0"]),
        (success("t", None, {"a": [1, "é"]}), ['success  1.00 s  {"a": [1, "é"]}']),
        # Only a content, as cogency 3.3.0 writes every result: the tool's content, or else its outcome.
        (success("t", None, "done"), ["success  1.00 s  done"]),
        (success("t", None, "a\nb"), ["success  1.00 s", "  a", "  b"]),
        (success("t"), ["success  1.00 s"]),
        (failure("t", "no"), ["failure  1.00 s  no"]),
        (failure("t", "a\nb"), ["failure  1.00 s  a", "                 b"]),
        ({"tool": "t"}, [""]),
        ({"tool": "t", "status": 7, "content": "x"}, ["7  1.00 s  x"]),
    ],
)
def test_each_form_of_a_result_is_shown(command, tmp_path, result, lines):
    found = shown(command, tmp_path, answered(result))[1:]
    assert [line[22:] for line in found] == [line or "  1.00 s" for line in lines]


def test_a_call_without_a_result_says_so(command, tmp_path):
    rows = [Stored("call", call("a"), 0), Stored("call", call("b"), 0), Stored("cancelled", "", 1)]
    assert shown(command, tmp_path, rows) == [
        "      0 ms  calls     2",
        "                      1  a()",
        "                         no result in the log",
        "                      2  b()",
        "                         no result in the log",
        "    1.00 s  cancelled",
    ]


def test_output_that_could_not_be_read_shows_what_was_wrong_and_what_was_written(command, tmp_path):
    error = {"kind": "malformed", "content": "Not an array.", "raw": "<execute>{}\n</execute>"}
    rows = [
        Stored("error", json.dumps(error), 0),
        Stored("error", json.dumps({**error, "kind": "truncated", "raw": ""}), 1),
        Stored("error", "LLMError: refused", 2),
    ]
    assert shown(command, tmp_path, rows) == [
        "      0 ms  error     malformed: Not an array.",
        "                      <execute>{}",
        "                      </execute>",
        "    1.00 s  error     truncated: Not an array.",
        "    2.00 s  error     LLMError: refused",
    ]


def test_a_conversation_whose_ids_hold_no_times_says_that_its_times_are_unknown(command, tmp_path):
    rows = [row._replace(id=str(number)) for number, row in enumerate(answered(failure("t", "no")))]
    path = logs.write(tmp_path / "log.db", rows)
    out = command("show", path, "staging").out
    assert "How long things took is not known: the ids of its rows do not give times.\n" in out
    assert "                      failure  no\n" in out


LONG = "\n".join(f"line {number}" for number in range(1, 21))


def test_long_output_is_cut_and_says_how_much_is_left_out(command, tmp_path):
    lines = shown(command, tmp_path, answered(success("t", "done", LONG)))
    assert lines[2:] == [f"{BODY}line {number}" for number in range(1, 8)] + [
        f"{BODY}… 13 more lines"
    ]


def test_with_full_nothing_is_left_out(command, tmp_path):
    wide = "x" * 300
    rows = answered(success("t", "done", f"{LONG}\n{wide}"), success(f"u{wide}", "ok " * 600))
    out = "\n".join(shown(command, tmp_path, rows, "--full"))
    assert all(f"line {number}\n" in out for number in range(1, 21))
    assert f"  {wide}\n" in out
    assert out.count("ok") == 600
    assert "…" not in out


def test_without_full_wide_lines_are_cut(command, tmp_path):
    wide = "東" * 300
    rows = answered(success("t", "done", wide), success(f"u{wide}", wide), failure("v", wide))
    lines = shown(command, tmp_path, rows)
    assert max(map(cell_len, lines)) <= 80
    assert len(lines) < 30


@pytest.mark.parametrize("columns", [10, 40, 59, 60, 88, 300])
def test_lines_fit_a_terminal_of_any_width(command, tmp_path, columns):
    rows = [
        Stored("user", "word " * 50 + "x" * 200, 0),
        Stored("a type with a long name", "東京" * 60, 1),
        *(
            row._replace(at=row.at + 2, saved=None)
            for row in answered(success("t" * 99, "o" * 999, "c" * 999))
        ),
        Stored("respond", "", 5),
    ]
    path = logs.write(tmp_path / "log.db", rows, user="u" * 99)
    for args in (["show", path], ["show", path, "staging"]):
        ended = command(*args, FORCE_COLOR="1", NO_COLOR="1", COLUMNS=str(columns))
        lines = ANSI.sub("", ended.out).splitlines()
        assert (ended.code, ended.err) == (0, "")
        at_most = min(max(columns, 40), 88)
        assert [line for line in lines if cell_len(line) > at_most and str(path) not in line] == []


@pytest.mark.parametrize("steering", ["\x1b[2J", "\x9b2J", "\x07", "\b", "\r", "\u202e"])
def test_nothing_in_a_log_controls_the_terminal(command, tmp_path, steering):
    text = f"a{steering}b"
    rows = [
        Stored("user", text, 0),
        Stored(text, text, 1),
        Stored("call", json.dumps({"name": text, "args": {text: text}}, ensure_ascii=False), 2),
        Stored(
            "result",
            json.dumps([{"tool": text, "status": text, "outcome": text, "content": text}]),
            2,
        ),
        Stored("call", text, 3),
    ]
    path = logs.write(tmp_path / "log.db", rows, conversation=text, user=text)
    for args in ([path], [path, text], [path, text, "--full"]):
        ended = command("show", *args)
        assert ended.code == 0
        assert steering[0] not in ended.out
        assert "b" in ended.out


def test_characters_that_the_encoding_cannot_represent_are_replaced(path):
    logs.write(path, [Stored("respond", "東京 \ud7ff", 100)])
    ended = commands.run("show", path, "staging", PYTHONIOENCODING="ascii")
    assert (ended.code, ended.err, ended.out.isascii()) == (0, "", True)


def test_a_lone_surrogate_in_a_call_is_shown(command, tmp_path):
    rows = [Stored("call", r'{"name": "t", "args": {"k": "\ud83d"}}', 0)]
    path = logs.write(tmp_path / "log.db", rows)
    for options in ([], ["--json"]):
        assert command("show", path, "staging", *options).code == 0
