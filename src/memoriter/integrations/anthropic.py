"""Anthropic's memory tool `memory_20250818` on notes: `client.beta.messages.tool_runner(tools=memory_tools(memory))`.

The files that the model creates are notes in a folder of the workspace, so that every other way to search finds them. A
first line names the author of each, `<!-- from: claude, 2026-02-10 -->`. The texts of results are those of the SDK's
own tool.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, cast

from memoriter.extras import require

require("anthropic", "The memory tool of Anthropic")

from anthropic.lib.tools import (
    BetaAbstractMemoryTool,
    BetaAsyncBuiltinFunctionTool,
    BetaBuiltinFunctionTool,
    ToolError,
)

from memoriter.errors import MemoriterError, UsageError, WriteConflict, sentence
from memoriter.integrations._notes import content_of, edit_note
from memoriter.integrations._tool_calls import ToolCalls
from memoriter.tools import SEARCH
from memoriter.workspace import foreign_lines, marked, new_path_fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
        BetaToolUnionParam,
    )

    from memoriter import Memory
    from memoriter.types import Diagnostic

ROOT = "/memories"
"""The folder in the paths of commands."""
DEFAULT_FOLDER = "memory/claude"
MAX_LINES = 999_999
NUMBER_WIDTH = 6
"""Columns of a line's number: the digits of `MAX_LINES`."""
LISTED_LEVELS = 2
CONTEXT_LINES = 2
"""Lines before and after a replacement that its result shows."""
_UNITS = ("B", "K", "M", "G")
_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\n(?:.*\n)*?\1[ \t]*(?:\n|\Z)")
_PARAMETERS: Mapping[str, Mapping[str, type]] = {
    "view": {"path": str},
    "create": {"path": str, "file_text": str},
    "str_replace": {"path": str, "old_str": str},
    "insert": {"path": str, "insert_line": int, "insert_text": str},
    "delete": {"path": str},
    "rename": {"old_path": str, "new_path": str},
}
"""The required parameters of each command."""
_WORDS = {str: "a text", int: "a whole number"}


class MemoryTool(BetaAbstractMemoryTool):
    """The memory tool, whose folder `/memories` is a folder of notes.

    A command that cannot be carried out raises the SDK's ToolError, which the model sees as the result.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        folder: str = DEFAULT_FOLDER,
        author: str = "claude",
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        """Prepare the tool.

        Args:
            memory: an open memory; the program closes it.
            folder: the folder below the workspace that the model sees as `/memories`.
            author: what the first line of each file names as its author.
            cache_control: as for the SDK's own tool.

        Raises:
            UsageError: the folder is not below the workspace.
        """
        parts = PurePosixPath(folder).parts
        if not parts or folder.startswith("/") or any(part in {"..", "."} or part.startswith(".") for part in parts):
            raise UsageError(
                f"The folder {folder!r} is not a folder below the workspace.",
                remedy="Give a relative path without hidden parts, such as 'memory/claude'.",
            )
        super().__init__(cache_control=cache_control)
        self._memory = memory
        self._folder = "/".join(parts)
        self._author = author

    def call(self, input: object) -> str:  # noqa: A002 - the name that the SDK has given the parameter
        """Check the input of the model, and carry out its command."""
        _check(input)
        return cast("str", super().call(input))

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return the numbered lines of a file, or the files of a folder up to two levels deep.

        `view_range` is the first and the last line, 1-based; -1 as the last one: to the end.
        """
        path = command.path
        view_range = command.view_range
        names = self._names(path)
        place = self._place(path, names, make_root=True)
        try:
            status = place.lstat()
        except (FileNotFoundError, NotADirectoryError):
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.") from None
        if stat.S_ISDIR(status.st_mode):
            return self._listing(path, place, status.st_size)
        lines = self._read(path, names).split("\n")
        if len(lines) > MAX_LINES:
            raise ToolError(f"File {path} exceeds maximum line limit of {MAX_LINES:,} lines.")
        first = 1
        last = len(lines)
        if view_range is not None and len(view_range) == 2:
            first = max(1, view_range[0])
            last = len(lines) if view_range[1] == -1 else view_range[1]
        shown = lines[first - 1 : last]
        return f"Here's the content of {path} with line numbers:\n" + _numbered(shown, first)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file; its name ends in `.md`."""
        path = command.path
        names = self._names(path)
        exists = f"File {path} already exists"
        if os.path.lexists(self._place(path, names, make_root=True)):
            raise ToolError(exists)

        def create(content: bytes | None) -> str:
            if content is not None:
                raise ToolError(exists)
            return command.file_text

        reasons = self._edit(path, names, create, conflict=exists)
        return _with_reasons(f"File created successfully at: {path}", reasons)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once in a file."""
        path = command.path
        old = command.old_str
        shown = ""

        def replace(text: str) -> str:
            nonlocal shown
            found = [text[: each.start()].count("\n") + 1 for each in re.finditer(f"(?={re.escape(old)})", text)]
            count = text.count(old)
            if count == 0:
                message = f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
                raise ToolError(message)
            if count > 1:
                lines = ", ".join(map(str, found))
                raise ToolError(
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
                    "Please ensure it is unique"
                )
            changed = text.replace(old, command.new_str or "")
            at = found[0] - 1
            first = max(0, at - CONTEXT_LINES)
            shown = _numbered(changed.split("\n")[first : at + CONTEXT_LINES + 1], first + 1)
            return changed

        reasons = self._edit_existing(path, replace)
        head = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return _with_reasons(f"{head}\n{shown}", reasons)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert a text after a line; 0: at the beginning, below the line that names the author."""
        line = command.insert_line

        def insert(before: str) -> str:
            lines = before.split("\n")
            if lines[-1] == "":
                lines.pop()
            if not 0 <= line <= len(lines):
                raise ToolError(
                    f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}]."
                )
            lines.insert(line, command.insert_text.rstrip("\n"))
            changed = "\n".join(lines)
            return changed if changed.endswith("\n") else f"{changed}\n"

        return _with_reasons(f"The file {command.path} has been edited.", self._edit_existing(command.path, insert))

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file, or a folder that holds nothing but such files."""
        path = command.path
        names = self._names(path)
        if not names:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        self._remove(path, self._place(path, names), names)
        return f"Successfully deleted {path}"

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a folder to a path that does not exist yet."""
        old_path = command.old_path
        new_path = command.new_path
        old_names = self._names(old_path)
        new_names = self._names(new_path)
        if not old_names:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")
        old = self._place(old_path, old_names)
        new = self._place(new_path, new_names)
        if os.path.lexists(new):
            raise ToolError(f"The destination {new_path} already exists")
        if not os.path.lexists(old):
            raise ToolError(f"The path {old_path} does not exist")
        for names in self._notes_in(old_path, old, old_names):
            self._check_is_note(old_path, names)
            new_place = (*new_names, *names[len(old_names) :])
            self._check_is_note(new_path, new_place)
            if fault := new_path_fault(new_place):
                raise ToolError(f"The path {new_path} is refused: {sentence(fault)}")
        try:
            new.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            old.rename(new)
        except OSError as error:
            raise ToolError(f"{old_path} was not renamed: {error.strerror}.") from error
        return f"Successfully renamed {old_path} to {new_path}"

    def clear_all_memory(self) -> str:
        """Delete every file of the folder."""
        root = self._place(ROOT, (), make_root=True)
        for entry in sorted(root.iterdir()):
            self._remove(f"{ROOT}/{entry.name}", entry, (entry.name,))
        return "All memory cleared"

    def _names(self, path: str) -> tuple[str, ...]:
        """Return the names below the folder that a path consists of."""
        if path != ROOT and not path.startswith(f"{ROOT}/"):
            raise ToolError(f"Path must start with {ROOT}, got: {path}")
        names: list[str] = []
        for name in path[len(ROOT) :].split("/"):
            if name == ".." and not names:
                raise ToolError(f"Path {path} would escape {ROOT} directory")
            if name == "..":
                names.pop()
            elif name not in {"", "."}:
                names.append(name)
        return tuple(names)

    def _place(self, path: str, names: Sequence[str], *, make_root: bool = False) -> Path:
        """Return the file or folder of a path; no part below the workspace may be a link."""
        place = Path(self._memory.place.workspace)
        for name in (*self._folder.split("/"), *names):
            place /= name
            if "\0" in name or place.is_symlink():
                raise ToolError(f"Path would escape {ROOT} directory via symlink: {path}")
        if make_root:
            try:
                Path(self._memory.place.workspace, self._folder).mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise ToolError(f"The folder of {ROOT} cannot be created: {error.strerror}.") from error
        return place

    def _cited(self, names: Sequence[str]) -> str:
        return "/".join((self._folder, *names))

    def _check_is_note(self, path: str, names: Sequence[str]) -> None:
        """Raise ToolError unless the file is, or would be, a note that the memory may read."""
        try:
            self._memory.read(self._cited(names), lines=1)
        except MemoriterError as error:
            raise ToolError(_explained(path, error)) from error

    def _edit_existing(self, path: str, edit: Callable[[str], str]) -> tuple[Diagnostic, ...]:
        """Edit the text of a file that exists."""
        names = self._names(path)
        place = self._place(path, names)
        missing = f"The path {path} does not exist. Please provide a valid path."
        if not place.exists():
            raise ToolError(missing)
        if not place.is_file():
            raise ToolError(f"The path {path} is not a file.")
        self._check_is_note(path, names)

        def edit_content(content: bytes | None) -> str:
            if content is None:
                raise ToolError(missing)
            return edit(_text(path, content))

        return self._edit(path, names, edit_content)

    def _read(self, path: str, names: Sequence[str]) -> str:
        self._check_is_note(path, names)
        try:
            content = content_of(self._memory, self._cited(names))
        except MemoriterError as error:
            raise ToolError(_explained(path, error)) from error
        if content is None:
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        return _text(path, content)

    def _edit(
        self, path: str, names: Sequence[str], edit: Callable[[bytes | None], str], *, conflict: str = ""
    ) -> tuple[Diagnostic, ...]:
        """Edit a file once: the model has decided on its content of before."""
        try:
            return edit_note(
                self._memory, self._cited(names), lambda content: self._labelled(path, edit(content)), attempts=1
            )
        except WriteConflict as error:
            raise ToolError(conflict or f"The file {path} has changed meanwhile: view it again.") from error
        except MemoriterError as error:
            raise ToolError(_explained(path, error)) from error

    def _labelled(self, path: str, text: str) -> str:
        """Return the text of a file with the line that names its author, below the front matter if there is any."""
        today = self._memory.session(self._author).now.date().isoformat()
        opening = marked("text\n", self._author, today).partition("\n")[0]
        own = re.compile(re.escape(opening.replace(today, "DAY")).replace("DAY", r"\d{4}-\d\d-\d\d"))
        lines = text.split("\n")
        marks = [at for at, line in enumerate(lines) if own.fullmatch(line)]
        label = lines[marks[0]] if marks else opening
        rest = "\n".join(line for at, line in enumerate(lines) if at not in marks)
        front = _FRONT_MATTER.match(rest)
        before, after = (rest[: front.end()], rest[front.end() :]) if front else ("", rest)
        before = f"{before}\n" if before and not before.endswith("\n") else before
        body = after.split("\n")
        foreign = foreign_lines([label, *body])[1:]
        if any(line.strip() and not is_foreign for line, is_foreign in zip(body, foreign, strict=True)):
            raise ToolError(
                f"{path} was not written: its text may not hold lines such as `<!-- from: … -->` or `<!-- end: … -->`, "
                "because these name the author of a note. Leave them out."
            )
        return f"{before}{label}\n{after}"

    def _notes_in(self, path: str, place: Path, names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Yield the names of all files of a folder, or of the file itself. Raises ToolError for a link."""
        if place.is_symlink():
            raise ToolError(f"{path} was left as it is: {'/'.join(names)} is a link.")
        if not place.is_dir():
            yield names
            return
        for entry in sorted(place.iterdir()):
            yield from self._notes_in(path, entry, (*names, entry.name))

    def _remove(self, path: str, place: Path, names: tuple[str, ...]) -> None:
        if not os.path.lexists(place):
            raise ToolError(f"The path {path} does not exist")
        for each in self._notes_in(path, place, names):
            self._check_is_note(f"{ROOT}/{'/'.join(each)}", each)
        remove: Callable[[Path], None] = shutil.rmtree if place.is_dir() else os.unlink
        try:
            remove(place)
        except FileNotFoundError:
            raise ToolError(f"The path {path} does not exist") from None
        except OSError as error:
            raise ToolError(f"{path} was not deleted: {error.strerror}.") from error

    def _listing(self, path: str, folder: Path, size: int) -> str:
        rows = [f"{_size(size)}\t{path}"]
        rows += [f"{_size(length)}\t{path}/{name}" for length, name in self._entries(folder, "", LISTED_LEVELS)]
        head = f"Here're the files and directories up to {LISTED_LEVELS} levels deep in {path}, excluding hidden items:"
        return "\n".join([head, *rows])

    def _entries(self, folder: Path, before: str, levels: int) -> Iterator[tuple[int, str]]:
        """Yield size and relative path of the folders and notes in a folder, sorted by name."""
        for entry in sorted(folder.iterdir(), key=lambda each: each.name):
            if entry.name.startswith(".") or entry.is_symlink():
                continue
            name = f"{before}{entry.name}"
            if entry.is_dir():
                yield entry.stat().st_size, f"{name}/"
                if levels > 1:
                    yield from self._entries(entry, f"{name}/", levels - 1)
            elif entry.is_file() and self._memory.file_of(str(entry)):
                yield entry.stat().st_size, name


class SearchTool(BetaBuiltinFunctionTool):
    """The search over all notes; its result is JSON as text, with outcome, citations and health."""

    def __init__(self, memory: Memory, *, session: str | None = None) -> None:
        self._calls = ToolCalls(memory, SEARCH, session)

    def to_dict(self) -> BetaToolUnionParam:
        tool = self._calls.tool
        schema = cast("dict[str, object]", dict(tool.input_schema))
        return {"name": tool.name, "description": tool.description, "input_schema": schema}

    def call(self, input: object) -> str:  # noqa: A002 - the name that the SDK has given the parameter
        """Search; the result says what is wrong with an input that is not valid."""
        return self._calls(cast("Mapping[str, Any]", input) if isinstance(input, Mapping) else {})


class AsyncTool(BetaAsyncBuiltinFunctionTool):
    """One of the tools for `AsyncAnthropic`; it runs in a thread."""

    def __init__(self, tool: BetaBuiltinFunctionTool) -> None:
        self._tool = tool

    def to_dict(self) -> BetaToolUnionParam:
        return self._tool.to_dict()

    async def call(self, input: object) -> Any:  # noqa: A002 - the name that the SDK has given the parameter
        return await asyncio.to_thread(self._tool.call, input)


def memory_tools(
    memory: Memory, *, folder: str = DEFAULT_FOLDER, author: str = "claude", session: str | None = None
) -> list[BetaBuiltinFunctionTool]:
    """Return the memory tool and the search over all notes.

    Args:
        memory: an open memory; the program closes it.
        folder: the folder below the workspace that the model sees as `/memories`.
        author: what the first line of each file names as its author.
        session: the key of the conversation, such as `agent:main:slack:group:7`; None: only the owner reads it.

    Raises:
        UsageError: the folder is not below the workspace.
    """
    return [MemoryTool(memory, folder=folder, author=author), SearchTool(memory, session=session)]


def async_memory_tools(
    memory: Memory, *, folder: str = DEFAULT_FOLDER, author: str = "claude", session: str | None = None
) -> list[BetaAsyncBuiltinFunctionTool]:
    """Return the same tools for `AsyncAnthropic`."""
    return [AsyncTool(tool) for tool in memory_tools(memory, folder=folder, author=author, session=session)]


def _check(given: object) -> None:
    """Raise ToolError unless the input has a known command with its required parameters."""
    fields: Mapping[str, object] = cast("Mapping[str, object]", given if isinstance(given, Mapping) else {})
    command = fields.get("command")
    if not isinstance(command, str) or command not in _PARAMETERS:
        raise ToolError(f"Unknown command: {command!r}. Use one of: {', '.join(_PARAMETERS)}.")
    for name, kind in _PARAMETERS[command].items():
        value = fields.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ToolError(f"The command {command} needs the parameter `{name}`, {_WORDS[kind]}.")
    if not isinstance(fields.get("new_str", ""), str | None):
        raise ToolError("The parameter `new_str` must be a text.")
    lines = fields.get("view_range")
    if lines is not None and not _is_range(lines):
        raise ToolError("The parameter `view_range` must be two whole numbers: the first and the last line.")


def _is_range(value: object) -> bool:
    values = cast("list[object]", value) if isinstance(value, list) else []
    return len(values) == 2 and all(isinstance(each, int) and not isinstance(each, bool) for each in values)


def _text(path: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ToolError(f"path {path!r} is not valid utf-8") from None


def _explained(path: str, error: MemoriterError) -> str:
    return f"{path} is not a note of this memory: {error.message} {error.remedy}".strip()


def _with_reasons(text: str, reasons: Sequence[Diagnostic]) -> str:
    """Return a result with the reasons why searches may not find the file."""
    notes = [f"{reason.message} {reason.remedy}".strip() for reason in reasons]
    return "\n".join([text, *notes])


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:>{NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def _size(length: int) -> str:
    """Return a number of bytes in the largest unit that gives 1 or more, such as `1.5K`."""
    if not length:
        return "0B"
    power = min((length.bit_length() - 1) // 10, len(_UNITS) - 1)
    value = length / 1024**power
    return f"{int(value)}{_UNITS[power]}" if value == int(value) else f"{value:.1f}{_UNITS[power]}"
