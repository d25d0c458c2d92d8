"""What a file keeps when a new file takes its name.

The owner, the group, the permissions and, on Linux, the access control list and the users' attributes are kept. Not
kept is what gives a program more rights than its caller: setuid, setgid and capabilities were given to other bytes.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from dataclasses import dataclass
from typing import NamedTuple, Self

from ..errors import ToolError

__all__ = ["Attributes", "FileVersion"]

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
