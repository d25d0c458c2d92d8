"""Access to one folder and to nothing outside of it: paths are opened from the folder downwards, one name at a time.

Invariant: no link is ever followed. Each folder on the way is opened by its name within the folder above, which is open
already. So neither `..` nor an absolute path leads out, nor does a link that replaces a folder between two looks.

Windows cannot open a file within an open folder. There each name is checked before it is used, and the opened file is
compared with what the path names afterwards. Somebody who swaps a folder for a link between these two moments, and back
again, goes unnoticed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO, Literal

from ..errors import ConfigError, ToolError

__all__ = ["Folder", "FolderEntry"]

_BY_DESCRIPTOR = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_CLOEXEC = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _CLOEXEC
_READ = os.O_RDONLY | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | _CLOEXEC  # a pipe would wait
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW | _CLOEXEC
_REPARSE = getattr(stat, "FILE_ATTRIBUTE_REPARSE_POINT", 0)

EntryKind = Literal["file", "folder", "link", "other"]


@dataclass(frozen=True)
class FolderEntry:
    """One entry of a folder.

    Attributes:
        kind: a link is a `link`, whatever it leads to; `other` is a pipe, a socket or a device.
        size: in bytes; meaningful for a file.
    """

    name: str
    kind: EntryKind
    size: int


class Folder:
    """A folder that a model may work in.

    Args:
        directory: an existing folder.

    Attributes:
        path: its absolute path, with all links resolved.

    Raises:
        ConfigError: `directory` is not a folder, or cannot be opened.

    All methods take paths relative to the folder, with `/` between names, or absolute ones that begin with the folder's
    own path. They refuse a path with a `ToolError`, whose text is for the model.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._given = Path(directory).absolute()
        try:
            self.path = self._given.resolve(strict=True)
            self._identity = os.stat(self.path)  # noqa: PTH116
            if not stat.S_ISDIR(self._identity.st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        except OSError as error:
            raise ConfigError(
                f"{directory} cannot be worked in ({error.strerror}); name a folder that exists",
                cause=error,
            ) from error

    def parts(self, path: str) -> list[str]:
        """The names of the folders on the way to a path, and of what is there.

        Raises:
            ToolError: the path leads out of the folder, or cannot be a path.
        """
        if "\0" in path:
            raise ToolError(f"{path!r} cannot be a path: it has a NUL character in it")
        rest = path.replace("\\", "/") if os.name == "nt" else path
        if os.path.isabs(rest) or (os.name == "nt" and ":" in rest):  # noqa: PTH117
            rest = self._relative(path)
        names: list[str] = []
        for name in rest.split("/"):
            if name == "..":
                if not names:
                    raise _outside(path)
                names.pop()  # no link is followed, so this is where it leads
            elif name not in ("", "."):
                names.append(name)
        return names

    def kind(self, path: str) -> EntryKind | None:
        """The kind of what a path names; `None` if it names nothing."""
        *folders, name = self.parts(path) or ["."]
        try:
            with self._opened(folders, path) as place:
                return _kind(place.stat_of(name, path))
        except _MissingError:
            return None

    def entries(self, path: str = ".") -> list[FolderEntry]:
        """List a folder, sorted by name."""
        found: list[FolderEntry] = []
        with self._opened(self.parts(path), path) as place:
            for name in sorted(place.names()):
                with suppress(FileNotFoundError):  # the entry was removed meanwhile
                    status = place.stat(name)
                    found.append(FolderEntry(name, _kind(status), status.st_size))
        return found

    @contextmanager
    def opened(self, path: str) -> Generator[BinaryIO, None, None]:
        """Open a file to read it."""
        *folders, name = self.parts(path) or ["."]
        with self._opened(folders, path) as place:
            _check_is_file(place.stat_of(name, path), path)
            with os.fdopen(place.open(name, _READ), "rb") as file:
                status = os.fstat(file.fileno())
                _check_is_file(status, path)
                place.check_is_still(name, status, path)
                yield file

    def write(self, path: str, data: bytes) -> None:
        """Write a whole file, or change nothing. Makes the folders on the way.

        A file that had the name is replaced, not written into: its other names, if any, keep the old bytes.
        """
        *folders, name = self.parts(path) or ["."]
        if name == ".":
            raise ToolError(f"{path} is a folder: name a file in it")
        with self._opened(folders, path, make=True) as place:
            mode: int | None = None
            with suppress(FileNotFoundError):
                status = place.stat(name)
                _check_is_file(status, path)
                mode = stat.S_IMODE(status.st_mode)
            temporary = f".{token_hex(8)}.tmp"
            with os.fdopen(place.open(temporary, _CREATE), "wb") as file:
                try:
                    file.write(data)
                    file.flush()
                    if mode is not None and hasattr(os, "fchmod"):
                        os.fchmod(file.fileno(), mode)
                    file.close()
                    place.replace(temporary, name)
                except BaseException:
                    place.remove(temporary)
                    raise

    @contextmanager
    def _opened(
        self, names: Sequence[str], path: str, *, make: bool = False
    ) -> Generator[_OpenFolder, None, None]:
        """Open a folder by the names that lead to it; errors call it `path`."""
        place = _OpenFolder.root(self.path)
        try:
            if not os.path.samestat(place.stat("."), self._identity):
                raise ToolError(f"{self.path} is not the folder any more that it was")
            for name in names:
                if make:
                    with suppress(FileExistsError):
                        place.make(name)
                inner = place.inner(name, path)
                place.close()
                place = inner
            yield place
        except OSError as error:
            raise ToolError(f"{path} cannot be used: {error.strerror or error}") from error
        finally:
            place.close()

    def _relative(self, path: str) -> str:
        for root in (self.path, self._given):
            with suppress(ValueError):
                return Path(path).relative_to(root).as_posix()
        raise _outside(path)


class _OpenFolder:
    """An open folder; on systems that cannot open folders, a path that was checked."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self._path = path
        self._descriptor = descriptor
        self._within: dict[str, Any] = {} if descriptor is None else {"dir_fd": descriptor}

    @classmethod
    def root(cls, path: Path) -> _OpenFolder:
        return cls(path, os.open(path, _DIRECTORY) if _BY_DESCRIPTOR else None)

    def inner(self, name: str, path: str) -> _OpenFolder:
        """Open the folder of this name in this one.

        Raises:
            ToolError: the name is that of a link, or not of a folder, or of nothing; the error calls it `path`.
        """
        kind = _kind(self.stat_of(name, path))
        if kind == "link":
            raise _link(path, name)
        if kind != "folder":
            is_last = path.rstrip("/").endswith(name)
            raise ToolError(
                f"{path} is not a folder"
                if is_last
                else f"{path} does not exist: {name} is not a folder"
            )
        if self._descriptor is None:
            return _OpenFolder(self._path / name, None)
        try:
            descriptor = os.open(name, _DIRECTORY | _NOFOLLOW, dir_fd=self._descriptor)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):  # it was replaced by a link meanwhile
                raise _link(path, name) from error
            raise
        return _OpenFolder(self._path / name, descriptor)

    def names(self) -> list[str]:
        return os.listdir(self._path if self._descriptor is None else self._descriptor)  # noqa: PTH208

    def open(self, name: str, flags: int) -> int:
        return os.open(self._at(name), flags, 0o666, **self._within)

    def stat(self, name: str) -> os.stat_result:
        return os.stat(self._at(name), follow_symlinks=False, **self._within)  # noqa: PTH116

    def stat_of(self, name: str, path: str) -> os.stat_result:
        try:
            return self.stat(name)
        except FileNotFoundError as error:
            raise _MissingError(f"{path} does not exist") from error

    def check_is_still(self, name: str, status: os.stat_result, path: str) -> None:
        """On systems that cannot open folders, check that the name still leads to the opened file, without a link."""
        if self._descriptor is None:
            way = os.path.realpath(self._path / name)
            if not os.path.samestat(self.stat(name), status) or way != str(self._path / name):
                raise ToolError(f"{path} was replaced while it was opened; try again")

    def make(self, name: str) -> None:
        os.mkdir(self._at(name), **self._within)  # noqa: PTH102

    def replace(self, old: str, new: str) -> None:
        both = (
            {}
            if self._descriptor is None
            else {"src_dir_fd": self._descriptor, "dst_dir_fd": self._descriptor}
        )
        os.replace(self._at(old), self._at(new), **both)  # noqa: PTH105

    def remove(self, name: str) -> None:
        os.unlink(self._at(name), **self._within)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _at(self, name: str) -> str:
        return str(self._path / name) if self._descriptor is None else name


class _MissingError(ToolError):
    """There is no such file or folder."""


def _kind(status: os.stat_result) -> EntryKind:
    if stat.S_ISLNK(status.st_mode) or getattr(status, "st_file_attributes", 0) & _REPARSE:
        return "link"
    if stat.S_ISDIR(status.st_mode):
        return "folder"
    return "file" if stat.S_ISREG(status.st_mode) else "other"


def _check_is_file(status: os.stat_result, path: str) -> None:
    match _kind(status):
        case "file":
            return
        case "link":
            raise _link(path, path)
        case "folder":
            raise ToolError(f"{path} is a folder, not a file")
        case "other":
            raise ToolError(f"{path} is a pipe, a socket or a device, not a file")


def _link(path: str, name: str) -> ToolError:
    which = "is" if path == name else f"leads through {name}, which is"
    return ToolError(f"{path} {which} a link, and links are not followed", validation_failed=True)


def _outside(path: str) -> ToolError:
    return ToolError(
        f"{path} is outside of the folder; name a path within it, such as . or src/main.py",
        validation_failed=True,
    )
