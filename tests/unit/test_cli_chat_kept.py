"""What `cogency-rs chat` keeps without being asked, where, and how a chat goes on with it."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.commands import POSIX, Ended, run

pytest.importorskip("typer", reason="the command line is in the extra cli")

from cogency_rs.cli.chat.kept import Kept

Chat = Callable[..., Ended]

ECHO = """\
async def model(messages):
    yield f"Asked: {[message['content'] for message in messages[1:]]}."
"""


@pytest.fixture
def kept() -> Path:
    """The log of all chats that name no other."""
    return Path(os.environ["XDG_DATA_HOME"], "cogency-rs", "chat.db")


def test_a_conversation_is_kept_and_the_first_says_where(chat, kept):
    first = chat("I am Ada.\n", "Hello.")
    assert f"conversations are kept in {kept}; --no-save keeps none" in " ".join(first.out.split())
    assert kept.exists()
    assert "goes on with: --resume " in first.out
    second = chat("I am Bob.\n", "Hello.")
    assert "conversations are kept" not in second.out


@pytest.mark.parametrize("options", [("--continue",), ("-c",), ("--resume",)])
def test_the_last_conversation_goes_on(chat, options):
    chat("I am Bob.\n", "Hello.")
    chat("I am Ada.\n", "Hello.")
    assert chat("Who am I?\n", "You are Ada.", options=options).code == 0
    asked = sys.modules["scripted"].model.requests[-1].messages
    assert [message["content"] for message in asked[1:]] == ["I am Ada.", "Hello.", "Who am I?"]


def test_a_conversation_of_before_goes_on(chat):
    id = chat("I am Bob.\n", "Hello.").out.split()[-1]
    chat("I am Ada.\n", "Hello.")
    chat("Who am I?\n", "You are Bob.", options=("--resume", id))
    assert sys.modules["scripted"].model.requests[-1].messages[1]["content"] == "I am Bob."


def test_nothing_is_kept_with_no_save(chat, kept):
    ended = chat("I am Ada.\n", "Hello.", options=("--no-save",))
    assert ended.out.startswith("cogency-rs chat   scripted:model, 0 tools, not kept; /help\n")
    assert "goes on with" not in ended.out
    assert not kept.parent.exists()


def test_a_log_that_is_named_is_the_only_one(chat, kept, tmp_path):
    chat("I am Ada.\n", "Hello.", options=("--db", tmp_path / "log.db"))
    assert not kept.exists()


def test_the_folder_is_the_users_alone(chat, kept):
    chat("I am Ada.\n", "Hello.")
    if os.name == "posix":
        assert kept.parent.stat().st_mode & 0o777 == 0o700


def test_without_a_folder_the_chat_goes_on_and_keeps_nothing(chat, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    ended = chat("I am Ada.\n", "Hello.")
    assert (ended.code, ended.err.count("\n")) == (0, 1)
    assert "this conversation is not kept, since there is no folder for it: " in ended.err
    assert "  Hello.\n" in ended.out


@pytest.mark.parametrize("options", [["--continue"], ["--resume"], ["--db", "log.db"]])
def test_what_cannot_be_kept_and_not_is_refused(command, monkeypatch, options):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    ended = command("chat", "--model-from", "io:StringIO", "--no-save", *options)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "--no-save keeps nothing; leave out --db, --resume and --continue" in ended.err


@pytest.mark.parametrize(
    ("platform", "environment", "folder"),
    [
        ("linux", {"HOME": "/home/ada"}, ".local/share"),
        ("linux", {"HOME": "/home/ada", "XDG_DATA_HOME": "relative"}, ".local/share"),
        ("darwin", {"HOME": "/home/ada"}, "Library/Application Support"),
        ("win32", {"HOME": "/home/ada"}, "AppData/Local"),
        ("win32", {"HOME": "/home/ada", "LOCALAPPDATA": "/home/ada/local"}, "local"),
    ],
)
@POSIX
def test_the_folder_is_where_the_platform_has_it(
    monkeypatch, tmp_path, platform, environment, folder
):
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value.replace("/home/ada", str(tmp_path)))
    monkeypatch.setattr(sys, "platform", platform)
    assert Kept.by_default(None).log == tmp_path / folder / "cogency-rs" / "chat.db"


@POSIX
def test_what_was_typed_is_recalled_in_the_next_chat(tmp_path):
    from support.terminals import Terminal

    (tmp_path / "echo.py").write_text(ECHO)
    for typed, shown in [
        ("one\r", "Asked: ['one']."),
        ("\x1b[A\x05 more\r", "Asked: ['one more']."),
    ]:
        with Terminal("chat", "--model-from", "echo:model", cwd=tmp_path) as terminal:
            terminal.until("> ")
            terminal.type(typed)
            terminal.until(shown)
            terminal.until("> ")
            terminal.type("\x04")
            assert terminal.ended() == 0


@POSIX
def test_a_pipe_is_kept_too(tmp_path):
    (tmp_path / "echo.py").write_text(ECHO)
    options = ("--model-from", "echo:model")
    home = {"XDG_DATA_HOME": str(tmp_path / "data")}
    assert run("chat", *options, stdin=b"one\n", cwd=tmp_path, **home).code == 0
    ended = run("chat", *options, "--continue", stdin=b"two\n", cwd=tmp_path, **home)
    assert "'two']." in ended.out
    assert "['one'," in ended.out
