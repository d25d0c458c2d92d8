"""Draws, as SVG, how late deltas are, by the number of streams. Both axes are logarithmic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 76, 190, 56, 52

STYLE = """
  text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: #24292f }
  .title { font-size: 17px; font-weight: 600 }
  .quiet { fill: #57606a; font-size: 12px }
  .end { text-anchor: end }
  .middle { text-anchor: middle }
  .grid { stroke: #d0d7de; stroke-width: 1 }
  .line { fill: none; stroke: #6e7f96; stroke-width: 2 }
  .ours { stroke: #2da44e; stroke-width: 3 }
  .paper { fill: #ffffff }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .quiet { fill: #9198a1 }
    .grid { stroke: #30363d }
    .line { stroke: #7d8ea6 }
    .ours { stroke: #3fb950 }
    .paper { fill: #0d1117 }
  }
"""


def drawn(sides: Mapping[str, Mapping[int, float]]) -> str:
    """The picture.

    Args:
        sides: by name, the milliseconds for each number of streams.
    """
    numbers = sorted({number for each in sides.values() for number in each})
    low = math.floor(math.log10(min(value for each in sides.values() for value in each.values())))
    high = math.ceil(math.log10(max(value for each in sides.values() for value in each.values())))

    def x(number: int) -> float:
        share = math.log(number / numbers[0]) / math.log(numbers[-1] / numbers[0])
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(milliseconds: float) -> float:
        share = (math.log10(milliseconds) - low) / (high - low)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-label="How late deltas are, by the number of streams">',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>',
        f'<text class="title" x="{LEFT}" y="24">How late one delta in a hundred is</text>',
        f'<text class="quiet" x="{LEFT}" y="42">streams of 20 deltas a second, over TLS; less is better</text>',
    ]
    for decade in range(low, high + 1):
        value = 10.0**decade
        shown = f"{value / 1000:g} s" if value >= 1000 else f"{value:g} ms"
        parts += [
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>',
            f'<text class="quiet end" x="{LEFT - 8}" y="{y(value) + 4:.1f}">{shown}</text>',
        ]
    for number in numbers:
        parts.append(
            f'<text class="quiet middle" x="{x(number):.1f}" y="{HEIGHT - BOTTOM + 20}">{number:,}</text>'
        )
    parts.append(
        f'<text class="quiet middle" x="{(LEFT + WIDTH - RIGHT) / 2:.1f}" y="{HEIGHT - 10}">streams at a time</text>'
    )
    taken: list[float] = []
    for name, values in sorted(sides.items(), key=lambda side: -side[1][max(side[1])]):
        kind = "line ours" if name.startswith("ours") else "line"
        points = " ".join(f"{x(number):.1f},{y(value):.1f}" for number, value in values.items())
        label = y(values[max(values)]) + 4
        while any(abs(label - other) < 16 for other in taken):
            label += 1
        taken.append(label)
        parts += [
            f'<polyline class="{kind}" points="{points}"/>',
            f'<text x="{WIDTH - RIGHT + 10}" y="{label:.1f}">{escape(name)}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])
