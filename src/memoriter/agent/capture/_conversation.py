"""Read from a transcript what a capture needs: the owner's messages, the last summary, and what came from memory."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memoriter.agent._session_files import table_of
from memoriter.errors import PathRefused, sentence
from memoriter.plain_file import open_plain
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

TAIL_BYTES = 4 << 20
"""Bytes read from the end of a transcript; a longer conversation was compacted since."""
FIRST_LINE = 1 << 20
MEMORY_TOOLS = ("memory_search", "memory_get")
"""Ends of the names of the tools whose results are text from memory."""
_INJECTED = re.compile(r"<(memoriter-recall|relevant-memories)\b[^<>]*+>(.*?)(?:</\1>|\Z)", re.DOTALL)
_DEEPEST = 20
"""Levels of nested JSON in which text is looked for."""
_CLAUDE_OPENING = "This session is being continued from a previous conversation"
_CLAUDE_TITLE = "Summary:\n"
_CLAUDE_ENDINGS = ("\n\nIf you need specific details from before compaction", "\nContinue the conversation from where")
_CODEX_OPENING = "Another language model started to solve this problem"
"""What the clients put around a summary for the model that reads it."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A message of the owner."""

    text: str
    """On one line, with secrets masked, without text that the client added or memory injected."""
    at: float
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The end of a conversation, as its transcript has it."""

    client: str = ""
    """The program, for people: `Claude Code` or `Codex`."""
    folder: str = ""
    """Name of the folder in which the agent works; empty: unknown."""
    prompts: tuple[Prompt, ...] = ()
    summary: str = ""
    """The last summary that replaced the conversation; empty: none."""
    summarized_at: float = 0.0
    """Time of the summary, in seconds since 1970."""
    from_memory: tuple[str, ...] = ()
    """Texts that hooks and tools of a memory put into the conversation."""
    attended: bool = True
    """False if a program reads the answers, as with `codex exec`."""


def read_conversation(transcript: str, *, client: str, cwd: str) -> Conversation:
    """Return what a transcript shows of a conversation; without a transcript, an empty conversation.

    Raises:
        PathRefused: the path is not a plain file owned by this user, or it cannot be read.
    """
    from memoriter.workspace import parse_line, parse_object

    folder = cwd.replace("\\", "/").rstrip("/").rpartition("/")[2]
    ends = read_ends(transcript, TAIL_BYTES)
    if ends is None:
        return Conversation(client, folder)
    first = parse_object(ends[0]) or {}
    prompts = list[Prompt]()
    summary = ""
    summarized_at = 0.0
    from_memory = list[str]()
    calls = set[str]()
    for line in ends[1]:
        fields = parse_object(line)
        if fields is None or fields.get("isSidechain") is True:
            continue
        from_memory += _texts_from_memory(fields, line, calls)
        parsed = parse_line(fields)
        if text := _summary_in(fields):
            summary = text
            summarized_at = parsed.time or 0.0
        elif parsed.speaker == "user" and parsed.text and parsed.time is not None:
            prompts.append(Prompt(parsed.text, parsed.time))
    attended = table_of(first.get("payload")).get("source") != "exec"
    return Conversation(client, folder, tuple(prompts), summary, summarized_at, tuple(from_memory), attended)


def read_ends(transcript: str, most: int) -> tuple[bytes, list[bytes]] | None:
    """Return the first line of a transcript, and the complete lines among its last bytes; None if it is missing.

    Raises:
        PathRefused: the path is not a plain file owned by this user, or it cannot be read.
    """
    if not transcript:
        return None
    try:
        with open_plain(Path(transcript).expanduser(), owned=True) as opened:
            first = opened.readline(FIRST_LINE)
            size = opened.seek(0, os.SEEK_END)
            opened.seek(max(0, size - most))
            lines = opened.read(most).split(b"\n")
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError) as error:  # RuntimeError: the user after `~` does not exist
        why = getattr(error, "strerror", None) or str(error)
        message = f"The transcript {transcript[:200]!r} is not read: {sentence(why)}"
        raise PathRefused(message, remedy="The coding agent names it: look at what is there.") from error
    return first, lines if size <= most else lines[1:]


def _summary_in(fields: dict[str, Any]) -> str:
    """Return the summary that a line of a transcript holds, without the client's words around it; else nothing."""
    if fields.get("isCompactSummary") is True:  # Claude Code
        text = "\n".join(_strings(table_of(fields.get("message")).get("content")))
        if text.startswith(_CLAUDE_OPENING):
            text = text.partition(_CLAUDE_TITLE)[2]
        for ending in _CLAUDE_ENDINGS:
            text = text.partition(ending)[0]
        return text.strip()
    if fields.get("type") == "compacted":  # Codex
        message = table_of(fields.get("payload")).get("message")
        text = message if isinstance(message, str) else ""
        return (text.partition("\n")[2] if text.startswith(_CODEX_OPENING) else text).strip()
    return ""


def _texts_from_memory(fields: dict[str, Any], line: bytes, calls: set[str]) -> Iterator[str]:
    """Yield the texts in a line that come from a memory: injected blocks, and results of its tools.

    `calls` are the identifiers of the calls of memory tools so far; those of this line are added.
    """
    if b"<memoriter-recall" in line or b"<relevant-memories" in line:
        yield from (block[2] for text in _strings(fields) for block in _INJECTED.finditer(text))
    if calls or b"memory_" in line:
        for table in _tables(fields):
            number = table.get("call_id", table.get("tool_use_id", table.get("id")))
            name = table.get("name")
            if isinstance(name, str) and name.endswith(MEMORY_TOOLS) and isinstance(number, str):
                calls.add(number)
            elif isinstance(number, str) and number in calls:
                yield from _strings([table.get("content"), table.get("output")])


def _strings(value: object, depth: int = 0) -> Iterator[str]:
    """Yield every text in a JSON value, except the keys and types."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth < _DEEPEST:
        for each in cast("list[object]", value):
            yield from _strings(each, depth + 1)
    elif isinstance(value, dict) and depth < _DEEPEST:
        for key, each in cast("dict[str, object]", value).items():
            if key not in {"type", "id"}:
                yield from _strings(each, depth + 1)


def _tables(value: object, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Yield every object in a JSON value."""
    if isinstance(value, dict) and depth < _DEEPEST:
        table = cast("dict[str, Any]", value)
        yield table
        for each in table.values():
            yield from _tables(each, depth + 1)
    elif isinstance(value, list) and depth < _DEEPEST:
        for each in cast("list[object]", value):
            yield from _tables(each, depth + 1)
