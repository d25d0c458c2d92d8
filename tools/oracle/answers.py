"""How a version of the package answers a case: a value of JSON, in which nothing depends on the clock or on chance.

Ids that the package draws are numbered in the order in which they appear, and times are left out. Everything else is
part of the answer, and so are exceptions.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path
from typing import Any

from tools.oracle.names import MissingName, find
from tools.oracle.texts import TOOLS

__all__ = ["ANSWERS", "answer"]

Case = dict[str, Any]

TESTS = str(Path(__file__).resolve().parents[2] / "tests")

_TIMES = frozenset({"timestamp", "written_at", "started_at", "completed_at", "duration"})
_DRAWN = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|\bcall_[0-9a-zA-Z]{16,}\b|"
    + re.escape(tempfile.gettempdir())
    + r"/\w+"
)
"""What is drawn: ids, and the folders of this case."""


def _plain(value: Any, ids: dict[str, str]) -> Any:
    """A value without times, its ids numbered."""

    def numbered(found: re.Match[str]) -> str:
        return ids.setdefault(found[0], f"<id {len(ids) + 1}>")

    match value:
        case dict():
            return {
                _plain(str(key), ids): _plain(each, ids)
                for key, each in value.items()
                if key not in _TIMES
            }
        case str():
            return _DRAWN.sub(numbered, value)
        case list() | tuple():
            return [_plain(each, ids) for each in value]
        case None | bool() | int() | float():
            return value
        case _ if hasattr(value, "_asdict"):
            return _plain(value._asdict(), ids)
        case _ if hasattr(value, "__dict__") or hasattr(value, "__slots__"):
            named = type(value).__name__
            fields = getattr(value, "__dataclass_fields__", ())
            return {
                named: {field: _plain(getattr(value, field), ids) for field in fields}
                or repr(type(value))
            }
        case _:
            return repr(value)


def answer(case: Case) -> Any:
    """What this version says to a case."""
    ids: dict[str, str] = {}
    try:
        found = ANSWERS[case["kind"]](case)
        return _plain(found, ids)
    except MissingName as error:
        return {"missing": str(error)}
    except Exception as error:
        return {"raised": type(error).__name__, "words": _plain(str(error), ids)}


def _attempt(work: Callable[[], Any]) -> Any:
    """The result of a part of a case, or what it raised."""
    try:
        return work()
    except MissingName:
        raise
    except Exception as error:
        return {"raised": type(error).__name__, "words": str(error)}


def _pieces(written: Any, cuts: Iterable[int]) -> list[Any]:
    ends = [0, *cuts, len(written)]
    return [written[begin:end] for begin, end in pairwise(ends)]


def _declared(case: Case) -> Any:
    return (case.get("declared") or TOOLS) if case.get("tools") else None


def text(case: Case) -> Any:
    limits = {"limits": find("Limits")(**case["limits"])} if case.get("limits") else {}
    parser = find("Parser")(
        dialect=case["dialect"], tools=_declared(case), **case["options"], **limits
    )
    fed = [parser.feed(piece) for piece in _pieces(case["text"], case["cuts"])]
    return {
        "fed": fed,
        "end": parser.finish(case["reason"]),
        "replaced": parser.replaced_characters,
    }


def chat(case: Case) -> Any:
    reader = find("ChatReader")(case["dialect"], _declared(case), **case["options"])
    fed = [reader.feed(piece) for piece in _pieces(case["text"], case["cuts"])]
    return {
        "fed": fed,
        "end": reader.finish(case["reason"]),
        "whole": reader.read(case["text"], case["reason"]),
    }


def _tools() -> list[Any]:
    tool = find("tool")

    @tool(name="add", description="Add two numbers.")
    async def add(a: int, b: float = 0) -> str:
        return str(a + b)

    @tool(name="note", description="Keep a text.")
    async def note(text: str, loud: bool = False) -> str:
        return text.upper() if loud else text

    @tool(name="plan", description="Keep a plan.")
    async def plan(
        steps: list[str] | None = None, place: dict[str, str] | None = None, either: Any = None
    ) -> Any:
        return {"steps": steps, "place": place, "either": either}

    @tool(name="break_down", description="Fail.")
    async def break_down() -> str:
        raise RuntimeError("it broke")

    return [add, note, plan, break_down]


class _Storage:
    """A log for one case."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    async def __aenter__(self) -> Any:
        self._folder: Any = None
        if self._kind == "memory":
            return find("Memory")()
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._log = find("SQLite")(Path(self._folder.name) / "log.db", synchronous="OFF")
        return self._log

    async def __aexit__(self, *_: object) -> None:
        if self._folder is not None:
            await self._log.close()
            self._folder.cleanup()


USER, CONVERSATION = "ada", "talk"


async def _kept(log: Any) -> Any:
    """What a log has: the rows, and what is lasting in the records of calls."""
    page = await log.read(CONVERSATION, user_id=USER)
    records = await log.calls(CONVERSATION, user_id=USER)
    left_out = {"worker", "batch", "provider_id", "digest", "started_at", "completed_at"}
    return {
        "rows": page.rows,
        "records": [
            {key: value for key, value in record._asdict().items() if key not in left_out}
            for record in records
        ],
    }


async def _streamed(written: dict[str, Any]) -> AsyncIterator[Any]:
    for piece in _pieces(written["text"], written["cuts"]):
        yield piece
    yield find("Finish")(written["reason"])


def turn(case: Case) -> Any:
    return asyncio.run(_turn(case))


async def _turn(case: Case) -> Any:
    parse_tokens, tools = find("parse_tokens"), _tools()
    async with _Storage(case["storage"]) as log:
        execution = find("Execution")(storage=log, tools=tools)
        turns = find("Accumulator")(USER, CONVERSATION, execution=execution, stream=case["stream"])
        await log.append(CONVERSATION, user_id=USER, rows=[("user", "What now?", 1_000.0)])
        steps = []
        for written in case["answers"]:
            source = parse_tokens(
                _streamed(written), dialect=case["dialect"], tools=tools, stream=case["stream"],
                calls=case["calls"], errors=case["errors"],
            )  # fmt: skip
            emitted: list[Any] = []
            raised = None
            turn = turns.process(source)
            result = getattr(
                turn, "result", turns
            )  # in an older wheel an accumulator says what came of its last turn
            try:
                async with aclosing(turn) as events:
                    async for event in events:
                        emitted.append(event)  # noqa: PERF401  # what came before an exception counts
            except Exception as error:
                raised = [type(error).__name__, str(error)]
            steps.append({
                "events": emitted, "raised": raised, "outcome": str(result.outcome),
                "executions": [
                    {"call": [each.call.name, each.call.args], "result": [each.result.outcome, each.result.content]}
                    for each in result.executions
                ],
            })  # fmt: skip
        messages = await find("assemble")(
            USER, CONVERSATION, tools=tools, storage=log, dialect=case["dialect"]
        )
        return {"steps": steps, **await _kept(log), "prompt": messages[1:]}


def run(case: Case) -> Any:
    return asyncio.run(_run(case))


def _delta(piece: dict[str, Any]) -> Any:
    if "reasoning" in piece:
        return find("ReasoningDelta")(piece["reasoning"], piece["signature"])
    return piece["text"] if "text" in piece else find("ToolCallDelta")(**piece)


async def _run(case: Case) -> Any:
    finish = find("Finish")
    script = [
        [*map(_delta, each["pieces"]), finish(each["reason"])]
        if "pieces" in each
        else [*_pieces(each["text"], each["cuts"]), finish(each["reason"])]
        for each in case["answers"]
    ]
    model = find("ScriptedModel")([*script, *([["It is done.", finish("stop")]] * 8)])
    async with _Storage(case["storage"]) as log:
        how = {"driver": "native"} if case["driver"] == "native" else {"dialect": case["dialect"]}
        agent = find("Agent")(
            model, tools=_tools(), storage=log, limits=find("RunLimits")(steps=6), **how
        )
        emitted: list[Any] = []
        raised = None
        try:
            async with aclosing(
                aiter(agent.run(case["question"], conversation_id=CONVERSATION, user_id=USER))
            ) as events:
                async for event in events:
                    emitted.append(event)  # noqa: PERF401  # what came before an exception counts
        except Exception as error:
            raised = [type(error).__name__, str(error)]
        return {
            "events": emitted,
            "raised": raised,
            "asked": [request.messages[1:] for request in model.requests],
            **await _kept(log),
        }


def log(case: Case) -> Any:
    return asyncio.run(_log(case))


async def _log(case: Case) -> Any:
    async with _Storage(case["storage"]) as log:
        said: dict[str, Any] = {}
        cursors: list[str] = []
        for part in _pieces([tuple(row) for row in case["rows"]], case["saves"]):
            await log.append(CONVERSATION, user_id=USER, rows=part)
            cursors.append((await log.read(CONVERSATION, user_id=USER)).cursor)

        async def page(of: Any) -> Any:
            try:
                found = await of
            except Exception as error:
                return {"raised": type(error).__name__, "words": str(error)}
            return [found.rows, found.is_whole]

        said["all"] = await page(log.read(CONVERSATION, user_id=USER))
        said["after"] = [
            await page(log.read(CONVERSATION, user_id=USER, after=each)) for each in cursors
        ]
        said["newest"] = await page(log.newest(CONVERSATION, user_id=USER, limit=case["newest"]))
        said["another's"] = await page(log.read(CONVERSATION, user_id="eve"))
        said["owner"] = await log.owner(CONVERSATION)
        said["all of them"] = [
            [each.conversation_id, each.user_id, each.rows, each.question]
            for each in await log.conversations(USER)
        ]
        try:
            await log.fork(CONVERSATION, "fork", user_id=USER, rows=case["fork"])
        except Exception as error:
            said["fork"] = {"raised": type(error).__name__, "words": str(error)}
        else:
            said["fork"] = await page(log.read("fork", user_id=USER))
        said["deleted"] = await log.delete_conversation(CONVERSATION, USER)
        said["left"] = await page(log.read(CONVERSATION, user_id=USER))
        return said


def prompt(case: Case) -> Any:
    return asyncio.run(_prompt(case))


async def _prompt(case: Case) -> Any:
    tools = _tools()
    async with _Storage(case["storage"]) as log:
        moments = [
            (kind, content, 1_000.0 + place) for place, (kind, content) in enumerate(case["rows"])
        ]
        await log.append(CONVERSATION, user_id=USER, rows=moments)
        try:
            messages: Any = await find("assemble")(
                USER, CONVERSATION, tools=tools, storage=log, history=find("History")(**case["history"]),
                identity=case["identity"], instructions=case["instructions"],
                escape_tags=case["escape_tags"], dialect=case["dialect"],
            )  # fmt: skip
        except Exception as error:
            messages = {"raised": type(error).__name__, "words": str(error)}

    def folded() -> Any:
        rules = case["rules"] if case["form"] == "text" else "own"
        folding = find("Folding")(
            find("FoldOptions")(form=case["form"], rules=rules, dialect=case["dialect"])
        )
        folding.extend([{"type": kind, "content": content} for kind, content in case["rows"]])
        return [folding.messages(), folding.questions()]

    return {"messages": messages, "folded": _attempt(folded)}


def write(case: Case) -> Any:
    dialect, make, result = find("Dialect")(case["dialect"]), find("ToolCall"), find("ToolResult")
    calls = [make(name=call["name"], args=call["args"]) for call in case["calls"]]
    results = [
        result(
            "ok",
            each["content"] if isinstance(each["content"], str) else json.dumps(each["content"]),
        )
        if each["status"] == "success"
        else result("failed", each["content"], True)
        for each in case["results"]
    ]
    tools = TOOLS if case["tools"] else None
    more = {"calls": calls} if len(calls) == len(results) else {}
    return {
        "calls": _attempt(lambda: dialect.write_calls(calls, tools=tools)),
        "turn": _attempt(lambda: dialect.write_turn(
            case["content"], reasoning=case["reasoning"], calls=calls or None, tools=tools, first=case["first"],
        )),
        "results": _attempt(lambda: dialect.write_results(results, first=case["first"], **more)),
        "inert": [
            [written := dialect.inert(each), dialect.exact(each), dialect.exact(written)]
            for each in case["texts"]
        ],
        "declared": _attempt(lambda: dialect.declare(TOOLS)),
    }  # fmt: skip


def grammar(case: Case) -> Any:
    made = find("Dialect")(case["dialect"]).grammar(case["declared"], **case["options"])
    return {"text": made.text, "widened": made.widened}


def wire(case: Case) -> Any:
    data = base64.b64decode(case["bytes"])
    reader = find("AnswerReader")(case["api"], extras=case["extras"])
    fed = [reader.feed(piece) for piece in _pieces(data, case["cuts"])]
    return {"fed": [[*map(_shown, each)] for each in fed], "end": [*map(_shown, reader.finish())]}


def _shown(delta: Any) -> Any:
    if type(delta).__name__ == "Finish":
        return ["finish", delta.reason, delta.details]
    return delta


def template(case: Case) -> Any:
    found = find("Dialect").detect(case["source"])
    return found and {
        "dialect": found.dialect.name,
        "evidence": found.evidence,
        "doubts": found.doubts,
    }


def world(case: Case) -> Any:
    """What the judge says of a world, and all that happens in it where nobody dies.

    The moment of a death is a number of steps, which another version spends otherwise.
    """
    if find("hand_in") and TESTS not in sys.path:
        sys.path.append(TESTS)
    from world import check, doors, plan, world as worlds

    with doors.opened():
        drawn = plan.draw(case["number"], case["storage"])
        faults = check.check(drawn)[1]
        ledger = worlds.carry_out(drawn.undisturbed())
    return {
        "faults": sorted({fault.kind for fault in faults}),
        "effects": ledger.effects,
        "decided": ledger.decided,
        "questions": {
            mark: [each.status, each.text, repr(each.error)]
            for mark, each in ledger.questions.items()
        },
        "prompts": [[each.talk, list(each.messages)] for each in ledger.prompts],
    }


ANSWERS: dict[str, Callable[[Case], Any]] = {
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
"""By the kind of case."""
