"""On the pages for those who come from another package, both programs run against the same model.

The model is a server with OpenAI's API that answers from a script. Our programs run with every test. Theirs run in an
environment of their own, which `make coming-from` makes; without it they are skipped.
"""

from __future__ import annotations

import json
import re
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from cogency_rs.testing import ModelServer, Reply, sse
from support.pages import CHECKOUT, Block, blocks_of
from support.programs import printed_by

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

THEIR_PYTHON = CHECKOUT / "target" / "coming-from" / "bin" / "python"
PINS = dict(
    re.findall(
        r"^([\w-]+)\S*==(\S+)$",
        (CHECKOUT / "tests" / "docs" / "coming_from.txt").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
)


def streamed(*deltas: dict[str, Any], reason: str) -> Reply:
    """An answer of the Chat Completions API, with usage at its end."""
    shared = {
        "id": "chatcmpl",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "gpt-4.1",
    }
    usage = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}
    chunks = [
        *[{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas],
        {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
        {"choices": [], "usage": usage},
    ]
    return Reply([*[sse({**shared, **chunk}) for chunk in chunks], sse("[DONE]")])


def calls(id: str, name: str, arguments: str) -> Reply:
    function = {"name": name, "arguments": arguments}
    call = {"index": 0, "id": id, "type": "function", "function": function}
    return streamed(
        {"role": "assistant", "content": None, "tool_calls": [call]}, reason="tool_calls"
    )


def says(text: str) -> Reply:
    pieces = [text[start : start + 8] for start in range(0, len(text), 8)]
    deltas = [{"role": "assistant", "content": ""}, *[{"content": piece} for piece in pieces]]
    return streamed(*deltas, reason="stop")


VALUE = json.dumps({"order": "A7", "euros": 30})
CALL = calls("call_1", "refund", VALUE)

# Their page, the packages that it names, and the answer with which their program gets its value.
THEIRS = {
    "from-openai-agents.md": (["openai-agents"], says(VALUE)),
    "from-pydantic-ai.md": (["pydantic-ai-slim"], calls("call_2", "final_result", VALUE)),
    "from-langgraph.md": (["langgraph", "langchain", "langchain-openai"], says(VALUE)),
}


def programs_of(page: str) -> tuple[Block, Block]:
    """Their program and ours."""
    theirs, ours = [block for block in blocks_of(CHECKOUT / "docs" / page) if block.elsewhere]
    return theirs, ours


@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Serves replies to the programs that are run meanwhile."""
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")  # traces would be sent to OpenAI
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")

    @contextmanager
    def serving(*replies: Reply) -> Iterator[None]:
        with ModelServer(replies) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
            yield

    return serving


@pytest.mark.parametrize("page", THEIRS)
def test_our_program_prints_what_the_page_says(page: str, tmp_path: Path, serving: Any):
    _, ours = programs_of(page)
    program = tmp_path / "program.py"
    program.write_text(ours.code, encoding="utf-8")
    with serving(CALL, says(VALUE)):
        assert printed_by(program, cwd=tmp_path) == ours.output


@pytest.mark.skipif(not THEIR_PYTHON.exists(), reason="make coming-from installs the packages")
@pytest.mark.parametrize("page", THEIRS)
def test_their_program_prints_what_the_page_says(page: str, tmp_path: Path, serving: Any):
    theirs, _ = programs_of(page)
    program = tmp_path / "program.py"
    program.write_text(theirs.code, encoding="utf-8")
    with serving(CALL, THEIRS[page][1]):
        ran = subprocess.run(
            [THEIR_PYTHON, program],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert (ran.returncode, ran.stdout) == (0, theirs.output), ran.stderr


@pytest.mark.parametrize("page", THEIRS)
def test_the_page_names_the_versions_that_its_program_was_seen_with(page: str):
    text = (CHECKOUT / "docs" / page).read_text(encoding="utf-8")
    for package in THEIRS[page][0]:
        assert f"{package} {PINS[package]}" in text
