"""Writes the presets into `docs/dialects.md`, and into `docs/models.md` by model: `python tools/presets.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from cogency_rs import Dialect, ToolCall

__all__ = ["EXAMPLE", "MODELS_PAGE", "PAGE", "models_of", "with_models", "with_presets"]

DOCS = Path(__file__).resolve().parents[1] / "docs"

PAGE, MODELS_PAGE = DOCS / "dialects.md", DOCS / "models.md"

BEGIN = "<!-- presets: made by `python tools/presets.py`, do not edit -->"
END = "<!-- presets: end -->"

EXAMPLE = ToolCall("read", {"file": "a.txt", "lines": 20})


def with_presets(page: str) -> str:
    """The page on dialects, with the text between its marks made anew."""
    return _with(tables(), page, PAGE)


def with_models(page: str) -> str:
    """The page on models, likewise."""
    return _with(by_model(), page, MODELS_PAGE)


def _with(made: str, page: str, path: Path) -> str:
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{path} has no place for the presets: {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{after}"


def tables() -> str:
    presets = [Dialect(name) for name in Dialect.presets()]
    rows = [
        f"| `{each.name}` | {each.models or 'any model that is told how'} | {stops(each)} |"
        for each in presets
    ]
    head = ["| name | taught to | a server stops at |", "| --- | --- | --- |"]
    return "\n".join([*head, *rows, "", "```text", *calls(presets), "```"])


def stops(dialect: Dialect) -> str:
    """The stop strings for a server; a bar is escaped, since it would end the table's cell."""
    shown = [stop.replace("\n", "\\n").replace("|", "\\|") for stop in dialect.stop]
    return " ".join(f"`{each}`" for each in shown) or "nothing of its own"


def by_model() -> str:
    """Which dialect each model was taught, and the strings at which its server is asked to stop."""
    rows = [
        (model, dialect.name, dialect.stop)
        for dialect in map(Dialect, Dialect.presets())
        for model in models_of(dialect)
    ]
    rows.sort(key=lambda row: (not row[0], row[0].casefold()))
    lines = [
        f"| {model or 'any model that is told how'} | `{name}` | {_code(stop)} |"
        for model, name, stop in rows
    ]
    return "\n".join(["| model | dialect | stops at |", "| --- | --- | --- |", *lines])


def models_of(dialect: Dialect) -> list[str]:
    """The models that were taught the dialect; one empty name if there are none in particular."""
    return re.split(r", (?=\D)", dialect.models)  # "Llama 3.1, 3.2 and 3.3" is one


def _code(texts: Sequence[str]) -> str:
    shown = (text.replace("\n", "\\n").replace("|", "\\|") for text in texts)
    return ", ".join(f"`{text}`" for text in shown)


def calls(presets: list[Dialect]) -> Iterator[str]:
    """The same call in each dialect, under its name."""
    for dialect in presets:
        yield f"# {dialect.name}"
        yield f"{dialect.write_calls([EXAMPLE])}\n"


if __name__ == "__main__":
    for path, made in ((PAGE, with_presets), (MODELS_PAGE, with_models)):
        path.write_text(made(path.read_text(encoding="utf-8")), encoding="utf-8")
