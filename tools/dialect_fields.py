"""Makes `docs/dialect-fields.md` of the core's types and their documentation: `python tools/dialect_fields.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["PAGE", "SOURCES", "fields_page"]

CHECKOUT = Path(__file__).resolve().parents[1]

PAGE = CHECKOUT / "docs" / "dialect-fields.md"

DIALECT = CHECKOUT / "core" / "src" / "dialect"

SOURCES = [DIALECT / f"{name}.rs" for name in ("mod", "example/fields", "prompt")]

PLACEHOLDERS = DIALECT / "example" / "text.rs"

HEAD = """---
hide:
  - toc
---

<!-- Made of core/src/dialect by `python tools/dialect_fields.py`; do not edit. -->

# Fields of a dialect

`Dialect.from_dict` takes these fields, `to_dict` gives them; [Dialects](dialects.md#one-of-your-own) has an example.
A field that is not marked *required* may be left out. A value with several forms is written as in the first column.
"""

TYPE = re.compile(
    r"((?:^///[^\n]*\n)+)(?:^#[^\n]*\n)*^pub (struct|enum) (\w+) \{\n(.*?)^\}",
    re.MULTILINE | re.DOTALL,
)

MEMBER = re.compile(
    r"((?:^    ///.*\n)+)((?:^    #.*\n)*)^    (?:pub )?(\w+)(?:: (.+)|\((.+)\)| \{.*\})?,$",
    re.MULTILINE,
)

PLAIN = {"Str": "text", "bool": "true or false", "usize": "a number", "Value": "text or object"}

# What a field holds, where its type says how the core holds it.
HELD = {"Calls": "Vec<CallExample>", "BTreeMap<Str, Vec<Str>>": "lists of text, by text"}


class Member(NamedTuple):
    """A field of a struct, or a form of an enum."""

    name: str
    types: str
    meaning: str
    attributes: str


class Type(NamedTuple):
    """A struct or an enum of the core."""

    name: str
    meaning: str
    is_enum: bool
    members: list[Member]


def fields_page() -> str:
    """The whole page: each type once, from `Dialect` on, in the order in which they are first used."""
    types = {
        each.name: each
        for source in SOURCES
        for each in types_of(source.read_text(encoding="utf-8"))
    }
    shown = in_order("Dialect", types, [])
    sections = [section(types[name], types) for name in shown]
    sections.insert(shown.index("CallExample") + 1, placeholders())
    return HEAD + "".join(sections)


def placeholders() -> str:
    """The placeholders of an example, which differ from call to call."""
    of = next(
        each
        for each in types_of(
            PLACEHOLDERS.read_text(encoding="utf-8").replace("pub(super) ", "pub ")
        )
        if each.name == "Slot"
    )
    rows = [each.meaning.partition(": ") for each in of.members]
    lines = [f"| {written} | {meaning[0].upper()}{meaning[1:]} |" for written, _, meaning in rows]
    head = [
        "",
        "## Placeholders",
        "",
        of.meaning,
        "",
        "| placeholder | meaning |",
        "| --- | --- |",
    ]
    note = "White space next to a placeholder, and a line break between two marks, is written, and free when read."
    return "\n".join([*head, *lines, "", f"{note} `{{{{` and `}}}}` are braces.", ""])


def in_order(name: str, types: dict[str, Type], shown: list[str]) -> list[str]:
    """What is shown, with this type and those that it is made of, each after the first one that uses it."""
    if name in types and name not in shown:
        shown.append(name)
        for member in types[name].members:
            for used in re.findall(r"\w+", HELD.get(member.types, member.types)):
                in_order(used, types, shown)
    return shown


def types_of(code: str) -> Iterator[Type]:
    for docs, kind, name, body in TYPE.findall(code):
        members = [
            Member(member, types or forms, text_of(about), attributes)
            for about, attributes, member, types, forms in MEMBER.findall(body)
        ]
        yield Type(name, text_of(docs), kind == "enum", members)


def text_of(docs: str) -> str:
    text = " ".join(line.strip().removeprefix("///").strip() for line in docs.splitlines())
    return re.sub(r"\[([^\]]+)\]\((?:super::)?[A-Z]+\)", r"\1", text).replace("|", "\\|")


def section(of: Type, types: dict[str, Type]) -> str:
    if of.is_enum:
        lines = ["| form | meaning |", "| --- | --- |"]
        lines += [f"| `{form(each)}` | {meaning(each, types)} |" for each in of.members]
    else:
        lines = ["| field | value | holds |", "| --- | --- | --- |"]
        lines += [
            f"| `{each.name}` | {value(each, types)} | {each.meaning} |" for each in of.members
        ]
    return "\n".join(["", f"## {of.name}", "", of.meaning, "", *lines, ""])


def value(field: Member, types: dict[str, Type]) -> str:
    required = (
        "" if "default" in field.attributes or field.types.startswith("Option<") else ", required"
    )
    return shape(field.types, types) + required


def shape(of: str, types: dict[str, Type]) -> str:
    of = HELD.get(of, of)
    if inner := re.fullmatch(r"Option<(.+)>", of):
        return f"{shape(inner[1], types)}, or null"
    if inner := re.fullmatch(r"Vec<(.+)>", of):
        return f"list of {shape(inner[1], types)}"
    return f"[{of}](#{of.lower()})" if of in types else PLAIN.get(of, of)


def form(of: Member) -> str:
    """A form as it is written: its name, or a dict with what belongs to it."""
    name = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", of.name).lower()
    if not of.types:
        return f'"{name}"'
    parts = [
        each.upper() if each not in PLAIN else PLAIN[each].split()[-1].upper()
        for each in of.types.split(", ")
    ]
    held = ", ".join(parts)
    return f'{{"{name}": {held if len(parts) == 1 else f"[{held}]"}}}'


def meaning(of: Member, types: dict[str, Type]) -> str:
    links = [shape(each, types) for each in of.types.split(", ") if each in types]
    marked = f"{of.meaning} The default." if "default" in of.attributes else of.meaning
    return f"{marked} See {' and '.join(links)}." if links else marked


if __name__ == "__main__":
    PAGE.write_text(fields_page(), encoding="utf-8")
