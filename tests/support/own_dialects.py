"""The dialects that a program in `docs/dialects.md` makes for models without a preset."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from cogency_rs import Dialect

__all__ = ["OWN"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "dialects.md"


def made() -> dict[str, Dialect]:
    text = PAGE.read_text(encoding="utf-8")
    programs = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    [program] = [code for code in programs if "\nOWN = {" in code]
    names: dict[str, Any] = {}
    exec(compile(program, PAGE.name, "exec"), names)
    return names["OWN"]


OWN = made()
