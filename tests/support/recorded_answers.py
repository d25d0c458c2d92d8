"""Makes recordings for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cogency_rs.models import ModelRequest
from cogency_rs.testing import ScriptedModel, record

HI = ModelRequest([{"role": "user", "content": "Hi"}])


def asks(*messages: dict[str, Any], **more: Any) -> ModelRequest:
    return ModelRequest(messages, **more)


def says(content: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": content}


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]


async def pieces_of(model: Any, request: ModelRequest = HI) -> list[Any]:
    return [piece async for piece in model.stream(request)]


async def recorded(path: Path, *answers: Any, requests: Any = None, **options: Any) -> None:
    """Record the answers, each to one request and read to its end."""
    model = record(ScriptedModel(answers), path, **options)
    for request in requests or [HI] * len(answers):
        await pieces_of(model, request)


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines), "utf-8")
