"""The storage of the guide passes the tests that every log passes, run as the guide says."""

from __future__ import annotations

import sys
from types import ModuleType

from support.pages import CHECKOUT, blocks_of

_MODULE, _TESTS = blocks_of(CHECKOUT / "docs" / "add-a-storage.md")

# A reader puts this into a file, and imports it in the test file beside it.
_made = ModuleType("jsonlines_log")
exec(compile(_MODULE.code, _MODULE.name, "exec"), vars(_made))
sys.modules["jsonlines_log"] = _made
exec(compile(_TESTS.code, _TESTS.name, "exec"))
