"""Changes of text files, and what a person is shown of them before they are made."""

from __future__ import annotations

import difflib
import hashlib
import json
import threading
from dataclasses import dataclass, replace

from ..errors import ToolError
from .replacing import FileVersion

__all__ = ["Change", "Original", "Plans", "count"]

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
        signs = [line[0] for line in self._lines()[2:]]
        return f"{count(signs.count('+'), 'line')} added, {signs.count('-')} removed"

    @property
    def remark(self) -> str:
        """What else there is to say of the file, as the end of a sentence."""
        if self.original is None or self.original.names == 1:
            return ""
        return "; the other names of the file (hard links) keep the old text"

    def preview(self) -> str:
        """The whole difference, and which text it begins with, so that each change has its own preview."""
        lines = self._lines()
        if not lines:
            lines = ["an empty file is made" if self.original is None else "nothing changes"]
        elif self.original is not None:
            lines[0] += f" (SHA-256 {self.original.digest[:16]})"
        if self.remark:
            lines.append(self.remark.removeprefix("; "))
        return "\n".join(lines)

    def diff(self) -> str:
        """The difference, or its first lines."""
        lines = self._lines()
        if len(lines) > _DIFF:
            lines[_DIFF:] = [f"… {len(lines) - _DIFF:,} more lines"]
        return "\n".join(lines) or "nothing changes"

    def _lines(self) -> list[str]:
        path = self.path if self.path.isprintable() else json.dumps(self.path)
        if self.original is None:
            return _difference("", self.after, "/dev/null", f"b/{path}")
        before = self.original.text
        if before is None:
            before = f"({path} {self.original.what})\n"
        return _difference(before, self.after, f"a/{path}", f"b/{path}")


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


def count(number: int, one: str, more: str | None = None) -> str:
    """A number of things: "1 line", "2,000 lines"."""
    return f"{number:,} {one if number == 1 else more or one + 's'}"


def _difference(before: str, after: str, source: str, target: str) -> list[str]:
    """The lines of a unified difference, in which only a line feed ends a line, as it does for git."""
    lines: list[str] = []
    for line in difflib.unified_diff(_fed(before), _fed(after), source, target):
        if line.endswith("\n"):
            lines.append(line[:-1])
        else:
            lines += line, "\\ No newline at end of file"
    return lines


def _fed(text: str) -> list[str]:
    """The lines of a text, each with its line feed if it has one."""
    *lines, last = text.split("\n")
    return [f"{line}\n" for line in lines] + [last] * bool(last)
