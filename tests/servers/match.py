"""Every public case through the servers' own parsers, and through ours in their place.

`python -m servers.match vllm` reads the cases in vLLM and keeps what came of it under `target/servers`, `sglang` does
so in SGLang; `show ID` prints a case and what each parser read in it. `servers.page` writes the page of both.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple

from conformance.agreement import same
from conformance.cases import Case, cases

from cogency_rs import Dialect, ToolCall
from cogency_rs.plugins.shared import reasoning_marks
from cogency_rs.reader import served_dialect, served_names

from .theirs import READERS, load_plugins, pieces

Server = Literal["vllm", "sglang"]

CHECKOUT = Path(__file__).resolve().parents[2]
KEPT = CHECKOUT / "target" / "servers"

OF_A_MODEL = {"hf", "response_template"}
"""Parsers that need a model's tokenizer, for which no cases are recorded."""

SIZES = (500, 2_000)
"""How many tokens the two streams have whose cost is compared."""

TOOL = {
    "type": "function",
    "function": {
        "name": "note",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
    },
}


class Read(NamedTuple):
    """What a parser made of a case."""

    raised: str | None
    whole: bool
    """Whether the calls of the whole text are those of the case."""
    streamed: bool
    equal: bool
    """Whether whole and streamed are equal, to the character."""
    calls: list[Any]
    """The calls of the whole text, and those of the streamed one."""


def read(server: Server, name: str, dialect: Dialect, case: Case) -> Read:
    """Read a case whole and streamed by the parser of this name."""
    text, tools = text_of(case, dialect), tools_of(case)
    try:
        whole, streamed = (
            READERS[server](name, dialect, tools)(chunks)
            for chunks in ([text], pieces(dialect, text))
        )
    except Exception as error:  # what a server would answer with an error, whatever it is
        return Read(f"{type(error).__name__}: {error}"[:200], False, False, False, [])
    calls = [whole.values(), streamed.values()]
    right = [same(found, case.calls) for found in calls]
    return Read(None, right[0], right[1], whole == streamed, calls)


def first(dialects: Dialect | tuple[Dialect, ...]) -> Dialect:
    return dialects[0] if isinstance(dialects, tuple) else dialects


def text_of(case: Case, dialect: Dialect) -> str:
    """What a parser of reasoning leaves of the text for the parser of calls, if the prompt has opened reasoning."""
    if not case.begins_in_think:
        return case.text
    return case.text.partition(reasoning_marks(dialect)[1])[2]


def tools_of(case: Case) -> list[dict[str, Any]]:
    """The tools of a case; without any, those that it calls, since a server reads no calls without tools."""
    if case.tools:
        return [{"type": "function", "function": tool.get("function", tool)} for tool in case.tools]
    names = {call["name"]: None for call in case.calls} or {"unused": None}
    return [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
        for name in names
    ]


def names_with_cases(server: Server) -> Iterator[tuple[str, Dialect, list[Case]]]:
    for name in served_names(server):
        if name in OF_A_MODEL:
            continue
        dialects = served_dialect(name, server)
        every = dialects if isinstance(dialects, tuple) else (dialects,)
        found = [case for dialect in every for case in cases().get(dialect.name, [])]
        yield name, first(dialects), found


def run(server: Server) -> None:
    """Read every case in a server, and keep what came of it."""
    logging.disable(logging.CRITICAL)
    load_plugins(server)
    rows: dict[str, Any] = {}
    for name, dialect, found in names_with_cases(server):
        row: dict[str, Any] = {"cases": {}, "not run": None}
        try:
            READERS[server](name, dialect, [TOOL])(["Hi."])
        except (
            Exception
        ) as error:  # without a model's own files, or a package that is not on the index
            row["not run"] = f"{type(error).__name__}: {error}".partition("\n")[0]
        parsers = {"ours": f"cogency_{name}"} | ({} if row["not run"] else {"theirs": name})
        for case in found:
            row["cases"][case.id] = {
                side: read(server, parser, dialect, case)._asdict()
                for side, parser in parsers.items()
            }
        row["speed"] = {side: costs(server, parser, dialect) for side, parser in parsers.items()}
        rows[name] = row
        print(server, name, len(found), row["not run"] or "", flush=True)
    kept = {"version": version(server), "rows": rows}
    (KEPT / f"{server}.json").write_text(json.dumps(kept, ensure_ascii=False), encoding="utf-8")


def costs(server: Server, name: str, dialect: Dialect) -> list[float] | str:
    """Microseconds of processor time a token, for each size; or what was raised."""
    found: list[float] = []
    for size in SIZES:
        text = "Noted: word, and more. " * (4 * size // 23)
        call = dialect.write_calls([ToolCall("note", {"text": text})])
        chunks = pieces(dialect, call, 4)
        try:
            reader = READERS[server](name, dialect, [TOOL])
            times: list[float] = []
            for _ in range(2):
                start = time.process_time()
                reader(chunks)
                times.append(time.process_time() - start)
        except Exception as error:  # the row says so
            return type(error).__name__
        found.append(1e6 * min(times) / len(chunks))
    return found


def show(id: str) -> None:
    """Print a case and what each parser read in it."""
    case = next(case for found in cases().values() for case in found if case.id == id)
    print(f"{case.source}\n{case.kind}\n\n{case.text}\n\ntools {json.dumps(tools_of(case))}")
    print(f"answer {json.dumps(case.calls, ensure_ascii=False)}")
    for server in READERS:
        kept = json.loads((KEPT / f"{server}.json").read_text(encoding="utf-8"))
        for name, row in kept["rows"].items():
            for side, found in row["cases"].get(id, {}).items():
                print(f"{server} {name} {side} {json.dumps(found, ensure_ascii=False)}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["vllm" | "sglang" as server]:
            run(server)
        case ["show", id]:
            show(id)
        case _:
            sys.exit(__doc__)
