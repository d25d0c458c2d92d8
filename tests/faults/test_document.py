"""docs/reliability.md: each of its faults has a test, and its figures can be measured again."""

from __future__ import annotations

import importlib.util
import json
import logging
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tools.faults import FAULTS, with_faults

CHECKOUT = Path(__file__).resolve().parent.parent.parent
DOCUMENT = CHECKOUT / "docs" / "reliability.md"


def test_the_faults_of_the_document_are_those_that_have_a_test():
    page = DOCUMENT.read_text(encoding="utf-8")
    assert with_faults(page) == page, "run: python tools/faults.py"


def test_a_document_without_a_place_for_the_faults_is_refused():
    with pytest.raises(ValueError, match="no place for the table"):
        with_faults("# Reliability\n")


@pytest.mark.parametrize(
    "test", sorted({fault["test"] for faults in FAULTS.values() for fault in faults})
)
def test_a_test_of_a_fault_exists(test: str):
    file, _, name = test.partition("::")
    code = (Path(__file__).parent / file).read_text(encoding="utf-8")
    assert re.search(rf"^(async )?def {name}\(", code, re.MULTILINE)


@pytest.fixture(scope="module")
def soak() -> Iterator[Any]:
    """The module `benches/soak.py`, which is not part of a package."""
    spec = importlib.util.spec_from_file_location("soak", CHECKOUT / "benches" / "soak.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["soak"] = module
    sys.path.insert(0, str(CHECKOUT / "benches"))  # as Python does for a program in that folder
    spec.loader.exec_module(module)
    sys.path.pop(0)
    # It quietens this logger for its whole process, in which other tests look at what is logged.
    logger = logging.getLogger("cogency_rs.execution.batch")
    level = logger.level
    yield module
    logger.setLevel(level)


@pytest.fixture(params=["in SQLite", "in PostgreSQL"])
def where(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The options that say where the soak keeps its log."""
    if request.param == "in SQLite":
        return ()
    pytest.importorskip("asyncpg", reason="the log in PostgreSQL is in the extra postgres")
    return "--postgres", request.getfixturevalue("postgres").address


SHORT = ["--seconds", "2", "--conversations", "20", "--rate", "500"]


def test_a_short_soak_loses_nothing(soak, where, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["soak.py", *SHORT, *where, "--json"])
    with pytest.raises(SystemExit) as ended:
        soak.main()
    assert not ended.value.code
    figures = json.loads(capsys.readouterr().out)
    assert figures["events_lost"] == 0
    assert figures["log"]["rows"] > 20
    for phase in ("floor", "core"):
        assert figures[phase]["tokens_per_second"] > 0


def test_the_figures_are_written_between_the_marks(soak, where, monkeypatch, capsys, tmp_path):
    place = soak.InPostgreSQL if where else soak.InSQLite
    copy = tmp_path / "reliability.md"
    before = DOCUMENT.read_text(encoding="utf-8")
    copy.write_text(before, encoding="utf-8")
    monkeypatch.setattr(soak, "DOCUMENT", copy)
    monkeypatch.setattr(sys, "argv", ["soak.py", *SHORT, *where, "--write"])
    with pytest.raises(SystemExit):
        soak.main()
    after = copy.read_text(encoding="utf-8")
    assert capsys.readouterr().out.strip() in after
    start, end = before.index(place.begin), before.index(place.end)
    assert after.startswith(before[:start])
    assert after.endswith(before[end:])


DAMAGE = {
    "a row is missing": "DELETE FROM messages WHERE rowid = (SELECT MAX(rowid) / 2 FROM messages)",
    "the last rows are missing": "DELETE FROM messages WHERE conversation_id = '3' AND rowid > 30",
    "a row has another content": "UPDATE messages SET content = 'x' WHERE type = 'respond' AND rowid < 60",
    "a row is stored twice": "INSERT INTO messages (message_id, conversation_id, user_id, type, content, timestamp)"
    " SELECT message_id || 'x', conversation_id, user_id, type, content,"
    " timestamp FROM messages WHERE type = 'think' LIMIT 1",
}


async def test_the_soak_notices_rows_that_are_lost_changed_or_doubled(soak, tmp_path):
    path = tmp_path / "log.db"
    place = soak.InSQLite(path)
    async with place.open() as storage:
        core = await soak.phase(soak.Core(storage), 20, 500, 2)
    assert (await soak.read_back(place, core.safe)).lost == 0
    for name, damage in DAMAGE.items():
        with closing(sqlite3.connect(path)) as connection:
            intact = connection.serialize()
            assert connection.execute(damage).rowcount > 0
            connection.commit()
        assert (await soak.read_back(place, core.safe)).lost > 0, name
        path.write_bytes(intact)
