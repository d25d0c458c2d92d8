"""Writes the table of `differences` into `docs/dialects.md`: `python -m conformance.document` in `tests/`."""

from __future__ import annotations

from pathlib import Path

from .differences import ALL, Difference, Part

DOCUMENT = Path(__file__).resolve().parent.parent.parent / "docs" / "dialects.md"

BEGIN = (
    "<!-- differences: made from tests/conformance/differences.py by `python -m conformance.document`"
    " in tests/, do not edit -->"
)
END = "<!-- differences: end -->"


def section() -> str:
    """What stands between the two marks."""
    parts = [(part, [each for each in ALL if each.part is part]) for part in Part]
    return "\n\n".join(
        block
        for part, found in parts
        if found
        for block in (f"### {part.value}", table(found), *map(cases, found))
    )


def table(differences: list[Difference]) -> str:
    rows = ["| reason | cases | the source expects | others | cogency-rs | why |"]
    rows.append("| --- | --: | --- | --- | --- | --- |")
    rows += [
        f"| [`{each.name}`](#{each.name}) | {len(each.cases)}"
        f" | {each.expected} | {each.others} | {each.ours} | {each.why} |"
        for each in differences
    ]
    return "\n".join(rows)


def cases(difference: Difference) -> str:
    """The ids of a difference's cases, by dialect."""
    found: dict[str, list[str]] = {}
    for case in difference.cases:
        dialect, _, rest = case.rpartition("-")
        found.setdefault(dialect, []).append(rest)
    lines = [f"- `{dialect}`: {', '.join(parts)}" for dialect, parts in found.items()]
    return "\n".join([f"#### {difference.name}", "", *lines])


def with_section(page: str) -> str:
    """The page with what stands between its marks made anew."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{DOCUMENT} has no place for the differences: {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{section()}\n\n{END}{after}"


if __name__ == "__main__":
    page = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(with_section(page), encoding="utf-8")
