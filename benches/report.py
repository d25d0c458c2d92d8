"""The figures as a table for the terminal, as JSON and as a document: one record, shown three ways."""

from __future__ import annotations

from typing import Any

from figures import Figure, Row, Samples, digits

Record = dict[str, Any]
"""One row with its figures, of JSON values alone."""

HEADS = ("row", "ours", "spread", "cogency", "floor", "to cogency", "to floor", "must reach", "")


def record(row: Row, samples: Samples) -> Record:
    """Everything there is to say about a row."""
    figures = {side: Figure.of(values) for side, values in samples.items() if values}
    medians = {side: figure.median for side, figure in figures.items()}
    ours = medians["ours"]
    bounds = [(bound, bound.limit(medians)) for bound in row.must]
    return {
        "row": row.name,
        "work": row.work,
        "floor": row.floor,
        "sides": {
            side: {
                "median": figure.median,
                "quartiles": [figure.low, figure.high],
                "samples": figure.samples,
                "shown": row.unit.show(figure.median),
                "spread": f"{row.unit.show(figure.low)} to {row.unit.show(figure.high)}",
            }
            for side, figure in figures.items()
        },
        "ratios": {
            side: {"ratio": ours / median, "shown": f"{digits(ours / median)}x"}
            for side, median in medians.items()
            if side != "ours"
        },
        "must": [
            {"words": bound.words(row.unit), "limit": limit, "reached": ours <= limit}
            for bound, limit in bounds
        ],
    }


def cells(record: Record) -> list[str]:
    """The row as the table shows it, a cell for each of `HEADS`."""
    sides, ratios, must = record["sides"], record["ratios"], record["must"]
    return [
        record["row"],
        sides["ours"]["shown"],
        sides["ours"]["spread"],
        *(sides[side]["shown"] if side in sides else "" for side in ("cogency", "floor")),
        *(ratios[side]["shown"] if side in ratios else "" for side in ("cogency", "floor")),
        "; ".join(bound["words"] for bound in must),
        "; ".join("reached" if bound["reached"] else "NOT REACHED" for bound in must),
    ]


def line(texts: list[str] | tuple[str, ...]) -> str:
    """One line of the table in the terminal."""
    widths = (18, 9, 20, 9, 9, 10, 9, 34, 0)
    aligned = [
        text.ljust(width) if column in (0, 2, 7, 8) else text.rjust(width)
        for column, (text, width) in enumerate(zip(texts, widths, strict=True))
    ]
    return "  ".join(aligned).rstrip()
