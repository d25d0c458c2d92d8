"""The table of `docs/chat-api.md` is of the clients that `make clients` runs, in their pinned versions."""

from __future__ import annotations

import re

from .page import BEGIN, END, HEADS, PAGE, row
from .ran import CLIENTS
from .served import CASES


def test_each_table_has_a_line_for_each_client_and_a_cell_for_each_case():
    block = PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]
    lines = re.findall(r"^\| (.+) \|$", block, re.MULTILINE)
    names = ["client", "---", *map(row, CLIENTS)]
    assert [line.split(" | ")[0] for line in lines] == names * len(HEADS)
    assert {len(line.split(" | ")) for line in lines} == {1 + len(CASES)}
