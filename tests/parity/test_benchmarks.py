"""The benchmark program on quick rows: its table, JSON, document and chart all show the same figures.

The tests check counts, which are the same on every machine, and no times.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import pytest

from .oracle import skip_without_cogency

skip_without_cogency()

CHECKOUT = Path(__file__).resolve().parent.parent.parent
PROGRAM = [sys.executable, str(CHECKOUT / "benches" / "compare.py")]
TIMED = ("parse-whole", "execute/8", "to-messages")
COUNTED = {
    "first-text/answer": {"ours": 1, "cogency": 4200, "floor": 1},
    "first-text/after think": {"ours": 1, "cogency": 2300, "floor": 1},
    "first-text/near a tag": {"ours": 7, "cogency": 3000, "floor": 7},
    "turn-commits": {"ours": 3, "cogency": 7},
}
SIDES = ["ours", "cogency", "floor"]


def compare(*options: str | Path) -> subprocess.CompletedProcess[str]:
    command = [*PROGRAM, *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, timeout=100)


@dataclass
class Run:
    """The output of one run."""

    table: str
    json: dict
    document: str
    chart: str

    @property
    def rows(self) -> list[dict]:
        return self.json["rows"]

    def row(self, name: str) -> dict:
        return next(row for row in self.rows if row["row"] == name)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    folder = tmp_path_factory.mktemp("benchmarks")
    only = [f"--only={name}" for name in (*TIMED, "first-text", "turn-commits")]
    done = compare("--rounds=2", *only, "--json", folder / "all.json", "--write", folder)
    assert (done.returncode, done.stderr) == (0, "")
    whole = json.loads((folder / "all.json").read_text())
    names = ["all.json", "benchmarks.md", "benchmarks.svg"]
    assert sorted(path.name for path in folder.iterdir()) == names
    document, chart = ((folder / name).read_text() for name in names[1:])
    return Run(done.stdout, whole, document, chart)


def lines_of(document: str) -> list[list[str]]:
    """The cells of every line of every table in a document."""
    lines = (line for line in document.splitlines() if line.startswith("| "))
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]


def shown(row: dict) -> list[str]:
    """A row's cells, from its figures."""
    return [
        row["row"],
        *(row["figures"].get(side, {"shown": ""})["shown"] for side in SIDES),
        *(row["ratios"].get(side, {"shown": ""})["shown"] for side in SIDES[1:]),
        "; ".join(bound["words"] for bound in row["must"]),
        "; ".join("reached" if bound["reached"] else "not reached" for bound in row["must"]),
    ]


def test_rows_and_groups_are_chosen_by_name(run):
    assert {row["row"] for row in run.rows} == {*TIMED, *COUNTED}


def test_the_table_and_the_document_show_the_figures_that_the_json_has(run):
    documented = lines_of(run.document)
    printed = [" ".join(line.split()) for line in run.table.splitlines()]
    for row in run.rows:
        assert shown(row) in documented
        assert " ".join(cell for cell in shown(row) if cell) in printed
        assert [row["row"], row["work"], row["floor"]] in documented
    assert len(printed) == 1 + len(run.rows)


def test_the_document_counts_the_bounds_and_describes_the_machine(run):
    bounds = [bound["reached"] for row in run.rows for bound in row["must"]]
    assert f"{sum(bounds)} of {len(bounds)} bounds are reached" in run.document
    for name, value in run.json["environment"].items():
        assert value
        assert [name, value] in lines_of(run.document)


def test_ratios_and_verdicts_follow_from_the_medians(run):
    for row in run.rows:
        medians = {side: figure["median"] for side, figure in row["figures"].items()}
        for side, ratio in row["ratios"].items():
            assert ratio["ratio"] == pytest.approx(medians["ours"] / medians[side])
        for bound in row["must"]:
            assert bound["reached"] == (medians["ours"] <= bound["limit"])
        for figure in row["figures"].values():
            low, high = figure["quartiles"]
            assert low <= figure["median"] <= high


@pytest.mark.parametrize("name", TIMED)
def test_every_side_of_a_timed_row_is_measured_in_every_round(run, name):
    assert [run.row(name)["figures"][side]["samples"] for side in SIDES] == [2, 2, 2]


@pytest.mark.parametrize(("name", "counts"), COUNTED.items())
def test_counts_are_the_same_on_every_machine(run, name, counts):
    row = run.row(name)
    assert {side: figure["median"] for side, figure in row["figures"].items()} == counts
    assert all(bound["reached"] for bound in row["must"])


def test_the_chart_shows_every_row_and_its_ratio_and_nothing_outside_its_frame(run):
    chart = ET.fromstring(run.chart)
    _, _, width, height = map(float, chart.get("viewBox").split())
    texts = [element.text for element in chart.iter("{http://www.w3.org/2000/svg}text")]
    for row in run.rows:
        assert row["row"].replace("/", " ") in texts
        assert row["ratios"]["cogency"]["shown"] in texts
    for element in chart.iter():
        for axis, most in (("x", width), ("x1", width), ("y", height), ("y1", height)):
            assert 0 <= float(element.get(axis, 0)) <= most


def test_json_can_be_printed_in_place_of_the_table():
    done = compare("--only=turn-commits", "--json")
    assert [row["row"] for row in json.loads(done.stdout)["rows"]] == ["turn-commits"]
    assert "turn-commits" in done.stderr


def test_the_refusal_of_an_unknown_row_lists_every_row_of_the_document():
    done = compare("--only=parse-even", "--only=load")
    message, _, known = done.stderr.strip().partition(" There are: ")
    assert (done.returncode, message) == (1, "There is no row parse-even.")
    document = (CHECKOUT / "docs" / "benchmarks.md").read_text().partition("## Figures")[2]
    rows = {cells[0] for cells in lines_of(document)} - {"row", "---"}
    assert set(known.split(", ")) == rows | {row.partition("/")[0] for row in rows}


def test_some_rows_can_be_measured_again_and_take_their_place_in_the_page(run, tmp_path):
    page = tmp_path / "benchmarks.md"
    old = ["| gone | 1 |  |  |  |  |  |  |", "| gone | what it did |  |"]
    text = run.document
    for line, before in zip(old, ("| turn-commits | 3", "| turn-commits | the"), strict=True):
        text = text.replace(before, f"{line}\n{before}")
    page.write_text(text.replace("| turn-commits | 3 |", "| turn-commits | 9 |"))
    done = compare("--only=turn-commits", "--write", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    [dated] = [line for line in lines_of(page.read_text()) if line[0] == "date of turn-commits"]
    written = page.read_text().replace(f"| {' | '.join(dated)} |\n", "")
    assert written == run.document
    assert [path.name for path in tmp_path.iterdir()] == ["benchmarks.md"]


def test_a_number_of_rounds_that_makes_no_sense_is_refused_before_anything_is_measured():
    done = compare("--rounds=0")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'0' is not a whole number above 0" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_an_interrupt_leaves_what_was_written_before(tmp_path):
    document = tmp_path / "benchmarks.md"
    document.write_text("as it was")
    command = [*PROGRAM, "--only=blocking", "--rounds=1000", "--write", str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        program.stdout.readline()  # the table's head: from here on the program measures
        program.send_signal(signal.SIGINT)
        _, errors = program.communicate(timeout=60)
    assert (program.returncode, errors) == (1, "Interrupted; nothing was written.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["benchmarks.md"]
    assert document.read_text() == "as it was"
