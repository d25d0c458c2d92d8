"""Writes agreement and differences into `docs/conformance.md`: `python -m conformance.document` in `tests/`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .agreement import Figure, calls_agree, every_case, figure, figures, same, usual
from .cases import WELL_FORMED, Case
from .differences import ALL, Difference, Part
from .reading import Mode

DOCUMENT = Path(__file__).resolve().parent.parent.parent / "docs" / "conformance.md"

IN_REASONING = "call_in_reasoning"
"""A reason that will stay: it is a promise of the parser."""


PROJECTS = {
    "vLLM": "vLLM",
    "SGLang": "SGLang",
    "tool-parser": "smg",
    "dynamo-parsers": "dynamo-parsers",
}
"""How the sources begin that are tests of a parser's project."""


def with_table(page: str) -> str:
    """The page with a new table of differences."""
    return between(page, "differences", differences)


def with_figures(page: str) -> str:
    """The page with new figures, which need the recordings."""
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
    """How many cases agree, and why the others do not."""
    modes = list(Mode)
    every = {mode: [*figures(every_case(), mode), *without_reasoning(mode)] for mode in modes}
    rows = zip(*every.values(), strict=True)
    return "\n".join(
        [
            "| | strict | lenient |",
            "| --- | --: | --: |",
            *(f"| {row[0].name} | {' | '.join(map(shown, row))} |" for row in rows),
            "",
            *others(),
            "",
            "Why not more: the undisputed cases that differ, by reason.",
            "",
            "| reason | strict | lenient |",
            "| --- | --: | --: |",
            *reasons(),
        ]
    )


def without_reasoning(mode: Mode) -> list[Figure]:
    """The first figures without the cases that expect a call in reasoning."""
    expect = {case for each in ALL if each.name == IN_REASONING for case in each.every}
    chosen = [case for case in every_case() if case.id not in expect]
    undisputed = [case for case in chosen if case.undisputed]
    typed = [case for case in undisputed if case.same_types]
    well_formed = [case for case in chosen if case.kind == WELL_FORMED]
    rest = "without calls in reasoning"
    return [
        figure(f"undisputed, {rest}", undisputed, mode, calls_agree),
        figure(f"undisputed, with types, {rest}", typed, mode, calls_agree),
        figure(f"well-formed, {rest}", well_formed, mode, calls_agree),
    ]


def others() -> list[str]:
    """How often other parsers agree, each with the cases of other projects, and how often most of them do."""
    well_formed = [case for case in every_case() if case.kind == WELL_FORMED]
    most = sum(map(usual, well_formed))
    rows = []
    for parser, project in PROJECTS.items():
        foreign = (case for case in well_formed if not case.source.startswith(project))
        tried = [case for case in foreign if parser in case.others]
        agreeing = sum(same(case.others[parser], case.calls) for case in tried)
        ours = (figure("", tried, mode, calls_agree).share for mode in Mode)
        theirs = Figure("", agreeing, len(tried)).share
        shares = " | ".join(f"{share:.2%}" for share in (theirs, *ours))
        rows.append(f"| {parser} | {len(tried)} | {shares} |")
    return [
        "The other parsers, each on the well-formed cases that are not from its own project's tests:",
        "",
        "| parser | cases | it agrees | cogency-rs, strict | cogency-rs, lenient |",
        "| --- | --: | --: | --: | --: |",
        *rows,
        "",
        "A parser that read each well-formed case as most of them do would agree with at most "
        f"{shown(Figure('', most, len(well_formed)))}.",
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
