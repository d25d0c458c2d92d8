"""Every public case through the servers' own parsers, and through ours in their place.

`python -m servers.match vllm` reads the cases in vLLM and keeps what came of it under `target/servers`, `sglang` does
so in SGLang; `show ID` prints a case and what each parser read in it. `servers.page` writes the page of both.

Each parser reads in a process of its own and has a limit of time: one that waits for a file which the network does not
give, or never ends, is left out, with the reason.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib.metadata import version
from itertools import accumulate, islice, pairwise
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

from conformance.agreement import same
from conformance.cases import Case, cases
from conformance.reading import Mode, reading

from cogency_rs import Dialect, ToolCall
from cogency_rs.plugins import BrokenCallError, reasoning_marks
from cogency_rs.reader import served_dialect, served_names

from .theirs import READERS, Answer, Server, load_plugins, pieces, response_template

Side = Literal["theirs", "ours"]

SIDES: tuple[Side, ...] = ("theirs", "ours")

CHECKOUT = Path(__file__).resolve().parents[2]
KEPT = CHECKOUT / "target" / "servers"

AT_ONCE = 2
"""How many parsers read at a time."""

LIMIT = 600
"""The seconds after which a parser that has not read everything is left out."""

OF_THE_TEMPLATE = "hermes"
"""The preset whose cases are read by a parser that takes its dialect from the model's tokenizer."""

SIZES = (500, 2_000)
"""How many tokens the two streams have whose cost is compared."""

AT_A_TIME = 16
"""How many tokens come in one piece at most, from a server that guesses the next ones."""

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
    broken: bool
    """Whether a stream ended with the error of a call that had begun."""
    whole: bool
    """Whether the calls of the whole text are those of the case."""
    streamed: bool
    equal: bool
    """Whether whole and streamed are equal, to the character."""
    calls: list[Any]
    """The calls of the whole text, and those of each stream; none of a stream that ended with an error."""


def read(server: Server, name: str, dialect: Dialect, case: Case) -> Read:
    """Read a case by the parser of this name: whole, and streamed token by token and several at a time."""
    text, tools = text_of(case, dialect), tools_of(case)
    answers: list[Answer | None] = []
    for chunks in ([text], pieces(dialect, text), several(dialect, text, case.id)):
        try:
            answers.append(READERS[server](name, dialect, tools)(chunks))
        except BrokenCallError:
            answers.append(None)
        except Exception as error:  # what a server would answer with an error, whatever it is
            why = f"{type(error).__name__}: {error}"[:200]
            return Read(why, False, False, False, False, [])
    calls = [answer.values() if answer else None for answer in answers]
    whole, *streamed = (same(found, case.calls) for found in calls)
    is_equal = None not in answers and all(answer == answers[0] for answer in answers)
    return Read(None, None in answers, whole, all(streamed), is_equal, calls)


def several(dialect: Dialect, text: str, seed: str) -> list[str]:
    """The text in pieces of so many tokens as a server may find at once."""
    random, tokens = Random(seed), iter(pieces(dialect, text))
    found = list[str]()
    while piece := "".join(islice(tokens, random.randint(1, AT_A_TIME))):
        found.append(piece)
    return found if len(found) > 1 else pieces(dialect, text)


def text_of(case: Case, dialect: Dialect) -> str:
    """What a parser of reasoning leaves of the text for the parser of calls, if the prompt has opened reasoning."""
    if not case.begins_in_think:
        return case.text
    return case.text.partition(reasoning_marks(dialect)[1])[2]


def tools_of(case: Case) -> list[dict[str, Any]]:
    """The tools of a case; if it says none, all that are called, since a server reads no calls without tools."""
    if case.tools:
        return [{"type": "function", "function": tool.get("function", tool)} for tool in case.tools]
    calls = [*case.calls, *reading(case, Mode.STRICT).calls]
    names = {call["name"]: None for call in calls} or {"unused": None}
    return [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
        for name in names
    ]


def dialect_and_cases(server: Server, name: str) -> tuple[Dialect, list[Case]]:
    """What the parser of this name reads, and the cases of that."""
    template = response_template(name)
    dialects = served_dialect(name, server, response_template=template)
    every = dialects if isinstance(dialects, tuple) else (dialects,)
    found = [case for each in every for case in cases().get(each.name, [])]
    return every[0], found or (cases().get(OF_THE_TEMPLATE, []) if template else [])


def run(server: Server) -> None:
    """Read every case in a server, and keep what came of it."""
    logging.disable(logging.CRITICAL)
    # vLLM's `openai` reads its vocabulary, o200k_base.tiktoken, from this folder, and does not wait for the network.
    os.environ.setdefault("TIKTOKEN_ENCODINGS_BASE", str(KEPT / "encodings"))
    load_plugins(server)
    # What is imported now, each process begins with.
    parse(server, "hermes", "theirs", Dialect("hermes"))
    rows: dict[str, dict[Side, Any]] = {name: {} for name in served_names(server)}
    parsers = [(name, side) for name in rows for side in SIDES]
    start = time.monotonic()
    for (name, side), found in in_processes(parsers, lambda each: outcomes(server, *each)):
        rows[name][side] = found
        shown = found["not run"] or f"{len(found['cases'])} cases"
        print(f"{time.monotonic() - start:5.0f} s", server, name, side, shown, flush=True)
    kept = {"version": version(server), "rows": rows}
    (KEPT / f"{server}.json").write_text(json.dumps(kept, ensure_ascii=False), encoding="utf-8")


Parser = tuple[str, Side]


def in_processes(
    parsers: Iterable[Parser], work: Callable[[Parser], dict[str, Any]]
) -> Iterator[tuple[Parser, dict[str, Any]]]:
    """What comes of each parser, read in a process of its own."""
    fork, waiting = get_context("fork"), iter(parsers)
    running: dict[Connection, tuple[Parser, ForkProcess]] = {}

    def bounded(parser: Parser, answer: Connection) -> None:
        signal.alarm(LIMIT)  # ends the process, whatever it waits for
        answer.send(work(parser))

    while True:
        for parser in islice(waiting, AT_ONCE - len(running)):
            receiver, sender = fork.Pipe(duplex=False)
            process = fork.Process(target=bounded, args=(parser, sender))
            process.start()
            sender.close()  # so that the end of the process is the end of the pipe
            running[receiver] = parser, process
        if not running:
            return
        for receiver in wait(running):
            parser, process = running.pop(receiver)
            with suppress(EOFError):
                yield parser, receiver.recv()
                continue
            process.join()
            is_late = process.exitcode == -signal.SIGALRM
            yield parser, left_out(f"no end within {LIMIT} s" if is_late else "its process died")


def left_out(why: str) -> dict[str, Any]:
    return {"not run": why, "cases": {}, "costs": None}


def parse(server: Server, name: str, side: Side, dialect: Dialect) -> str:
    """The name of the parser, which has read a text."""
    parser = name if side == "theirs" else f"cogency_{name}"
    READERS[server](parser, dialect, [TOOL])(["Hi."])
    return parser


def outcomes(server: Server, name: str, side: Side) -> dict[str, Any]:
    """What a parser makes of each case, and what a token costs."""
    dialect, found = dialect_and_cases(server, name)
    try:
        parser = parse(server, name, side, dialect)
    except Exception as error:  # without a model's own files, or a package that is not on the index
        return left_out(f"{type(error).__name__}: {error}".partition("\n")[0])
    return {
        "not run": None,
        "cases": {case.id: read(server, parser, dialect, case)._asdict() for case in found},
        "costs": costs(server, parser, dialect),
    }


class Costs(NamedTuple):
    """What a long call costs: processor time, and silence."""

    token: list[float]
    """Microseconds of processor time a token, for each size."""
    first: int
    """How many characters of the larger one are read before something of its call is sent."""
    silence: int
    """The most that are read before something is sent again."""


def costs(server: Server, name: str, dialect: Dialect) -> dict[str, Any] | str:
    """What a long call costs; or what was raised."""
    found: list[float] = []
    heard: list[int] = []
    for size in SIZES:
        text = "Noted: word, and more. " * (4 * size // 23)
        call = dialect.write_calls([ToolCall("note", {"text": text})])
        chunks = pieces(dialect, call, 4)
        try:
            reader = READERS[server](name, dialect, [TOOL])
            times: list[float] = []
            for _ in range(2):
                start = time.process_time()
                answer = reader(chunks)
                times.append(time.process_time() - start)
        except Exception as error:  # the row says so
            return type(error).__name__
        found.append(1e6 * min(times) / len(chunks))
        ends = list(accumulate(map(len, chunks)))
        heard = [ends[min(number, len(ends)) - 1] for number in answer.sent]
    if not heard:
        return "no call"
    silence = max(end - start for start, end in pairwise([0, *heard]))
    return Costs(found, heard[0], silence)._asdict()


def show(id: str) -> None:
    """Print a case and what each parser read in it."""
    case = next(case for found in cases().values() for case in found if case.id == id)
    print(f"{case.source}\n{case.kind}\n\n{case.text}\n\ntools {json.dumps(tools_of(case))}")
    print(f"answer {json.dumps(case.calls, ensure_ascii=False)}")
    for server in READERS:
        kept = json.loads((KEPT / f"{server}.json").read_text(encoding="utf-8"))
        for name, row in kept["rows"].items():
            for side in SIDES:
                if found := row[side]["cases"].get(id):
                    print(f"{server} {name} {side} {json.dumps(found, ensure_ascii=False)}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["vllm" | "sglang" as server]:
            run(server)
        case ["show", id]:
            show(id)
        case _:
            sys.exit(__doc__)
