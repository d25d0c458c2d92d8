"""Which files may be in a wheel and in a source distribution, and where the tests of a wheel run."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from textwrap import dedent

import pytest

from tools import distributions
from tools.distributions import CHECKOUT, Distribution, UnfitError, check_contents

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None, reason="git lists what may be published"
)

WHEEL = "cogency_rs-1.2.0-cp311-abi3-manylinux_2_17_x86_64.whl"
SOURCE = "cogency_rs-1.2.0.tar.gz"
README = "# cogency-rs\n\nWhat it is.\n"
METADATA = """\
Metadata-Version: 2.4
Name: cogency-rs
Version: 1.2.0
Summary: What it is
License-Expression: Apache-2.0 OR MIT
License-File: LICENSE-APACHE
License-File: LICENSE-MIT
Requires-Python: >=3.11
Requires-Dist: rich>=14 ; extra == 'cli'
Provides-Extra: cli
Description-Content-Type: text/markdown

"""
MANIFEST = """
    [package]
    include = ["/src", "/python", "/LICENSE-*", "/README.md"]

    [workspace.package]
    version = "1.2.0"
"""
PROJECT = """
    [project]
    name = "cogency-rs"
    description = "What it is"
    license = "Apache-2.0 OR MIT"
    readme = "README.md"
"""
PACKAGE = ("cogency_rs/__init__.py", "cogency_rs/_core.pyi", "cogency_rs/py.typed")
INFO = "cogency_rs-1.2.0.dist-info"
IN_WHEEL = (
    *PACKAGE,
    "cogency_rs/_core.abi3.so",
    *(f"{INFO}/{name}" for name in ("RECORD", "WHEEL", "entry_points.txt")),
    *(f"{INFO}/licenses/LICENSE-{name}" for name in ("APACHE", "MIT")),
    f"{INFO}/sboms/cogency-rs-python.cyclonedx.json",
)
TRACKED = (
    *(f"python/{name}" for name in PACKAGE),
    *("Cargo.lock", "LICENSE-APACHE", "LICENSE-MIT", "pyproject.toml", "src/lib.rs"),
)
IN_SOURCE = (*TRACKED, "Cargo.toml", "README.md")


@pytest.fixture(autouse=True)
def checkout(tmp_path, monkeypatch):
    """A git checkout, with files that are published and files that are not."""
    root = tmp_path / "checkout"
    for name in (*TRACKED, ".github/workflows/ci.yml", "Makefile"):
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    (root / "Cargo.toml").write_text(dedent(MANIFEST))
    (root / "pyproject.toml").write_text(dedent(PROJECT))
    (root / "README.md").write_text(README)
    subprocess.run(["git", "init", "--quiet", root], check=True)
    subprocess.run(["git", "-C", root, "add", "--all"], check=True)
    monkeypatch.setattr(distributions, "CHECKOUT", root)
    return root


def wheel(folder, *, files=IN_WHEEL, metadata=METADATA + README, name=WHEEL, size=0):
    """A wheel with these files, one of which has `size` bytes."""
    with zipfile.ZipFile(folder / name, "w") as archive:
        for each in files:
            archive.writestr(each, b"\0" * size if each.endswith(".so") else "")
        archive.writestr(f"{INFO}/METADATA", metadata)
    return Distribution.open(folder / name)


def source(folder, *, files=IN_SOURCE, metadata=METADATA + README):
    """A source distribution with these files."""
    with tarfile.open(folder / SOURCE, "w:gz") as archive:
        for name, text in {**dict.fromkeys(files, ""), "PKG-INFO": metadata}.items():
            member = tarfile.TarInfo(f"{SOURCE.removesuffix('.tar.gz')}/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return Distribution.open(folder / SOURCE)


@pytest.mark.parametrize(
    ("files", "name"),
    [
        (IN_WHEEL, WHEEL),
        (
            (*(name.replace("_core.abi3.so", "_core.pyd") for name in IN_WHEEL),),
            "cogency_rs-1.2.0-cp311-abi3-win_amd64.whl",
        ),
        (
            (
                *IN_WHEEL,
                "cogency_rs.libs/libgcc_s-0cd532bd.so.1",
                f"{INFO}/sboms/auditwheel.cdx.json",
            ),
            "cogency_rs-1.2.0-cp311-abi3-musllinux_1_2_x86_64.whl",
        ),
        (
            (*(name.replace("abi3", "cpython-314t-x86_64-linux-gnu") for name in IN_WHEEL),),
            "cogency_rs-1.2.0-cp314-cp314t-manylinux_2_17_x86_64.whl",
        ),
    ],
    ids=["Linux", "Windows", "musl", "free-threaded"],
)
def test_a_wheel_has_the_package_the_module_and_the_licences(tmp_path, capsys, files, name):
    check_contents(wheel(tmp_path, files=files, name=name))
    assert capsys.readouterr().out.startswith(f"{name}: {len(files) + 1} files, ")


def test_a_source_distribution_has_what_the_manifest_includes(tmp_path, capsys):
    check_contents(source(tmp_path))
    assert capsys.readouterr().out.startswith(f"{SOURCE}: {len(IN_SOURCE) + 1} files, ")


def test_a_packed_wheel_is_smaller_and_has_the_same_files(tmp_path, capsys):
    pytest.importorskip("deflate")
    path = tmp_path / WHEEL
    library = zipfile.ZipInfo("cogency_rs/_core.abi3.so", (1980, 1, 1, 0, 0, 0))
    library.external_attr = 0o100755 << 16
    library.compress_type = zipfile.ZIP_DEFLATED
    text = " ".join(str(number * number) for number in range(20_000))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr(library, text, compresslevel=9)
        archive.writestr("cogency_rs/py.typed", "")
    size = path.stat().st_size

    distributions.pack(path)

    assert path.stat().st_size < 0.99 * size
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == [WHEEL]
    with zipfile.ZipFile(path) as archive:
        [module, marker] = archive.infolist()
        assert archive.read(module) == text.encode()
        assert (module.external_attr, module.date_time) == (0o100755 << 16, library.date_time)
        assert (marker.filename, archive.read(marker)) == ("cogency_rs/py.typed", b"")


def without(files, name):
    """The files without one of them."""
    assert name in files
    return tuple(each for each in files if each != name)


UNFIT_WHEELS = {
    "no type marker": (
        {"files": without(IN_WHEEL, "cogency_rs/py.typed")},
        "cogency_rs/py.typed is missing",
    ),
    "no stub": (
        {"files": without(IN_WHEEL, "cogency_rs/_core.pyi")},
        "cogency_rs/_core.pyi is missing",
    ),
    "no extension module": (
        {"files": without(IN_WHEEL, "cogency_rs/_core.abi3.so")},
        "cogency_rs/_core.abi3.so is missing",
    ),
    "no licence": (
        {"files": without(IN_WHEEL, f"{INFO}/licenses/LICENSE-MIT")},
        "*.dist-info/licenses/LICENSE-MIT is missing",
    ),
    "tests": (
        {"files": (*IN_WHEEL, "tests/test_parser.py")},
        "tests/test_parser.py should not be in it",
    ),
    "an untracked file": (
        {"files": (*IN_WHEEL, "cogency_rs/notes.txt")},
        "cogency_rs/notes.txt should not be in it",
    ),
    "a module for one Python": (
        {"name": "cogency_rs-1.2.0-cp312-cp312-manylinux_2_17_x86_64.whl"},
        "it is tagged cp312-cp312, not cp311-abi3 or cp314-cp314t",
    ),
    "too large": (
        {"size": 5_000_001},
        "it has 5,00",
    ),
    "another version": (
        {"metadata": METADATA.replace("Version: 1.2.0", "Version: 1.1.0") + README},
        "its metadata has for version '1.1.0', not '1.2.0'",
    ),
    "a requirement": (
        {
            "metadata": METADATA.replace("Provides-Extra", "Requires-Dist: rich\nProvides-Extra")
            + README
        },
        "its metadata has for requirements without an extra ['rich'], not []",
    ),
    "no description": (
        {"metadata": METADATA},
        "its metadata has for description '', not '# cogency-rs",
    ),
    "metadata that an index refuses": (
        {"metadata": METADATA.replace("OR MIT", "OR Mine") + README},
        "its metadata is invalid: ",
    ),
}


@pytest.mark.parametrize(("wrong", "fault"), UNFIT_WHEELS.values(), ids=UNFIT_WHEELS)
def test_one_fault_makes_a_wheel_unfit(tmp_path, wrong, fault):
    with pytest.raises(UnfitError) as reason:
        check_contents(wheel(tmp_path, **wrong))
    [line] = str(reason.value).splitlines()
    assert line.startswith(f"{wrong.get('name', WHEEL)}: {fault}")


UNFIT_SOURCES = {
    "a source is missing": (without(IN_SOURCE, "src/lib.rs"), "src/lib.rs is missing"),
    "no lock file": (without(IN_SOURCE, "Cargo.lock"), "Cargo.lock is missing"),
    "an untracked file": ((*IN_SOURCE, "src/notes.txt"), "src/notes.txt should not be in it"),
    "a built module": (
        (*IN_SOURCE, "python/cogency_rs/_core.abi3.so"),
        "python/cogency_rs/_core.abi3.so should not be in it",
    ),
    "what the manifest leaves out": ((*IN_SOURCE, "Makefile"), "Makefile should not be in it"),
}


@pytest.mark.parametrize(("files", "fault"), UNFIT_SOURCES.values(), ids=UNFIT_SOURCES)
def test_one_fault_makes_a_source_distribution_unfit(tmp_path, files, fault):
    with pytest.raises(UnfitError) as reason:
        check_contents(source(tmp_path, files=files))
    assert str(reason.value) == f"{SOURCE}: {fault}"


def test_only_what_was_built_is_installed(tmp_path, monkeypatch, capsys):
    path = tmp_path / "a.whl"
    path.write_bytes(b"abc")
    line = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a.whl"
    monkeypatch.setattr("sys.argv", ["distributions.py", "digest", str(path)])
    distributions.main()
    assert capsys.readouterr().out == f"{line}\n"
    path.write_bytes(b"abd")
    monkeypatch.setattr(
        "sys.argv", ["distributions.py", "install", str(path), "3.11", "--digest", line]
    )
    with pytest.raises(SystemExit, match=f"this is not what was built: .* and not '{line}'"):
        distributions.main()


def test_the_tests_run_with_every_extra_that_is_not_left_out(tmp_path):
    metadata = METADATA.replace(
        "Provides-Extra", "Provides-Extra: dev\nProvides-Extra: test\nProvides-Extra"
    )
    [*_, (_, extras), _, _] = distributions.steps(wheel(tmp_path, metadata=metadata), ["dev"], [])
    assert extras[-1].endswith(f"{WHEEL}[test,cli]")


@pytest.mark.parametrize(("only", "last"), [([], distributions.WITHOUT_SOURCES), (["a"], ["a"])])
def test_every_test_is_run_or_those_that_are_named(tmp_path, only, last):
    [*_, (_, tests)] = distributions.steps(wheel(tmp_path), [], only)
    assert tests == [*distributions.PYTEST, *last]


FINDS_FILES = re.compile(r"__file__|CHECKOUT|TESTS|from support\.pages|import pages")
"""How a test finds files of the checkout."""


def test_every_test_that_finds_files_is_collected_where_the_sources_are_not(tmp_path, monkeypatch):
    monkeypatch.setattr(distributions, "CHECKOUT", CHECKOUT)
    distributions.copy_suite(tmp_path / "suite")
    files = sorted((tmp_path / "suite" / "tests").rglob("test_*.py"))
    without = {tmp_path / "suite" / name for name in distributions.OF_SOURCES}
    finding = [
        file
        for file in files
        if file not in without and FINDS_FILES.search(file.read_text(encoding="utf-8"))
    ]
    assert len(finding) > 10
    find = [sys.executable, *distributions.PYTEST, "--collect-only", *finding]
    found = subprocess.run(
        find, cwd=tmp_path / "suite", capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout[-2000:]


def test_pythons_that_are_missing_are_named_before_anything_is_installed(tmp_path):
    with pytest.raises(
        UnfitError, match=r"^Python 2\.9, 9\.9 was not found, neither on the PATH nor"
    ):
        distributions.install_everywhere(source(tmp_path), ["2.9", "9.9"], [], [])


def test_newer_pythons_are_left_out_if_they_are_not_found(monkeypatch, capsys):
    found = {"3.11": "/a", "3.12": "/b", "3.14": "/c"}
    monkeypatch.setattr(distributions, "find_interpreter", found.get)
    assert distributions.default_pythons() == ["3.11", "3.12", "3.13", "3.14"]
    assert capsys.readouterr().out == "Python 3.15 was not found and is left out\n"


@pytest.mark.parametrize("has_pip", [True, False], ids=["with pip", "without pip"])
def test_an_environment_is_made_with_or_without_the_interpreter_s_own_pip(
    tmp_path, monkeypatch, has_pip
):
    """If the new Python cannot install pip itself, the running Python does it."""
    commands = []

    def run(command, **_):
        commands.append([str(each) for each in command])
        fails = "import ensurepip" in command and not has_pip
        return subprocess.CompletedProcess(command, int(fails), stdout="/site-packages\n")

    monkeypatch.setattr(distributions.subprocess, "run", run)
    distributions.make_environment("python", tmp_path)
    first, *rest = commands[1:]
    if has_pip:
        assert (first, rest) == (["python", "-m", "venv", str(tmp_path)], [])
    else:
        assert first == ["python", "-m", "venv", "--without-pip", str(tmp_path)]
        assert (rest[-1][0], rest[-1][-3:]) == (
            sys.executable,
            ["--target", "/site-packages", "pip"],
        )
