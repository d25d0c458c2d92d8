"""Source distributions of other projects, whose own test suites are run on ours."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
from pathlib import Path

__all__ = ["fetch"]


def fetch(folder: Path, name: str, version: str, sha256: str) -> Path:
    """Download and unpack a distribution, unless it is there.

    Args:
        folder: where it is kept.
        name: the project's name.
        version: the distribution's version.
        sha256: the digest of its archive.

    Returns:
        The root of its tree.

    Raises:
        subprocess.CalledProcessError: it cannot be downloaded.
        SystemExit: the archive has another digest.
    """
    root = folder / f"{name}-{version}"
    if root.exists():
        return root
    folder.mkdir(parents=True, exist_ok=True)
    download = ["pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest"]
    subprocess.run([sys.executable, "-m", *download, folder, f"{name}=={version}"], check=True)
    archive = folder / f"{root.name}.tar.gz"
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != sha256:
        sys.exit(f"{archive} is not the archive that was checked: its SHA-256 is {found}")
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    return root
