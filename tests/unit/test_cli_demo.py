"""The demo: what it shows, what it plays, and how it ends."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from cogency_rs.errors import StorageError
from support import commands
from support.chunks import cut
from support.commands import POSIX, PROGRAM, Ended

pytest.importorskip("typer", reason="the command line is in the extra cli")

from rich.console import Console

from cogency_rs.cli import page
from cogency_rs.cli.chat.view import View
from cogency_rs.cli.demo import model, player, recording

if TYPE_CHECKING:
    from collections.abc import Sequence

ANSI = re.compile(r"\x1b\[[0-9;]*m")


class Played(Ended):
    """How a run of the demo with `--json` ended."""

    def contents(self, kind: str) -> list[str]:
        return [event["content"] for event in self.objects if event["type"] == kind]

    @property
    def results(self) -> list[dict]:
        return [item for content in self.contents("result") for item in json.loads(content)]


Run = Callable[..., Played]
Write = Callable[..., Path]


@pytest.fixture
def run(command) -> Run:
    return lambda *args: Played(**vars(command(*args)))


@pytest.fixture
def write(tmp_path) -> Write:
    """Writes a recording: each turn is a dict, or a string that is written as the line."""

    def write(*turns: dict | str) -> Path:
        lines = [turn if isinstance(turn, str) else json.dumps(turn) for turn in turns]
        path = tmp_path / "recording.jsonl"
        path.write_bytes("\n".join(lines).encode())
        return path

    return write


@pytest.fixture
def environment(tmp_path) -> dict[str, str]:
    """The environment with a temporary folder of its own."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    return os.environ | {name: str(temporary) for name in ("TMPDIR", "TEMP", "TMP")}


def left_in(environment: dict[str, str]) -> list[Path]:
    return list(Path(environment["TMPDIR"]).iterdir())


def execute(*calls: tuple[str, dict]) -> str:
    array = [{"name": name, "args": args} for name, args in calls]
    return f"<execute>{json.dumps(array)}</execute>"


# What a person sees.


@pytest.fixture(scope="module")
def shown() -> str:
    """The output of the demo without a terminal."""
    done = commands.run("demo", "--fast")
    assert (done.code, done.err) == (0, "")
    return done.out


def test_the_demo_shows_a_conversation_in_order(shown):
    stages = [
        "cogency-rs demo   5 recorded answers; the agent, its tools and its log are real\n",
        "\n> The assistant on staging",
        "\n  thought for ",
        ", 27 words\n",
        "\n  I'll see which files there are.\n",
        '\n  ✓ list_files(path="',
        "\n  Next I'll compare the two configurations.\n",
        "\n  The stop tag differs",
        "\n  There is no changelog to read",
        '\n  ? edit_file(path="config/staging.toml"',
        '\n    -stop = "</exec>"\n    +stop = "</execute>"\n',
        "\n  Run it? y, n, always, edit, or why not: y\n",
        '\n  ? write_file(path="notes/staging.md"',
        "\n    --- /dev/null\n    +++ b/notes/staging.md\n",
        "\n  Run it? y, n, always, edit, or why not: y\n",
        "config/staging.toml changed, 1 line added, 1 removed\n",
        "\n  Staging's configuration is right again.\n",
        ", 5 steps, ",
        "\n  This was the agent itself; only the model was recorded.",
        "\n  cogency-rs chat --gguf model.gguf --files .\n",
        "\n  cogency-rs chat --base-url http://localhost:11434/v1 --model NAME --files .\n",
    ]
    position = 0
    for stage in stages:
        found = shown.find(stage, position)
        assert found >= 0, f"{stage!r} is missing, or out of order"
        position = found + len(stage) - 1
    assert "stopped:" not in shown


@pytest.mark.parametrize(
    ("called", "found", "typed"),
    [
        (".venv/bin/cogency-rs", None, ".venv/bin/cogency-rs"),
        (".venv/bin/cogency-rs", "/bin/cogency-rs", "cogency-rs"),
        ("cogency_rs/__main__.py", None, "cogency-rs"),
    ],
)
def test_at_its_end_the_demo_says_what_can_be_typed_next(
    command, monkeypatch, called, found, typed
):
    monkeypatch.setattr("sys.argv", [called])
    monkeypatch.setattr("shutil.which", lambda name: found)
    assert f"\n  {typed} chat --gguf model.gguf --files .\n" in command("demo", "--fast").out


def test_a_failed_call_is_one_line_with_the_reason(shown):
    assert '  ✗ read_file(path="CHANGELOG.md")' in shown
    assert "\n    CHANGELOG.md does not exist\n" in shown


def test_the_output_is_plain_where_there_is_no_terminal(shown):
    assert "\x1b" not in shown
    assert [line for line in shown.splitlines() if len(line) > 80 or line != line.rstrip()] == []


def test_the_output_is_the_same_text_in_colour_on_a_terminal(shown):
    out = io.StringIO()
    console = Console(
        file=out, force_terminal=True, color_system="truecolor", width=80, _environ={}
    )
    player.play(recording.shipped_recording(), View(console), model.FAST)
    # A terminal shows Markdown as styles and bullets, so its lines break in other places.
    text = " ".join(ANSI.sub("", out.getvalue()).split())
    played = shown.partition("\n  This was the agent itself")[0]
    steady = [line for line in played.splitlines() if not re.search(r"\d m?s\b", line)]
    plain = [re.sub("[`*]", "", re.sub(r"^( +)- ", r"\1• ", line)) for line in steady]
    words = [" ".join(line.split()) for line in plain]
    assert [line for line in words if line not in text] == []


def test_a_narrow_terminal_is_enough(run, write, monkeypatch):
    monkeypatch.setattr(page, "PLAIN", 10)
    ended = run("demo", "--fast", "--session", write({"text": execute(("name" * 9, {}))}))
    assert "not registered" in " ".join(ended.out.split())


@pytest.mark.parametrize("control", ["\x1b[2J", "\x9b2J", "\x07", "\b"])
def test_recorded_text_does_not_control_the_terminal(run, write, control):
    path = write({"text": f"a{control}b" + execute((control, {control: control}))})
    assert control[0] not in run("demo", "--fast", "--session", path).out


def test_characters_that_the_encoding_cannot_represent_are_replaced(environment):
    done = subprocess.run(
        [*PROGRAM, "demo", "--fast"],
        capture_output=True,
        env=environment | {"PYTHONIOENCODING": "ascii"},
        timeout=30,
        check=True,
    )
    assert (done.stdout.isascii(), done.stderr) == (True, b"")


# The event stream.


def test_json_prints_the_events_and_nothing_else(run):
    ended = run("demo", "--fast", "--json")
    kinds = [event["type"] for event in ended.objects if event["type"] != "metric"]
    runs = [kind for kind, before in zip(kinds, [None, *kinds], strict=False) if kind != before]
    batch = ["think", "respond", "call", "execute", "result"]
    assert runs == ["user", *batch * 4, "think", "respond", "end"]
    assert (ended.code, ended.err) == (0, "")


def test_json_events_are_pieces_of_what_was_recorded(run):
    events = run("demo", "--fast", "--json").objects
    [turn, *_] = recording.shipped_recording()
    recorded = re.search("<think>(.*)</think>", "".join(turn.tokens)).group(1)
    pieces = [event["content"] for event in events if event["type"] == "think"]
    assert "".join(pieces).startswith(recorded)
    assert len(pieces) > 100


def test_json_results_are_in_the_order_of_the_calls(run):
    ended = run("demo", "--fast", "--json")
    calls = [json.loads(call)["name"] for call in ended.contents("call")]
    third = ["search_files", "check_config", "read_file"]
    assert calls == [*["list_files"] * 2, *["read_file"] * 2, *third, "edit_file", "write_file"]
    assert [result["tool"] for result in ended.results] == calls


# The session that comes with the package.


def test_the_shipped_session_is_cut_as_a_model_cuts_it():
    tokens = [token for turn in recording.shipped_recording() for token in turn.tokens]
    assert max(map(len, tokens)) <= 10
    assert "<execute>" not in tokens


def test_the_shipped_session_takes_a_quarter_of_a_minute():
    turns, pace = recording.shipped_recording(), model.REALISTIC
    tokens = sum(len(turn.tokens) for turn in turns)
    keys = len(str(turns[0].user)) + 2 * player.PONDERED
    seconds = len(turns) * pace.first_token + tokens * pace.token + keys * pace.key + 3.5
    assert 12 < seconds < 20


def test_without_pacing_it_never_waits(run, monkeypatch):
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(model, "asyncio", SimpleNamespace(sleep=sleep))
    monkeypatch.setattr(player, "time", SimpleNamespace(sleep=waits.append))
    assert run("demo", "--fast").code == 0
    assert set(waits) == {0}


# Other recordings.

TEXT = "<think>I look.</think>Here:\n" + execute(("python", {"code": "print(1)"}))
LOOKED = [
    ("user", "(not recorded)"),
    ("think", "I look."),
    ("respond", "Here:\n"),
    ("call", json.dumps({"name": "python", "args": {"code": "print(1)"}})),
    ("execute", None),
    (
        "result",
        json.dumps(
            [
                {
                    "tool": "python",
                    "status": "failure",
                    "content": "Tool 'python' not registered. Known tools: list_files, read_file, "
                    "search_files, edit_file, write_file, check_config",
                }
            ]
        ),
    ),
]


def outline(events: Sequence[dict]) -> list[tuple[str, str | None]]:
    """Types and contents, each run of text as one, without usage."""
    whole: list[tuple[str, str | None]] = []
    for event in events:
        kind, content = event["type"], event.get("content")
        if kind == "metric":
            continue
        if kind in {"think", "respond"} and whole and whole[-1][0] == kind:
            content = whole.pop()[1] + content
        whole.append((kind, content))
    return whole


@pytest.mark.parametrize(
    "turn",
    [
        {"text": TEXT},
        {"tokens": [TEXT]},
        {"tokens": cut(TEXT, 3)},
        {"tokens": ["", *cut(TEXT, 1), ""]},
        {"tokens": cut(TEXT, 7), "text": "not this", "id": 7, "user": None},
    ],
    ids=["text", "one token", "tokens", "empty tokens", "other keys"],
)
def test_a_turn_is_played_in_either_form(run, write, turn):
    ended = run("demo", "--fast", "--json", "--session", write(turn))
    assert (outline(ended.objects), ended.code) == (LOOKED, 0)


@pytest.mark.parametrize(
    "text",
    ["plain", "a  b\n\n\tc ", "naïve café", "東京タワー", "a\u2028b\u2029c\x85d", "…—🙂", "x" * 99],
)
def test_text_is_cut_without_loss(text):
    [turn] = recording.parse_recording(json.dumps({"text": text}, ensure_ascii=False), name="it")
    assert "".join(turn.tokens) == text
    assert max(map(len, turn.tokens)) <= 7


def test_empty_lines_carriage_returns_and_a_byte_order_mark_are_skipped(run, write):
    path = write("\ufeff" + '{"text": "a"}\r', "", "  ", '{"text": "b"}\r', "")
    ended = run("demo", "--fast", "--json", "--session", path)
    assert ended.contents("respond") == ["a", "b"]


def test_a_lone_surrogate_is_replaced(run, write):
    ended = run("demo", "--fast", "--json", "--session", write({"tokens": ["a\ud83d", "b"]}))
    assert ("".join(ended.contents("respond")), ended.code) == ("a\ufffdb", 0)


def test_a_turn_has_a_user_message_if_one_is_recorded_or_no_results_precede_it(run, write):
    call = {"text": execute(("t", {}))}
    path = write({"user": "Hi", "text": "Hello"}, call, {"text": "a"}, call, {"user": "b"} | call)
    ended = run("demo", "--fast", "--json", "--session", path)
    kinds = [kind for kind, _ in outline(ended.objects)]
    batch = ["call", "execute", "result"]
    assert kinds == ["user", "respond", "user", *batch, "respond", "user", *batch, "user", *batch]
    assert ended.contents("user") == ["Hi", "(not recorded)", "(not recorded)", "b"]


def test_a_recording_goes_on_after_end_errors_and_failures(run, write):
    failing = {"text": execute(*[("t", {})] * 5)}
    malformed = {"text": "<execute>[1]</execute>"}
    path = write({"text": "a<end>b"}, failing, failing, malformed, {"tokens": []}, {"text": "last"})
    ended = run("demo", "--fast", "--json", "--session", path)
    assert (len(ended.results), ended.contents("respond")[-1], ended.code) == (10, "last", 0)


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("read_file", {"path": "../log.db"}, "../log.db is outside of the folder"),
        ("write_file", {"path": "a/../../x", "content": ""}, "a/../../x is outside of the folder"),
        ("list_files", {"path": "logs/staging.log"}, "logs/staging.log is not a folder"),
        ("check_config", {"path": "nowhere"}, "nowhere does not exist"),
    ],
)
def test_tools_stay_in_their_folder_and_say_what_is_wrong(run, write, name, args, message):
    ended = run("demo", "--fast", "--json", "--session", write({"text": execute((name, args))}))
    [result] = ended.results
    assert (result["tool"], result["status"]) == (name, "failure")
    assert message in result["content"]


@pytest.mark.parametrize("args", [{}, {"path": None}, {"path": "a\0b"}, {"file": "a"}])
def test_wrong_arguments_fail_only_their_own_call(run, write, args):
    calls = execute(("read_file", args), ("list_files", {"path": "."}))
    ended = run("demo", "--fast", "--json", "--session", write({"text": calls}))
    assert [result["status"] for result in ended.results] == ["failure", "success"]


def test_tools_work_on_the_same_folder_for_a_whole_session(run, write):
    path = write(
        {"text": execute(("write_file", {"path": "new/a.toml", "content": "</execute>"}))},
        {"text": execute(("read_file", {"path": "new/a.toml"}), ("check_config", {"path": "new"}))},
    )
    _, read, check = run("demo", "--fast", "--json", "--session", path).results
    assert read["content"] == "</execute>"
    assert check["status"] == "failure"
    assert "not valid TOML: a.toml: " in check["content"]


@pytest.mark.parametrize(
    ("name", "form", "counted"),
    [("streams.jsonl", "tokens", "user"), ("agent_turns.jsonl", "text", "execute")],
)
def test_every_turn_of_the_recordings_is_played(run, recordings, name, form, counted):
    """In one file each turn follows a user's message; in the other each turn has a batch of calls."""
    path = recordings / name
    if not path.exists():
        pytest.skip(f"no {name} among the recordings")
    turns = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert all(form in turn for turn in turns)
    ended = run("demo", "--fast", "--json", "--session", path)
    assert (ended.code, ended.err) == (0, "")
    assert sum(event["type"] == counted for event in ended.objects) == len(turns)


# How the demo ends when it cannot go on.

FORM = 'each line is one model turn: {"tokens": ["...", ...]} or {"text": "..."}'
GOOD = '{"text": "a"}'


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([], "has no turns"),
        (["", "  "], "has no turns"),
        ([GOOD, "{"], "line 2: not JSON (Expecting property name enclosed in double quotes, "),
        ([GOOD, "", "Hello."], "line 3: not JSON (Expecting value, column 1)"),
        (["[" * 99_999], "line 1: not readable as JSON"),
        (["1" * 5_000], "line 1: not readable as JSON"),
        (["[]"], "line 1: a JSON array instead of an object"),
        (["null"], "line 1: a JSON null instead of an object"),
        ([GOOD, "{}"], 'line 2: neither "tokens" nor "text" in it'),
        (['{"tokens": "a"}'], 'line 1: "tokens" is a JSON string instead of an array'),
        (['{"tokens": ["a", 1]}'], 'line 1: "tokens"[1] is a JSON number instead of a string'),
        (['{"tokens": [true]}'], 'line 1: "tokens"[0] is a JSON boolean instead of a string'),
        (['{"text": {}}'], 'line 1: "text" is a JSON object instead of a string'),
        (['{"text": "", "user": []}'], 'line 1: "user" is a JSON array instead of a string'),
    ],
)
def test_a_line_that_is_not_a_turn_is_refused_with_its_number(run, write, lines, problem):
    path = write(*lines)
    ended = run("demo", "--session", path)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith(f"cogency-rs: {path}")
    assert problem in ended.err
    assert ended.err.endswith(f"; {FORM}\n")


def test_a_file_that_is_missing_is_named(run, tmp_path):
    path = tmp_path / "none.jsonl"
    ended = run("demo", "--session", path)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == f"cogency-rs: {path} does not exist; name a recording: {FORM}\n"


def test_a_folder_is_not_a_recording(run, tmp_path):
    ended = run("demo", "--session", tmp_path)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert ended.err.startswith(f"cogency-rs: {tmp_path} cannot be read: ")


def test_a_file_that_is_not_text_is_refused(run, tmp_path):
    path = tmp_path / "image.jsonl"
    path.write_bytes(b"\x89PNG")
    ended = run("demo", "--session", path)
    assert (ended.code, ended.err) == (
        2,
        f"cogency-rs: {path} is not UTF-8 text (byte 0); {FORM}\n",
    )


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), StorageError("the log cannot be written")]
)
def test_an_error_of_the_system_is_one_line(run, monkeypatch, error):
    def refuse(**_: object) -> None:
        raise error

    monkeypatch.setattr(player, "TemporaryDirectory", refuse)
    ended = run("demo", "--fast")
    assert (ended.code, ended.out, ended.err) == (1, "", f"cogency-rs: {error}\n")


@POSIX
@pytest.mark.parametrize("options", [[], ["--json"]], ids=["plain", "json"])
def test_a_closed_pipe_ends_the_demo_quietly(environment, options):
    program = subprocess.Popen(
        [*PROGRAM, "demo", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    assert program.stdout is not None
    program.stdout.readline()
    program.stdout.close()
    _, err = program.communicate(timeout=30)
    assert (program.returncode, err) == (141, b"")
    assert left_in(environment) == []


@POSIX
@pytest.mark.parametrize(
    "moment", [b"> The", b"thought for"], ids=["the user types", "the model has thought"]
)
def test_an_interrupt_ends_it_and_leaves_no_files(environment, moment):
    program = subprocess.Popen(
        [*PROGRAM, "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    assert program.stdout is not None
    while moment not in program.stdout.readline():
        assert program.poll() is None
    assert left_in(environment) != []
    program.send_signal(signal.SIGINT)
    _, err = program.communicate(timeout=30)
    assert (program.returncode, err) == (130, b"cogency-rs: interrupted\n")
    assert left_in(environment) == []
