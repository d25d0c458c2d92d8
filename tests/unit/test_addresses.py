"""The page of a release on the package index: its links lead somewhere, and it is rendered."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tools.addresses import absolute, relative, with_urls

CHECKOUT = Path(__file__).resolve().parents[2]
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
PROJECT = (CHECKOUT / "pyproject.toml").read_text(encoding="utf-8")
HOME = "https://example.org/owner/cogency-rs"


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("[a](docs/a.md)", f"[a]({HOME}/blob/v1.2.3/docs/a.md)"),
        ("[a](docs/a.md#b) and [c](d)", f"[a]({HOME}/blob/v1.2.3/docs/a.md#b) and [c]({HOME}/blob/v1.2.3/d)"),
        ("![a](a.svg)", f"![a]({HOME}/raw/v1.2.3/a.svg)"),
        ("[a](https://example.org/) [b](#b)", "[a](https://example.org/) [b](#b)"),
        ("x\n```python\na[b](c)\n```\n[d](e)", f"x\n```python\na[b](c)\n```\n[d]({HOME}/blob/v1.2.3/e)"),
    ],
)  # fmt: skip
def test_links_get_the_address_and_the_tag(page, expected):
    assert absolute(page, HOME, "v1.2.3") == expected


def test_no_link_of_the_published_readme_is_relative():
    assert relative(README)
    assert relative(absolute(README, HOME, "v1.2.3")) == []


def test_the_published_readme_is_rendered():
    markdown = pytest.importorskip(
        "readme_renderer.markdown", reason="readme-renderer is in the extra dev"
    )
    page = markdown.render(absolute(README, HOME, "v1.2.3"))
    assert page is not None
    assert page.count("<table>") == len(re.findall(r"^\| ---", README, re.MULTILINE))
    assert page.count("<img ") == README.count("![")


def test_the_project_has_urls_and_is_otherwise_the_same():
    project = tomllib.loads(with_urls(PROJECT, HOME, "v1.2.3"))
    urls = project["project"].pop("urls")
    assert project == tomllib.loads(PROJECT)
    assert list(urls) == ["Homepage", "Documentation", "Source", "Changelog", "Issues"]
    assert all(url.startswith(HOME) for url in urls.values())
    with pytest.raises(ValueError, match="has URLs already"):
        with_urls(with_urls(PROJECT, HOME, "v1.2.3"), HOME, "v1.2.3")
