"""Whether llguidance takes the texts of our grammars, and refuses those that are almost theirs.

`make oracles` runs it in an environment of its own, on a file that the core's tests write: for each dialect some
grammars, each with texts and what our own matcher says of them. llguidance parts a text into the longest terminals,
which not every grammar means, so it gets grammars whose terminals are single characters.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from llguidance import LLMatcher, LLTokenizer

PART = re.compile(
    r'"(?P<literal>(?:\\.|[^"\\])*)"|\[(?P<not>\^?)(?P<class>[^]]+)\]|(?P<rule>[a-z][a-z0-9-]*)|'
    r"\{(?P<least>\d+)(?P<comma>,?)(?P<most>\d*)\}|[()|*+? ]"
)
UNIT = re.compile(r"\\x(..)|\\u(....)|\\U(.{8})|\\(.)|(.)", re.DOTALL)
NAMED = {"n": "\n", "r": "\r", "t": "\t"}


def lark(gbnf: str) -> str:
    """A grammar of ours as llguidance reads it, each terminal one character.

    Raises:
        ValueError: the grammar has a part that none of ours has.
    """
    lines = ["%llguidance {}"]
    for line in gbnf.removesuffix("\n").split("\n"):
        name, _, body = line.partition(" ::= ")
        end, parts = 0, list[str]()
        for part in PART.finditer(body):
            if part.start() != end:
                break
            end = part.end()
            parts.append(written(part))
        if end != len(body):
            raise ValueError(f"{name}: {body[end : end + 40]!r} is not a part of a grammar")
        lines.append(f"{rule(name)}: {''.join(parts)}")
    return "\n".join(lines)


def rule(name: str) -> str:
    return "start" if name == "root" else "r_" + name.replace("-", "_")


def written(part: re.Match[str]) -> str:
    """A part of a rule."""
    match part.lastgroup:
        case "literal":
            units = (f"/{unit(each)}/" for each in UNIT.finditer(part["literal"]))
            return f"({' '.join(units)})" if part["literal"] else '""'
        case "class":
            units = (
                each[0] if each[0] == "-" else unit(each) for each in UNIT.finditer(part["class"])
            )
            return f"/[{part['not']}{''.join(units)}]/"
        case "rule":
            return rule(part["rule"])
        case "most":
            return f"{{{part['least']},{part['most'] if part['comma'] else part['least']}}}"
        case _:
            return part[0]


def unit(each: re.Match[str]) -> str:
    """A character by its number."""
    *codes, named, plain = each.groups()
    code = next(filter(None, codes), None)
    number = int(code, 16) if code else ord(NAMED.get(named, named) if named else plain)
    return f"\\x{{{number:x}}}"


def compared(row: dict[str, Any], tokenizer: LLTokenizer) -> Iterator[str]:
    """Where llguidance and our matcher do not agree.

    Raises:
        ValueError: llguidance cannot take the grammar.
    """
    grammar = lark(row["grammar"])
    for text, is_ours in row["texts"]:
        matcher = LLMatcher(tokenizer, grammar)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        tokens = [*text.encode()]
        is_taken = matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()
        if is_taken != is_ours:
            verb = "refuses" if is_ours else "takes"
            yield f"{row['dialect']}: llguidance {verb} {text!r}"


def main() -> int:
    tokenizer = LLTokenizer("byte")
    faults: list[str] = []
    texts: Counter[bool] = Counter()
    dialects: set[str] = set()
    with Path(sys.argv[1]).open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    for row in rows:
        faults += compared(row, tokenizer)
        dialects.add(row["dialect"])
        texts.update(is_ours for _, is_ours in row["texts"])
    print(*faults, sep="\n")
    print(
        f"llguidance takes {len(rows)} grammars of {len(dialects)} dialects; of {texts[True]} texts and "
        f"{texts[False]} others it judges all but {len(faults)} as our matcher does"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
