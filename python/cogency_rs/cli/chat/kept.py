"""What a chat keeps, and where: in the user's folder for the data of programs, if nobody says otherwise."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from ..exits import complain

__all__ = ["Kept"]


@dataclass(frozen=True)
class Kept:
    """What a chat keeps.

    Attributes:
        log: of the conversation; `None` if it is not kept.
        typed: the file of the questions that were typed, to be recalled; `None` if they are not kept.
        is_own: whether the log is the one of all chats that name no other.
    """

    log: Path | None = None
    typed: Path | None = None
    is_own: bool = False

    @staticmethod
    def by_default(log: Path | None) -> Kept:
        """Keep everything: in a log that was named, or in the user's own."""
        try:
            folder = _data_folder()
        except (OSError, RuntimeError) as error:
            if log is None:
                complain(f"this conversation is not kept, since there is no folder for it: {error}")
            return Kept(log)
        return Kept(log or folder / "chat.db", folder / "typed", log is None)


def _data_folder() -> Path:
    """The user's folder, made for the user alone: where the platform has such folders, or in `XDG_DATA_HOME`.

    Raises:
        OSError: it cannot be made.
        RuntimeError: the user has no home.
    """
    named = Path(os.environ.get("XDG_DATA_HOME", ""))
    if named.is_absolute():
        parent = named
    elif sys.platform == "win32":
        parent = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        parent = Path.home() / "Library" / "Application Support"
    else:
        parent = Path.home() / ".local" / "share"
    folder = parent / "cogency-rs"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
