"""Pictures of turns as a viewer sees them: shapes with the room that they take. It needs the extra cli."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from rich.cells import cell_len

from cogency_rs.cli import picture
from cogency_rs.cli.log import rows
from cogency_rs.cli.turns import turns_of

from . import logs
from .logs import Stored, call, failure, success

SVG = "{http://www.w3.org/2000/svg}"


@dataclass
class Shape:
    """An element of a picture, and how much room it takes."""

    kind: str
    style: str
    text: str
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Shape) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


class Picture:
    """A picture as a viewer sees it."""

    def __init__(self, svg: str) -> None:
        self.svg = svg
        self.root = ElementTree.fromstring(svg)
        self.width, self.height = float(self.root.get("width")), float(self.root.get("height"))
        drawn = (_shape(node) for node in self.root.iter() if not _is_inside_defs(node, self.root))
        self.shapes = [shape for shape in drawn if shape is not None]

    @property
    def texts(self) -> list[Shape]:
        return [shape for shape in self.shapes if shape.kind == "text"]

    @property
    def words(self) -> list[str]:
        return [shape.text for shape in self.texts]

    @property
    def bars(self) -> list[Shape]:
        """The shapes that stand for a duration, without those of the legend."""
        return [
            shape
            for shape in self.shapes
            if shape.kind == "rect" and shape.bottom - shape.top == picture.BAR
        ]

    def in_the_line_of(self, text: str) -> list[Shape]:
        """The shapes of a line, by one of its texts."""
        [group] = [
            group
            for group in self.root.iter(f"{SVG}g")
            if text in [node.text for node in group.iter(f"{SVG}text")]
        ]
        return [shape for shape in map(_shape, group) if shape is not None]


def _is_inside_defs(node: ElementTree.Element, root: ElementTree.Element) -> bool:
    return any(node in defs.iter() for defs in root.iter(f"{SVG}defs"))


def _shape(node: ElementTree.Element) -> Shape | None:
    kind = node.tag.removeprefix(SVG)
    get = lambda name: float(node.get(name))  # noqa: E731
    if kind == "text":
        size = get("font-size")
        width = cell_len(node.text) * size * picture.CHARACTER
        start = {"start": 0.0, "middle": width / 2, "end": width}[node.get("text-anchor", "start")]
        left = get("x") - start
        box = (left, get("y") - 0.8 * size, left + width, get("y") + 0.25 * size)
    elif kind == "rect" and node.get("x"):
        box = (get("x"), get("y"), get("x") + get("width"), get("y") + get("height"))
    elif kind == "circle":
        box = (get("cx") - 5, get("cy") - 5, get("cx") + 5, get("cy") + 5)
    elif kind == "line":
        box = (get("x1"), get("y1"), get("x2"), get("y2"))
    else:
        return None
    return Shape(kind, node.get("class", ""), node.text or "", *box)


def drawn(tmp_path: Path, stored: list[Stored], conversation: str = "staging") -> Picture:
    path = logs.write(tmp_path / "log.db", stored, conversation=conversation)
    turns = turns_of(rows(path, conversation))
    return Picture(picture.draw(conversation, turns, of=len(turns)))


def timed(*calls: tuple[float | None, float | None, str]) -> list[Stored]:
    """Calls whose times are in the log, in a batch that takes from 1 to 5."""
    results = [
        success("t", f"done {n}") if status == "success" else failure("t", f"no {n}")
        for n, (_, _, status) in enumerate(calls)
    ]
    return [
        Stored("user", "u", 0),
        *(
            Stored("call", call("t", n=n), 1, call=logs.record("t", n, *known))
            for n, known in enumerate(calls)
        ),
        Stored("result", json.dumps(results), 1, 5),
        Stored("respond", "r", 6, 10),
    ]
