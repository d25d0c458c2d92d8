"""How a release is made: from what is pinned, of what was tested, after everything that a change must pass."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

from support.pages import CHECKOUT

GITHUB = CHECKOUT / ".github"
if not GITHUB.is_dir():
    pytest.skip("the workflows are in a checkout alone", allow_module_level=True)

WORKFLOWS = {path.stem: path.read_text(encoding="utf-8") for path in GITHUB.glob("workflows/*.yml")}
MANIFESTS = {
    "cargo": "Cargo.toml",
    "pip": "requirements*.txt",
    "docker": "Dockerfile",
    "github-actions": "ci.yml",
}
APART = {".git", "target", ".venv", ".upstream", ".cache", "site", "node_modules"}


def job(workflow: str, name: str) -> str:
    """The text of a job."""
    found = re.search(rf"^  {name}:\n((?:    .*\n|\n)+)", WORKFLOWS[workflow], re.MULTILINE)
    assert found is not None
    return found[1]


def needed(workflow: str, name: str) -> set[str]:
    """The jobs that must have passed before this one begins."""
    found = re.search(r"^    needs: \[?([\w, -]+)", job(workflow, name), re.MULTILINE)
    before = set(re.split(", *", found[1])) if found else set()
    return before.union(*(needed(workflow, each) for each in before))


def watched(ecosystem: str) -> set[str]:
    """The folders whose manifests of this kind are kept fresh."""
    text = (GITHUB / "dependabot.yml").read_text(encoding="utf-8")
    [part] = re.findall(
        rf"- package-ecosystem: {ecosystem}\n    director(?:y|ies): \[?([^\]\n]+)", text
    )
    return set(re.split(", *", part))


def folders_of(pattern: str) -> set[str]:
    """The folders of the checkout that have such a file."""
    folders = set()
    for folder, inner, files in os.walk(CHECKOUT):
        inner[:] = [each for each in inner if each not in APART]
        if any(fnmatch(file, pattern) for file in files):
            folders.add(Path(folder).relative_to(CHECKOUT))
    return {"/" if each == Path() else f"/{each.as_posix()}" for each in folders}


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_what_a_workflow_uses_is_of_this_commit_or_named_by_its_hash(workflow):
    for used in re.findall(r"uses: (.+)", WORKFLOWS[workflow]):
        if used.startswith("$/"):
            assert (CHECKOUT / used.removeprefix("$/")).is_file(), used
        else:
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", used), used


def test_what_builds_the_wheels_is_installed_by_hash():
    installed = re.findall(r"pip\"? install (.+)", WORKFLOWS["wheels"])
    assert len(installed) >= 3
    assert all(
        "--require-hashes --only-binary :all: -r .github/wheels/requirements.txt" in each
        for each in installed
    )
    pinned = (GITHUB / "wheels" / "requirements.txt").read_text(encoding="utf-8")
    names = re.findall(
        r"^([\w-]+)==[\d.]+ \\\n    --hash=sha256:[0-9a-f]{64}", pinned, re.MULTILINE
    )
    assert names == ["deflate", "packaging"]


def test_containers_are_named_by_digest():
    assert not re.findall(r"docker run.*\b[\w/]+:[\w.$-]+-alpine", WORKFLOWS["wheels"])
    tested = re.findall(
        r'"(3\.\d+)"', job("wheels", "test-musl").partition("python: [")[2].partition("]")[0]
    )
    images = {
        path.parent.name: path.read_text(encoding="utf-8")
        for path in GITHUB.glob("musl/*/Dockerfile")
    }
    assert sorted(images) == sorted(tested)
    for version, text in images.items():
        assert re.search(
            rf"^FROM python:{version}[\w.-]*-alpine@sha256:[0-9a-f]{{64}}$", text, re.MULTILINE
        ), version


def test_a_tag_is_released_after_every_job_that_a_change_must_pass():
    assert {"check", "api", "ci", "wheels"} <= needed("release", "publish")
    assert "uses: $/.github/workflows/ci.yml" in job("release", "ci")
    assert "  workflow_call:" in WORKFLOWS["ci"]
    # One of the two runs on a commit must not end the other.
    assert "group: ci-${{ github.workflow }}-" in WORKFLOWS["ci"]


def test_what_is_published_is_what_was_tested():
    assert needed("wheels", "tested") == {"build", "source", "test", "test-musl"}
    for tests in ("test", "test-musl"):
        assert "DIGEST: ${{ needs.build.outputs[matrix.wheel] }}" in job("wheels", tests)
        assert '--digest "$DIGEST"' in job("wheels", tests)
    noted = re.findall(
        r"^      ([\w-]+): \$\{\{ steps\.digest\.outputs\.\1 \}\}",
        job("wheels", "build"),
        re.MULTILINE,
    )
    assert noted == re.findall(r"- wheel: ([\w-]+)", job("wheels", "build"))
    check, upload = (
        job("release", "publish").find(each)
        for each in ("sha256sum --check --strict", "gh-action-pypi")
    )
    assert 0 < check < upload


def test_known_faults_are_looked_for_every_week():
    assert re.search(r"schedule:\n    - cron:", WORKFLOWS["advisories"])
    assert "run: make deny" in WORKFLOWS["advisories"]


@pytest.mark.parametrize("ecosystem", MANIFESTS)
def test_every_manifest_is_kept_fresh(ecosystem):
    folders = folders_of(MANIFESTS[ecosystem])
    if ecosystem == "cargo":
        folders -= {"/agent", "/arguments", "/core", "/net"}  # members of the workspace
    elif ecosystem == "pip":
        folders.add("/")  # pyproject.toml
    elif ecosystem == "github-actions":
        folders = {"/"}
    assert watched(ecosystem) == folders
