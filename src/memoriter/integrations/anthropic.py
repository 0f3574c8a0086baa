"""Anthropic's memory tool `memory_20250818` on notes: `client.beta.messages.tool_runner(tools=memory_tools(memory))`.

The files that the model creates are notes in a folder of the workspace, so that every other way to search finds them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from memoriter.extras import require

require("anthropic", "The memory tool of Anthropic")

from anthropic.lib.tools import (
    BetaAbstractMemoryTool,
    BetaAsyncAbstractMemoryTool,
    BetaAsyncBuiltinFunctionTool,
    BetaBuiltinFunctionTool,
    ToolError,
)

from memoriter.integrations._note_files import DEFAULT_FOLDER, CommandRefused, NoteFiles
from memoriter.integrations._tool_calls import ToolCalls
from memoriter.tools import SEARCH

if TYPE_CHECKING:
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
        super().__init__(cache_control=cache_control)
        self._files = NoteFiles(memory, folder=folder, author=author)

    def call(self, input: object) -> str:  # noqa: A002 - the name that the SDK has given the parameter
        """Check the input of the model, and carry out its command."""
        _check(input)
        try:
            return cast("str", super().call(input))
        except CommandRefused as error:
            raise ToolError(str(error)) from error

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return the lines of a file, or the files of a folder."""
        return self._files.view(command.path, command.view_range)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file; its name ends in `.md`."""
        return self._files.create(command.path, command.file_text)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once in a file."""
        return self._files.str_replace(command.path, command.old_str, command.new_str or "")

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines into a file."""
        return self._files.insert(command.path, command.insert_line, command.insert_text)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file or a folder."""
        return self._files.delete(command.path)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a folder."""
        return self._files.rename(command.old_path, command.new_path)

    def clear_all_memory(self) -> str:
        """Delete every file of the folder."""
        try:
            return self._files.clear()
        except CommandRefused as error:
            raise ToolError(str(error)) from error


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool for `AsyncAnthropic`; commands run in threads."""

    def __init__(self, tool: MemoryTool) -> None:
        super().__init__()
        self._tool = tool

    def to_dict(self) -> Any:
        """Return the description of the tool for a request."""
        return self._tool.to_dict()

    async def call(self, input: object) -> str:  # noqa: A002 - the name that the SDK has given the parameter
        """Check the input of the model, and carry out its command."""
        return await asyncio.to_thread(self._tool.call, input)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return the lines of a file, or the files of a folder."""
        return await asyncio.to_thread(self._tool.view, command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file; its name ends in `.md`."""
        return await asyncio.to_thread(self._tool.create, command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once in a file."""
        return await asyncio.to_thread(self._tool.str_replace, command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines into a file."""
        return await asyncio.to_thread(self._tool.insert, command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file or a folder."""
        return await asyncio.to_thread(self._tool.delete, command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a folder."""
        return await asyncio.to_thread(self._tool.rename, command)

    async def clear_all_memory(self) -> str:
        """Delete every file of the folder."""
        return await asyncio.to_thread(self._tool.clear_all_memory)


class SearchTool(BetaBuiltinFunctionTool):
    """The search over all notes; its result is JSON as text, with outcome, citations and health."""

    def __init__(self, memory: Memory, *, session: str | None = None) -> None:
        self._calls = ToolCalls(memory, SEARCH, session)

    def to_dict(self) -> BetaToolUnionParam:
        """Return the description of the tool for a request."""
        tool = self._calls.tool
        schema = cast("dict[str, object]", dict(tool.input_schema))
        return {"name": tool.name, "description": tool.description, "input_schema": schema}

    def call(self, input: object) -> str:  # noqa: A002 - the name that the SDK has given the parameter
        """Search; the result says what is wrong with an input that is not valid."""
        return self._calls(cast("Mapping[str, Any]", input) if isinstance(input, Mapping) else {})


class AsyncSearchTool(BetaAsyncBuiltinFunctionTool):
    """The search over all notes for `AsyncAnthropic`; it runs in a thread."""

    def __init__(self, tool: SearchTool) -> None:
        self._tool = tool

    def to_dict(self) -> BetaToolUnionParam:
        """Return the description of the tool for a request."""
        return self._tool.to_dict()

    async def call(self, input: object) -> str:  # noqa: A002 - the name that the SDK has given the parameter
        """Search; the result says what is wrong with an input that is not valid."""
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
    tool = MemoryTool(memory, folder=folder, author=author)
    return [AsyncMemoryTool(tool), AsyncSearchTool(SearchTool(memory, session=session))]


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
