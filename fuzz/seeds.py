"""Inputs for the fuzz targets to start from, and a dictionary for each of them.

They are recorded model output, the tables of the parser's tests, and calls as every dialect writes them:

    python fuzz/seeds.py fuzz/corpus

The recordings are found as the tests find them (`COGENCY_RS_RECORDINGS`, or `../shared/data`); without them
the tables are all there is.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cogency_rs import Dialect, ToolCall

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(CHECKOUT / "tests" / "unit"), str(CHECKOUT / "tests")]

import test_parser  # noqa: E402
import test_parser_values  # noqa: E402

LONGEST = 4096
"""Bytes in an input; the targets run with the same bound."""

ROWS = {
    "user": "hi",
    "think": "hm",
    "respond": "ok",
    "result": "[{}]",
    "call": '{"name": "a"}',
    "error": "<x>",
}
"""A row of each type, in the order in which the target `messages` counts the types."""

BETWEEN_ROWS = b"\xff"

# The bytes before the text, as the targets read them: its form (as it is) and ending, limits, and sizes of chunks.
PARSER_HEADERS = [
    bytes([0, 0, 0, 0, 1, 7, 0]),
    bytes([4, 100, 3, 2, 3, 0, 11]),
    bytes([6, 40, 2, 1, 1, 1, 5]),
]
JSON_HEADER = bytes([0, 1, 0, 5])
# After the number of the dialect: form, ending and options, limits, and sizes of chunks.
DIALECT_HEADERS = [bytes([0, 0, 0, 0, 0, 1, 7, 0]), bytes([0, 129, 0, 0, 0, 3, 0, 11])]

# After a byte that says that a text follows.
TEMPLATES = [
    "{{ '{:99}'.format(1) }}",
    "{% set b = [n.l, n.l] %}{{ b ~ b }}{{ b == b }}{{ b in [b] }}",
    "{% for i in range(9) %}{% set n.l = [n.l, n.l] %}{% endfor %}{{ n.l | tojson(indent=2) }}",
    "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
    "{{ messages | map(attribute='role') | join(', ') | upper | replace('U', 'uu') }}",
    "{% for m in messages[1:] if m.role != 'x' %}{{ loop.index ~ m.get('content', '') }}{% endfor %}",
    "{% filter trim %}{% set t %}x{% endset %}{{ t.strip('x').split(',') | length }}{% endfilter %}",
]
JINJA = [
    *(
        "{{ ",
        " }}",
        "{% ",
        " %}",
        "{% for ",
        " in ",
        "{% endfor %}",
        "{% if ",
        "{% endif %}",
        "{% set ",
    ),
    *(
        "{% macro f(",
        "{% endmacro %}",
        "namespace(",
        "range(",
        " | ",
        "join(",
        "tojson",
        "replace(",
        "indent(",
    ),
    *(
        ".format(",
        ".split(",
        ".strip(",
        "messages",
        "tools",
        "n.l",
        "n.v",
        " ~ ",
        " * ",
        "[::-1]",
        "recursive",
    ),
]

PRESETS = Dialect.presets()

CASES = 20
"""Texts of other parsers' tests for each dialect."""

CALLS = [
    ToolCall(name="read", args={"file": "a.toml", "lines": [1, 2], "all": True}),
    ToolCall(name="tool", args={"text": "a < b\n", "n": 5, "x": None, "object": {"text": ""}}),
    ToolCall(name="list", args={}),
]


def lines(name: str) -> list[dict]:
    """The lines of a recording."""
    folder = os.environ.get("COGENCY_RS_RECORDINGS") or CHECKOUT.parent / "shared" / "data"
    file = Path(folder) / name
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def texts() -> list[str]:
    """Texts of models."""
    turns = [turn["text"] for name in ("agent", "wild") for turn in lines(f"{name}_turns.jsonl")]
    streams = ["".join(stream["tokens"]) for stream in lines("streams.jsonl")]
    return [*("".join(case.values[0]) for case in test_parser.CASES), *turns, *streams]


def values() -> list[str]:
    """JSON, and text that is not JSON."""
    written = [case.values[0] for case in test_parser_values.VALUES]
    bodies = re.findall("<execute>(.*?)</execute>", "\n".join(texts()), re.DOTALL)
    return [*written, *test_parser_values.REFUSED, *bodies]


def dialects() -> Iterator[bytes]:
    """Calls in every dialect, as we write them, and as models and other parsers' tests write them."""
    for number, name in enumerate(PRESETS):
        for count in range(1, len(CALLS) + 1):
            text = f"Let me see.\n{Dialect(name).write_calls(CALLS[:count])}\nDone."
            yield from (bytes([number]) + head + encoded(text) for head in DIALECT_HEADERS)
    taken: Counter[str] = Counter()
    for case in lines("dialects.jsonl"):
        name = case["dialect"].replace("_", "-")
        taken[name] += 1
        # All of them would take longer to run than a change's fuzzing does.
        if name in PRESETS and taken[name] <= CASES:
            head = DIALECT_HEADERS["tools" in case and bool(case["tools"])]
            yield bytes([PRESETS.index(name)]) + head + encoded(case["text"])


def changes() -> Iterator[bytes]:
    """A text in every dialect as it is, and with one field of it changed."""
    for number in range(len(PRESETS)):
        text = encoded("Let me see.")
        yield bytes([number, 0, 1, 7, 0, 0]) + text
        yield bytes([number, 1, 1, 7, 0, 0]) + bytes(5) + text


def streams() -> Iterator[bytes]:
    """Streams of providers, after the number of the API and the sizes of chunks."""
    chunk = '{{"choices": [{{"index": 0, "delta": {{{}}}, "finish_reason": {}}}]}}'
    chats = [
        chunk.format('"content": "a\\n"', "null"),
        chunk.format('"reasoning": "hm"', "null"),
        chunk.format('"refusal": "no"', "null"),
        chunk.format(
            '"tool_calls": [{"index": 3, "id": "x", "function": {"name": "f", "arguments": "{}"}}]',
            "null",
        ),
        chunk.format("", '"stop"'),
        '{"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}}',
        '{"error": {"message": "overloaded"}}',
        "[DONE]",
    ]
    block = '{{"type": "content_block_{}", "index": 0, "{}": {}}}'
    messages = [
        '{"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 9}}}',
        block.format("start", "content_block", '{"type": "thinking", "thinking": "hm"}'),
        block.format("delta", "delta", '{"type": "signature_delta", "signature": "s"}'),
        block.format("delta", "delta", '{"type": "text_delta", "text": "a"}'),
        block.format("start", "content_block", '{"type": "tool_use", "id": "x", "name": "f"}'),
        block.format("delta", "delta", '{"type": "input_json_delta", "partial_json": "{}"}'),
        '{"type": "content_block_stop", "index": 0}',
        '{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}',
        '{"type": "message_stop"}',
    ]
    for api, data in enumerate((chats, messages)):
        for line in ("\n", "\r\n"):
            for first in range(len(data)):
                events = "".join(f"data: {each}{line}{line}" for each in data[first:])
                yield bytes([api, 1, 7, 0]) + encoded(f": hi{line}{line}{events}")


def marks() -> set[str]:
    """Every mark of every dialect."""
    found: set[str] = set()
    for name in PRESETS:
        fields = Dialect(name).to_dict()
        for key in ("name", "models", "prompt"):
            fields.pop(key, None)
        found.update(texts_in(fields))
    return {mark for mark in found if mark}


def texts_in(value: Any) -> Iterator[str]:
    """The texts in a JSON value, without keys."""
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from texts_in(inner)
        case list():
            for inner in value:
                yield from texts_in(inner)


def logs() -> Iterator[bytes]:
    """Rows of every type after every other, and pieces of conversations."""
    for kinds in itertools.product(ROWS, repeat=3):
        yield BETWEEN_ROWS.join(row(kind, ROWS[kind]) for kind in kinds)
    for conversation in lines("conversations.jsonl"):
        log = b""
        for event in conversation["events"]:
            following = BETWEEN_ROWS + row(event["type"], event["content"][:1500])
            if len(log + following) > LONGEST:
                yield log
                log = b""
            log += following
        yield log


def row(kind: str, content: str) -> bytes:
    """A row of a log."""
    return bytes([[*ROWS].index(kind)]) + encoded(content)


def encoded(text: str) -> bytes:
    """A text in the core's encoding."""
    return text.encode("utf-8", "surrogatepass")


def dictionary(words: Iterable[str]) -> str:
    """Words as `-dict=` of libFuzzer reads them."""

    def quoted(word: str) -> str:
        plain = (
            chr(byte) if 0x20 <= byte < 0x7F and byte not in b'"\\' else f"\\x{byte:02x}"
            for byte in encoded(word)
        )
        return '"' + "".join(plain) + '"'

    return "\n".join(map(quoted, sorted(words))) + "\n"


def write(folder: Path, inputs: Iterable[bytes]) -> None:
    """Write each input that is not too long to a file named by its content."""
    folder.mkdir(parents=True, exist_ok=True)
    for content in inputs:
        if len(content) <= LONGEST:
            (folder / hashlib.sha1(content).hexdigest()).write_bytes(content)


def main(corpus: Path) -> None:
    """Write the seeds of every target."""
    write(corpus / "parser", (head + encoded(text) for text in texts() for head in PARSER_HEADERS))
    write(corpus / "json", (JSON_HEADER + encoded(value) for value in values()))
    write(corpus / "messages", logs())
    write(corpus / "dialects", dialects())
    protocol = (CHECKOUT / "fuzz" / "dictionary.txt").read_text(encoding="utf-8")
    write(corpus / "dialect", changes())
    write(corpus / "wire", streams())
    write(corpus / "template", (bytes([0]) + encoded(text) for text in TEMPLATES))
    write(corpus / "schema", (bytes([number]) * 256 for number in range(64)))
    for target in ("write", "text"):
        write(
            corpus / target, (bytes([number]) + bytes(range(64)) for number in range(len(PRESETS)))
        )
    for target in (
        *("parser", "json", "messages", "dialects", "dialect", "write", "text", "wire"),
        *("template", "schema"),
    ):
        words = dictionary(marks()) if target.startswith("dialect") else ""
        words += dictionary(JINJA) if target == "template" else ""
        (corpus / f"{target}.txt").write_text(protocol + words, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
