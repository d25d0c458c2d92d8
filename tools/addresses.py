"""Writes the address of the sources into the files that are published: `python tools/addresses.py ADDRESS REF`.

    python tools/addresses.py https://example.org/owner/cogency-rs v0.2.0

The sources themselves name no host: their links are relative, and lead somewhere in any clone and fork. A package index
shows the README alone, so before a release is built its links get the address and the tag, and `pyproject.toml` the
project's URLs. The address comes from the workflow that builds the release.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent

LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
TABLE = "\n[project.optional-dependencies]\n"


def main() -> None:
    """Change README.md and pyproject.toml of this checkout."""
    match sys.argv[1:]:
        case [address, ref] if re.fullmatch(r"https://[^\s\"]+[^\s\"/]", address):
            for name, change in (("README.md", absolute), ("pyproject.toml", with_urls)):
                file = CHECKOUT / name
                changed = change(file.read_text(encoding="utf-8"), address, ref)
                file.write_text(changed, encoding="utf-8")
        case _:
            sys.exit(__doc__)


def absolute(page: str, address: str, ref: str) -> str:
    """Make the links of a page absolute: pictures lead to the file itself, other links to the page that shows it."""

    def link(found: re.Match[str]) -> str:
        image, text, target = found["image"], found["text"], found["target"]
        if re.match(r"\w+:|#", target):
            return found[0]
        return f"{image}[{text}]({address}/{'raw' if image else 'blob'}/{ref}/{target})"

    # Text in a block is code, and has no links.
    blocks = BLOCK.findall(page)
    texts = [LINK.sub(link, text) for text in BLOCK.split(page)]
    return "".join(part for pair in zip(texts, [*blocks, ""], strict=True) for part in pair)


def relative(page: str) -> list[str]:
    """The targets of a page's relative links, without links within the page."""
    targets = [found["target"] for found in LINK.finditer(BLOCK.sub("", page))]
    return [target for target in targets if not re.match(r"\w+:|#", target)]


def with_urls(project: str, address: str, ref: str) -> str:
    """Add the project's URLs to the text of `pyproject.toml`.

    Raises:
        ValueError: the URLs are there already, or the table before which they belong is missing.
    """
    if "[project.urls]" in project or project.count(TABLE) != 1:
        raise ValueError(f"pyproject.toml has URLs already, or not one table{TABLE.rstrip()}")
    urls = {
        "Homepage": address,
        "Documentation": f"{address}/blob/{ref}/docs/index.md",
        "Source": f"{address}/tree/{ref}",
        "Changelog": f"{address}/blob/{ref}/CHANGELOG.md",
        "Issues": f"{address}/issues",
    }
    table = "".join(f'{name} = "{url}"\n' for name, url in urls.items())
    return project.replace(TABLE, f"\n[project.urls]\n{table}{TABLE}")


if __name__ == "__main__":
    main()
