"""Writes agreement and differences into `docs/dialects.md`: `python -m conformance.document` in `tests/`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .agreement import Figure, calls_agree, every_case, figure, figures
from .cases import WELL_FORMED, Case
from .differences import ALL, Difference, Part
from .reading import Mode

DOCUMENT = Path(__file__).resolve().parent.parent.parent / "docs" / "dialects.md"

IN_REASONING = "call_in_reasoning"
"""The reason that is a promise, and not open to change."""


def with_table(page: str) -> str:
    """The page with the table of differences made anew."""
    return between(page, "differences", differences)


def with_figures(page: str) -> str:
    """The page with the figures made anew, for which the recordings are needed."""
    return between(page, "figures", agreement)


def between(page: str, name: str, text: Callable[[], str]) -> str:
    begin = f"<!-- {name}: made by `python -m conformance.document` in tests/, do not edit -->"
    end = f"<!-- {name}: end -->"
    before, begins, rest = page.partition(begin)
    _, ends, after = rest.partition(end)
    if not (begins and ends):
        raise ValueError(f"{DOCUMENT} has no place for the {name}: {begin} and {end}")
    return f"{before}{begin}\n\n{text()}\n\n{end}{after}"


def agreement() -> str:
    """How many cases agree, and for which reasons the others do not."""
    modes = list(Mode)
    every = {mode: [*figures(every_case(), mode), *without_reasoning(mode)] for mode in modes}
    rows = zip(*every.values(), strict=True)
    return "\n".join(
        [
            "| | strict | lenient |",
            "| --- | --: | --: |",
            *(f"| {row[0].name} | {' | '.join(map(shown, row))} |" for row in rows),
            "",
            "Why not more: the undisputed cases that differ, by reason.",
            "",
            "| reason | strict | lenient |",
            "| --- | --: | --: |",
            *reasons(),
        ]
    )


def without_reasoning(mode: Mode) -> list[Figure]:
    """The first two figures without the cases that expect a call in reasoning."""
    expect = {case for each in ALL if each.name == IN_REASONING for case in each.every}
    chosen = [case for case in every_case() if case.id not in expect]
    undisputed = [case for case in chosen if case.undisputed]
    well_formed = [case for case in chosen if case.kind == WELL_FORMED]
    rest = "without calls in reasoning"
    return [
        figure(f"undisputed, {rest}", undisputed, mode, calls_agree),
        figure(f"well-formed, {rest}", well_formed, mode, calls_agree),
    ]


def shown(figure: Figure) -> str:
    return f"{figure.agreeing} of {figure.of}, {figure.share:.2%}"


def reasons() -> list[str]:
    undisputed: dict[str, Case] = {case.id: case for case in every_case() if case.undisputed}

    def count(each: Difference, mode: Mode) -> int:
        return sum(case in undisputed for case in each.of(mode))

    counts = [
        (each, *(count(each, mode) for mode in Mode)) for each in ALL if each.part is Part.CALLS
    ]
    counts.sort(key=lambda row: -row[1])
    return [
        f"| [`{each.name}`](#{each.name}) | {strict} | {lenient} |"
        for each, strict, lenient in counts
        if strict or lenient
    ]


def differences() -> str:
    parts = [(part, [each for each in ALL if each.part is part]) for part in Part]
    return "\n\n".join(
        block
        for part, found in parts
        if found
        for block in (f"### {part.value}", table(found), *map(cases, found))
    )


def table(found: list[Difference]) -> str:
    rows = ["| reason | cases | the source expects | others | cogency-rs | why |"]
    rows.append("| --- | --: | --- | --- | --- | --- |")
    rows += [
        f"| [`{each.name}`](#{each.name}) | {len(each.every)}"
        f" | {each.expected} | {each.others} | {each.ours} | {each.why} |"
        for each in found
    ]
    return "\n".join(rows)


def cases(difference: Difference) -> str:
    """The ids of a difference's cases, by dialect."""
    lists = [
        ("", difference.cases),
        (", only read strictly", difference.strict),
        (", only read leniently", difference.lenient),
    ]
    return "\n".join(
        [f"#### {difference.name}", "", *(line for each in lists for line in by_dialect(*each))]
    )


def by_dialect(when: str, ids: tuple[str, ...]) -> list[str]:
    found: dict[str, list[str]] = {}
    for case in ids:
        dialect, _, rest = case.rpartition("-")
        found.setdefault(dialect, []).append(rest)
    return [f"- `{dialect}`{when}: {', '.join(parts)}" for dialect, parts in found.items()]


if __name__ == "__main__":
    page = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(with_figures(with_table(page)), encoding="utf-8")
