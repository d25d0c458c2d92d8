"""`cogency-rs timeline`: a picture can be read, whatever is in the log."""

from __future__ import annotations

import itertools
import json

import pytest

from support import logs
from support.logs import Stored, call, failure, success

pytest.importorskip("typer", reason="the command line is in the extra cli")


from cogency_rs.cli import picture
from support.pictures import SVG, drawn, timed

NASTY = "<&\"'> \x1b[31m ]]> \x00\ud7ff\ufffe 深い🙂 \u202e" + "x" * 200


def nasty() -> list[Stored]:
    results = [success(NASTY, NASTY, NASTY), failure(NASTY, NASTY), success("none", None, [NASTY])]
    return [
        Stored("user", NASTY, 0),
        Stored(NASTY, NASTY, 0.5),
        Stored("think", "東京" * 200, 1, 2),
        Stored("respond", NASTY, 2, 3),
        *(Stored("call", call(result["tool"], **{NASTY: "\ud83d"}), 3) for result in results),
        Stored("result", json.dumps(results), 3, 4),
        Stored("call", NASTY, 5),
        Stored("call", "", 5),
        Stored("", "", 6),
    ]


def many() -> list[Stored]:
    results = [failure(f"t{n}", "no") if n % 9 == 4 else success(f"t{n}", "ok") for n in range(150)]
    return [
        *(Stored("call", call(r["tool"]), 0) for r in results),
        Stored("result", json.dumps(results), 0, 1),
    ]


def hours() -> list[Stored]:
    return [
        Stored("user", "u", 0),
        Stored("call", call("train"), 5),
        Stored("result", json.dumps([success("train", "ok")]), 5, 99_999),
        Stored("user", "again", 200_000),
        Stored("respond", "r", 200_000.001, 200_000.002),
    ]


SCENES = {
    "session": lambda: logs.SESSION,
    "session with other ids": lambda: [r._replace(id=str(n)) for n, r in enumerate(logs.SESSION)],
    "nasty": nasty,
    "many": many,
    "hours": hours,
    "timed": lambda: timed((1.5, 2.5, "success"), (2.5, 2.5, "denied"), (None, 5, "cancelled")),
    "one row": lambda: [Stored("user", "u", 0)],
    "at once": lambda: [Stored("think", "t", 0), Stored("respond", "r", 0)],
}


@pytest.mark.parametrize("scene", SCENES)
def test_no_label_overlaps_another_one_or_a_bar(tmp_path, scene):
    found = drawn(tmp_path, SCENES[scene](), conversation=scene + NASTY)
    solid = [shape for shape in found.shapes if shape.kind in {"text", "circle"}] + found.bars
    solid.sort(key=lambda shape: shape.top)
    overlapping = [
        (one, other)
        for index, one in enumerate(solid)
        for other in itertools.takewhile(lambda other: other.top < one.bottom, solid[index + 1 :])  # noqa: B023
        if one.overlaps(other)
    ]
    assert overlapping == []


@pytest.mark.parametrize("scene", SCENES)
def test_everything_is_inside_the_picture(tmp_path, scene):
    found = drawn(tmp_path, SCENES[scene](), conversation=scene + NASTY)
    assert [
        shape
        for shape in found.shapes
        if shape.left < 0
        or shape.right > found.width
        or shape.top < 0
        or shape.bottom > found.height
    ] == []


@pytest.mark.parametrize("scene", SCENES)
def test_nothing_in_a_log_controls_the_viewer_of_the_picture(tmp_path, scene):
    found = drawn(tmp_path, SCENES[scene](), conversation=scene + NASTY)
    known = {
        "svg",
        "title",
        "desc",
        "style",
        "defs",
        "pattern",
        "g",
        "text",
        "rect",
        "circle",
        "line",
        "path",
    }
    assert {node.tag.removeprefix(SVG) for node in found.root.iter()} <= known
    assert not {*found.svg} & {
        *map(chr, range(9)),
        "\x0b",
        "\x0c",
        "\x1b",
        "\x7f",
        "\u202e",
        "\ufffe",
    }
    found.svg.encode("utf-8")  # raises if there is a lone surrogate


def test_pointing_at_a_line_shows_more_of_it(tmp_path):
    found = drawn(tmp_path, [Stored("respond", "first\nsecond " + "x" * 500, 0)])
    titles = [title.text for title in found.root.iter(f"{SVG}title")]
    assert "respond\nfirst\nsecond " + "x" * 500 in titles


def test_a_picture_of_a_large_output_is_small(tmp_path):
    results = [success("t", "x" * 10**6, "y" * 10**6), failure("t", "z" * 10**6)]
    stored = [
        *(Stored("call", call("t", a="w" * 10**6), 0) for _ in results),
        Stored("result", json.dumps(results), 0),
    ]
    assert len(drawn(tmp_path, stored).svg) < 20_000


def test_a_picture_does_not_load_other_files(session):
    assert "http" not in session.svg.replace("http://www.w3.org/2000/svg", "")
    assert not any(word in session.svg for word in ("href", "@import", "src=", "<script", "url(h"))


def test_a_picture_is_light_or_dark_like_its_page(session):
    style = session.root.find(f"{SVG}style").text
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    for name in picture._COLOURS:
        assert f".{name} {{ fill: #" in light
        assert f".{name} {{ fill: #" in dark


@pytest.mark.parametrize("paper", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("colour", "ratio"),
    [("ink", 7), ("soft", 4.5), ("failed", 4.5), ("think", 3), ("text", 3), ("done", 3)],
)
def test_colours_have_enough_contrast_with_their_background(paper, colour, ratio):
    """WCAG 2 asks for a contrast of at least 4.5 for text and 3 for graphics."""

    def luminance(name: str) -> float:
        code = picture._COLOURS[name][paper]
        parts = [int(code[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for background in ("paper", "band"):
        low, high = sorted([luminance(colour), luminance(background)])
        assert (high + 0.05) / (low + 0.05) >= ratio
