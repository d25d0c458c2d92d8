"""Every message that the page on troubleshooting lists is one that the sources can produce."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from support.pages import CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Iterator

HOLE = "…"
MIN_FIXED = 10  # fixed characters that a message needs, so that it can be told apart from others

PAGE = (CHECKOUT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
MESSAGES = re.findall(r"^(?:### |\| )`(.+?)`", PAGE, re.MULTILINE)


def messages_in_python(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.sub(r"\{\w+\}", HOLE, node.value)  # a text to be filled in has its holes, too
        elif isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else HOLE for part in node.values)
            yield "".join(map(str, parts))


def messages_in_rust(text: str) -> Iterator[str]:
    for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', text, re.DOTALL):
        joined = re.sub(r"\\\n\s*", "", literal)
        plain = joined.replace(r"\"", '"').replace(r"\\", "\\")
        filled = re.sub(r"\{\w*(?::[^{}]*)?\}", HOLE, plain.replace("{{", "\0").replace("}}", "\1"))
        yield filled.replace("\0", "{").replace("\1", "}")


def sources() -> Iterator[str]:
    for file in sorted((CHECKOUT / "python").rglob("*.py")):
        yield from messages_in_python(file.read_text(encoding="utf-8"))
    for file in sorted((*CHECKOUT.glob("src/**/*.rs"), *CHECKOUT.glob("*/src/**/*.rs"))):
        code, _, _tests = file.read_text(encoding="utf-8").partition("#[cfg(test)]")
        yield from messages_in_rust(code)


class Literal:
    """A literal of the sources, read once for all messages."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.fixed = len(text.replace(HOLE, "").strip())
        parts = text.split(HOLE)
        self.filled = re.compile(".+".join(map(re.escape, parts))) if len(parts) > 1 else None

    def makes(self, message: str) -> bool:
        """Whether a message as the page shows it comes from this literal."""
        fixed = message.strip(f"{HOLE} ")
        if self.fixed < min(MIN_FIXED, len(fixed)):
            return False
        if fixed in self.text:
            return True
        return self.filled is not None and self.filled.fullmatch(message) is not None


LITERALS = [Literal(text) for text in dict.fromkeys(sources())]


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_that_is_listed_comes_from_the_sources(message: str):
    for sentence in message.split(f": {HOLE}"):  # the rest is the text of another error
        if sentence:
            assert any(literal.makes(sentence) for literal in LITERALS)


def test_each_message_is_listed_once():
    assert len(MESSAGES) == len(set(MESSAGES)) > 40


def test_a_message_that_is_not_in_the_sources_is_noticed():
    assert not any(literal.makes(f"the {HOLE} was lost in the post") for literal in LITERALS)
