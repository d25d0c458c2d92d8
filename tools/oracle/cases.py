"""The cases: JSON objects that say all that is done, so that any version of the package can answer them.

`drawn` makes case N of a kind from a seed; `recorded` reads those of the folder of recordings. Another kind of case is
a function here with an entry in `KINDS`, and a function of the same name in `answers.py`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from tools.oracle.texts import TOOLS, Writer, presets

__all__ = ["KINDS", "Case", "drawn", "recorded"]

Case = dict[str, Any]

_ROWS = (
    "user",
    "think",
    "respond",
    "call",
    "result",
    "error",
    "end",
    "execute",
    "metric",
    "interrupt",
    "cancelled",
)
_REASONS = (None, "stop", "length", "tool_calls", "content_filter", "odd")


def text(random: Random, writer: Writer) -> Case:
    """A text, cut, through a parser."""
    written = writer.text()
    options: dict[str, Any] = {}
    if random.random() < 0.5:
        options["stream"] = "token"
    if random.random() < 0.4:
        options["calls"] = "stream"
    if random.random() < 0.5:
        options["errors"] = "event"
    if random.random() < 0.3:
        options["lenient"] = True
    if random.random() < 0.2:
        options["begins_in_think"] = random.random() < 0.7
    limits = {}
    if random.random() < 0.1:
        limits = {
            "max_block_bytes": random.choice([1, 20, 100]),
            "max_depth": random.choice([1, 3]),
            "max_calls": 1,
        }
    return {
        "text": written,
        "cuts": writer.cuts(written),
        "options": options,
        "limits": limits,
        "tools": random.random() < 0.8,
        "reason": random.choice(_REASONS),
    }


def chat(random: Random, writer: Writer) -> Case:
    """A text, cut, through the reader of the chat API."""
    written = writer.text()
    choices = [
        "auto",
        "auto",
        "auto",
        "required",
        "none",
        {"type": "function", "function": {"name": "add"}},
    ]
    options: dict[str, Any] = {"tool_choice": random.choice(choices)}
    if random.random() < 0.3:
        options["lenient"] = True
    if random.random() < 0.2:
        options["begins_in_think"] = random.random() < 0.7
    return {
        "text": written,
        "cuts": writer.cuts(written),
        "options": options,
        "tools": random.random() < 0.8 or options["tool_choice"] not in ("auto", "none"),
        "reason": random.choice(_REASONS),
    }


def turn(random: Random, writer: Writer) -> Case:
    """Answers of a model, carried out by an accumulator: its events, the rows, and the next prompt."""
    answers = [writer.text() for _ in range(random.randint(1, 3))]
    return {
        "answers": [
            {"text": each, "cuts": writer.cuts(each), "reason": random.choice(_REASONS)}
            for each in answers
        ],
        "stream": random.choice(["event", "token"]),
        "calls": random.choice(["whole", "stream"]),
        "errors": random.choice(["event", "respond"]),
        "storage": random.choice(["memory", "memory", "sqlite"]),
        "tools": True,
    }


def run(random: Random, writer: Writer) -> Case:
    """A run of an agent, by text or by the provider's own calls: its events, the rows, and what the model was sent."""
    is_native = random.random() < 0.4
    answers: list[Any] = []
    for _ in range(random.randint(1, 3)):
        written = writer.text()
        if not is_native:
            answers.append(
                {"text": written, "cuts": writer.cuts(written), "reason": random.choice(_REASONS)}
            )
            continue
        pieces: list[Any] = []
        if random.random() < 0.4:
            pieces.append({"reasoning": writer.words(), "signature": random.choice([None, "sig"])})
        pieces += [{"text": writer.words()} for _ in range(random.randint(0, 2))]
        for index in range(random.choice([0, 1, 1, 2])):
            call = writer.call()
            args = json.dumps(call["args"])
            if random.random() < 0.2:
                args = args[: random.randint(0, len(args))]
            at = random.randint(0, len(args))
            # Ids that come twice, look like ours, or are missing.
            id = random.choice(
                [f"call_{index}", "call_0", "", None, "0192f3a4-5b6c-7d8e-9f01-23456789abcd"]
            )
            pieces.append({"index": index, "id": id, "name": call["name"], "arguments": args[:at]})
            pieces.append({"index": index, "id": None, "name": None, "arguments": args[at:]})
        answers.append({"pieces": pieces, "reason": random.choice(_REASONS)})
    return {
        "driver": "native" if is_native else "text",
        "answers": [*answers, {"text": "It is done.", "cuts": [], "reason": "stop"}],
        "question": writer.words() or "What now?",
        "storage": random.choice(["memory", "memory", "sqlite"]),
    }


def _rows(random: Random, writer: Writer) -> list[list[Any]]:
    """Rows as turns leave them, with gaps."""
    rows: list[list[Any]] = []
    for _ in range(random.randint(0, 3)):
        rows.append(["user", writer.row("user")])
        for _ in range(random.randint(0, 2)):
            if random.random() < 0.3:
                rows.append(["think", writer.row("think")])
            if random.random() < 0.5:
                rows.append(["respond", writer.row("respond")])
            if random.random() < 0.2:
                rows.append(["error", writer.row("error")])
            if random.random() < 0.6:
                calls = [writer.call() for _ in range(random.randint(1, 3))]
                rows += [["call", json.dumps(call)] for call in calls]
                results = [{**writer.result(), "tool": call["name"]} for call in calls]
                if random.random() < 0.85:
                    rows.append(["result", json.dumps(results)])
        if random.random() < 0.7:
            rows.append(["respond", writer.row("respond")])
    if rows and random.random() < 0.2:
        rows.pop(random.randrange(len(rows)))
    return rows


def log(random: Random, writer: Writer) -> Case:
    """Rows that are written to a log and read back, also from cursors on, in a fork, and after a part was deleted."""
    rows = _rows(random, writer) or [["user", "x"]]
    if random.random() < 0.2:
        rows += [[kind, writer.row(kind)] for kind in random.sample(_ROWS, 3)]
    moment, timed = 1_790_000_000.0, []
    for row in rows:
        moment += random.choice([0.0, 0.001, 1.0, 60.0])
        timed.append([*row, moment])
    at = sorted(random.choices(range(len(timed) + 1), k=random.randint(0, 4)))
    return {
        "rows": timed,
        "saves": at,
        "storage": random.choice(["memory", "sqlite"]),
        "newest": random.randint(1, 5),
        "fork": random.randint(0, len(timed)),
    }


def prompt(random: Random, writer: Writer) -> Case:
    """Rows as the messages of the next prompt, in every form."""
    history: dict[str, Any] = {}
    if random.random() < 0.3:
        history["window"] = random.randint(0, 8)
    if random.random() < 0.2:
        history["max_tokens"] = random.choice([1, 50, 500])
    if random.random() < 0.3:
        history["max_result_chars"] = random.choice([0, 1, 10, 100])
    if random.random() < 0.2:
        history["earlier"] = "answers"
    if random.random() < 0.3:
        history["merge_roles"] = False
    return {
        "rows": _rows(random, writer),
        "history": history,
        "form": random.choice(["text", "text", "native", "react"]),
        "rules": random.choice(["own", "installed"]),
        "escape_tags": random.random() < 0.3,
        "identity": writer.words() if random.random() < 0.3 else None,
        "instructions": writer.words() if random.random() < 0.3 else None,
        "storage": random.choice(["memory", "memory", "sqlite"]),
    }


def write(random: Random, writer: Writer) -> Case:
    """What a dialect writes, and its breaking up of marks."""
    return {
        "calls": [writer.call() for _ in range(random.randint(0, 3))],
        "results": [writer.result() for _ in range(random.randint(0, 3))],
        "content": writer.heap() if random.random() < 0.7 else None,
        "reasoning": writer.words() if random.random() < 0.5 else None,
        "texts": [writer.heap(), writer.words()],
        "tools": random.random() < 0.7,
        "first": random.choice([0, 0, 3]),
    }


def _schema(random: Random, writer: Writer, depth: int = 0) -> dict[str, Any]:
    match random.randrange(9 if depth < 2 else 6):
        case 0:
            return {
                "type": "string",
                **({"enum": ["a", writer.words() or "b"]} if random.random() < 0.4 else {}),
            }
        case 1:
            return {
                "type": "integer",
                "minimum": random.randint(-5, 5),
                "maximum": random.randint(6, 100),
            }
        case 2:
            return {"type": random.choice(["number", "boolean", "null"])}
        case 3:
            return {
                "type": "string",
                "pattern": random.choice(["^[a-z]+$", "^\\d{2,4}-x?$", "a|b"]),
            }
        case 4:
            return {"type": ["string", "null"], "maxLength": random.randint(1, 9)}
        case 5:
            return {"const": writer.value({"type": random.choice(["string", "integer", "array"])})}
        case 6:
            return {
                "type": "array",
                "items": _schema(random, writer, depth + 1),
                "maxItems": random.randint(1, 4),
            }
        case 7:
            return {
                "anyOf": [_schema(random, writer, depth + 1), _schema(random, writer, depth + 1)]
            }
        case _:
            names = random.sample(
                ["x", "y", "long_name", writer.words() or "z"], random.randint(1, 3)
            )
            fields = {name: _schema(random, writer, depth + 1) for name in names}
            needed = [name for name in fields if random.random() < 0.5]
            return {"type": "object", "properties": fields, "required": needed}


def grammar(random: Random, writer: Writer) -> Case:
    """The grammar of a dialect's answers, for drawn tools."""
    tools = []
    for number in range(random.randint(0, 2)):
        fields = {f"p{place}": _schema(random, writer) for place in range(random.randint(0, 3))}
        parameters = {"type": "object", "properties": fields}
        tools.append({"name": f"tool_{number}", "description": "", "parameters": parameters})
    return {
        "declared": tools or TOOLS[:2],
        "options": {
            "calls": random.choice(["auto", "auto", "required", "none"]),
            "parallel": random.random() < 0.7,
            "reasoning": random.choice(["auto", "open", "none"]),
        },
    }


def wire(random: Random, writer: Writer) -> Case:
    """The bytes of a service's answer, cut."""
    api = random.choice(["completions", "messages"])
    events: list[tuple[str | None, Any]] = []
    if api == "messages":
        events.append(
            (
                "message_start",
                {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 3}}},
            )
        )
        for index in range(random.randint(0, 3)):
            kind = random.choice(["text", "thinking", "tool_use"])
            block = (
                {"type": kind, "id": "t1", "name": "add"}
                if kind == "tool_use"
                else {"type": kind, kind: ""}
            )
            delta = {
                "text": "text_delta",
                "thinking": "thinking_delta",
                "tool_use": "input_json_delta",
            }[kind]
            field = "partial_json" if kind == "tool_use" else kind
            events.append(
                (
                    "content_block_start",
                    {"type": "content_block_start", "index": index, "content_block": block},
                )
            )
            events += [
                ("content_block_delta", {
                    "type": "content_block_delta", "index": index, "delta": {"type": delta, field: writer.words()},
                })
                for _ in range(random.randint(0, 3))
            ]  # fmt: skip
            events.append(("content_block_stop", {"type": "content_block_stop", "index": index}))
        reason = random.choice(["end_turn", "tool_use", "max_tokens"])
        events.append(("message_delta", {
            "type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5},
        }))  # fmt: skip
        events.append(("message_stop", {"type": "message_stop"}))
    else:
        for _ in range(random.randint(0, 5)):
            call = {"index": random.randint(0, 1), "id": random.choice(["c", None]), "function": {
                "name": random.choice(["add", None]), "arguments": writer.words(),
            }}  # fmt: skip
            delta = random.choice([
                {"content": writer.words()}, {"reasoning_content": writer.words()}, {"tool_calls": [call]}, {},
            ])  # fmt: skip
            events.append((None, {"choices": [{"index": 0, "delta": delta}]}))
        events.append(
            (
                None,
                {
                    "choices": [
                        {
                            "delta": {},
                            "finish_reason": random.choice(["stop", "length", "tool_calls"]),
                        }
                    ]
                },
            )
        )
        events.append(
            (None, {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}})
        )
    end = random.choice(["\n", "\r\n"])
    lines = []
    for name, body in events:
        if name:
            lines.append(f"event: {name}{end}")
        lines.append(f"data: {json.dumps(body)}{end}{end}")
    if api == "completions":
        lines.append(f"data: [DONE]{end}{end}")
    data = "".join(lines).encode("utf-8", "surrogatepass")
    if random.random() < 0.4:
        at = random.randint(0, len(data))
        to = at + random.choice([0, 1, 5, 50])
        data = (
            data[:at]
            + random.choice([b"", b"{", b"\xff", b"\n\n", b'"', b": ", b"data"])
            + data[to:]
        )
    if random.random() < 0.1:
        data = data[: random.randint(0, len(data))]
    cuts = sorted(random.choices(range(len(data) + 1), k=random.randint(0, 5)))
    return {
        "api": api,
        "bytes": base64.b64encode(data).decode(),
        "cuts": cuts,
        "extras": random.random() < 0.3,
    }


def template(random: Random, writer: Writer) -> Case:
    """A chat template, from whose marks a dialect is told."""
    marks = "".join(
        f"{{{{ '{each}' }}}}" for each in [writer.words() for _ in range(3)] if "'" not in each
    )
    calls = f"{{% for c in m.tool_calls %}}{writer.heap()}{{{{ c | tojson }}}}{{% endfor %}}"
    return {
        "source": "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}"
        f"{marks}{{{{ m.content }}}}{calls}{{% endfor %}}"
    }


def world(random: Random, writer: Writer) -> Case:
    """A world: runs, people, clocks, a database and death."""
    return {
        "number": random.randrange(1, 1_000_000),
        "storage": random.choice(["memory", "sqlite"]),
    }


KINDS: dict[str, Callable[[Random, Writer], Case]] = {
    "text": text,
    "chat": chat,
    "turn": turn,
    "run": run,
    "log": log,
    "prompt": prompt,
    "write": write,
    "grammar": grammar,
    "wire": wire,
    "template": template,
    "world": world,
}

SHARES = {
    "text": 8,
    "chat": 3,
    "prompt": 3,
    "write": 2,
    "template": 0.2,
    "grammar": 0.5,
    "world": 0.5,
}
"""How many cases of a kind there are, for one of the others."""


def drawn(kind: str, seed: int, number: int) -> Case:
    """Case `number` of a kind."""
    random = Random(f"{seed} {kind} {number}")
    writer = Writer(random, random.choice(presets()))
    return {"kind": kind, "dialect": writer.dialect, **KINDS[kind](random, writer)}


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        with path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)


def recorded(folder: Path, seed: int) -> Iterator[Case]:
    """The recordings as cases; none where there is no such folder."""
    random = Random(f"{seed} recorded")
    known = set(presets())

    def both(written: str, dialect: str, **more: Any) -> Iterator[Case]:
        writer = Writer(random, dialect)
        case = {
            "dialect": dialect,
            "text": written,
            "cuts": writer.cuts(written),
            "reason": "stop",
            "tools": True,
            **more,
        }
        yield {
            "kind": "text",
            **case,
            "options": {"errors": "event", "stream": random.choice(["event", "token"])},
        }
        yield {"kind": "chat", **case, "options": {}}

    for line in _lines(folder / "dialects.jsonl"):
        dialect = line["dialect"].replace("_", "-")
        if dialect in known:
            more = {"declared": line["tools"]} if line.get("tools") else {}
            yield from both(line["text"], dialect, **more)
    for name in ("agent_turns.jsonl", "wild_turns.jsonl"):
        for line in _lines(folder / name):
            yield from both(line["text"], "cogency")
    for line in _lines(folder / "streams.jsonl"):
        ends = [0]
        for token in line["tokens"]:
            ends.append(ends[-1] + len(token))
        for case in both("".join(line["tokens"]), "cogency"):
            yield {**case, "cuts": sorted(set(ends[1:-1]))}
    for line in _lines(folder / "conversations.jsonl"):
        rows = [[event["type"], event["content"]] for event in line["events"]]
        timed = [
            [*row, event["timestamp"]] for row, event in zip(rows, line["events"], strict=True)
        ]
        dialect = random.choice(sorted(known))
        nothing = {
            "history": {},
            "rules": "own",
            "escape_tags": False,
            "identity": None,
            "instructions": None,
        }
        form = random.choice(["text", "native"])
        yield {
            "kind": "prompt",
            "dialect": dialect,
            "rows": rows,
            "form": form,
            "storage": "memory",
            **nothing,
        }
        half = len(timed) // 2
        more = {"saves": [half], "storage": "sqlite", "newest": 10, "fork": half}
        yield {"kind": "log", "dialect": dialect, "rows": timed, **more}
    for number, line in enumerate(_lines(folder / "bfcl_calls.jsonl")):
        if number % 5 == 0:
            dialect = random.choice(sorted(known))
            yield {"kind": "grammar", "dialect": dialect, "declared": line["tools"], "options": {}}
    for path in sorted((folder / "chat_templates").glob("*.jinja")):
        yield {"kind": "template", "dialect": "cogency", "source": path.read_text(encoding="utf-8")}
