"""Tools that list, read, search, edit and write the files of one folder, for an agent that works on it.

The tools that read have no effect and need no approval. Those that write need it, and show what they would change.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Annotated, Any, BinaryIO

from ..errors import ToolError
from ..types import ToolCall, ToolResult
from .file_changes import Change, FileVersion, Original, Plans, count, with_its_ends
from .folder import Folder, FolderEntry, is_git
from .function_tool import FunctionTool, tool
from .options import Preview
from .workers import end_if_given_up

_PROBE = 8192  # bytes at the beginning of a file that decide whether it is text
_LINE = 2000  # characters of a line that are shown
_READ = 30_000  # characters of a file that are shown at once
_ENTRIES = 500
_HITS = 200
_LARGEST = 4 * 1024 * 1024  # bytes of a file that is edited, searched or compared

_LARGEST_EDITED = (
    4 * _LARGEST
)  # characters that an edit may leave: one text can be put in many places

_PATTERN = 500  # characters of a pattern of names; a name has at most 255

PathOf = Annotated[str, "the file, relative to the folder"]


def file_tools(directory: str | os.PathLike[str]) -> list[FunctionTool[..., Any]]:
    """Make tools that work on the files of one folder and cannot leave it.

    Links are never followed, and neither `..` nor an absolute path leads out; see `cogency_rs.tools.folder`.
    Nothing in `.git` or a bare repository is opened, nor what is not a file: no device, pipe or socket; nor a log that
    this process has open. A file with a name (hard link) outside is not read; one with any other name is not searched.

    Args:
        directory: the folder; it must exist.

    Returns:
        `list_files`, `read_file` and `search_files`, which only read; `edit_file` and `write_file`, which require
        approval with a diff as their `Preview`, and run one at a time.

    Raises:
        ConfigError: `directory` is not a folder.

    Only UTF-8 text is shown; of other files, the name and the size. A file is shown by ranges of lines, at most
    30,000 characters at once, in time linear in the text up to the end of the range. Files above 4 MiB are neither
    searched nor edited. A preview is the whole diff, made in time linear in both texts. A call that was approved with
    it is refused if the diff is another one when the call runs. A file is written whole or not at all, and is on the
    disk when the call is over. It keeps its owner, permissions and attributes, but not setuid and setgid; a read-only
    file is refused. Other names of the file (hard links) keep the old text.
    """
    files = _Files(Folder(directory))
    return [
        tool(files.list_files, name="list_files", read_only=True),
        tool(files.read_file, name="read_file", read_only=True),
        tool(files.search_files, name="search_files", read_only=True),
        tool(
            files.edit_file,
            name="edit_file",
            requires_approval=Preview(files.preview_of_edit),
            sequential=True,
        ),
        tool(
            files.write_file,
            name="write_file",
            requires_approval=Preview(files.preview_of_write),
            sequential=True,
        ),
    ]


class _Files:
    """The functions that the tools are made of, which share a folder."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._writing = threading.Lock()  # an edit reads and then writes
        self._plans = Plans()
        self._shown: Change | None = (
            None  # what was shown last, with its difference, until it is made
        )

    def list_files(
        self,
        path: Annotated[str, "the folder to list"] = ".",
        recursive: Annotated[bool, "whether to list the folders in it, too"] = False,
        names: Annotated[str, "a pattern that names must match, such as *.py"] = "*",
    ) -> ToolResult:
        """List the files of a folder, with their sizes in bytes."""
        _check_pattern(names)
        lines: list[str] = []
        more = False
        for where, entry in self._walk(path, recursive=recursive):
            if not fnmatchcase(entry.name, names):
                continue
            if len(lines) == _ENTRIES:
                more = True
                break
            lines.append(_listed(where, entry))
        outcome = f"{count(len(lines), 'entry', 'entries')} in {path}"
        if more:
            outcome = f"the first {outcome}; there are more: list a folder in it, or give names"
        return ToolResult(outcome, "\n".join(lines))

    def read_file(
        self,
        path: PathOf,
        first_line: Annotated[int, "where to begin, from 1"] = 1,
        lines: Annotated[int, "how many lines to read at most"] = 500,
    ) -> ToolResult:
        """Read a text file, or a range of its lines."""
        if first_line < 1 or lines < 1:
            raise ToolError("first_line and lines must be at least 1")
        with self._folder.opened(path) as file:
            size = os.fstat(file.fileno()).st_size
            if not _is_text(file):
                return ToolResult(f"{path} is not text: {size:,} bytes, not shown")
            taken: list[str] = []
            room, number = _READ, 0
            for number, line in enumerate(_lines(file), start=1):
                if number < first_line:
                    continue
                if len(taken) == lines or len(line) > room:
                    break
                taken.append(line)
                room -= len(line)
            else:
                number += 1
                if first_line >= number and number > 1:
                    raise ToolError(
                        f"{path} has only {count(number - 1, 'line')}, so there is no line {first_line}"
                    )
                what = f"{path}, {count(number - 1, 'line')}"
                if first_line > 1:
                    what = f"{path}, lines {first_line} to {number - 1} (end of file)"
                return ToolResult(what, "".join(taken))
        what = f"{path}, lines {first_line} to {number - 1}; read on with first_line={number} ({size:,} bytes in all)"
        return ToolResult(what, "".join(taken))

    def search_files(
        self,
        text: Annotated[str, "what to find in a line, exactly as it is there"],
        path: Annotated[str, "the folder or the file to search"] = ".",
        names: Annotated[str, "a pattern that names of files must match, such as *.py"] = "*",
        ignore_case: Annotated[bool, "whether capitals make no difference"] = False,
    ) -> ToolResult:
        """Find the lines that contain a text. Hidden folders, large files and files that are not text are left out."""
        if not text or "\n" in text:
            raise ToolError("text must be a part of one line, and not empty")
        _check_pattern(names)
        wanted = text.casefold() if ignore_case else text
        hits: list[str] = []
        searched = left_out = 0
        for file_path, has_more_names in self._files(path, names):
            try:
                found = None if has_more_names else self._hits(file_path, wanted, ignore_case)
            except ToolError:
                if file_path == path:
                    raise
                found = None  # the file has gone, or may not be read
            if found is None:
                left_out += 1
                continue
            searched += 1
            hits += found
            if len(hits) > _HITS:
                break
        outcome = f"{count(len(hits), 'line')} in {count(searched, 'file')}"
        if len(hits) > _HITS:
            outcome = (
                f"the first {_HITS} lines; there are more: search a folder, or for a longer text"
            )
        if left_out:
            outcome += f"; {count(left_out, 'file')} left out: large, not text, or not to be read"
        return ToolResult(outcome, "\n".join(hits[:_HITS]))

    def edit_file(
        self,
        path: PathOf,
        old: Annotated[str, "the text to replace, exactly as it is in the file"],
        new: Annotated[str, "what to put there"],
        all: Annotated[bool, "whether to replace every occurrence"] = False,
    ) -> ToolResult:
        """Replace a text in a file. It must occur there once, unless all is true."""
        with self._writing:
            change = self._made(self._edit(self._original(path), path, old, new, all))
            self._folder.write(path, change.data, replaces=change.version)
        return ToolResult(f"{path} changed, {change.summary}{change.remark}", change.diff())

    def write_file(
        self,
        path: Annotated[str, "the file; folders on the way are made"],
        content: Annotated[str, "its whole new text"],
    ) -> ToolResult:
        """Write a text file, replacing what it held. To change a part of a file, use edit_file."""
        with self._writing:
            change = self._made(self._write(self._original(path), path, content))
            self._folder.write(path, change.data, replaces=change.version)
        verb = "made" if change.version is None else "written"
        lines = count(len(content.splitlines()), "line")
        return ToolResult(f"{path} {verb}, {lines}{change.remark}")

    # Previews

    def preview_of_edit(self, call: ToolCall) -> str:
        """The difference that a call of `edit_file` would make, or why it would fail."""
        return self._preview(call, self._edit)

    def preview_of_write(self, call: ToolCall) -> str:
        """The difference that a call of `write_file` would make, or why it would fail."""
        return self._preview(call, self._write)

    def _preview(self, call: ToolCall, change: Callable[..., Change]) -> str:
        try:
            file = self._original(call.args["path"])
            place = "/".join(self._folder.parts(call.args["path"]))
            planned = change(self._plans.before(place, file, call.id), **call.args)
        except ToolError as error:
            return f"would fail: {error}"
        self._plans.add(place, file, call.id, planned.after)
        planned = self._shown = self._once(planned)
        return planned.preview()

    def _once(self, change: Change) -> Change:
        """The change that was shown last, if it is this one: its difference is known."""
        shown = self._shown
        return shown if shown is not None and shown == change else change

    def _made(self, change: Change) -> Change:
        change = self._once(change)
        self._shown = None
        return change

    def _edit(
        self, original: Original | None, path: str, old: str, new: str, all: bool = False
    ) -> Change:
        if original is None:
            raise ToolError(f"{path} does not exist")
        before = original.text
        if before is None:
            raise ToolError(f"{path} {original.what}")
        if not old:
            raise ToolError("old must not be empty; write_file writes a whole file")
        # `read_file` shows every line end as \n, so that is what models write.
        has_ends = "\r\n" in before and "\r" not in old
        shown = before.replace("\r\n", "\n") if has_ends else before
        times = shown.count(old)
        if times == 0:
            raise ToolError(
                f"old was not found in {path}; read the file, and copy the lines exactly"
            )
        if times > 1 and not all:
            raise ToolError(
                f"old is in {path} {times} times, {_places(shown, old)}; "
                "give more of the lines around it, or all=true"
            )
        size = len(before) + times * (len(new) - len(old))
        if size > _LARGEST_EDITED:
            raise ToolError(
                f"{path} would have {size:,} characters: too many; replace fewer of them"
            )
        after = with_its_ends(before, old, new) if has_ends else before.replace(old, new)
        return Change(path, original, after)

    def _write(self, original: Original | None, path: str, content: str) -> Change:
        return Change(path, original, content)

    def _original(self, path: str) -> Original | None:
        """The file that a change replaces; `None` if there is none."""
        if self._folder.kind(path) is None:
            return None
        with self._folder.opened_to_change(path) as file:
            status = os.fstat(file.fileno())
            is_large = status.st_size > _LARGEST
            data = b"" if is_large else file.read()
            digest = hashlib.sha256(data)
            while is_large and (piece := file.read(1 << 20)):
                digest.update(piece)
                end_if_given_up()
        text, what = None, f"is not text: {status.st_size:,} bytes"
        if is_large:
            what = f"has {status.st_size:,} bytes: too many for these tools to edit"
        else:
            with suppress(UnicodeDecodeError):
                text = data.decode()
        return Original(text, what, digest.hexdigest(), FileVersion.of(status), status.st_nlink)

    # Walking

    def _walk(self, path: str, *, recursive: bool) -> Iterator[tuple[str, FolderEntry]]:
        """The path and the entry of all that is in a folder; if `recursive`, also in its folders but hidden ones."""
        prefix = "" if not (parts := self._folder.parts(path)) else "/".join(parts) + "/"
        for entry in self._folder.entries(path):
            yield prefix + entry.name, entry
            if recursive and entry.kind == "folder" and not entry.name.startswith("."):
                try:
                    yield from self._walk(prefix + entry.name, recursive=True)
                except ToolError:  # the folder may not be opened, or has gone
                    continue

    def _files(self, path: str, names: str) -> Iterator[tuple[str, bool]]:
        """The files of a folder, or the one at a path, and whether it would take a search to find all names of it."""
        if self._folder.parts(path) and self._folder.kind(path) != "folder":
            yield path, False
            return
        for where, entry in self._walk(path, recursive=True):
            if entry.kind == "file" and fnmatchcase(entry.name, names):
                yield where, entry.links > 1

    def _hits(self, path: str, wanted: str, ignore_case: bool) -> list[str] | None:
        """The lines of a file that contain a text; `None` if the file is too large, or not text."""
        with self._folder.opened(path) as file:
            if os.fstat(file.fileno()).st_size > _LARGEST or not _is_text(file):
                return None
            found: list[str] = []
            for number, line in enumerate(_lines(file), start=1):
                if wanted in (line.casefold() if ignore_case else line):
                    found.append(f"{path}:{number}: {line.rstrip()}")
            return found


def _check_pattern(names: str) -> None:
    """Refuse a long pattern: reading and matching it takes time that is quadratic in its length."""
    if len(names) > _PATTERN:
        raise ToolError(
            f"names has {len(names):,} characters, and a pattern has at most {_PATTERN}: "
            "give a shorter one, such as *.py"
        )


def _is_text(file: BinaryIO) -> bool:
    """Whether the beginning of a file is UTF-8 text. Leaves the file at its beginning."""
    probe = file.read(_PROBE)
    file.seek(0)
    if b"\0" in probe:
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(probe)
    except UnicodeDecodeError:
        return False
    return True


def _lines(file: BinaryIO) -> Iterator[str]:
    """The lines of a file, very long ones cut. Holds at most a few thousand bytes at a time."""
    while piece := file.readline(4 * _LINE):
        end_if_given_up()
        line = piece.decode(errors="replace").replace("\r\n", "\n")
        is_long = len(line) > _LINE + 1
        while piece and not piece.endswith(b"\n"):
            end_if_given_up()
            piece = file.readline(1 << 16)
            is_long = is_long or bool(piece)
        yield f"{line[:_LINE]}… (cut: a long line)\n" if is_long else line


def _listed(where: str, entry: FolderEntry) -> str:
    if is_git(entry.name):
        return f"{where}  (closed to these tools)"
    match entry.kind:
        case "file":
            return f"{where}  {entry.size:,}"
        case "folder":
            return f"{where}/"
        case "link":
            return f"{where}  (a link, not followed)"
        case "other":
            return f"{where}  (not a file)"


def _places(text: str, part: str) -> str:
    """The numbers of the first lines in which a part begins."""
    numbers: list[int] = []
    position = text.find(part)
    while position >= 0 and len(numbers) < 5:
        numbers.append(text.count("\n", 0, position) + 1)
        position = text.find(part, position + len(part))
    return f"at lines {', '.join(map(str, numbers))}"
