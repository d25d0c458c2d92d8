"""Changes of text files: what a person is shown of them, and what a file keeps when a new one takes its name.

The owner, the group, the permissions and, on Linux, the access control list and the users' attributes are kept. Not
kept is what gives a program more rights than its caller: setuid, setgid and capabilities were given to other bytes.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import sys
import threading
from array import array
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

from .._core import line_difference
from ..errors import ToolError

_PERMISSIONS = 0o777
_EXTENDED = ("user.", "system.")
"""The beginnings of the names of extended attributes that are kept; `security.` is for the system to give."""


class FileVersion(NamedTuple):
    """Identifies the bytes of a file: a file that was replaced or written has another version.

    Attributes:
        inode: the number of the file in its file system.
        size: in bytes.
        modified: in nanoseconds since the epoch.
    """

    inode: int
    size: int
    modified: int

    @classmethod
    def of(cls, status: os.stat_result) -> Self:
        """That of the file with this status."""
        return cls(status.st_ino, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True)
class Attributes:
    """What a new file gets from the file that it replaces.

    Attributes:
        mode: the permissions.
        owner: the numbers of the user and the group.
        extended: the extended attributes, by name.
    """

    mode: int
    owner: tuple[int, int]
    extended: dict[str, bytes]

    @classmethod
    def of(cls, descriptor: int) -> Self:
        """Those of an open file.

        Raises:
            OSError: they cannot be read.
        """
        status = os.fstat(descriptor)
        owner = status.st_uid, status.st_gid
        return cls(stat.S_IMODE(status.st_mode) & _PERMISSIONS, owner, _extended(descriptor))

    def give(self, descriptor: int, path: str) -> None:
        """Give them to an open file, which will replace `path`.

        Raises:
            ToolError: the system does not allow it.
        """
        if sys.platform == "win32":
            return
        try:
            status = os.fstat(descriptor)
            if (status.st_uid, status.st_gid) != self.owner:
                os.fchown(descriptor, *self.owner)
            self._give_extended(descriptor)
            os.fchmod(descriptor, self.mode)
        except OSError as error:
            raise ToolError(
                f"{path} is left as it is: its owner, permissions and attributes cannot be kept ({error.strerror})"
            ) from error

    def _give_extended(self, descriptor: int) -> None:
        if sys.platform != "linux":
            return
        given = _extended(descriptor)  # a folder may have a default access control list
        for name in given.keys() - self.extended.keys():
            os.removexattr(descriptor, name)
        for name, value in self.extended.items():
            os.setxattr(descriptor, name, value)


def _extended(descriptor: int) -> dict[str, bytes]:
    if sys.platform != "linux":
        return {}
    try:
        names = os.listxattr(descriptor)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return {}
        raise
    return {
        name: os.getxattr(descriptor, name) for name in sorted(names) if name.startswith(_EXTENDED)
    }


_DIFF = 200  # lines of a difference that the model is shown
_PLANNED = 32  # files whose plans are kept


@dataclass(frozen=True)
class Original:
    """A file before a change.

    Attributes:
        text: its text; `None` if it is not text, or too large.
        what: what it is if it has no text here.
        digest: of its bytes.
        version: identifies the bytes that were read; `None` if there is no such file yet.
        names: how many names the file has.
    """

    text: str | None
    what: str
    digest: str
    version: FileVersion | None
    names: int


@dataclass(frozen=True)
class Change:
    """A change of a file; `original` is `None` if the file is new.

    Raises:
        ToolError: the text cannot be written.
    """

    path: str
    original: Original | None
    after: str

    def __post_init__(self) -> None:
        try:
            self.after.encode()
        except UnicodeEncodeError as error:
            raise ToolError(
                f"the text for {self.path} contains a lone surrogate, at {error.start}"
            ) from None

    @property
    def version(self) -> FileVersion | None:
        """The version of the file that the change replaces."""
        return None if self.original is None else self.original.version

    @property
    def data(self) -> bytes:
        """The bytes of the new text."""
        return self.after.encode()

    @property
    def summary(self) -> str:
        """How many lines are added and removed."""
        found = self.difference
        return f"{count(found.added, 'line')} added, {found.removed:,} removed"

    @property
    def remark(self) -> str:
        """What else there is to say of the file, as the end of a sentence."""
        if self.original is None or self.original.names == 1:
            return ""
        return "; the other names of the file (hard links) keep the old text"

    def preview(self) -> str:
        """The whole difference, and which text it begins with, so that each change has its own preview."""
        text = "an empty file is made" if self.original is None else "nothing changes"
        if hunks := self.difference.hunks:
            digest = ""
            if self.original is not None:
                digest = f" (SHA-256 {self.original.digest[:16]})"
            text = f"{self._header(digest)}{hunks}".removesuffix("\n")
        if self.remark:
            text += f"\n{self.remark.removeprefix('; ')}"
        return text

    def diff(self) -> str:
        """The difference, or its first lines."""
        hunks = self.difference.hunks
        if not hunks:
            return "nothing changes"
        text = f"{self._header()}{hunks}".removesuffix("\n")
        lines = text.split("\n", _DIFF)
        if len(lines) > _DIFF:
            lines[_DIFF] = f"… {lines[_DIFF].count(chr(10)) + 1:,} more lines"
        return "\n".join(lines)

    def _header(self, digest: str = "") -> str:
        source = "/dev/null" if self.original is None else f"a/{self._shown_path}"
        return f"--- {source}{digest}\n+++ b/{self._shown_path}\n"

    @property
    def _shown_path(self) -> str:
        return self.path if self.path.isprintable() else json.dumps(self.path)

    @cached_property
    def difference(self) -> Difference:
        """The lines that change. It is made once."""
        if self.original is None:
            before = ""
        elif self.original.text is None:
            before = f"({self._shown_path} {self.original.what})\n"
        else:
            before = self.original.text
        return Difference(*line_difference(before, self.after))


class Difference(NamedTuple):
    """Lines that a change adds and removes.

    Attributes:
        hunks: as in a unified difference, each line with its line feed; empty if nothing changes.
        added: how many lines are added.
        removed: how many lines are removed.
    """

    hunks: str
    added: int
    removed: int


class Plans:
    """The changes that previews have shown and nobody has made yet.

    The calls of one batch are previewed before the first of them runs. So the second change of a file is previewed on
    the text that the first leaves. If the first is not made, the second has another preview when it is its turn, and is
    refused.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._plans: dict[str, tuple[FileVersion | None, dict[str, str]]] = {}

    def before(self, path: str, original: Original | None, id: str | None) -> Original | None:
        """What a file will be when it is the turn of call `id`; without an id it is its turn now."""
        version = None if original is None else original.version
        with self._lock:
            planned_on, texts = self._plans.get(path, (version, {}))
            if id is None or planned_on != version:
                return original
            last: str | None = None
            for other, text in texts.items():
                if other == id:
                    break
                last = text
        if last is None:
            return original
        digest = hashlib.sha256(last.encode()).hexdigest()
        if original is None:
            return Original(last, "", digest, None, 1)
        return replace(original, text=last, digest=digest, names=1)

    def add(self, path: str, original: Original | None, id: str | None, after: str) -> None:
        """Keep the text that call `id` would leave in a file."""
        if id is None:
            return
        version = None if original is None else original.version
        with self._lock:
            planned_on, texts = self._plans.pop(path, (version, {}))
            if planned_on != version:  # the file was written since
                texts = {}
            texts[id] = after
            self._plans[path] = version, texts
            while len(self._plans) > _PLANNED:
                del self._plans[next(iter(self._plans))]


def with_its_ends(before: str, old: str, new: str) -> str:
    """Replace a text whose line ends are all LF in one that has CRLF, perhaps among others.

    A line end of `new` becomes the one that was in its place, counted from the first line of `old`; a further one
    becomes that of the last line. Linear in the texts.
    """
    shown, new = before.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    # Where in `shown` a CR is left out.
    left_out = array("L", (each.start() - n for n, each in enumerate(re.finditer("\r\n", before))))
    lines = new.split("\n")
    parts: list[str] = []
    done, at = 0, shown.find(old)
    while at >= 0:
        stop = at + len(old)
        first, last = at + bisect_left(left_out, at), stop + bisect_left(left_out, stop)
        ends = re.findall("\r?\n", before[first:last]) or [_end_near(before, last)]
        parts += before[done:first], lines[0]
        for number, line in enumerate(lines[1:]):
            parts += ends[min(number, len(ends) - 1)], line
        done, at = last, shown.find(old, stop)
    return "".join([*parts, before[done:]])


def _end_near(text: str, at: int) -> str:
    """The end of the line at a place, or of the line before it, if it is the last and does not end."""
    place = text.find("\n", at)
    place = text.rfind("\n", 0, at) if place < 0 else place
    return "\r\n" if text[place - 1 : place] == "\r" else "\n"


def count(number: int, one: str, more: str | None = None) -> str:
    """A number of things: "1 line", "2,000 lines"."""
    return f"{number:,} {one if number == 1 else more or one + 's'}"
