"""The command line itself: its help, what it refuses, and how every command ends."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("typer", reason="the command line is in the extra cli")

from cogency_rs import Dialect, __version__
from support import commands, logs
from support.commands import POSIX, PROGRAM

if TYPE_CHECKING:
    from collections.abc import Callable

COMMANDS = [
    *("chat", "ask", "demo", "parse", "dialects", "show", "timeline", "settle", "copy", "serve"),
    "doctor",
]


@pytest.mark.parametrize("module", ["typer", "rich"])
def test_without_the_extra_it_says_what_to_install(module):
    code = (
        f"import sys; sys.modules[{module!r}] = None; import cogency_rs.cli as c; c.main(['demo'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"cogency-rs: the command line needs typer, rich and prompt_toolkit, and {module} is not installed; "
        "run: pip install 'cogency-rs[cli]'\n"
    )


def test_the_package_itself_needs_no_extra():
    code = "import sys, cogency_rs, cogency_rs.cli; print({'typer', 'rich'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_package_does_not_load_its_command_line():
    code = (
        "import sys, cogency_rs; print([m for m in sys.modules if m.startswith('cogency_rs.cli')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_version(command):
    ended = command("--version")
    assert (ended.code, ended.out) == (0, f"cogency-rs {__version__}\n")


def test_help_names_the_commands(command):
    out = command("--help").out
    assert out.startswith("Usage: cogency-rs [OPTIONS] COMMAND [ARGS]...\n")
    listed = [
        line.split()[0] for line in out.partition("Commands:\n")[2].split("\n\n")[0].splitlines()
    ]
    assert listed == COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_of_a_command_says_how_it_ends(command, name, option):
    out = command(name, option).out
    assert out.startswith(f"Usage: cogency-rs {name} [OPTIONS]")
    assert "Exit codes: 0 done; 1 failed; 2 unusable arguments or input;" in out


def test_every_exit_code_is_in_the_help_and_in_the_documentation(command):
    told = command("--help").out.partition("Exit codes: ")[2]
    page = Path(__file__, "../../../docs/command-line.md").resolve().read_text()
    table = page.partition("| exit code | meaning |")[2].partition("\n\n")[0]
    codes = re.findall(r"^\| (\d+) \|", table, re.MULTILINE)
    assert codes == ["0", "1", "2", "3", "129", "130", "141", "143"]
    assert re.findall(r"(?<!\S)(\d+)\s", told) == codes


@pytest.mark.parametrize(
    ("name", "options"),
    [
        (
            "chat",
            [
                "ID",
                "--model NAME",
                "--base-url URL",
                "--continue",
                "--no-save",
                "--resume",
                "--thoughts",
            ],
        ),
        ("ask", ["QUESTION...", "--model-from", "--tools", "--mcp FILE", "--yes", "--json"]),
        ("demo", ["--session FILE", "--fast", "--json"]),
        ("parse", ["FILE", "--dialect NAME", "--tools FILE", "--stream", "--calls"]),
        ("dialects", ["NAME", "--json"]),
        ("show", ["DB", "CONVERSATION", "--user", "--full", "--json"]),
        ("timeline", ["DB", "CONVERSATION", "-o, --output FILE", "--turn N", "--all", "--user"]),
        ("settle", ["DB", "CONVERSATION", "CALL", "RESULT", "--not-happened"]),
        ("doctor", ["--json"]),
    ],
)
def test_help_of_a_command_names_its_options(command, name, options):
    out = command(name, "--help").out
    assert [option for option in options if option not in out] == []


def test_without_a_command_it_shows_the_help(command):
    ended = command()
    assert "demo      Watch a recorded session" in ended.out + ended.err


@pytest.mark.parametrize(
    "args",
    [
        ["--no-such"],
        ["nothing"],
        ["demo", "x"],
        ["ask"],
        ["chat", "--steps", "0"],
        *([name, "--no-such"] for name in COMMANDS),
        ["parse", "a", "b"],
        ["parse", "--stream", "line"],
        ["parse", "--calls", "some"],
        ["dialects", "hermes", "json"],
        ["show"],
        ["timeline", "db"],
        ["timeline", "db", "conversation", "-o", "file", "--turn", "0"],
        ["timeline", "db", "conversation", "-o", "file", "--turn", "first"],
    ],
    ids=" ".join,
)
def test_an_unknown_command_or_option_is_refused(command, args):
    ended = command(*args)
    assert (ended.code, ended.out) == (2, "")
    assert "Try 'cogency-rs" in ended.err


# Arguments that cannot be used: one line that says what to do.


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """The working directory, with a log and with files that are not logs."""
    monkeypatch.chdir(tmp_path)
    logs.write(Path("store.db"), logs.SESSION)
    logs.write(Path("shared.db"), logs.SESSION, user="ada")
    logs.write(Path("shared.db"), logs.SESSION, user="bob")
    Path("folder").mkdir()
    Path("empty.db").touch()
    Path("text.db").write_text("This is not a database, but it is longer than a header.\n" * 3)
    Path("short.db").write_bytes(b"SQLite")
    Path("damaged.db").write_bytes(Path("store.db").read_bytes()[:5000])
    Path("cut.db").write_bytes(Path("store.db").read_bytes()[:100])
    Path("object.json").write_text("{}")
    Path("nameless.json").write_text('[{"parameters": {}}]')
    other = sqlite3.connect("other.db")
    other.execute("CREATE TABLE notes (text)")
    other.close()
    older = sqlite3.connect("older.db")
    older.execute("CREATE TABLE messages (message_id, conversation_id, type, content)")
    older.close()
    return tmp_path


NAME_TOOLS = "name a file with a JSON list of tools"
HERMES = Dialect("hermes")
THERE_ARE = f"there are {', '.join(Dialect.presets())}"
NAME_A_LOG = "name the file of a log, such as .cogency/store.db"
UNREADABLE_LOGS = [
    ("none.db", f"none.db does not exist; {NAME_A_LOG}"),
    ("folder", f"folder is a folder; {NAME_A_LOG}"),
    ("folder/none.db", f"folder/none.db does not exist; {NAME_A_LOG}"),
    ("store.db/none.db", f"store.db/none.db cannot be read (Not a directory); {NAME_A_LOG}"),
    ("/dev/null", f"/dev/null is not a regular file; {NAME_A_LOG}"),
    ("", f". is a folder; {NAME_A_LOG}"),
    ("empty.db", "empty.db is empty: nothing was logged to it; name another file"),
    ("text.db", "text.db is not a SQLite database; name the file of a log"),
    ("short.db", "short.db is not a SQLite database; name the file of a log"),
    (
        "other.db",
        "other.db is not a log of cogency: its table messages is missing; name another file",
    ),
    (
        "older.db",
        "older.db is not a log of cogency: its table messages has no timestamp, user_id; name another file",
    ),
    ("damaged.db", "damaged.db is damaged; name another file, or restore it from a backup ("),
    ("cut.db", "cut.db is "),
]


@POSIX
@pytest.mark.parametrize(
    "args", [["show"], ["show", "--json"], ["timeline", "-o", "out.svg"]], ids=" ".join
)
@pytest.mark.parametrize(("db", "message"), UNREADABLE_LOGS, ids=[db for db, _ in UNREADABLE_LOGS])
def test_a_file_that_is_not_a_log_is_refused_in_one_line(command, place, args, db, message):
    before = contents(place)
    ended = command(*args, db, "staging")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith(f"cogency-rs: {message}")
    assert contents(place) == before


@POSIX
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["show", "store.db", "stagign"],
            "store.db has no conversation stagign; `cogency-rs show store.db` lists what there is",
        ),
        (
            ["show", "store.db", "\x1b[2J\n'"],
            "store.db has no conversation '␛[2J '\"'\"''; `cogency-rs show store.db` lists what there is",
        ),
        (
            ["show", "store.db", "staging", "--user", "eve"],
            "the user eve has no conversation staging in store.db; `cogency-rs show store.db` lists what there is",
        ),
        (
            ["show", "shared.db", "staging"],
            "2 users have a conversation staging in shared.db; say whose with --user: ada, bob",
        ),
        (
            ["timeline", "shared.db", "staging", "-o", "out.svg"],
            "2 users have a conversation staging in shared.db; say whose with --user: ada, bob",
        ),
        (
            ["timeline", "store.db", "staging", "-o", "out.svg", "--turn", "2"],
            "there is no turn 2: the conversation has 1 turn",
        ),
        (
            ["timeline", "store.db", "staging", "-o", "out.svg", "--turn", "1", "--all"],
            "--turn and --all exclude each other; give one of them",
        ),
        (
            ["timeline", "store.db", "staging", "-o", "folder"],
            "folder cannot be written (Is a directory); name another file with -o",
        ),
        (
            ["timeline", "store.db", "staging", "-o", "none/out.svg"],
            "none/out.svg cannot be written (No such file or directory); name another file with -o",
        ),
        (
            ["timeline", "store.db", "staging", "-o", "/proc/out.svg"],
            "/proc/out.svg cannot be written (No such file or directory); name another file with -o",
        ),
        (
            ["timeline", "store.db", "staging", "-o", "/dev/full"],
            "/dev/full cannot be written (No space left on device); name another file with -o",
        ),
        (
            ["timeline", "store.db", "staging", "-o", "store.db"],
            "store.db is the log itself; name another file with -o",
        ),
        (
            ["timeline", "store.db", "staging", "-o", "link.svg"],
            "link.svg is the log itself; name another file with -o",
        ),
        (
            ["parse", "none.txt"],
            "none.txt cannot be read (No such file or directory); name a file of text, or - for standard input",
        ),
        (["parse", "folder"], "folder is a folder; name a file of text, or - for standard input"),
        (
            ["parse", "text.db", "--dialect", "hermess"],
            f'there is no dialect "hermess"; the nearest is "hermes" ({HERMES.models}); '
            "docs/presets.md has those of all models",
        ),
        (["parse", "text.db", "--dialect", "hermes,"], f'there is no dialect ""; {THERE_ARE}'),
        (
            ["parse", "text.db", "--tools", "none.json"],
            f"none.json cannot be read (No such file or directory); {NAME_TOOLS}",
        ),
        (
            ["parse", "text.db", "--tools", "text.db"],
            f"text.db is not JSON (Expecting value: line 1 column 1 (char 0)); {NAME_TOOLS}",
        ),
        (
            ["parse", "text.db", "--tools", "object.json"],
            f"object.json does not hold a list; {NAME_TOOLS}",
        ),
        (
            ["parse", "text.db", "--tools", "nameless.json"],
            "nameless.json holds an item that is not a tool: tools must be tools, or dicts with a "
            f'"name" and "parameters", not dict; {NAME_TOOLS}',
        ),
    ],
    ids=lambda value: (
        " ".join(value).encode("unicode_escape").decode() if isinstance(value, list) else ""
    ),
)
def test_an_argument_that_cannot_be_used_is_refused_in_one_line(command, place, args, message):
    Path("link.svg").symlink_to("store.db")
    before = contents(place)
    ended = command(*args)
    assert (ended.code, ended.out, ended.err) == (2, "", f"cogency-rs: {message}\n")
    assert contents(place) == before


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything"
)
@pytest.mark.parametrize("args", [["show", "store.db"], ["parse", "store.db"]], ids=" ".join)
def test_a_file_that_may_not_be_read_is_refused_in_one_line(command, place, args):
    Path("store.db").chmod(0)
    ended = command(*args)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith("cogency-rs: store.db cannot be read (Permission denied); ")


def contents(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


# Interrupts, pipes and full disks; each command runs in its own process.


@pytest.fixture
def long_log(tmp_path) -> Path:
    """A log whose conversation is longer than a pipe can hold."""
    rows = [logs.Stored("respond", "word " * 200, number) for number in range(2000)]
    return logs.write(tmp_path / "long.db", rows, conversation="long")


def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("<think>a</think>b" * 20_000)
    return path


WRITERS: dict[str, Callable[[Path, Path], list[object]]] = {
    "demo": lambda _, __: ["demo", "--fast"],
    "parse": lambda _, tmp_path: ["parse", text(tmp_path)],
    "show": lambda log, _: ["show", log, "long"],
    "show --json": lambda log, _: ["show", log, "long", "--json"],
    "timeline": lambda log, _: ["timeline", log, "long", "-o", "-"],
    "dialects": lambda _, __: ["dialects"],
    "doctor": lambda _, __: ["doctor"],
}


@POSIX
@pytest.mark.parametrize("name", WRITERS)
def test_a_closed_pipe_ends_a_command_quietly(long_log, tmp_path, name):
    reader, writer = os.pipe()
    os.close(reader)
    program = subprocess.Popen(
        [*PROGRAM, *map(str, WRITERS[name](long_log, tmp_path))],
        stdout=writer,
        stderr=subprocess.PIPE,
        env=commands.environment(),
    )
    os.close(writer)
    _, err = program.communicate(timeout=60)
    assert (program.returncode, err) == (141, b"")


@POSIX
@pytest.mark.parametrize("name", ["parse", "show", "show --json", "timeline"])
def test_a_pipe_that_is_closed_after_a_line_ends_a_command_quietly(long_log, tmp_path, name):
    program = subprocess.Popen(
        [*PROGRAM, *map(str, WRITERS[name](long_log, tmp_path))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=commands.environment(),
    )
    assert program.stdout is not None
    assert program.stdout.readline() != b""
    program.stdout.close()
    _, err = program.communicate(timeout=60)
    assert (program.returncode, err) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize("name", WRITERS)
def test_output_that_cannot_be_written_is_an_error_in_one_line(long_log, tmp_path, name):
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(
            [*PROGRAM, *map(str, WRITERS[name](long_log, tmp_path))],
            stdout=full,
            stderr=subprocess.PIPE,
            env=commands.environment(),
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (
        1,
        b"cogency-rs: [Errno 28] No space left on device\n",
    )


@POSIX
@pytest.mark.parametrize("name", WRITERS)
def test_a_closed_standard_output_is_not_an_error(long_log, tmp_path, name):
    assert closed(">&-", WRITERS[name](long_log, tmp_path)) == (0, b"", b"")


@POSIX
def test_a_closed_standard_error_is_not_an_error(tmp_path):
    assert closed("2>&-", ["show", tmp_path]) == (2, b"", b"")
    assert closed("2>&-", ["--no-such"]) == (2, b"", b"")


@POSIX
def test_a_closed_standard_input_is_an_error_in_one_line():
    message = b"cogency-rs: standard input is closed; name a FILE\n"
    assert closed("<&-", ["parse"]) == (2, b"", message)


def closed(which: str, args: list[object]) -> tuple[int, bytes, bytes]:
    """Run a command with one of its three standard streams closed from the start."""
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {which}', "sh", *PROGRAM, *map(str, args)],
        capture_output=True,
        env=commands.environment(),
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@POSIX
def test_an_interrupt_while_text_arrives_ends_with_130():
    program = subprocess.Popen(
        [*PROGRAM, "parse"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=commands.environment(),
    )
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(b"<think>a</think>b<end>")
    program.stdin.flush()
    assert b'"think"' in program.stdout.readline()  # the command is running
    program.send_signal(signal.SIGINT)
    _, err = program.communicate(timeout=60)
    assert (program.returncode, err) == (130, b"cogency-rs: interrupted\n")


@POSIX
def test_an_interrupt_while_a_file_is_written_leaves_the_old_one_alone(tmp_path):
    """The interrupt comes when the new file is written but has not replaced the old one yet."""
    logs.write(tmp_path / "store.db", logs.SESSION)
    (tmp_path / "out.svg").write_text("old")
    code = (
        "import os, signal, pathlib, cogency_rs.cli as c\n"
        "pathlib.Path.replace = lambda *_: (print(os.listdir()), os.kill(os.getpid(), signal.SIGINT))\n"
        "c.main(['timeline', 'store.db', 'staging', '-o', 'out.svg'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (130, b"cogency-rs: interrupted\n")
    assert b".cogency-rs-" in done.stdout
    assert contents(tmp_path) | {"store.db": b""} == {"out.svg": b"old", "store.db": b""}


@POSIX
def test_an_interrupt_while_a_log_is_read_ends_with_130(tmp_path):
    """An endless query: the interrupt comes between two of SQLite's steps."""
    path = logs.write(tmp_path / "store.db", logs.SESSION)
    endless = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n"
    )
    code = (
        "import os, signal, cogency_rs.cli as c, cogency_rs.cli.log as log\n"
        "import cogency_rs.storage.queries as queries\n"
        f"queries._CONVERSATIONS = {endless!r}\n"
        "log.Progress.at = lambda *_: os.kill(os.getpid(), signal.SIGINT)\n"
        f"c.main(['show', {str(path)!r}])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (130, b"cogency-rs: interrupted\n")
