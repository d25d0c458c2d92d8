"""Runs every client on every case, in the environment of `make clients`, and keeps what its tool was run with."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from .served import CASES, SENT, CaseServer

CHECKOUT = Path(__file__).resolve().parents[2]
PLACE = CHECKOUT / "target" / "clients"
KEPT = PLACE / "ran.json"
PROGRAMS = Path(__file__).with_name("programs.py")


@dataclass(frozen=True)
class Client:
    """A program of `programs.py`.

    Attributes:
        package: what it is of, as in `requirements.txt`.
        uses: what it uses of the package.
        is_early: it runs a call as soon as that is complete, while the answer goes on.
    """

    package: str
    uses: str
    is_early: bool = False


CLIENTS = {
    "openai_create": Client("openai", "`create(stream=True)`"),
    "openai_stream": Client("openai", "`.stream()`"),
    "openai_done_events": Client("openai", "`.stream()`, its `arguments.done`", is_early=True),
    "anthropic_stream": Client("anthropic", "`.stream()`"),
    "anthropic_runner": Client("anthropic", "`tool_runner`"),
    "anthropic_eager_runner": Client("anthropic", "`run_tools_eagerly`", is_early=True),
    "langchain_bound": Client("langchain-openai", "`bind_tools`, `astream`"),
    "langchain_agent": Client("langchain", "`create_agent`"),
    "langgraph_react": Client("langgraph", "`create_react_agent`"),
    "pydantic_ai": Client("pydantic-ai-slim", "`run_stream`"),
    "pydantic_ai_events": Client("pydantic-ai-slim", "`event_stream_handler`"),
    "openai_agents": Client("openai-agents", "`run_streamed`"),
    "llm": Client("llm", "`chain`"),
}

Ran = Mapping[str, Any]
"""Of a client on a case: the arguments of each call that `ran`, and what was `raised`, if anything."""


def run_all() -> dict[str, dict[str, Ran]]:
    """What each client ran, by its name and then by `sent/case`; kept for the page, too."""
    with CaseServer() as server, ThreadPoolExecutor(2) as pool:
        found = dict(
            zip(CLIENTS, pool.map(lambda name: _run(name, server.url), CLIENTS), strict=True)
        )
    KEPT.write_text(json.dumps(found), encoding="utf-8")
    return found


def _run(name: str, url: str) -> dict[str, Ran]:
    paths = [quote(f"{sent}/{case}") for sent in SENT for case in CASES]
    program = [PLACE / "bin" / "python", PROGRAMS, name, url, *paths]
    done = subprocess.run(program, capture_output=True, text=True, timeout=240, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} failed:\n{done.stderr}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {unquote(line["path"]): line for line in lines}
