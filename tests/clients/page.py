"""Writes what clients ran into `docs/chat-api.md`: `python -m clients.page` in `tests/`, for `make clients`."""

from __future__ import annotations

import json
import re
import textwrap
from typing import Any

from .ran import CHECKOUT, CLIENTS, KEPT, Ran
from .served import CASES, TEXT, Case, Sent

PAGE = CHECKOUT / "docs" / "chat-api.md"
BEGIN = "<!-- clients: made by `make clients`, do not edit -->\n"
END = "<!-- clients: end -->"

PINS = dict(
    re.findall(
        r"^([\w-]+)\S*==(\S+)$",
        (CHECKOUT / "tests" / "clients" / "requirements.txt").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
)

HEADS: dict[Sent, str] = {
    "stream": "With the error as the last event, none runs an incomplete call:",
    "naive": 'Where the same deltas end with `finish_reason: "length"` and no error, some do:',
}
"""Of the tables; there is not one for `whole`, since `in_clients.py` holds all clients to the same there."""

INTRODUCTION = (
    "`make clients` runs these clients. Their tool requires no argument, and the model writes a call of it whose text "
    f"has {len(TEXT):,} characters. *Broken*: what follows the text is not JSON; *cut*: the answer ends in the text; "
    "*cut after the name*: it ends with the first bracket of the arguments; *second broken*: a short call is complete, "
    "and the next one is broken. Anthropic's SDK gets the same deltas as events of its own API, and the error as an "
    "`error` event, before which the block is not stopped."
)

WHOLE = 'With `calls="whole"` all of them run the complete calls and nothing else.'


def row(client: str) -> str:
    """How a client is named: its package, the version, and what it uses of it."""
    package, uses = CLIENTS[client].package, CLIENTS[client].uses
    return f"{package} {PINS[package]}, {uses}"


def call_shown(case: Case, arguments: dict[str, Any]) -> str:
    if arguments in case.complete:
        return "the complete call"
    length = len(arguments["text"])
    return f"**the incomplete call** with {f'{length:,} characters' if length else 'no arguments'}"


def shown(case: Case, seen: Ran) -> str:
    """A cell: what ran, and what was raised."""
    ran = " and ".join(call_shown(case, arguments) for arguments in seen["ran"])
    parts = [f"runs {ran}"] if ran else []
    if seen["raised"]:
        parts.append(f"raises `{seen['raised']}`")
    return ", ".join(parts) or "runs nothing"


def table(found: dict[str, dict[str, Ran]], sent: Sent) -> str:
    lines = [["client", *CASES], ["---"] * (1 + len(CASES))]
    for client in CLIENTS:
        cells = [shown(case, found[client][f"{sent}/{name}"]) for name, case in CASES.items()]
        lines.append([row(client), *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def block(found: dict[str, dict[str, Ran]]) -> str:
    parts = [textwrap.fill(INTRODUCTION, 140)]
    for sent, head in HEADS.items():
        parts += [head, table(found, sent)]
    return "\n" + "\n\n".join([*parts, WHOLE]) + "\n\n"


def with_block(page: str, text: str) -> str:
    before, rest = page.split(BEGIN)
    return before + BEGIN + text + END + rest.split(END, 1)[1]


if __name__ == "__main__":
    written = with_block(
        PAGE.read_text(encoding="utf-8"), block(json.loads(KEPT.read_text(encoding="utf-8")))
    )
    PAGE.write_text(written, encoding="utf-8")
