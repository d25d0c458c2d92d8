"""Makes `docs/presets.md`, every dialect that models were taught, by model: `python tools/presets.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from cogency_rs import Dialect, ToolCall

__all__ = ["EXAMPLE", "PAGE", "models_of", "presets_page"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "presets.md"

EXAMPLE = ToolCall("read", {"file": "a.txt", "lines": 20})

HEAD = """---
hide:
  - toc
---

<!-- Made by `python tools/presets.py`; do not edit. -->

# Dialects by model

Some models write more than one dialect: the model's card or its chat template decides. An agent sends the last column
as the request's `stop`. A model that is not listed can be told how to write calls, in the dialect `cogency`, or you
[add its dialect](add-a-dialect.md).
"""


def presets_page() -> str:
    """The whole page: the dialect of each model, then the same call in each dialect."""
    return "\n".join(
        [HEAD, *by_model(), "", "## A call in each", "", "```text", *calls(), "```", ""]
    )


def by_model() -> Iterator[str]:
    """Which dialect each model was taught, and the strings at which its server is asked to stop."""
    rows = [
        (model, dialect.name, dialect.stop)
        for dialect in map(Dialect, Dialect.presets())
        for model in models_of(dialect)
    ]
    rows.sort(key=lambda row: (not row[0], row[0].casefold()))
    yield from ("| model | dialect | stops at |", "| --- | --- | --- |")
    for model, name, stop in rows:
        yield f"| {model or 'any model that is shown how'} | `{name}` | {_code(stop)} |"


def models_of(dialect: Dialect) -> list[str]:
    """The models that were taught the dialect; one empty name if any model can be told it."""
    return re.split(r", (?=\D)", dialect.models)  # "Llama 3.1, 3.2 and 3.3" is one


def _code(texts: Sequence[str]) -> str:
    """Texts as a cell of a table, where a bar has to be escaped."""
    shown = (text.replace("\n", "\\n").replace("|", "\\|") for text in texts)
    return ", ".join(f"`{text}`" for text in shown) or "nothing of its own"


def calls() -> Iterator[str]:
    """The same call in each dialect, under its name."""
    for name in Dialect.presets():
        yield f"# {name}"
        yield f"{Dialect(name).write_calls([EXAMPLE])}\n"


if __name__ == "__main__":
    PAGE.write_text(presets_page(), encoding="utf-8")
