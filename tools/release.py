"""Says whether a tag may be released: the same version everywhere, and a changelog that describes it.

    python tools/release.py v0.1.0

The version is in Cargo.toml, from which the package takes it, in that of the crate `arguments`, and in Cargo.lock;
CHANGELOG.md must have a section `## [0.1.0] - 2026-01-31` with entries, and none left in `## [Unreleased]`.
"""

from __future__ import annotations

import re
import sys
import tomllib
from datetime import date
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
PACKAGE = "cogency-rs"

TAG = re.compile(r"v(\d+\.\d+\.\d+)")
HEADING = re.compile(r"^## \[(?P<version>[^\]]+)\](?: - (?P<day>.*))?$", re.MULTILINE)


def main() -> None:
    """Check the tag that is named; exits with the reasons against releasing it."""
    [tag] = sys.argv[1:] or [""]
    if faults := against(tag, CHECKOUT):
        sys.exit("\n".join(faults))
    print(f"{tag} may be released")


def against(tag: str, checkout: Path) -> list[str]:
    """The reasons against releasing `checkout` as `tag`; empty if it may be released."""
    if (named := TAG.fullmatch(tag)) is None:
        return [f"a release is tagged v1.2.3, not {tag!r}: make check-release TAG=v1.2.3"]
    version = named[1]
    return [
        *(
            f"{file} has version {found}, not the tag's {version}"
            for file, found in versions(checkout).items()
            if found != version
        ),
        *changelog_faults((checkout / "CHANGELOG.md").read_text(encoding="utf-8"), version),
    ]


def versions(checkout: Path) -> dict[str, str]:
    """The version in each file that has one."""
    files = ("Cargo.toml", "arguments/Cargo.toml", "Cargo.lock")
    *manifests, lock = (tomllib.loads((checkout / file).read_text("utf-8")) for file in files)
    [locked] = [package for package in lock["package"] if package["name"] == PACKAGE]
    packages = (*(manifest["package"] for manifest in manifests), locked)
    return {file: package["version"] for file, package in zip(files, packages, strict=True)}


def changelog_faults(text: str, version: str) -> list[str]:
    """The faults of the changelog's description of `version`."""
    headings = list(HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    sections = {
        heading["version"]: (heading["day"], "\n- " in text[heading.end() : end])
        for heading, end in zip(headings, ends, strict=True)
    }
    faults = []
    _, unreleased = sections.get("Unreleased", (None, False))
    if unreleased:
        faults.append(f"CHANGELOG.md has entries in [Unreleased]: move them to [{version}]")
    if version not in sections:
        faults.append(
            f"CHANGELOG.md has no section [{version}]: add `## [{version}] - {date.today()}`"
        )
        return faults
    day, told = sections[version]
    if not told:
        faults.append(f"CHANGELOG.md says nothing in [{version}]: list what changed")
    try:
        date.fromisoformat(day or "")
    except ValueError:
        faults.append(f"CHANGELOG.md dates [{version}] {day!r}: write the day as {date.today()}")
    return faults


if __name__ == "__main__":
    main()
