"""The documentation is complete, and its links lead somewhere.

Links between the pages of the site are checked when it is built: `make docs docs-links`.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from cogency_rs import Agent, Dialect, OpenAIModel
from support.pages import CHECKOUT
from support.public_modules import PUBLIC_MODULES
from tools import reference
from tools.website import links

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

DOCS = CHECKOUT / "docs"
OUTSIDE = [*sorted(CHECKOUT.glob("*.md")), CHECKOUT / "examples" / "README.md"]


def pages_in(navigation: Any) -> Iterator[str]:
    for item in navigation:
        for target in item.values():
            yield from [target] if isinstance(target, str) else pages_in(target)


def test_every_page_is_in_the_navigation():
    settings = tomllib.loads((CHECKOUT / "zensical.toml").read_text(encoding="utf-8"))
    shown = list(pages_in(settings["project"]["nav"]))
    assert sorted(shown) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


@pytest.mark.parametrize("module", PUBLIC_MODULES, ids=lambda module: module.__name__)
def test_the_reference_has_every_public_name_where_it_is_imported_from(module: ModuleType):
    shown = re.findall(r"^::: (\S+)$", (DOCS / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    names = {f"{module.__name__}.{name}" for name in module.__all__} - {"cogency_rs.__version__"}
    assert names - set(shown) == set()


def test_the_reference_says_in_a_clone_what_each_name_is():
    shown = reference.PAGE.read_text(encoding="utf-8")
    assert reference.reference_page(shown) == shown, "run: python tools/reference.py"
    driver = "- `TextDriver(dialect=None, *, lenient=True, "
    assert shown.count(driver) == 1


def test_the_readme_swaps_in_a_server_as_it_is_written():
    text = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    [written] = re.findall(r"`(Agent\(OpenAIModel\([^`]+)`", text)
    described = eval(written, {"Agent": Agent, "OpenAIModel": OpenAIModel}).describe()
    assert (described["driver"], described["dialect"]) == ("text", "hermes")
    assert "Qwen3," in Dialect(described["dialect"]).models


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as a reader of the repository links to them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", OUTSIDE, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_links_outside_of_the_site_lead_somewhere(page: Path):
    text = re.sub(
        r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"\w+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ('<h1 id="a">A</h1><a href="#a">a</a><a href="other/">b</a><a href="/other/#b">c</a>', []),
        ('<a href="https://example.com/nowhere">elsewhere</a>', []),
        ('<a href="#nowhere">a</a>', ["#nowhere"]),
        ('<a href="nowhere/">a</a>', ["nowhere/"]),
        ('<a href="other/#nowhere">a</a>', ["other/#nowhere"]),
        ('<img src="nowhere.png">', ["nowhere.png"]),
    ],
)
def test_a_link_that_leads_nowhere_is_found(text: str, broken: list[str], tmp_path: Path):
    (tmp_path / "other").mkdir()
    (tmp_path / "index.html").write_text(text, encoding="utf-8")
    (tmp_path / "other" / "index.html").write_text('<p id="b">B</p>', encoding="utf-8")
    assert [problem.split(": ")[1] for problem in links(tmp_path)] == broken


def test_a_site_that_was_not_built_is_a_problem(tmp_path: Path):
    assert links(tmp_path)
