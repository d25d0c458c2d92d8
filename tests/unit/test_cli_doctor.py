"""`cogency-rs doctor`: it reports what is installed, whether that works, and what to do if it does not."""

from __future__ import annotations

import json
import platform
import re
import sqlite3
import subprocess
import sys
from email.message import Message

import pytest
from packaging.requirements import Requirement

from support import commands

pytest.importorskip("typer", reason="the command line is in the extra cli")

from importlib import metadata

from cogency_rs import __version__, _core
from cogency_rs.cli import doctor


def version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def asked_for() -> dict[str, list[str]]:
    """The distributions of each extra, according to the package's metadata."""
    extras: dict[str, list[str]] = {
        name: [] for name in metadata.metadata("cogency-rs").get_all("Provides-Extra") or []
    }
    for requirement in map(Requirement, metadata.requires("cogency-rs") or []):
        text = str(requirement.marker)
        for name in extras:
            if f'extra == "{name}"' in text:
                extras[name].append(requirement.name)
    return extras


def test_it_says_what_is_installed_and_that_it_works():
    ended = commands.run("doctor", "--json")
    assert (ended.code, ended.err) == (0, "")
    [found] = ended.objects
    cogency = version("cogency")
    assert found | {"package": None, "platform": None} == {
        "usable": True,
        "problems": [],
        "remarks": [],
        "package": None,
        "core": {
            "version": __version__,
            "build": "release",
            "abi3": True,
            "file": found["core"]["file"],
        },
        "python": {
            "version": platform.python_version(),
            "implementation": platform.python_implementation(),
            "executable": sys.executable,
        },
        "platform": None,
        "sqlite": {
            "version": sqlite3.sqlite_version,
            "threadsafe": "serialized",
            "journal_mode": "wal",
            "synchronous": "FULL",
        },
        "cogency": cogency and {"version": cogency, "supported": cogency.startswith("3.3.")},
        "extras": {
            extra: {name: version(name) for name in names} for extra, names in asked_for().items()
        },
        "turn": {"works": True},
    }
    assert found["package"]["version"] == __version__
    assert found["platform"]["machine"] == platform.machine()


def test_the_report_for_a_person_says_the_same():
    ended = commands.run("doctor")
    assert (ended.code, ended.err) == (0, "")
    lines = dict(line.split(maxsplit=1) for line in ended.out.splitlines() if line[0] != " ")
    assert list(lines) == [
        "package",
        "core",
        "python",
        "platform",
        "sqlite",
        "cogency",
        "extras",
        "turn",
        "everything",
    ]
    assert lines["core"].startswith(f"{__version__}, release, abi3, _core.")
    assert (
        lines["sqlite"]
        == f"{sqlite3.sqlite_version}, serialized, journal_mode wal, synchronous FULL"
    )
    assert ended.out.endswith("\nturn      works\neverything works\n")


@pytest.mark.parametrize(
    ("required", "installed", "shown"),
    [
        (["a>=1 ; extra == 'x'"], {"a": "1.2"}, "x (a 1.2)"),
        (["a>=1; extra == 'x'", 'b ; extra=="x"'], {"a": "1.2", "b": "3"}, "x (a 1.2, b 3)"),
        (["a[c]>=1 ; (extra == 'x')", "b ; extra == 'x'"], {"b": "3"}, "x (a not installed)"),
        (["a>=1 ; python_version < '3' and extra == 'x'"], {}, "x not installed"),
        (["a ; extra == 'x'", "a ; extra == 'y'"], {}, "x not installed, y not installed"),
        (["a ; extra == 'x' or extra == 'y'"], {"a": "1"}, "x (a 1), y (a 1)"),
        (["plain>=1"], {}, "x"),
    ],
)
def test_each_extra_of_the_metadata_is_listed_with_what_it_lacks(
    command, monkeypatch, required, installed, shown
):
    names = sorted({*re.findall("extra ?== ?['\"](.)", str(required))}) or ["x"]

    def version(name: str) -> str:
        if name not in installed and name != "cogency-rs":
            raise metadata.PackageNotFoundError(name)
        return installed.get(name, __version__)

    described = Message()
    for name in names:
        described["Provides-Extra"] = name
    monkeypatch.setattr(doctor.metadata, "metadata", lambda _: described)
    monkeypatch.setattr(doctor.metadata, "requires", lambda _: required)
    monkeypatch.setattr(doctor.metadata, "version", version)
    assert f"\nextras    {shown}\n" in command("doctor").out


# Reports when a part is missing, or not as it should be.


def broken_turn(monkeypatch) -> None:
    monkeypatch.setattr(doctor, "_TURN", "<execute>[")


def raising_turn(monkeypatch) -> None:
    def refuse(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(doctor, "TemporaryDirectory", refuse)


def other_version(monkeypatch) -> None:
    monkeypatch.setattr(doctor.metadata, "version", lambda _: "0.0.1")


def one_thread(monkeypatch) -> None:
    monkeypatch.setattr(doctor.sqlite3, "threadsafety", 0)


def not_installed(monkeypatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor.metadata, "distribution", missing)


def debug_build(monkeypatch) -> None:
    monkeypatch.setattr(_core, "BUILD", "debug")


def unknown_cogency(monkeypatch) -> None:
    known = metadata.version
    monkeypatch.setattr(
        doctor.metadata, "version", lambda name: "4.0.0" if name == "cogency" else known(name)
    )


def other_journal(monkeypatch) -> None:
    async def settings(_: object) -> tuple[str, str]:
        return "delete", "FULL"

    monkeypatch.setattr(doctor, "_settings", settings)


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        (broken_turn, "a turn of two calls gave the events ['respond'] and the message "),
        (raising_turn, "turn could not be examined: OSError: [Errno 28] No space left on device"),
        (
            other_version,
            f"the package is of version 0.0.1 and its core of {__version__}; install it again: pip ",
        ),
        (
            one_thread,
            "this Python's SQLite was built for one thread only, and the log uses several; use another",
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_part_that_cannot_be_used_is_a_problem_and_ends_with_1(
    command, monkeypatch, state, problem
):
    state(monkeypatch)
    ended = command("doctor", "--json")
    [found] = ended.objects
    assert (ended.code, found["usable"]) == (1, False)
    assert any(text.startswith(problem) for text in found["problems"])
    for_person = command("doctor")
    assert (for_person.code, for_person.out.endswith("\nnot usable\n")) == (1, True)
    assert " ".join(problem.split()[:5]) in " ".join(for_person.out.split())


@pytest.mark.parametrize(
    ("state", "remark"),
    [
        (not_installed, "the package runs from a folder on the path; it is not installed"),
        (
            debug_build,
            "the core was built without optimisation and is slow; build it with `maturin develop --release`",
        ),
        (
            unknown_cogency,
            "cogency 4.0.0 is not known to cogency_rs.install(), which supports 3.3.x",
        ),
        (other_journal, "SQLite's journal mode in "),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_part_that_can_still_be_used_is_a_remark_and_ends_with_0(
    command, monkeypatch, state, remark
):
    state(monkeypatch)
    ended = command("doctor", "--json")
    [found] = ended.objects
    assert (ended.code, found["usable"], found["problems"]) == (0, True, [])
    assert any(text.startswith(remark) for text in found["remarks"])
    assert "remark    " in command("doctor").out


def test_nothing_but_the_package_s_own_parts_is_imported_to_examine_it():
    """Importing cogency takes seconds."""
    code = (
        "import sys, json, cogency_rs.cli.doctor as d; found = d.examine();"
        "print(json.dumps([m for m in ('cogency', 'uvloop', 'pydantic') if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    assert json.loads(done.stdout) == []
