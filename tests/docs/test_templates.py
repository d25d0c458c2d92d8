"""The table of response templates in the guide agrees with the templates that models ship."""

from __future__ import annotations

import json
import re

import pytest

from cogency_rs import Dialect
from cogency_rs.errors import ConfigError
from support.recordings import CHECKOUT, FOLDER

PAGE = (CHECKOUT / "docs" / "dialects.md").read_text()
SHIPPED = FOLDER / "response_templates.json"


def rows() -> dict[str, str]:
    table = PAGE.partition("<!-- templates -->")[2].partition("<!-- templates: end -->")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE))


@pytest.mark.skipif(not SHIPPED.exists(), reason=f"there is no {SHIPPED}")
def test_the_table_says_which_templates_are_read_and_why_the_others_are_not():
    templates = {
        entry["name"]: entry["template"] for entry in json.loads(SHIPPED.read_text())["templates"]
    }
    assert rows().keys() == templates.keys()
    for name, cell in rows().items():
        refused = re.match(r"refused: `([\w.]+)`", cell)
        if refused is None:
            Dialect.from_response_template(templates[name])
            continue
        with pytest.raises(ConfigError, match=re.escape(refused.group(1))):
            Dialect.from_response_template(templates[name])


def test_a_template_that_cannot_be_read_says_which_field_and_why():
    template = {
        "start_anchor": "<a>",
        "fields": {"tool_calls": {"open_pattern": "(a+)\\1", "content": "json"}},
    }
    with pytest.raises(ConfigError, match=r"fields\.tool_calls\.open_pattern"):
        Dialect.from_response_template(template)
