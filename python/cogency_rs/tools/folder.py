"""Access to one folder and to nothing outside of it: paths are opened from the folder downwards, one name at a time.

Invariants: no link is ever followed. Each folder on the way is opened by its name within the folder above, which is
open already. So neither `..` nor an absolute path leads out, nor does a link that replaces a folder between two looks.
No name leads into `.git`, or another folder that git keeps a repository in: these hold credentials, and programs that
git runs. Nor does one lead to the files of a log that this process has open. A file that has a name outside, too, is
not read. A name leads to the old bytes of a file or to all of the new ones, even after a crash.

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
from types import EllipsisType
from typing import Any, BinaryIO, Literal

from ..errors import ConfigError, ToolError
from ..outside import is_held
from .file_changes import Attributes, FileVersion
from .workers import end_if_given_up

_BY_DESCRIPTOR = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_CLOEXEC = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _CLOEXEC
_AT_ONCE = _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | _CLOEXEC  # a pipe would wait
_READ, _CHANGE = os.O_RDONLY | _AT_ONCE, os.O_RDWR | _AT_ONCE
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW | _CLOEXEC
_REPARSE = getattr(stat, "FILE_ATTRIBUTE_REPARSE_POINT", 0)
_OF_REPOSITORY = frozenset(
    {
        *("head", "config", "config.worktree", "hooks", "objects", "refs", "info", "logs"),
        *("modules", "worktrees", "packed-refs", "commondir", "index", "fetch_head", "orig_head"),
    }
)
"""What git keeps in the folder of a repository, in small letters."""

_MOST_NAMES = 20_000
"""Entries of the folder among which the other names of a file are looked for."""

_NOT_SYNCED = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)
"""Errors of file systems that cannot be asked to write a folder to the disk."""

_UNSEEN = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)
"""Characters that some file systems leave out when they compare names."""

EntryKind = Literal["file", "folder", "link", "other"]


@dataclass(frozen=True)
class FolderEntry:
    """One entry of a folder.

    Attributes:
        kind: a link is a `link`, whatever it leads to; `other` is a pipe, a socket or a device.
        size: in bytes; meaningful for a file.
        links: how many names it has, here and elsewhere; meaningful for a file.
    """

    name: str
    kind: EntryKind
    size: int
    links: int = 1


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
            if any(map(is_git, self.path.parts)):
                raise PermissionError(errno.EPERM, "it is in .git, which is closed to tools")
            if _OpenFolder(self.path, None).is_repository():
                raise PermissionError(errno.EPERM, "git keeps a repository in it")
        except OSError as error:
            raise ConfigError(
                f"{directory} cannot be worked in ({error.strerror}); name a folder that exists",
                cause=error,
            ) from error

    def parts(self, path: str) -> list[str]:
        """The names of the folders on the way to a path, and of what is there.

        Raises:
            ToolError: the path leads out of the folder or into `.git`, or cannot be a path.
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
            elif is_git(name):
                raise _closed(path, ".git")
            elif names and _ends_in_git(names[-1]) and _plain(name) in _OF_REPOSITORY:
                raise _closed(path, names[-1])
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
                end_if_given_up()
                with suppress(FileNotFoundError):  # the entry was removed meanwhile
                    status = place.stat(name)
                    kind = _kind(status)
                    found.append(FolderEntry(name, kind, status.st_size, status.st_nlink))
        return found

    @contextmanager
    def opened(self, path: str) -> Generator[BinaryIO, None, None]:
        """Open a file to read it; refused if it has a name outside of the folder, too."""
        *folders, name = self.parts(path) or ["."]
        with (
            self._opened(folders, path) as place,
            place.opened(name, path, _READ) as file,
        ):
            status = os.fstat(file.fileno())
            if status.st_nlink > 1 and not self._has_all_names_of(status):
                raise ToolError(
                    f"{path} has other names (hard links), which may be outside of the folder, so it is closed to "
                    "these tools; ask for a copy of it",
                    validation_failed=True,
                )
            yield file

    def _has_all_names_of(self, status: os.stat_result) -> bool:
        """Whether all names of a file are found in the folder."""
        found = looked_at = 0
        for root, folders, names in os.walk(self.path):  # follows no link
            folders[:] = [name for name in folders if not is_git(name)]
            for name in names:
                end_if_given_up()
                looked_at += 1
                with suppress(OSError):
                    other = os.stat(os.path.join(root, name), follow_symlinks=False)  # noqa: PTH116, PTH118
                    found += os.path.samestat(status, other)
                if found == status.st_nlink or looked_at == _MOST_NAMES:
                    return found == status.st_nlink
        return False

    @contextmanager
    def opened_to_change(self, path: str) -> Generator[BinaryIO, None, None]:
        """Open a file to read what `write` would replace; refused if the file may not be written."""
        *folders, name = self.parts(path) or ["."]
        with (
            self._opened(folders, path) as place,
            place.opened(name, path, _CHANGE) as file,
        ):
            yield file

    def write(
        self, path: str, data: bytes, *, replaces: FileVersion | EllipsisType | None = ...
    ) -> None:
        """Write a whole file, or change nothing. Makes the folders on the way.

        A file that had the name is replaced, not written into: its other names, if any, keep the old bytes. What the
        new file keeps of it is in `Attributes`. When this returns, the new bytes are on the disk.

        Args:
            path: the file.
            data: its new bytes.
            replaces: the version of the file that is replaced, or `None` if there must be no such file; `...` for
                any.

        Raises:
            ToolError: the file may not be written or has another version, or the new one cannot be written.
        """
        *folders, name = self.parts(path) or ["."]
        if name == ".":
            raise ToolError(f"{path} is a folder: name a file in it")
        with self._opened(folders, path, make=True) as place:
            version: FileVersion | None = None
            kept: Attributes | None = None
            try:
                with place.opened(name, path, _CHANGE) as old:
                    version = FileVersion.of(os.fstat(old.fileno()))
                    kept = Attributes.of(old.fileno())
            except _MissingError:
                pass  # a new file
            if replaces is not ... and replaces != version:
                raise _changed(path)
            temporary = f".{token_hex(8)}.tmp"
            # Nobody may read the new bytes of a private file, also before it has its permissions.
            descriptor = place.open(temporary, _CREATE, 0o666 if kept is None else 0o600)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                    file.flush()
                    if kept is not None:
                        kept.give(file.fileno(), path)
                    os.fsync(file.fileno())
                if place.version(name) != version:
                    raise _changed(path)
                place.replace(temporary, name)
            except BaseException:
                with suppress(OSError):
                    place.remove(temporary)
                raise
            try:
                place.sync()
            except OSError as error:
                raise ToolError(
                    f"{path} is written, but it may be lost if the machine stops now: {error.strerror}"
                ) from error

    @contextmanager
    def _opened(
        self, names: Sequence[str], path: str, *, make: bool = False
    ) -> Generator[_OpenFolder, None, None]:
        """Open a folder by the names that lead to it; errors call it `path`."""
        place: _OpenFolder | None = None
        try:
            place = _OpenFolder.root(self.path)
            if not os.path.samestat(place.stat("."), self._identity):
                raise ToolError(f"{self.path} was replaced by another folder while in use")
            for name in names:
                if make:
                    with suppress(FileExistsError):
                        place.make(name)
                        place.sync()
                inner = place.inner(name, path)
                place.close()
                place = inner
                if place.is_repository():
                    raise _closed(path, name)
            yield place
        except OSError as error:
            raise ToolError(f"{path} cannot be used: {error.strerror or error}") from error
        finally:
            if place is not None:
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

    def is_repository(self) -> bool:
        """Whether git would take this folder for a repository of its own, whatever its name is."""
        head = self._stat_if_there("HEAD")
        return (
            head is not None
            and _kind(head) in ("file", "link")
            and any(
                self._stat_if_there(name) is not None
                for name in ("config", "objects", "refs", "commondir", "hooks")
            )
        )

    def _stat_if_there(self, name: str) -> os.stat_result | None:
        try:
            return self.stat(name)
        except FileNotFoundError:
            return None

    def names(self) -> list[str]:
        return os.listdir(self._path if self._descriptor is None else self._descriptor)  # noqa: PTH208

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        return os.open(self._at(name), flags, mode, **self._within)

    @contextmanager
    def opened(self, name: str, path: str, flags: int) -> Generator[BinaryIO, None, None]:
        """Open the file of this name, to read it or, with `_CHANGE`, also to look whether it may be written.

        Raises:
            ToolError: the name is not that of a file, or the file may not be written; the error calls it `path`.
        """
        check = _check_is_file if flags == _READ else _check_may_be_changed
        before = self.stat_of(name, path)
        check(before, path)
        if is_held(before):
            raise ToolError(
                f"{path} is closed to these tools: this program keeps its log in it",
                validation_failed=True,
            )
        with os.fdopen(self.open(name, flags), "rb") as file:
            status = os.fstat(file.fileno())
            check(status, path)
            self.check_is_still(name, status, path)
            yield file

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

    def version(self, name: str) -> FileVersion | None:
        """The version of the file of this name; `None` if there is none."""
        try:
            return FileVersion.of(self.stat(name))
        except FileNotFoundError:
            return None

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

    def sync(self) -> None:
        """Write the names in this folder to the disk; where folders cannot be opened, the system decides when."""
        if self._descriptor is None:
            return
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            if error.errno not in _NOT_SYNCED:
                raise

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _at(self, name: str) -> str:
        return str(self._path / name) if self._descriptor is None else name


class _MissingError(ToolError):
    """There is no such file or folder."""


def is_git(name: str) -> bool:
    """Whether some file system takes this name for `.git`."""
    return _plain(name) in (".git", "git~1")


def _plain(name: str) -> str:
    """A name as file systems compare it."""
    return name.translate(_UNSEEN).partition(":")[0].rstrip(" .").casefold()


def _ends_in_git(name: str) -> bool:
    """Whether a name is what bare repositories are called."""
    return _plain(name).endswith(".git")


def _closed(path: str, name: str) -> ToolError:
    return ToolError(
        f"{path} is closed to these tools: {name} holds credentials, and programs that git runs",
        validation_failed=True,
    )


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


def _changed(path: str) -> ToolError:
    return ToolError(
        f"{path} was changed by another program meanwhile, and nothing was written; read it again"
    )


def _check_may_be_changed(status: os.stat_result, path: str) -> None:
    _check_is_file(status, path)
    if not status.st_mode & stat.S_IWUSR:  # root could write it all the same
        mode = stat.S_IMODE(status.st_mode)
        raise ToolError(
            f"{path} is read-only (mode {mode:04o}), so it is left as it is; ask its owner to make it writable"
        )


def _link(path: str, name: str) -> ToolError:
    which = "is" if path == name else f"leads through {name}, which is"
    return ToolError(f"{path} {which} a link, and links are not followed", validation_failed=True)


def _outside(path: str) -> ToolError:
    return ToolError(
        f"{path} is outside of the folder; name a path within it, such as . or src/main.py",
        validation_failed=True,
    )
