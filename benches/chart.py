"""Draws, as SVG, the cost of each row compared with cogency's, and the cost that it must not exceed.

The axis is logarithmic, and its middle is cogency's cost: bars to the left are cheaper, bars to the right dearer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

WIDTH, LEFT, RIGHT = 920, 196, 190
TOP, ROW, BAR, BOTTOM = 84, 24, 13, 64

STYLE = """
  text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: #24292f }
  .title { font-size: 17px; font-weight: 600 }
  .quiet { fill: #57606a; font-size: 12px }
  .number { font-variant-numeric: tabular-nums }
  .end { text-anchor: end }
  .middle { text-anchor: middle }
  .grid { stroke: #d0d7de; stroke-width: 1 }
  .one { stroke: #57606a; stroke-width: 1.5 }
  .reached { fill: #2da44e }
  .missed { fill: #d4501e }
  .free { fill: #6e7f96 }
  .bound { stroke: #24292f; stroke-width: 2.5 }
  .halo { stroke: #ffffff; stroke-width: 5.5 }
  .paper { fill: #ffffff }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .quiet { fill: #9198a1 }
    .grid { stroke: #30363d }
    .one { stroke: #9198a1 }
    .reached { fill: #3fb950 }
    .missed { fill: #f0883e }
    .free { fill: #7d8ea6 }
    .bound { stroke: #f0f6fc }
    .halo { stroke: #0d1117 }
    .paper { fill: #0d1117 }
  }
"""


@dataclass(frozen=True)
class Bar:
    """One row: a cost as a multiple of cogency's, and the multiples that it must reach."""

    name: str
    ratio: float
    shown: str
    bounds: tuple[float, ...]
    verdict: str

    @classmethod
    def of(cls, record: dict[str, Any]) -> Bar:
        must = record["must"]
        cogency = record["figures"]["cogency"]["median"]
        verdict = "free" if not must else "reached" if all(b["reached"] for b in must) else "missed"
        return cls(
            record["row"].replace("/", " "),
            record["ratios"]["cogency"]["ratio"],
            record["ratios"]["cogency"]["shown"],
            tuple(bound["limit"] / cogency for bound in must),
            verdict,
        )


@dataclass(frozen=True)
class Axis:
    """Decades from left to right."""

    low: int
    high: int

    @classmethod
    def over(cls, shares: Iterable[float]) -> Axis:
        logs = [math.log10(share) for share in shares]
        return cls(math.floor(min(logs, default=-1)), max(1, math.ceil(max(logs, default=1))))

    def x(self, share: float) -> float:
        part = (math.log10(share) - self.low) / (self.high - self.low)
        return round(LEFT + part * (WIDTH - LEFT - RIGHT), 1)

    def decades(self) -> Iterable[tuple[float, str]]:
        for power in range(self.low, self.high + 1):
            yield self.x(10.0**power), f"{10**power}x" if power >= 0 else f"1/{10**-power:,}"


def draw(records: Sequence[dict[str, Any]]) -> str:
    """Draw every row that is also measured for cogency."""
    bars = [Bar.of(record) for record in records if "cogency" in record["ratios"]]
    axis = Axis.over(share for bar in bars for share in (bar.ratio, *bar.bounds))
    end = TOP + ROW * len(bars)
    height = end + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        ' role="img" aria-labelledby="title">',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{height}" rx="6"/>',
        _text(20, 32, "What it costs next to cogency 3.3.0", "title", id="title"),
        _text(20, 52, "Logarithmic; further to the left is cheaper.", "quiet"),
        _text(WIDTH - RIGHT + 78, TOP - 12, "ratio", "quiet end"),
        *_grid(axis, end),
    ]
    for index, bar in enumerate(bars):
        parts += _bar(bar, axis, TOP + index * ROW)
    parts += [_legend(height - 22), "</svg>"]
    return "\n".join(parts) + "\n"


def _grid(axis: Axis, end: float) -> Iterable[str]:
    for x, name in axis.decades():
        kind = "one" if name == "1x" else "grid"
        yield f'<line class="{kind}" x1="{x}" y1="{TOP - 4}" x2="{x}" y2="{end + 2}"/>'
        yield _text(x, TOP - 12, "cogency" if kind == "one" else name, "quiet middle")


def _bar(bar: Bar, axis: Axis, top: float) -> Iterable[str]:
    middle = top + ROW / 2
    begin, end = sorted((axis.x(bar.ratio), axis.x(1)))
    yield _text(LEFT - 12, middle + 4.5, bar.name, "end")
    yield (
        f'<rect class="{bar.verdict}" x="{begin}" y="{middle - BAR / 2}" width="{max(1.5, end - begin):.1f}"'
        f' height="{BAR}" rx="2"/>'
    )
    for bound in bar.bounds:
        x = axis.x(bound)
        for kind in ("halo", "bound"):
            yield f'<line class="{kind}" x1="{x}" y1="{middle - 9}" x2="{x}" y2="{middle + 9}"/>'
    yield _text(WIDTH - RIGHT + 78, middle + 4.5, bar.shown, "number end")
    words = {"reached": "reached", "missed": "not reached", "free": ""}[bar.verdict]
    yield _text(WIDTH - RIGHT + 94, middle + 4.5, words, "quiet")


def _legend(y: float) -> str:
    parts = []
    x = LEFT
    for kind, words in (("reached", "reached"), ("missed", "not reached"), ("free", "no bound")):
        parts.append(f'<rect class="{kind}" x="{x}" y="{y - 10}" width="18" height="11" rx="2"/>')
        parts.append(_text(x + 25, y, words, "quiet"))
        x += 52 + 7 * len(words)
    parts.append(f'<line class="bound" x1="{x + 6}" y1="{y - 13}" x2="{x + 6}" y2="{y + 4}"/>')
    parts.append(_text(x + 16, y, "what it must reach: the bar's end at or left of this", "quiet"))
    return "\n".join(parts)


def _text(x: float, y: float, words: str, kind: str, **more: str) -> str:
    attributes = "".join(f' {name}="{value}"' for name, value in more.items())
    return f'<text x="{x}" y="{y}" class="{kind}"{attributes}>{escape(words)}</text>'
