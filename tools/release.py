"""Says whether a tag may be released: the same version everywhere, and a changelog that describes it.

    python tools/release.py v0.1.0

The version is in Cargo.toml, from which the package and the crates take it, there once more for each crate that another
one is built on, and in Cargo.lock. CHANGELOG.md must have a section `## [0.1.0] - 2026-01-31` with entries, and none
left in `## [Unreleased]`.
"""

from __future__ import annotations

import re
import sys
import tomllib
from datetime import date
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent

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
            f"{place} has version {found}, not the tag's {version}"
            for place, found in versions(checkout).items()
            if found != version
        ),
        *changelog_faults((checkout / "CHANGELOG.md").read_text(encoding="utf-8"), version),
    ]


def versions(checkout: Path) -> dict[str, str]:
    """The version in each place that has one."""
    manifest, lock = (
        tomllib.loads((checkout / file).read_text("utf-8")) for file in ("Cargo.toml", "Cargo.lock")
    )
    workspace = manifest["workspace"]
    return {
        "Cargo.toml": workspace["package"]["version"],
        **{
            f"Cargo.toml ({name})": each["version"]
            for name, each in workspace["dependencies"].items()
            if isinstance(each, dict) and "path" in each
        },
        **{
            f"Cargo.lock ({each['name']})": each["version"]
            for each in lock["package"]
            if "source" not in each
        },
    }


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
