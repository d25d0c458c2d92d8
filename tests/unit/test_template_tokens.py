"""The tokens of each dialect are those of its models' chat templates."""

from __future__ import annotations

import json
import re

import pytest

from cogency_rs import Dialect
from support.recordings import FOLDER

TEMPLATES = FOLDER / "chat_templates"
NAMES = json.loads((TEMPLATES / "index.json").read_text()) if TEMPLATES.is_dir() else {}

TOKEN = re.compile(
    r"""
      <[|\uff5c][^<>\s|\uff5c']{1,40}[|\uff5c]?>      # <|im_start|>, <|turn>
    | <[^<>\s|\uff5c'/]{1,40}[|\uff5c]>           # <turn|>
    | \[/?[A-Z]{3,}(?:_[A-Z]+)*\]         # [INST]
    | <(?:start|end)_of_[a-z]+>
    | </?s>
    | </?seed:[a-z_]+>
    | <SPECIAL_[0-9]+>
    | 〈\|[A-Z]+\|〉
    | \]~!?b[\[\]]
    | \[e~\[
    """,
    re.VERBOSE,
)


@pytest.mark.skipif(not NAMES, reason=f"there are no chat templates in {TEMPLATES}")
@pytest.mark.parametrize("template", sorted(NAMES) or ["none"])
def test_every_token_of_a_template_is_one_of_its_dialect(template):
    text = (TEMPLATES / f"{template}.jinja").read_text()
    # A template of no dialect's models may be that of any model.
    name = NAMES[template] if NAMES[template] in Dialect.presets() else "json-plain"
    dialect = Dialect(name)
    missing = {token for token in TOKEN.findall(text) if dialect.inert(token) == token}
    assert not missing, f"{name} lacks tokens of {template}"
