"""Builds the documentation's site, where any warning is an error, and checks the links in what was built.

    python tools/website.py build
    python tools/website.py links

Links to other hosts are not fetched.
"""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

CHECKOUT = Path(__file__).resolve().parents[1]
SITE = CHECKOUT / "site"


def build() -> list[str]:
    """Build the site; returns what is wrong with it."""
    zensical = Path(sys.executable).with_name("zensical")
    ran = subprocess.run(
        [zensical, "build", "--strict", "--clean"],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    # Its strict mode does not count warnings about docstrings.
    warnings = re.findall(
        r"^(?:griffe|mkdocstrings|mkdocs_autorefs): .*$", ran.stdout, re.MULTILINE
    )
    return warnings if ran.returncode == 0 else [ran.stdout]


class Page(HTMLParser):
    """A page that was built.

    Attributes:
        anchors: where links into the page may point.
        links: what it points to.
    """

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id" or (tag, name) == ("a", "name"):
                self.anchors.add(value or "")
            elif name in ("href", "src") and value:
                self.links.append(value)


def links(site: Path = SITE) -> list[str]:
    """The links of a site that lead nowhere."""
    pages = {file: Page(file) for file in site.rglob("*.html")}
    broken = [] if pages else [f"{site} has no pages; build it first"]
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            path = unquote(parts.path)
            start = site if path.startswith("/") else file.parent
            target = (start / path.lstrip("/")).resolve() if path else file
            if target.is_dir():
                target /= "index.html"
            anchor = unquote(parts.fragment)
            if not target.is_file():
                broken.append(f"{file.relative_to(site)}: {link}: there is no {target}")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                broken.append(f"{file.relative_to(site)}: {link}: {target} has no such anchor")
    return broken


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["build"]:
            problems = build()
        case ["links"]:
            problems = links()
        case _:
            problems = [__doc__]
    if not problems and sys.argv[1:] == ["build"]:
        print(f"the documentation is in {SITE / 'index.html'}")
    sys.exit("\n".join(problems) or None)
