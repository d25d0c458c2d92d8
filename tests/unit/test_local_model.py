"""A model in a file, in this process: real files, real answers of llama.cpp, with a model that is made here."""

from __future__ import annotations

import asyncio
import io
import os
import struct
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from cogency_rs import Agent, LocalModel
from cogency_rs.errors import ConfigError, LLMError
from cogency_rs.models import Finish, ModelRequest, TextDelta
from support.agents import add
from support.llama_server import needs_llama
from support.tiny_model import Endless, tiny_model
from support.waiting import until

pytestmark = needs_llama

ANSWERS = {
    "2 + 3": 'I add. <tool_call>\n{"name": "add", "arguments": {"a": 2, "b": 3}}\n</tool_call>',
    "for ever": Endless("tick, tock; "),
    "<tool_response>\n5": "Five it is.",
    "": "Good day to you!",
}


def asked(text: str, **settings: Any) -> ModelRequest:
    return ModelRequest([{"role": "user", "content": text}], settings=settings)


async def text_of(model: LocalModel, text: str, **settings: Any) -> str:
    pieces = [delta async for delta in model.stream(asked(text, **settings))]
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("models") / "tiny.gguf"
    path.write_bytes(tiny_model(ANSWERS))
    return path


@pytest.fixture
async def model(tiny) -> Any:
    async with LocalModel(tiny, threads=1) as model:
        yield model


def address_of(model: LocalModel) -> str:
    [server] = model._loading.result().server
    return server.listening_address


async def test_an_agent_on_a_file(model):
    agent = Agent(model, tools=[add])
    described = agent.describe()
    assert described.pop("evidence").startswith(
        "rendered with one tool and one call, hermes reads the call"
    )
    assert described == {
        "model": "tiny",
        "provider": "llama.cpp",
        "transport": "local",
        "driver": "text",
        "dialect": "hermes",
    }
    result = await agent.run("What is 2 + 3?")
    assert (result.output, len(result.steps)) == ("Five it is.", 2)


@pytest.mark.parametrize(
    ("template", "dialect", "evidence"),
    [
        (
            "{% for m in messages %}{{'<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>'}}{% endfor %}",
            "hermes",
            "the template writes neither tools nor calls, so the dialect must be given; the model may not have been",
        ),
        ("{{ tool.x.y }}", "cogency", "no dialect fits the chat template in the model's file"),
    ],
)
def test_an_agent_says_why_it_has_its_dialect(tmp_path, template, dialect, evidence):
    path = tmp_path / "m.gguf"
    name, text = b"tokenizer.chat_template", template.encode()
    fact = struct.pack("<Q", len(name)) + name + struct.pack("<IQ", 8, len(text)) + text
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + fact)
    described = Agent(LocalModel(path)).describe()
    assert described["dialect"] == dialect
    assert described["evidence"].startswith(evidence)


def test_a_script_runs_more_than_once(tiny):
    """Each `run_sync` has an event loop of its own; the model stays."""
    agent = Agent(LocalModel(tiny, threads=1))
    assert {agent.run_sync("Hi").output for _ in range(3)} == {"Good day to you!"}
    asyncio.run(agent._settings.model.aclose())


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


async def test_a_terminal_says_what_is_loaded_until_it_is(tiny, monkeypatch):
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    async with LocalModel(tiny, threads=1) as model:
        await model.load()
    size = f"{tiny.stat().st_size / 1e6:,.0f} MB"
    assert terminal.getvalue() == f"loading tiny ({size}) …\r\x1b[K"


@pytest.mark.skipif(os.name != "posix", reason="file names as POSIX has them")
async def test_a_file_s_name_does_not_control_the_terminal(tiny, tmp_path, monkeypatch):
    odd = tmp_path / "a\x1b]0;title\x07\u202eb\x9b.gguf"
    odd.symlink_to(tiny)
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    async with LocalModel(odd, threads=1) as model:
        await model.load()
    assert terminal.getvalue().startswith("loading a\ufffd]0;title\ufffd\ufffdb\ufffd (")


async def test_settings_go_with_every_question_and_with_one(tiny):
    async with LocalModel(tiny, threads=1, max_tokens=2, temperature=0.1, seed=7) as model:
        [*_, finish] = [delta async for delta in model.stream(asked("Hi"))]
        assert finish == Finish("length")
        assert await text_of(model, "Hi", max_tokens=50) == "Good day to you!"


async def test_an_answer_is_no_longer_than_its_setting_says(tiny):
    async with LocalModel(tiny, threads=1, max_tokens=4) as model:
        result = await Agent(model).run("for ever")
    assert (result.status, len(result.steps)) == ("completed", 1)
    assert result.output
    assert result.stop.message == "The answer was cut at max_tokens=4"


async def test_more_runs_than_slots_wait_for_each_other(tiny):
    async with LocalModel(tiny, threads=1, slots=1, context=512) as model:
        answers = await asyncio.gather(*(text_of(model, "Hi") for _ in range(12)))
    assert answers == ["Good day to you!"] * 12


async def test_runs_in_several_threads_load_the_file_once(tiny):
    model = LocalModel(tiny, threads=1)
    agent = Agent(model)
    loops = [asyncio.to_thread(lambda: agent.run_sync("Hi").output) for _ in range(4)]
    assert await asyncio.gather(*loops) == ["Good day to you!"] * 4
    assert sum(thread.name == repr(model) for thread in threading.enumerate()) == 0
    await model.aclose()


async def test_a_run_that_is_cancelled_stops_the_model_at_once(tiny):
    """With one slot, the next answer could not be written before the one before has stopped."""
    async with LocalModel(tiny, threads=1, slots=1, context=60_000) as model:
        began = asyncio.Event()

        async def listen() -> None:
            async with aclosing(model.stream(asked("for ever"))) as answer:
                async for _ in answer:
                    began.set()

        task = asyncio.create_task(listen())
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await text_of(model, "Hi") == "Good day to you!"


async def test_a_cancelled_first_question_leaves_the_loading_to_the_next(tiny):
    async with LocalModel(tiny, threads=1) as model:
        first = asyncio.create_task(text_of(model, "Hi"))
        await until(lambda: model._loading is not None, "the file is not loaded")
        loading = model._loading
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert await text_of(model, "Hi") == "Good day to you!"
        assert model._loading is loading


async def test_closing_waits_for_answers_and_the_model_can_be_asked_again(tiny):
    model = LocalModel(tiny, threads=1)
    await model.aclose()  # nothing to close yet
    answer = model.stream(asked("for ever"))
    await anext(answer)
    closing = asyncio.create_task(model.aclose())
    assert await text_of(model, "Hi") == "Good day to you!"  # loaded anew for those that come after
    assert not closing.done()
    await answer.aclose()
    await closing
    await model.aclose()
    assert model._loading is None


async def test_nobody_else_on_the_machine_can_ask_it(model):
    assert await text_of(model, "Hi") == "Good day to you!"
    address = address_of(model)
    assert address.startswith("http://127.0.0.1:")
    for path in ("/v1/models", "/v1/chat/completions", "/slots", "/metrics", "/props"):
        with pytest.raises(urllib.error.HTTPError, match="401"):
            await asyncio.to_thread(urllib.request.urlopen, address + path)
    assert "Bearer" not in repr(model) + str(vars(model))


async def test_it_listens_here_alone_and_what_it_does_not_need_is_turned_off(tiny, monkeypatch):
    monkeypatch.setattr("cogency_rs.models.local.secrets.token_urlsafe", lambda _: "the key")
    async with LocalModel(tiny, threads=1) as model:
        assert await text_of(model, "Hi") == "Good day to you!"
        address = address_of(model)

        def status(path: str, host: str = "127.0.0.1") -> int:
            there = urllib.request.Request(address.replace("127.0.0.1", host) + path)
            there.add_header("authorization", "Bearer the key")
            try:
                with urllib.request.urlopen(there, timeout=20) as answer:
                    return int(answer.status)
            except urllib.error.HTTPError as error:
                return error.code

        assert await asyncio.to_thread(status, "/v1/models") == 200
        with pytest.raises(urllib.error.URLError):
            await asyncio.to_thread(status, "/v1/models", "127.0.0.2")
        found = [await asyncio.to_thread(status, path) for path in ("/", "/slots", "/metrics")]
        assert found == [404, 501, 501]


async def test_no_proxy_stands_between(tiny, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with LocalModel(tiny, threads=1) as model:
        assert await text_of(model, "Hi") == "Good day to you!"


async def test_a_prompt_that_is_longer_than_the_context(tiny):
    async with LocalModel(tiny, threads=1, context=256) as model:
        with pytest.raises(LLMError) as raised:
            await text_of(model, "word " * 1000)
    said = str(raised.value)
    assert said.startswith(f"{tiny} refused a prompt that is too long (400: request (")
    assert "exceeds the available context size (256 tokens)" in said
    assert said.endswith("send less of the conversation, as History(max_tokens=...) does")


async def test_a_file_that_llama_cpp_cannot_run(tiny, tmp_path):
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(tiny.read_bytes()[:100_000])
    model = LocalModel(cut)
    for _ in range(2):  # it may be mended meanwhile, so it is tried again
        with pytest.raises(LLMError, match=r"llama\.cpp cannot run '.*cut\.gguf': the file may be"):
            await model.load()
    cut.write_bytes(tiny.read_bytes())
    assert await text_of(model, "Hi") == "Good day to you!"
    await model.aclose()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, r"the model '.*' cannot be read: No such file or directory"),
        (b"", r"'.*' is not a GGUF file, which is what llama\.cpp runs"),
        (b"PK\3\4 a zip", r"look for a file that ends in \.gguf"),
    ],
    ids=["no file", "an empty file", "another file"],
)
def test_a_file_that_is_not_a_model(tmp_path, content, words):
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=words):
        LocalModel(path)


def test_a_folder_is_not_a_model(tmp_path):
    with pytest.raises(ConfigError, match=r"cannot be read: Is a directory|Permission denied"):
        LocalModel(tmp_path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"context": 0}, "context must be a whole number of at least 1"),
        ({"context": None}, "context must be a whole number of at least 1"),
        ({"slots": 1.5}, "slots must be a whole number of at least 1"),
        ({"threads": 0}, "threads must be a whole number of at least 1"),
        ({"gpu_layers": -1}, "gpu_layers must be a whole number of at least 0"),
        ({"messages": []}, "messages is not a setting of a model"),
        ({"timeout": "long"}, "timeout must be a number of seconds above 0"),
    ],
    ids=str,
)
def test_arguments_that_no_model_could_have(tiny, options, words):
    with pytest.raises((ConfigError, TypeError, ValueError), match=words):
        LocalModel(tiny, **options)


def test_without_llama_cpp_it_says_what_to_install(tiny, monkeypatch):
    monkeypatch.setattr("cogency_rs.models.local.find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"pip install 'cogency-rs\[local\]'.*run a server"):
        LocalModel(tiny)


LEAVES = """
import asyncio, sys
from cogency_rs import LocalModel
from cogency_rs.models import ModelRequest

model = LocalModel(sys.argv[1], threads=1, context=60000)

async def main():
    asyncio.get_running_loop().slow_callback_duration = float("inf")  # the machine may be busy
    async for _ in model.stream(ModelRequest([{"role": "user", "content": "for ever"}])):
        print("began", flush=True)
        LEAVE

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("how", "status"), [("break", 0), ("sys.exit(3)", 3), ("raise SystemExit(0)", 0)]
)
def test_a_program_ends_while_the_model_writes(tiny, how, status):
    ended = subprocess.run(
        [sys.executable, "-X", "dev", "-c", LEAVES.replace("LEAVE", how), str(tiny)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (status, "began\n", "")


def test_the_command_line_asks_a_file(tiny, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = command("ask", "Hi", "--gguf", str(tiny))
    assert (ended.code, ended.out, ended.err) == (0, "Good day to you!\n", "")


def test_the_chat_talks_with_a_file(tiny, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO("Hi\n"))
    ended = command("chat", "--gguf", str(tiny))
    assert ended.code == 0
    assert "tiny, 0 tools" in ended.out
    assert "Good day to you!" in ended.out
