"""Measures the calls that a small model writes: free or held to a grammar, in our words or in those that it was taught.

`make small-models` runs it. Each question of the recorded ones has tools and the calls that answer it; the model is
asked once, with the prompt and the grammar that an agent has for it. Answers are kept in a file as they come: a run
that was stopped goes on, and one with more questions asks only the further ones. The sample is the same each time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from cogency_rs import Agent, Dialect, LocalModel, Parser
from cogency_rs.agent import TextDriver
from cogency_rs.errors import LLMError
from cogency_rs.models import TextDelta
from cogency_rs.tools.registry import faults

CHECKOUT = Path(__file__).resolve().parents[1]
PAGE = CHECKOUT / "docs" / "grammars.md"
BEGIN = "<!-- small models: written by make small-models -->\n"
END = "<!-- small models: end -->\n"


class Way(NamedTuple):
    """A way to ask."""

    dialect: str
    words: str
    held: Literal[False, "required", "one"]

    @property
    def driver(self) -> TextDriver:
        """The driver of an agent that asks so."""
        dialect = Dialect(self.dialect)
        if self.words == "ours":
            dialect = dialect.replace(prompt={**dialect.to_dict()["prompt"], "wording": None})
        constrain = "required" if self.held else False
        return TextDriver(dialect, constrain=constrain, parallel=self.held != "one")


HELD: dict[Literal[False, "required", "one"], str] = {
    False: "free",
    "required": "held to calls",
    "one": "held to one call",
}
WAYS = [
    Way("hermes", "taught", False),
    Way("hermes", "taught", "required"),
    Way("hermes", "taught", "one"),
    Way("hermes", "ours", False),
    Way("hermes", "ours", "required"),
    Way("cogency", "ours", False),
    Way("cogency", "ours", "required"),
]


@dataclass(frozen=True)
class Declared:
    """A tool of a question. It is declared, and never run."""

    name: str
    description: str
    schema: dict[str, Any]

    async def execute(self, **args: Any) -> Any:
        raise NotImplementedError


def sample(file: Path, count: int) -> list[dict[str, Any]]:
    """The first questions of all, in an order drawn once."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for named in (each for row in rows for each in (*row["tools"], *row["calls"])):
        named["name"] = re.sub(r"[^\w-]", "_", named["name"])  # what providers take as a name
    random.Random(45).shuffle(rows)
    return rows[:count]


async def asked(model: LocalModel, row: dict[str, Any], way: Way) -> dict[str, Any]:
    """Ask a question in one way; returns what came of it."""
    tools = [Declared(t["name"], t.get("description", ""), t["parameters"]) for t in row["tools"]]
    request = Agent(model, tools=tools, driver=way.driver).prompt(row["question"]).request
    began, text = time.process_time(), ""
    try:
        async for delta in model.stream(request):
            text += delta.text if isinstance(delta, TextDelta) else ""
    except LLMError as error:
        return {"error": str(error)}
    took = time.process_time() - began  # of all threads, whatever else the machine does
    return {"text": text, "seconds": round(took, 2), **judged(text, way.dialect, tools, row)}


def judged(
    text: str, dialect: str, tools: Sequence[Declared], row: dict[str, Any]
) -> dict[str, bool]:
    """Whether an answer has calls that can run, of the right tools, with the right arguments."""
    known = {tool.name: tool for tool in tools}
    parser = Parser(dialect=dialect, tools=tools, errors="event", lenient=True)
    events = [*parser.feed(text), *parser.finish("stop")]
    calls = [json.loads(event["content"]) for event in events if event["type"] == "call"]
    is_valid = bool(calls) and not any(event["type"] == "error" for event in events)
    for call in calls:
        tool = known.get(call["name"])
        is_valid = is_valid and tool is not None and not faults(tool, call["args"])
    expected = row["calls"]
    is_tool = is_valid and [c["name"] for c in calls] == [c["name"] for c in expected]
    is_right = is_tool and all(
        alike(made["args"], right["args"]) for made, right in zip(calls, expected, strict=True)
    )
    return {"valid": is_valid, "tool": is_tool, "right": is_right}


def alike(made: Any, right: Any) -> bool:
    """Whether two values are the same, but for the case of letters and for spaces and punctuation."""
    match made, right:
        case dict(), dict():
            return made.keys() == right.keys() and all(alike(made[key], right[key]) for key in made)
        case list(), list():
            return len(made) == len(right) and all(map(alike, made, right))
        case str(), str():
            return letters(made) == letters(right)
        case _:
            return bool(made == right)


def letters(text: str) -> str:
    return "".join(each for each in text.casefold() if each.isalnum())


def known_of(kept: Path) -> dict[tuple[str, Way], dict[str, Any]]:
    """What was asked before."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.touch()
    rows = map(json.loads, kept.read_text(encoding="utf-8").splitlines())
    return {(row["id"], Way(*row["way"])): row for row in rows}


async def measure(
    model: LocalModel, rows: list[dict[str, Any]], kept: Path
) -> dict[Way, list[dict[str, Any]]]:
    """Ask what was not asked before."""
    known = known_of(kept)
    with kept.open("a", encoding="utf-8") as file:
        for number, row in enumerate(rows, 1):
            for way in WAYS:
                key = row["id"], way
                if key not in known:
                    known[key] = {"id": row["id"], "way": way, **await asked(model, row, way)}
                    print(json.dumps(known[key]), file=file, flush=True)
            print(f"question {number} of {len(rows)}", flush=True)
    return {way: [known[row["id"], way] for row in rows] for way in WAYS}


def table(name: str, found: dict[Way, list[dict[str, Any]]], of: int) -> Iterator[str]:
    """The table, in Markdown."""
    size = len(next(iter(found.values())))
    yield f"{name}, {size} of the {of:,} questions:\n"
    yield "| dialect | words | the model is | calls valid | tool right | arguments right | processor seconds |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for way, answers in found.items():
        counts = [sum(a.get(key, False) for a in answers) for key in ("valid", "tool", "right")]
        took = sorted(a["seconds"] for a in answers if "seconds" in a)
        median = f"{took[len(took) // 2]:.1f}" if took else "-"
        cells = [
            way.dialect,
            way.words,
            HELD[way.held],
            *map(str, counts),
            median,
        ]
        yield f"| {' | '.join(cells)} |"
    if failed := sum("error" in answer for answers in found.values() for answer in answers):
        yield f"\n{failed} prompts were longer than the model's context, and count as not answered."


def write(name: str, text: str) -> None:
    """Put the table of a model into its page, in the place of one that it has there."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    tables, _, after = rest.partition(END)
    others = re.split(
        r"^(?=\S+, \d+ of the [\d,]+ questions:$)", tables.strip(), flags=re.MULTILINE
    )
    kept = {each.partition(",")[0]: each.strip() for each in others if each}
    whole = "\n\n".join((kept | {name: text}).values())
    PAGE.write_text(f"{before}{BEGIN}\n{whole}\n\n{END}{after}", encoding="utf-8")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="the GGUF file, or the folder that has it")
    parser.add_argument("questions", type=Path, help="bfcl_calls.jsonl")
    parser.add_argument("--count", type=int, default=100, help="how many questions")
    parser.add_argument("--threads", type=int, help="by default one for each physical core")
    parser.add_argument("--kept", type=Path, default=CHECKOUT / "target" / "small-models")
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.name}")
    arguments = parser.parse_args()
    rows = sample(arguments.questions, arguments.count)
    of = len(arguments.questions.read_text(encoding="utf-8").splitlines())
    file = next(arguments.model.rglob("*.gguf"), arguments.model)
    settings: dict[str, Any] = {"temperature": 0, "seed": 1, "max_tokens": 96}
    async with LocalModel(file, slots=1, threads=arguments.threads, **settings) as model:
        found = await measure(model, rows, arguments.kept / f"{model.name}.jsonl")
        text = "\n".join(table(model.name, found, of))
    print(text)
    if arguments.write:
        write(model.name, text)


if __name__ == "__main__":
    asyncio.run(main())
