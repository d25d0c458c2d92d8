"""The recordings, as this suite reads them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def lines(recordings: Path, name: str) -> list[dict[str, Any]]:
    file = recordings / f"{name}.jsonl"
    if not file.exists():
        pytest.skip(f"no {file.name} among the recordings")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def texts_of(recordings: Path, name: str) -> Iterator[tuple[str, list[str]]]:
    """The id and the chunks of each text in a file of recordings."""
    for line in lines(recordings, name):
        yield line["id"], line.get("tokens") or [line["text"]]
