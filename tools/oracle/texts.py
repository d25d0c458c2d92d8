"""Texts that a model may write: good answers in each dialect, broken ones, and heaps of marks.

Good answers are written by the wheel, and the marks are its own, so the texts stay the same while the tree changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

from tools.oracle.names import find

__all__ = ["TOOLS", "Writer", "marks_of", "presets"]

TOOLS: list[dict[str, Any]] = [
    {
        "name": "add",
        "description": "Add two numbers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "number"}},
            "required": ["a"],
        },
    },
    {
        "name": "note",
        "description": "Keep a text.",
        "parameters": {
            "type": "object",
            "properties": {"text": {"type": "string"}, "loud": {"type": "boolean"}},
            "required": ["text"],
        },
    },
    {
        "name": "plan",
        "description": "Keep a plan.",
        "parameters": {
            "type": "object",
            "properties": {
                "steps": {"type": "array", "items": {"type": "string"}},
                "place": {"type": "object", "properties": {"city": {"type": "string"}}},
                "either": {"type": ["integer", "string", "null"]},
            },
        },
    },
    {"name": "break_down", "description": "Fail.", "parameters": {"type": "object"}},
]

WORDS = (
    *(
        "a",
        "Words",
        "of the answer",
        "2 < 3",
        "x > y",
        "`code`",
        "…",
        "é",
        "😀",
        "日本",
        "\u2060",
        "\u3000",
    ),
    *(
        "\n",
        "\n\n",
        "\r\n",
        "\t",
        " ",
        "  ",
        '"',
        "'",
        "\\",
        "\\n",
        "\\u0041",
        "\\ud83d",
        "\ud83d",
        "\ude00",
    ),
    *(
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ",",
        ":",
        "=",
        "<",
        ">",
        "</",
        "/>",
        "&",
        "&lt;",
        "&amp;",
        "#",
        "%",
        "\0",
    ),
    *("```", "```json\n", "```\n", "<!--", "-->", "<![CDATA[", "]]>", "<a>", "</a>", '<a x="'),
    *(
        "null",
        "true",
        "NaN",
        "1",
        "-0.0",
        "1e999",
        "12345678901234567890123",
        "0x1f",
        "None",
        "True",
    ),
    *(
        '{"name": "add", "arguments": {"a": 1}}',
        '{"name": "add", "args": {"a": 1}}',
        "[add(a=1)]",
        "add",
        "text",
    ),
    *(
        '{"name": ',
        '"a":',
        "functions.add:0",
        "name",
        "arguments",
        "args",
        "<text>",
        "</text>",
        "<steps>",
    ),
)
"""What any text may be made of, next to the marks of a dialect."""

_NO_MARKS = frozenset({"prompt", "tokens", "models", "name"})
"""Fields of a dialect whose texts are not marks that a reader acts on."""


@cache
def presets() -> list[str]:
    return list(find("Dialect").presets())


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in _NO_MARKS:
                yield from _strings(each)


@cache
def marks_of(dialect: str) -> list[str]:
    """The marks of a dialect, as far as they are texts among its fields."""
    fields = find("Dialect")(dialect).to_dict()
    found = dict.fromkeys(each for each in _strings(fields) if each and len(each) < 60)
    return [*found, *fields.get("tokens", [])[:6]]


class Writer:
    """Draws texts of one dialect.

    Args:
        random: where every choice comes from.
        dialect: a preset's name.
    """

    def __init__(self, random: Random, dialect: str) -> None:
        self._random = random
        self.dialect = dialect
        self._pool = marks_of(dialect) * 2 + [*WORDS]

    def words(self, most: int = 4) -> str:
        """Text from outside: mostly plain, at times with marks."""
        random = self._random
        pool = self._pool if random.random() < 0.3 else WORDS
        return "".join(random.choice(pool) for _ in range(random.randint(0, most)))

    def value(self, schema: dict[str, Any], depth: int = 0) -> Any:
        """A value, mostly one that fits its schema."""
        random = self._random
        kind = schema.get("type", "string")
        if isinstance(kind, list):
            kind = random.choice(kind)
        if random.random() < 0.1:
            kind = random.choice(
                ["string", "integer", "number", "boolean", "null", "array", "object"]
            )
        match kind:
            case "integer":
                return random.choice([0, 1, -7, 42, 2**63, 10**25])
            case "number":
                return random.choice([0.5, -1, 3, 1e300, 5.0, -0.0])
            case "boolean":
                return random.random() < 0.5
            case "null":
                return None
            case "array" if depth < 3:
                items = schema.get("items", {})
                return [self.value(items, depth + 1) for _ in range(random.randint(0, 3))]
            case "object" if depth < 3:
                fields = schema.get("properties") or {self.words(1) or "key": {}}
                return {name: self.value(each, depth + 1) for name, each in fields.items()}
            case _:
                return self.words()

    def call(self) -> dict[str, Any]:
        """A call, with `name` and `args`."""
        declared = self._random.choice(TOOLS)
        fields = declared["parameters"].get("properties", {})
        needed = declared["parameters"].get("required", ())
        args = {
            name: self.value(schema)
            for name, schema in fields.items()
            if name in needed or self._random.random() < 0.7
        }
        return {"name": declared["name"], "args": args}

    def good(self) -> str:
        """An answer as the dialect's models write it; "" for one that the dialect cannot hold."""
        random = self._random
        make = find("ToolCall")
        calls = [self.call() for _ in range(random.choice([0, 1, 1, 1, 2, 3]))]
        try:
            return str(
                find("Dialect")(self.dialect).write_turn(
                    self.words() if random.random() < 0.7 else None,
                    reasoning=self.words() if random.random() < 0.5 else None,
                    calls=[make(name=call["name"], args=call["args"]) for call in calls] or None,
                    tools=TOOLS,
                )
            )
        except ValueError:  # ConfigError, and what json.dumps raises
            return ""
        except Exception as error:
            if type(error).__name__ == "ConfigError":
                return ""
            raise

    def heap(self) -> str:
        """Marks and pieces in any order."""
        random = self._random
        return "".join(random.choice(self._pool) for _ in range(random.randint(1, 14)))

    def broken(self) -> str:
        """A good answer with a few changes."""
        random, text = self._random, self.good() or self.heap()
        for _ in range(random.randint(1, 3)):
            at = random.randint(0, len(text))
            to = min(len(text), at + random.choice([1, 1, 2, 5, 20]))
            match random.randrange(5):
                case 0:  # something is missing
                    text = text[:at] + text[to:]
                case 1:  # something is twice
                    text = text[:to] + text[at:]
                case 2:  # something is there that does not belong there
                    text = text[:at] + random.choice(self._pool) + text[at:]
                case 3:  # it was cut
                    text = text[:at]
                case _:  # a character is another one
                    text = text[:at] + random.choice('<>{}[]"\\,:=| \n') + text[at + 1 :]
        return text

    def text(self) -> str:
        """An answer, good or not."""
        match self._random.randrange(10):
            case 0 | 1:
                return self.heap()
            case 2 | 3 | 4:
                return self.good() + self._random.choice(["", self.words(), self.good()])
            case 5:
                return self.broken() + self.good()
            case _:
                return self.broken()

    def cuts(self, text: str) -> list[int]:
        """Where a text is cut; at every character, at a few, or nowhere."""
        random = self._random
        if len(text) < 2 or random.random() < 0.3:
            return []
        if len(text) < 400 and random.random() < 0.3:
            return list(range(1, len(text)))
        count = min(len(text) - 1, random.randint(1, 6))
        return sorted(random.sample(range(1, len(text)), count))

    def row(self, kind: str) -> str:
        """The content of a row."""
        written = self._content(kind)
        if self._random.random() < 0.02:
            return written  # perhaps with half a character, which no log can hold
        return written.encode("utf-8", "replace").decode()

    def _content(self, kind: str) -> str:
        match kind:
            case "call":
                return json.dumps(self.call())
            case "result":
                return json.dumps([self.result() for _ in range(self._random.randint(1, 2))])
            case "error" if self._random.random() < 0.7:
                return json.dumps({"content": "Malformed call.", "raw": self.broken()})
            case _:
                return self.words() or "x"

    def result(self) -> dict[str, Any]:
        """One result of a results array."""
        name = self._random.choice(TOOLS)["name"]
        if self._random.random() < 0.3:
            return {"tool": name, "status": "failure", "content": self.words() or "failed"}
        content = self.value(
            {"type": self._random.choice(["string", "object", "array", "integer"])}
        )
        return {"tool": name, "status": "success", "content": content}
