"""The next prompt: what the model is shown of a log."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

from cogency_rs import ToolResult

from ..oracle import Raised, cogency, outcome
from ..pieces import Piece, generous
from .accumulator_events import parse_call
from .accumulator_results import promised_array
from .registry import PROMPT, Example, difference


@difference(
    PROMPT,
    Example(
        """messages(call_row('{"name": "t", "args": {"x": ' + "7" * 5000 + "}}") + result_row("[]"))""",
        theirs=("ValueError",),
        ours=[
            ("assistant", '<execute>\n[\n  {\n    "name": "t",\n    "args": {\n      "x": 77…'),
            ("user", "<results>\n[]\n</results>"),
        ],
    ),
    theirs="A call in the log with an integer of more than 4300 digits raises Python's `ValueError`, at every prompt.",
    ours="It is shown to the model unchanged.",
    why="A log that was written can be read.",
)
def integer_in_the_log(row: Any) -> bool:
    return _is_stored_call(row) and _raised_by_reading(row) == "ValueError"


@difference(
    PROMPT,
    Example(
        """messages(call_row('{"name": "t", "args": {"x": ' + "[" * 1200 + "]" * 1200 + "}}") + result_row("[]"))""",
        theirs=("RecursionError",),
        ours=[
            ("assistant", '<execute>\n[\n  {\n    "name": "t",\n    "args": {\n      "x": [\n…'),
            ("user", "<results>\n[]\n</results>"),
        ],
    ),
    theirs="A call in the log whose brackets are nested too deeply for Python's recursion limit raises "
    "`RecursionError`, at every prompt.",
    ours="It is shown to the model like any other; what is nested deeper than 200 brackets is on one line.",
    why="A log that was written can be read.",
)
def nesting_in_the_log(row: Any) -> bool:
    return _is_stored_call(row) and Piece("execute", row["content"]).depth > 900


def _is_stored_call(row: Any) -> bool:
    """Whether a row is a call that is JSON."""
    if not isinstance(row, Mapping) or row.get("type") != "call":
        return False
    with generous():
        return not isinstance(outcome(json.loads, row.get("content")), Raised)


def _raised_by_reading(row: Mapping[str, Any]) -> str | None:
    read = outcome(json.loads, row["content"])
    return read.kind if isinstance(read, Raised) else None


ROWS = (integer_in_the_log, nesting_in_the_log)


@difference(
    PROMPT,
    Example(
        """history(user_row('a') + call_row('{"name": "t", "args": {"x') + respond('b'))""",
        theirs=("JSONDecodeError", "Unterminated string starting at: line 1 column 24 (char 23)"),
        ours=[("user", "a"), ("assistant", '{"name": "t", "args": {"x\nb')],
    ),
    theirs="A call in the log that is not JSON raises `JSONDecodeError`, at every prompt.",
    ours="Our own `assemble` shows it as text that the model wrote. Under `install()` it does what cogency's does.",
    why="A conversation of which a row was damaged can go on.",
)
def part_of_a_call(rows: Sequence[Any]) -> bool:
    return any(_is_part_of_a_call(row) for row in rows)


def _is_part_of_a_call(row: Any) -> bool:
    is_call = isinstance(row, Mapping) and row.get("type") == "call"
    return is_call and isinstance(row.get("content"), str) and not _is_stored_call(row)


def log_with_parts_as_text(rows: Sequence[Any]) -> list[Any]:
    """The log with what is left of a call as the model's text."""
    return [{**row, "type": "respond"} if _is_part_of_a_call(row) else row for row in rows]


@difference(
    PROMPT,
    Example(
        'history(user_row(\'a\') + call_row(\'{"name": "t", "args": {}}\'))',
        theirs=[("user", "a")],
        ours=[
            ("user", "a"),
            (
                "assistant",
                '<execute>\n[\n  {\n    "name": "t",\n    "args": {}\n  }\n]\n</execute>',
            ),
            (
                "user",
                '<results>\n[{"tool": "t", "status": "failure", "content": "Interrupted before completion"}]\n'
                "</results>",
            ),
        ],
    ),
    theirs="Calls that have no result in the log are left out.",
    ours="`assemble` shows them, each with the failure `Interrupted before completion`, before the results "
    "of a later batch if there are any. Under `install()` it does so too. `to_messages` leaves them out.",
    why="They may have been carried out in part before their program died; the model must know.",
)
def calls_without_results(rows: Sequence[Any]) -> bool:
    return promised_log(rows) != list(rows)


def interrupted(names: Sequence[str]) -> str:
    """The results of calls that were never finished."""
    failures = [ToolResult("Interrupted before completion", error=True)] * len(names)
    return promised_array(names, failures)


def promised_log(rows: Sequence[Any]) -> list[Any]:
    """The log with the failures that `assemble` shows in place of missing results."""
    promised: list[Any] = []
    names: list[str] = []
    for row in [*rows, None]:
        kind = row["type"] if isinstance(row, dict) else None
        if kind == "user" or row is None:
            array = interrupted(names)
            promised += [{"type": "result", "content": array}] if names else []
        if kind == "result":
            results = outcome(json.loads, row.get("content"))
            if isinstance(results, list) and len(results) < len(names):
                failures = interrupted(names[: len(names) - len(results)])
                items = row["content"].split("[", 1)[1]
                row = {**row, "content": f"{failures[:-1]}, {items}" if results else failures}
        names = [] if kind in {"user", "result"} else names
        if kind == "call":
            read = outcome(json.loads, row["content"])
            if isinstance(read, dict) and not isinstance(
                outcome(parse_call, row["content"]), Raised
            ):
                names.append(read["name"])
        promised.append(row)
    return promised[:-1]


_ITS_OWN = "Our own `assemble` "
_ELSEWHERE = " Under `install()` it does what cogency's does."


@difference(
    PROMPT,
    Example(
        "history(user_row('a') + result_row('[1]'))",
        theirs=[("user", "a"), ("user", "<results>\n[1]\n</results>")],
        ours=[("user", "a")],
    ),
    theirs="Results in the log without a call before them are shown.",
    ours=f"{_ITS_OWN}leaves them out.{_ELSEWHERE}",
    why="A model that is shown results of calls that it never made takes them for the user's words.",
)
def results_without_calls(rows: Sequence[Any]) -> bool:
    return log_without_strays(rows) != list(rows)


def log_without_strays(rows: Sequence[Any]) -> list[Any]:
    """The log without the results that no call precedes."""
    kept: list[Any] = []
    calls = False
    for row in rows:
        if row["type"] != "result" or calls:
            kept.append(row)
        calls = row["type"] not in {"user", "result"} and (calls or _is_shown_call(row))
    return kept


def _is_shown_call(row: Any) -> bool:
    if not _is_stored_call(row):
        return False
    return not isinstance(outcome(parse_call, row["content"]), Raised)


@difference(
    PROMPT,
    Example(
        "history(user_row('a') + respond('b') + error_row('malformed', 'Write it again.', '<execute>[</execute>'))",
        theirs=[("user", "a"), ("assistant", "b")],
        ours=[
            ("user", "a"),
            ("assistant", "b\n<execute>[</execute>"),
            ("user", "Write it again."),
        ],
    ),
    theirs="Rows of type `error` are not shown.",
    ours="Our own `assemble` shows the report of a malformed, truncated or unfinished block as a user message, after "
    f"the text that it is about, until a call, results or a question follows.{_ELSEWHERE}",
    why="A model that sees what it wrote and what was wrong with it writes it better.",
)
def report_of_a_block(rows: Sequence[Any]) -> bool:
    return any(map(_report, rows[_first_open(rows) :]))


def _first_open(rows: Sequence[Any]) -> int:
    """The index after the last question, call or stray results."""
    first, calls = 0, False
    for index, row in enumerate(rows, 1):
        is_call = _is_shown_call(row)
        if row["type"] == "user" or is_call or (row["type"] == "result" and not calls):
            first = index
        calls = is_call or (calls and row["type"] not in {"user", "result"})
    return first


def log_with_reports(rows: Sequence[Any]) -> list[Any]:
    """The log with each open report as rows of the model and the user. Calls before a report have their results."""
    first = _first_open(rows)
    shown, open_rows = _log_that_goes_on(rows[:first]), list(rows[first:])
    # These results belong to calls before the open rows; reports of the same answer are moved after them.
    result_ends = [index for index, row in enumerate(open_rows, 1) if row["type"] == "result"]
    for end in result_ends:
        reports = [row for row in open_rows[:end] if _report(row)]
        others = [row for row in open_rows[:end] if not _report(row)]
        open_rows = others + reports + open_rows[end:]
    for row in open_rows:
        report = _report(row)
        if report is None:
            shown.append(row)
            continue
        shown = promised_log(shown)
        shown += [{"type": "respond", "content": report["raw"]}] if report["raw"] else []
        shown.append({"type": "user", "content": report["content"]})
    return shown


@difference(
    PROMPT,
    Example(
        "history(respond('It is f') + error_row('truncated', '', '') + respond('ive.') + user_row('So?'))",
        theirs=[("assistant", "It is f\nive."), ("user", "So?")],
        ours=[("assistant", "It is five."), ("user", "So?")],
    ),
    theirs="Two texts of an answer have a line break between them.",
    ours="Our own `assemble` joins a text that was cut and the one that continues it, once the cut "
    f"no longer has to be reported.{_ELSEWHERE}",
    why="The model continues in the middle of a word, and reads later what it wrote.",
)
def words_that_go_on(rows: Sequence[Any]) -> bool:
    first = _first_open(rows)
    return len(_log_that_goes_on(rows[:first])) < first


def _log_that_goes_on(rows: Sequence[Any]) -> list[Any]:
    """The log with words that were cut and those that went on with them as one row, in the place of the second."""
    shown: list[Any] = list(rows)
    last: int | None = None  # where the last words of the turn are, if no thought came after them
    cut: int | None = None  # where the words are that were cut
    pairs: list[tuple[int, int]] = []  # words that were cut, and those that went on
    calls = False
    for index, row in enumerate(rows):
        report, kind = _report(row), row["type"]
        is_call, is_end = _is_shown_call(row), kind in {"user", "result"}
        if is_call or (is_end and not calls):  # no report is open now
            for before, after in pairs:
                text = shown[before]["content"] + shown[after]["content"]
                shown[after], shown[before] = {**shown[after], "content": text}, None
        if is_call or is_end:
            pairs, cut = [], None
        if kind == "user" or (is_end and calls):
            last = None
        calls = is_call or (calls and not is_end)
        if report is not None:
            is_of_answer = report["kind"] == "truncated" and not report["raw"]
            cut = last if is_of_answer and last is not None else cut
        elif kind == "respond":
            pairs += [] if cut is None else [(cut, index)]
            last, cut = index, None
        elif kind == "think":
            last = None
    return [row for row in shown if row is not None]


def _report(row: Any) -> dict[str, str] | None:
    read = outcome(json.loads, row["content"]) if row["type"] == "error" else None
    match read:
        case {
            "kind": "malformed" | "truncated" | "unfinished" as kind,
            "content": str(content),
            "raw": str(raw),
        }:
            return {"kind": kind, "content": content, "raw": raw}
    return None


@difference(
    PROMPT,
    Example(
        "end_of_history(call_row('{\"name\": \"t\"}') + result_row(dumps([{'content': 'x' * 100_007}])))",
        theirs='xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}]\n</results>',
        ours='[… 7 of 100,007 characters are not shown]"}]\n</results>',
    ),
    theirs="Every result is shown in full.",
    ours="Our own `assemble` shows at most `max_result_chars` characters of each result, as `History` sets it "
    f"(100,000 by default), and says how many more there are.{_ELSEWHERE}",
    why="One result must not be larger than the model's context.",
)
def results_beyond_the_bound(row: Any, most: int | None) -> bool:
    return (
        most is not None
        and row["type"] == "result"
        and any(len(each) > most for each in _texts_of_results(row["content"]))
    )


def _texts_of_results(content: str) -> list[str]:
    """The content of each result: the bound limits its length. A row that is not an array of results is one text."""
    try:
        items = json.loads(content)
    except ValueError:
        return [content]
    if not (isinstance(items, list) and all(isinstance(item, dict) for item in items)):
        return [content]
    contents = [item.get("content", "") for item in items]
    return [each if isinstance(each, str) else json.dumps(each) for each in contents]


@difference(
    PROMPT,
    Example(
        "history(user_row('a') + user_row('b'))",
        theirs=[("user", "a"), ("user", "b")],
        ours=[("user", "a\n\nb")],
    ),
    theirs="Messages of one role may follow each other.",
    ours="Our own `assemble` makes one message of them, with a blank line between them, unless "
    f"`History(merge_roles=False)` is given.{_ELSEWHERE}",
    why="Strict chat templates refuse two messages of one role in a row, which a cancelled turn leaves.",
)
def neighbours_of_one_role(messages: Sequence[Mapping[str, Any]]) -> bool:
    return any(one["role"] == next_one["role"] for one, next_one in pairwise(messages))


def turns(rows: Sequence[Any]) -> list[int]:
    """For each turn, the index of its first message, before our messages are merged."""
    ends = [index for index, row in enumerate(rows, 1) if row["type"] == "user"]
    return [len(messages_of(rows[:end])) - 1 for end in ends]


def messages_of(rows: Sequence[Any]) -> list[dict[str, Any]]:
    """The messages that cogency makes of the log that makes it do what we promise."""
    promised = promised_log(log_without_strays(log_with_reports(log_with_parts_as_text(rows))))
    messages: list[dict[str, Any]] = cogency("context.conversation").to_messages(promised)
    return messages


@difference(
    PROMPT,
    Example(
        "history(user_row('a') + respond('b') + user_row('c') + respond('d'), window=3)",
        theirs=[("assistant", "b"), ("user", "c"), ("assistant", "d")],
        ours=[("user", "c"), ("assistant", "d")],
    ),
    Example(
        "history(user_row('a') + call_row('{\"name\": \"t\"}') + result_row('[1]'), window=1)",
        theirs=[("user", "<results>\n[1]\n</results>")],
        ours=[
            ("user", "a"),
            (
                "assistant",
                '<execute>\n[\n  {\n    "name": "t",\n    "args": {}\n  }\n]\n</execute>',
            ),
            ("user", "<results>\n[1]\n</results>"),
        ],
    ),
    theirs="`history_window` cuts anywhere: between a call and its results, or before the answer to a question.",
    ours="Our own `assemble` cuts before a question, so that only whole turns are left, and never leaves out the last "
    f"question and the rows after it. A window below 1 is a `ConfigError`.{_ELSEWHERE}",
    why="Results without their calls mislead the model, and without its question there is nothing to answer.",
)
def window_in_a_turn(starts: Collection[int], messages: int, window: int | None) -> bool:
    return window is not None and messages > window and messages - window not in starts


@difference(
    PROMPT,
    Example(
        "prompt_of_swapped_ids()",
        theirs=["system"],
        ours=(
            "ConfigError",
            "user_id 'talk' and conversation_id 'ada' are swapped: the log has nothing for them, but it has a "
            "conversation 'talk'. Write assemble(user_id, conversation_id, ...)",
        ),
    ),
    theirs="`assemble` with `user_id` and `conversation_id` swapped gives the prompt of an empty conversation.",
    ours="If the log has nothing for the ids, but has rows for the swapped ids, our own `assemble` raises "
    f"`ConfigError`.{_ELSEWHERE}",
    why="The storage takes the two in the other order, and a model without its conversation fails silently.",
)
def swapped_ids(stored: Collection[tuple[str, str]], user_id: str, conversation_id: str) -> bool:
    """`stored` has the pairs of ids, user first, that have rows."""
    return (user_id, conversation_id) not in stored and (conversation_id, user_id) in stored


@difference(
    PROMPT,
    Example(
        "system_prompt_is_cogencys()",
        theirs=True,
        ours=False,
    ),
    theirs="The system prompt is cogency's.",
    ours="`assemble` and `system_prompt` teach the same protocol in their own words. Under `install()` cogency's own "
    "prompt stays in use.",
    why="That prompt is another program's text.",
)
def words_of_the_system_prompt(message: Mapping[str, Any]) -> bool:
    return message["role"] == "system"


@difference(
    PROMPT,
    Example(
        "listed({'type': 'object', 'properties': {'x': {}, 'y': {}}, 'required': ['x']})",
        theirs=("AttributeError", "'str' object has no attribute 'get'"),
        ours="TOOLS:\nt(x, y?) - does something",
    ),
    theirs="A tool whose schema is JSON Schema cannot be listed in a prompt.",
    ours="It is listed like any other.",
    why="Most tools are described in JSON Schema.",
)
def tool_with_a_json_schema(tool: Any) -> bool:
    match getattr(tool, "schema", None):
        case {"type": "object", "properties": Mapping()}:
            return True
    return False


@difference(
    PROMPT,
    Example(
        "beginning_of_history(user_row('old') + (user_row('a') + respond('b')) * 5_000)",
        theirs=(
            "StorageError",
            "Conversation exceeds 10000 events. Enable history_window to limit context size.",
        ),
        ours=("user", "a"),
    ),
    theirs="Without `history_window`, a conversation of more than 10,000 events is refused with `StorageError`.",
    ours="Our own `assemble` shows the whole turns among its newest 10,000 events, and always the last turn. Under "
    "`install()` it is refused with the same exception, whose message names the conversation.",
    why="A conversation does not end because it was long.",
)
def conversation_that_is_too_long(events: Any, window: int | None) -> bool:
    return window is None and isinstance(events, list) and len(events) > 10_000


@difference(
    PROMPT,
    Example(
        "prompt(user_row('a'), profile=OSError('disk'))",
        theirs=(
            "RuntimeError",
            "Profile format failed for user: Profile fetch failed for user: disk",
        ),
        ours=("RuntimeError", "The profile of user could not be loaded: disk"),
    ),
    theirs="`assemble` raises `RuntimeError` for a profile that cannot be loaded.",
    ours="It raises the same exception with another message.",
    why="The message gives the cause once.",
)
def words_of_a_failed_profile(profile: Any) -> bool:
    return isinstance(profile, Exception)
