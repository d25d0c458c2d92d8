"""What must hold before a tag may be released."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tools import release

RELEASED = """
    # Changelog

    ## [Unreleased]

    ## [1.2.0] - 2026-01-31

    ### Added

    - Something.

    ## [1.1.0] - 2025-12-01

    - Something else.
"""
WITHOUT_UNRELEASED = RELEASED.replace("    ## [Unreleased]\n", "")


def checkout(folder, *, manifest="1.2.0", needed="1.2.0", lock="1.2.0", changelog=RELEASED):
    """A folder with the files that name the version."""
    (folder / "Cargo.toml").write_text(
        f'[workspace.package]\nversion = "{manifest}"\n\n[workspace.dependencies]\nmemchr = "9.9"\n'
        f'cogency-rs = {{ version = "{needed}", path = "core" }}\n'
    )
    (folder / "Cargo.lock").write_text(
        '[[package]]\nname = "memchr"\nversion = "9.9.9"\nsource = "registry"\n\n'
        f'[[package]]\nname = "cogency-rs"\nversion = "{lock}"\n'
    )
    (folder / "CHANGELOG.md").write_text(dedent(changelog))
    return folder


@pytest.mark.parametrize(
    "changelog", [RELEASED, WITHOUT_UNRELEASED], ids=["nothing unreleased", "no section Unreleased"]
)
def test_a_version_that_every_file_has_and_the_changelog_describes_may_be_released(
    tmp_path, changelog
):
    assert release.against("v1.2.0", checkout(tmp_path, changelog=changelog)) == []


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ({"manifest": "1.1.0"}, "Cargo.toml has version 1.1.0, not the tag's 1.2.0"),
        ({"needed": "1.1.0"}, "Cargo.toml (cogency-rs) has version 1.1.0, not the tag's 1.2.0"),
        ({"lock": "1.1.0"}, "Cargo.lock (cogency-rs) has version 1.1.0, not the tag's 1.2.0"),
        (
            {"changelog": RELEASED.replace("[Unreleased]", "[Unreleased]\n\n    - More.")},
            "CHANGELOG.md has entries in [Unreleased]: move them to [1.2.0]",
        ),
        (
            {"changelog": RELEASED.replace("[1.2.0]", "[1.3.0]")},
            "CHANGELOG.md has no section [1.2.0]: add `## [1.2.0] - ",
        ),
        (
            {"changelog": RELEASED.replace("    - Something.\n", "")},
            "CHANGELOG.md says nothing in [1.2.0]: list what changed",
        ),
        (
            {"changelog": RELEASED.replace("2026-01-31", "31 January")},
            "CHANGELOG.md dates [1.2.0] '31 January': write the day as ",
        ),
        (
            {"changelog": RELEASED.replace(" - 2026-01-31", "")},
            "CHANGELOG.md dates [1.2.0] None: write the day as ",
        ),
    ],
)
def test_one_fault_is_enough_to_refuse_a_release(tmp_path, files, fault):
    [found] = release.against("v1.2.0", checkout(tmp_path, **files))
    assert found.startswith(fault)


@pytest.mark.parametrize("tag", ["", "1.2.0", "v1.2", "v1.2.0-rc1", "v1.2.0 "])
def test_a_tag_that_is_not_a_whole_version_is_refused(tmp_path, tag):
    [found] = release.against(tag, checkout(tmp_path))
    assert found == f"a release is tagged v1.2.3, not {tag!r}: make check-release TAG=v1.2.3"
