"""Packs wheels, and checks the published files as their users will find them.

    python tools/distributions.py pack WHEEL...
    python tools/distributions.py contents DISTRIBUTION...
    python tools/distributions.py digest DISTRIBUTION...
    python tools/distributions.py install DISTRIBUTION [PYTHON...] [--without EXTRA]... [--only TESTS]...
        [--digest LINE]

`pack` compresses the files of wheels further than maturin can; it needs the package `deflate`.
`contents` holds the files, the metadata and the size of wheels and source distributions to what they should be.
`digest` writes the SHA-256 of each with its name, as `sha256sum --check` reads them. With `--digest`, `install` refuses
a distribution that this line is not of.
`install` puts one into a new environment of each Python (a version or an interpreter; if none is named, 3.11, 3.12 and
3.13, and those of 3.14 and 3.15 that are found), away from the source tree. There it must import and parse with nothing
else installed, and a wheel must pass every test of the package with its extras, except `dev`, `docs` and those named;
with `--only`, the tests of these files. A source distribution is built first, so it needs Rust.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from copy import copy
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
PACKAGE = "cogency_rs"
PYTHONS = ("3.11", "3.12", "3.13")
NEWER_PYTHONS = ("3.14", "3.15")
PIP_INSTALL = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
MAX_WHEEL_BYTES = 5_000_000

# The extension module in a wheel of these tags; on Windows it is `_core.pyd`. A free-threaded Python does not load
# modules of the stable ABI, so it has a wheel of its own.
MODULES = {("cp311", "abi3"): "_core.abi3.so", ("cp314", "cp314t"): "_core.cpython-314t-*.so"}

PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")

# The files that the tests read, besides the installed package.
SUITE = (
    "tests",
    "tools",
    "benches",
    "docs",
    "examples",
    "CHANGELOG.md",
    "README.md",
    "pyproject.toml",
)

# Tests that read the sources, which are not there.
OF_SOURCES = (
    "tests/docs/test_dialects.py",
    "tests/docs/test_pages.py",
    "tests/docs/test_rust_page.py",
    "tests/docs/test_troubleshooting.py",
    "tests/unit/test_core_imports.py",
    "tests/unit/test_rust_suite.py",
    "tests/unit/test_walks.py",
)

WITHOUT_SOURCES = [f"--ignore={file}" for file in OF_SOURCES]

# The files that maturin adds to the package in a wheel: each pattern matches exactly one file.
ADDED = (
    "*.dist-info/METADATA",
    "*.dist-info/RECORD",
    "*.dist-info/WHEEL",
    "*.dist-info/entry_points.txt",
    "*.dist-info/licenses/LICENSE-APACHE",
    "*.dist-info/licenses/LICENSE-MIT",
    "*.dist-info/sboms/cogency-rs-python.cyclonedx.json",
)
# The unwinder, which maturin may put next to the package since musl does not have it, and where it comes from.
BUNDLED = (f"{PACKAGE}.libs/libgcc_s-*.so.1", "*.dist-info/sboms/auditwheel.cdx.json")

# Run in the new environment: the imported package is the installed one, is a release build, and works.
SMOKE = """
import sys, sysconfig
from importlib import metadata
from pathlib import Path

import cogency_rs
from cogency_rs.protocol import parse_execute_block
from cogency_rs import _core

installed = Path(sysconfig.get_path("platlib")).resolve()
for module in (cogency_rs, _core):
    found = Path(module.__file__).resolve()
    if not found.is_relative_to(installed):
        sys.exit(f"{module.__name__} was imported from {found}, not from {installed}")
if metadata.version("cogency-rs") != sys.argv[1]:
    sys.exit(f"version {metadata.version('cogency-rs')} is installed, not {sys.argv[1]}")
if getattr(_core, "BUILD", "release") != "release":
    sys.exit(f"the extension module is a {_core.BUILD} build")
[call] = parse_execute_block('<execute>[{"name": "add", "args": {"a": 1}}]</execute>')
if (call.name, call.args) != ("add", {"a": 1}):
    sys.exit(f"the parser made {call} of a call of `add`")
"""


class UnfitError(Exception):
    """A distribution that must not be published, and why."""


@dataclass(frozen=True)
class Distribution:
    """A built wheel or source distribution.

    `files` are the paths in it; those of a source distribution without its top folder. `metadata` is the text of
    `METADATA` or `PKG-INFO`.
    """

    path: Path
    files: tuple[str, ...]
    metadata: str

    @property
    def is_wheel(self) -> bool:
        return self.path.suffix == ".whl"

    @property
    def extras(self) -> list[str]:
        return re.findall(r"^Provides-Extra: (\S+)$", self.metadata, re.MULTILINE)

    @classmethod
    def open(cls, path: Path) -> Distribution:
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as wheel:
                files = tuple(name for name in wheel.namelist() if not name.endswith("/"))
                [metadata] = [name for name in files if name.endswith(".dist-info/METADATA")]
                return cls(path, files, wheel.read(metadata).decode())
        with tarfile.open(path) as source:
            names = [member.name for member in source.getmembers() if not member.isdir()]
            top = path.name.removesuffix(".tar.gz")
            text = source.extractfile(f"{top}/PKG-INFO").read().decode()
            return cls(path, tuple(name.removeprefix(f"{top}/") for name in names), text)


def main() -> None:
    """Run one of the commands."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = arguments.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("wheels", nargs="+", type=Path)
    contents = commands.add_parser("contents")
    contents.add_argument("distributions", nargs="+", type=Path)
    install = commands.add_parser("install")
    install.add_argument("distribution", type=Path)
    install.add_argument("pythons", nargs="*")
    install.add_argument(
        "--without", action="append", metavar="EXTRA", default=["dev", "docs", "types"]
    )
    install.add_argument("--only", action="append", metavar="TESTS", default=[])
    install.add_argument("--digest", help="what `digest` has to say of the distribution")
    noting = commands.add_parser("digest")
    noting.add_argument("distributions", nargs="+", type=Path)
    asked = arguments.parse_args()
    try:
        if asked.command == "pack":
            for path in asked.wheels:
                pack(path)
        elif asked.command == "contents":
            for path in asked.distributions:
                check_contents(Distribution.open(path))
        elif asked.command == "digest":
            lines = "".join(f"{digest(path)}\n" for path in asked.distributions)
            sys.stdout.flush()
            sys.stdout.buffer.write(lines.encode())  # a line feed is one also on Windows
        else:
            pythons = asked.pythons or default_pythons()
            if asked.digest is not None and (found := digest(asked.distribution)) != asked.digest:
                raise UnfitError(
                    f"this is not what was built: it is {found!r}, and not {asked.digest!r}"
                )
            distribution = Distribution.open(asked.distribution)
            install_everywhere(distribution, pythons, asked.without, asked.only)
    except UnfitError as reason:
        sys.exit(str(reason))


def digest(path: Path) -> str:
    """The SHA-256 of a distribution and its name."""
    return f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}"


# Packing


class StrongCompressor:
    """Compresses one file as a whole with libdeflate, whose best level is 3 % smaller than zlib's."""

    def __init__(self) -> None:
        self.content = bytearray()

    def compress(self, data: bytes) -> bytes:
        self.content += data
        return b""

    def flush(self) -> bytes:
        from deflate import deflate_compress

        return bytes(deflate_compress(self.content, 12))


def pack(path: Path) -> None:
    """Compress the files of a wheel again, in its place. Their contents, order and modes stay as they are."""
    packed = path.with_suffix(".packed")
    with zipfile.ZipFile(path) as wheel, zipfile.ZipFile(packed, "w") as smaller:
        for entry in wheel.infolist():
            with smaller.open(copy(entry), "w") as file:
                file._compressor = StrongCompressor()
                file.write(wheel.read(entry))
    with zipfile.ZipFile(path) as wheel, zipfile.ZipFile(packed) as smaller:
        for before, after in zip(wheel.infolist(), smaller.infolist(), strict=True):
            same = (before.filename, before.external_attr) == (after.filename, after.external_attr)
            if not same or wheel.read(before) != smaller.read(after):
                raise UnfitError(f"{path.name}: {before.filename} is not the same once packed")
    print(f"{path.name}: {path.stat().st_size:,} bytes, packed {packed.stat().st_size:,}")
    packed.replace(path)


# Contents


def check_contents(distribution: Distribution) -> None:
    """Raise `UnfitError` unless the files, the metadata and the size are as they should be."""
    expected = wheel_files(distribution) if distribution.is_wheel else source_files()
    found = set(distribution.files)
    wrong = [f"{name} is missing" for name in sorted(expected - found)]
    wrong += [f"{name} should not be in it" for name in sorted(found - expected)]
    wrong += wrong_metadata(distribution.metadata)
    if distribution.is_wheel:
        wrong += wrong_wheel(distribution)
    if wrong:
        raise UnfitError("\n".join(f"{distribution.path.name}: {fault}" for fault in wrong))
    size = distribution.path.stat().st_size
    print(f"{distribution.path.name}: {len(found)} files, {size / 1000:,.0f} kB, as it should be")


def tracked(*folders: str) -> set[str]:
    """The files that git knows, below `folders` if any are named."""
    listing = ["git", "-C", CHECKOUT, "ls-files", "-z", "--", *folders]
    told = subprocess.run(listing, check=True, stdout=subprocess.PIPE, text=True)
    return set(told.stdout.rstrip("\0").split("\0"))


def wheel_files(wheel: Distribution) -> set[str]:
    """The package's files that git knows, the extension module, and the files that maturin adds.

    A pattern stands for the file that matches it, and for itself when none does or several do.
    """
    _, _, python, abi, platform = wheel.path.stem.split("-")
    module = MODULES.get((python, abi), "_core.abi3.so")
    module = f"{PACKAGE}/{'_core.pyd' if platform.startswith('win') else module}"
    expected = {name.removeprefix("python/") for name in tracked("python")}
    for pattern in (module, *ADDED):
        match fnmatch.filter(wheel.files, pattern):
            case [name]:
                expected.add(name)
            case _:
                expected.add(pattern)
    if platform.startswith("musllinux"):
        expected.update(name for each in BUNDLED for name in fnmatch.filter(wheel.files, each))
    return expected


def source_files() -> set[str]:
    """The files that `include` in Cargo.toml names and git knows, and those that a build needs."""
    patterns = [name.lstrip("/") for name in described("Cargo.toml")["package"]["include"]]
    named = {
        name
        for name in tracked()
        if any(fnmatch.fnmatchcase(name, each) or name.startswith(f"{each}/") for each in patterns)
    }
    return named | {"Cargo.toml", "Cargo.lock", "pyproject.toml", "PKG-INFO"}


def described(file: str) -> dict:
    """What Cargo.toml or pyproject.toml says."""
    return tomllib.loads((CHECKOUT / file).read_text(encoding="utf-8"))


def wrong_metadata(text: str) -> list[str]:
    """Metadata that a package index would refuse, or that disagrees with pyproject.toml and Cargo.toml."""
    # `install` needs nothing but the standard library, wherever it runs.
    from packaging.metadata import Metadata

    try:
        metadata = Metadata.from_email(text, validate=True)
    except ExceptionGroup as group:
        return [f"its metadata is invalid: {error}" for error in group.exceptions]
    project = described("pyproject.toml")["project"]
    version = described("Cargo.toml")["workspace"]["package"]["version"]
    required = [
        str(each) for each in metadata.requires_dist or () if "extra" not in str(each.marker)
    ]
    expected = {
        "name": (metadata.name, project["name"]),
        "version": (str(metadata.version), version),
        "summary": (metadata.summary, project["description"]),
        "licence": (metadata.license_expression, project["license"]),
        "licence files": (metadata.license_files, ["LICENSE-APACHE", "LICENSE-MIT"]),
        "Python": (str(metadata.requires_python), ">=3.11"),
        "requirements without an extra": (required, []),
        "description": (
            (metadata.description or "").strip(),
            (CHECKOUT / project["readme"]).read_text(encoding="utf-8").strip(),
        ),
    }
    return [
        f"its metadata has for {name} {found!r}, not {wanted!r}"
        for name, (found, wanted) in expected.items()
        if found != wanted
    ]


def wrong_wheel(wheel: Distribution) -> list[str]:
    """What is wrong with the tags or the size."""
    _, _, python, abi, _ = wheel.path.stem.split("-")
    wrong = []
    if (python, abi) not in MODULES:
        known = " or ".join("-".join(tags) for tags in MODULES)
        wrong.append(f"it is tagged {python}-{abi}, not {known}")
    if (size := wheel.path.stat().st_size) > MAX_WHEEL_BYTES:
        wrong.append(f"it has {size:,} bytes, more than {MAX_WHEEL_BYTES:,}")
    return wrong


# Installation


def default_pythons() -> list[str]:
    """The Pythons that are tried if none is named; prints which are left out."""
    missing = [python for python in NEWER_PYTHONS if find_interpreter(python) is None]
    if missing:
        print(f"Python {', '.join(missing)} was not found and is left out", flush=True)
    return [*PYTHONS, *(python for python in NEWER_PYTHONS if python not in missing)]


def install_everywhere(
    distribution: Distribution, pythons: list[str], without: list[str], only: list[str]
) -> None:
    """Install into each Python and try it there; raises `UnfitError` with what failed where."""
    interpreters = {python: find_interpreter(python) for python in pythons}
    if missing := [python for python, found in interpreters.items() if found is None]:
        raise UnfitError(
            f"Python {', '.join(missing)} was not found, neither on the PATH nor under pyenv; "
            "install it, or name those to use: make test-wheel PYTHONS='3.12 /path/to/python3.13'"
        )
    failed = [
        f"{distribution.path.name} on Python {python}: {failure}"
        for python, interpreter in interpreters.items()
        if (failure := install(distribution, interpreter, without, only))
    ]
    if failed:
        raise UnfitError("\n".join(failed))


def find_interpreter(python: str) -> Path | None:
    """The interpreter that is meant by a path or by a version such as `3.12`."""
    if Path(python).is_file():
        return Path(python)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [
        [sys.executable],
        [f"python{python}"],
        *([str(found / "bin" / "python")] for found in sorted(pyenv.glob(f"{python}.*"))),
        ["py", f"-{python}"],
    ]
    tell = "import sys; print('{}.{}'.format(*sys.version_info), sys._base_executable)"
    for command in candidates:
        if shutil.which(command[0]) is None:
            continue
        # pyenv's shim of a version that is not chosen is there, but fails.
        told = subprocess.run([*command, "-c", tell], capture_output=True, text=True, check=False)
        version, _, path = told.stdout.strip().partition(" ")
        if told.returncode == 0 and version == python:
            return Path(path)
    return None


def install(
    distribution: Distribution, interpreter: Path, without: list[str], only: list[str]
) -> str | None:
    """Try the distribution in a new environment; returns what failed."""
    with tempfile.TemporaryDirectory(prefix="cogency-rs-") as folder:
        room = Path(folder).resolve()
        make_environment(interpreter, room / "env")
        suite = room / "suite"
        copy_suite(suite)
        for name, command in steps(distribution, without, only):
            print(f"{distribution.path.name} on {interpreter}: {name}", flush=True)
            if code := run(room / "env", command, suite):
                return f"{name} ended with exit code {code}"
    return None


def make_environment(interpreter: Path, folder: Path) -> None:
    """Make a virtual environment with a pip: the interpreter's own, or a new one if it lacks pip."""
    # Debian has `ensurepip` in a package of its own.
    asked = subprocess.run(
        [interpreter, "-c", "import ensurepip"], capture_output=True, check=False
    )
    if asked.returncode == 0:
        subprocess.run([interpreter, "-m", "venv", folder], check=True)
        return
    subprocess.run([interpreter, "-m", "venv", "--without-pip", folder], check=True)
    tell = "import sysconfig; print(sysconfig.get_path('purelib'))"
    told = subprocess.run(
        [python_of(folder), "-c", tell], capture_output=True, text=True, check=True
    )
    # pip is pure Python, so that ours can put it there without running on that Python itself.
    command = [sys.executable, *PIP_INSTALL, "--target", told.stdout.strip(), "pip"]
    subprocess.run(command, check=True)


def python_of(venv: Path) -> Path:
    """The interpreter of an environment."""
    return venv / ("Scripts" if os.name == "nt" else "bin") / "python"


def steps(
    distribution: Distribution, without: list[str], only: list[str]
) -> list[tuple[str, list[str | Path]]]:
    """The steps in a new environment, in order: a name, and arguments for its Python."""
    archive = distribution.path.resolve()
    version = archive.name.split("-")[1].removesuffix(".tar.gz")
    smoke = ("importing and parsing", ["-W", "error", "-c", SMOKE, version])
    if not distribution.is_wheel:
        return [("building and installing", [*PIP_INSTALL, archive]), smoke]
    extras = [name for name in distribution.extras if name not in without]
    return [
        # Without an index nothing else can be installed, so this fails if anything else is required.
        ("installing", [*PIP_INSTALL, "--no-index", archive]),
        smoke,
        ("installing the extras", [*PIP_INSTALL, f"{archive}[{','.join(extras)}]"]),
        ("the command line", ["-m", PACKAGE, "--version"]),
        ("the tests", [*PYTEST, *(only or WITHOUT_SOURCES)]),
    ]


def copy_suite(folder: Path) -> None:
    """Copy the files that the tests need, but not the package."""
    folder.mkdir()
    for name in SUITE:
        source = CHECKOUT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)


def run(venv: Path, command: list[str | Path], folder: Path) -> int:
    """Run the environment's Python in `folder`, seeing no other installation; returns its exit code."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    recordings = CHECKOUT.parent / "shared" / "data"
    if recordings.is_dir():
        environment.setdefault("COGENCY_RS_RECORDINGS", str(recordings))
    return subprocess.run(
        [python_of(venv), *command], cwd=folder, env=environment, check=False
    ).returncode


if __name__ == "__main__":
    main()
