"""Write what a conversation was about into the day's note, once, and tell its owner how to take it back.

The entry is a list item with a mark of its origin, so its text counts as somebody else's wherever a model reads it.
`captures.json` has the state of each conversation: up to which moment it is recorded, and the identifiers of its
entries. So nothing is written again when a client repeats a hook or resumes a conversation, nor after its owner has
removed the entry. Entries are found by their marks, which are in the notes themselves.

The transcript shows what a capture needs: the owner's messages, the last summary, and what came from memory.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from memoriter.agent._session_files import OWN_KEY, table_of
from memoriter.environment import local_time
from memoriter.errors import MemoriterError, PathRefused, WriteConflict, sentence
from memoriter.ids import content_hash
from memoriter.journal import acting
from memoriter.plain_file import open_plain
from memoriter.types import Diagnostic
from memoriter.values import dataclass
from memoriter.workspace import marked_entries, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from memoriter.agent._session_files import Entry, SessionStore
    from memoriter.agent.flush import Flushing
    from memoriter.backends import ForgetPlan
    from memoriter.memory_like import MemoryLike
    from memoriter.workspace import Workspace

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


CAPTURE = "capture"
"""The first word of the origin of a captured entry."""
_ORIGIN = re.compile(rf"{CAPTURE} (?P<id>[0-9a-f]{{8}}) \((?P<client>\S+) (?P<kind>summary|prompts)\), (?P<day>\S+)")
_IN_NOTE = f"<!-- from: {CAPTURE} "


@dataclass(frozen=True, slots=True)
class CapturedEntry:
    """A record of a conversation in a note."""

    id: str
    """Eight hexadecimal digits."""
    path: str
    """The note, as cited."""
    start_line: int
    """First line, 1-based."""
    end_line: int
    """Last line, inclusive."""
    day: str
    """The day on which it was written, as `YYYY-MM-DD`."""
    client: str
    """The program, such as `claude-code`."""
    kind: str
    """`summary`: a model's summary; `prompts`: what the owner asked."""
    text: str
    """Its lines, as the note has them."""

    @property
    def citation(self) -> str:
        """The lines of the note."""
        return f"{self.path}#L{self.start_line}-L{self.end_line}"


def find_captures(memory: MemoryLike) -> Iterator[CapturedEntry]:
    """Yield the captured entries of all notes that can be read, in the order of the notes' paths."""
    for source in memory.sources():
        if source.kind != "memory":
            continue
        lines: list[str] = []
        with suppress(PathRefused):
            lines = _lines_of(memory, source.path)
        yield from captures_in(source.path, lines)


def captures_in(path: str, lines: Sequence[str]) -> Iterator[CapturedEntry]:
    """Yield the captured entries among the lines of a note."""
    if not any(_IN_NOTE in line for line in lines):
        return
    for entry in marked_entries(lines):
        if match := _ORIGIN.fullmatch(entry.origin):
            text = "\n".join(lines[entry.start_line - 1 : entry.end_line])
            place = path, entry.start_line, entry.end_line
            yield CapturedEntry(match["id"], *place, match["day"], match["client"], match["kind"], text)


def plan_removal(plan_forget: Callable[[str], ForgetPlan], capture: CapturedEntry) -> ForgetPlan:
    """Return the plan that removes a record. Raises WriteConflict if its lines have changed since it was found."""
    plan = plan_forget(capture.citation)
    planned = [line for removal in plan.notes for passage in removal.passages for line in passage.text.split("\n")]
    if planned != [line.rstrip("\r") for line in capture.text.split("\n")]:
        message = f"{capture.path!r} has changed since the record was found; nothing was removed."
        raise WriteConflict(message, remedy="Run the command again.")
    return plan


def _lines_of(memory: MemoryLike, path: str) -> list[str]:
    """Return the lines of a note, which is read in parts. Raises PathRefused."""
    lines: list[str] = []
    while True:
        part = memory.read(path, start=len(lines) + 1)
        lines += part.text.removesuffix("\n").split("\n") if part.text else []
        if not part.truncated or not part.text:
            return lines


Kind = Literal["summary", "prompts"]
MOST_IDENTIFIERS = 50
"""Identifiers that are kept for each conversation."""
LONGEST_NAME = 60
"""Characters of a folder's name or a session in an entry."""
NEWS = ""
"""The key of what the owner is to be told; no conversation has an empty name."""


@dataclass(frozen=True, slots=True)
class Capturing:
    """The captures of one session."""

    key: str
    workspace: Workspace
    store: SessionStore
    """`captures.json`."""
    flushing: Flushing
    wall: Callable[[], float]
    zone: str | None
    enabled: bool
    """Whether the settings want captures, and this session may write them."""

    def after_compaction(
        self, conversation: Conversation, summary: str, context: Iterable[str] = ()
    ) -> tuple[Diagnostic, ...]:
        """Write the summary that has just replaced a conversation; return what went wrong."""
        if not self._wanted(conversation):
            return ()
        try:
            until = self._recorded_until()
            now = self.wall()
            if summary.strip():
                return self._keep("summary", summary, conversation, context, until=now)
            if conversation.summary and conversation.summarized_at > until:
                at = conversation.summarized_at
                return self._keep("summary", conversation.summary, conversation, context, until=at)
        except (MemoriterError, OSError) as error:
            return (Diagnostic.of(error),)
        return ()

    def at_end(self, conversation: Conversation, context: Iterable[str] = ()) -> tuple[Diagnostic, ...]:
        """Write what no entry records yet of a conversation that ends; return what went wrong.

        That is the last summary, if it was not written, and the owner's messages after the last summary, flush or
        capture.
        """
        reasons = self.after_compaction(conversation, "", context)
        if not self._wanted(conversation):
            return reasons
        try:
            since = max(self._recorded_until(), self.flushing.written_at(), conversation.summarized_at)
            prompts = [prompt for prompt in conversation.prompts if prompt.at > since]
            if prompts:
                raw = "\n".join(prompt.text for prompt in prompts)
                reasons += self._keep("prompts", raw, conversation, context, until=prompts[-1].at, since=since)
        except (MemoriterError, OSError) as error:
            reasons += (Diagnostic.of(error),)
        return reasons

    def news(self) -> str:
        """Return, once, what the owner should know about the first capture, and how to undo it; else nothing."""
        if not self.enabled:
            return ""
        with suppress(MemoriterError, OSError):
            if not _is_news(self.store.read(NEWS)):
                return ""
            told: list[str] = []

            def act(entry: Entry) -> Entry | None:
                told[:] = [str(entry["citation"]), str(entry["id"])] if _is_news(entry) else []
                return {"told": True} if told else None

            self.store.change(NEWS, act)
            if told:
                return (
                    f"memoriter: A conversation was recorded in {told[0]} of {self.workspace.root}. "
                    f"`memoriter capture list` shows all records, and `memoriter capture undo {told[1]}` removes this "
                    "one. This message is not repeated."
                )
        return ""

    def _wanted(self, conversation: Conversation) -> bool:
        return self.enabled and conversation.attended

    def _keep(
        self,
        kind: Kind,
        raw: str,
        conversation: Conversation,
        context: Iterable[str],
        *,
        until: float,
        since: float = 0.0,
    ) -> tuple[Diagnostic, ...]:
        """Write one entry, unless this conversation has it already or it says nothing new.

        Raises:
            MemoriterError: nothing was written, or the state could not be stored.
            OSError: the same.
        """
        from memoriter.agent.capture._condense import Known, condense_prompts, condense_summary

        identifier = content_hash(f"{self.key}\n{kind}\n{raw}")[:8]
        if identifier in _own_fields(self.store.read(self.key))[0]:
            return ()
        known = Known.of((*self._notes(), *context, *conversation.from_memory))
        if kind == "summary":
            lines = condense_summary(raw, known)
        else:
            lines = condense_prompts([each.text for each in conversation.prompts if each.at > since], known)
        reasons = self._write(kind, identifier, conversation, lines) if lines else ()
        self.store.change(self.key, lambda entry: self._recorded(entry, identifier, until))
        return reasons

    def _write(
        self, kind: Kind, identifier: str, conversation: Conversation, lines: Sequence[str]
    ) -> tuple[Diagnostic, ...]:
        head = _heading(kind, self.key, conversation)
        origin = f"{CAPTURE} {identifier} ({_slug(conversation)} {kind})"
        body = lines if kind == "summary" else [f"- “{line}”" for line in lines]
        now = local_time(self.wall(), self.zone)
        with acting(act="capture", session=self.key):
            written = self.workspace.remember("\n".join([head, *body]), to="daily", origin=origin, now=now)
        if written.existing:
            return ()
        path = written.path.relative_to(self.workspace.root).as_posix()
        citation = f"{path}#L{written.start_line}-L{written.end_line}"
        self.store.change(
            NEWS, lambda entry: None if "told" in entry or "id" in entry else {"citation": citation, "id": identifier}
        )
        left_out = self.workspace.exclusion_of(written.path)
        return (left_out,) if left_out else ()

    def _notes(self) -> list[str]:
        """Return the notes that a session begins with: most of what a conversation repeats is from them."""
        today = local_time(self.wall(), self.zone).date()
        contents: list[bytes] = []
        for file in (self.workspace.long_term(), *map(self.workspace.daily, (today - timedelta(days=1), today))):
            with suppress(MemoriterError):
                contents.append(self.workspace.content(str(file)) or b"")
        return [content.decode("utf-8", "replace") for content in contents]

    def _recorded_until(self) -> float:
        """Return the moment up to which the conversation is recorded, in seconds since 1970; 0: not at all."""
        return _own_fields(self.store.read(self.key))[1]

    def _recorded(self, entry: Entry, identifier: str, until: float) -> Entry:
        ids, before = _own_fields(entry)
        kept = [each for each in ids if each != identifier][1 - MOST_IDENTIFIERS :]
        return {**entry, OWN_KEY: {"ids": [*kept, identifier], "until": max(before, until)}}


def _own_fields(entry: Entry) -> tuple[list[str], float]:
    """Return the identifiers and the moment in an entry, as far as they have their types."""
    fields = table_of(entry.get(OWN_KEY))
    ids = fields.get("ids")
    until = fields.get("until")
    valid_ids = [each for each in cast("list[Any]", ids) if isinstance(each, str)] if isinstance(ids, list) else []
    return valid_ids, float(until) if isinstance(until, int | float) and not isinstance(until, bool) else 0.0


def _is_news(entry: Entry) -> bool:
    return "told" not in entry and isinstance(entry.get("citation"), str) and isinstance(entry.get("id"), str)


def _heading(kind: Kind, session: str, conversation: Conversation) -> str:
    """Return the first line of an entry, which names the conversation and the author of the text."""
    place = f" in {_name(conversation.folder)}" if conversation.folder.strip() else ""
    client = conversation.client or "an agent"
    if kind == "summary":
        return f"Summary of a conversation with {client}{place} (session {_name(session)}), written by the model:"
    return f"Conversation with {client}{place} (session {_name(session)}); what was asked:"


def _name(text: str) -> str:
    """Return a name from outside on one line, without what could pass for a mark."""
    plain = " ".join(visible(text).replace("<", "‹").replace(">", "›").split())
    return plain if len(plain) <= LONGEST_NAME else f"{plain[:LONGEST_NAME]}…"


def _slug(conversation: Conversation) -> str:
    return conversation.client.lower().replace(" ", "-") or "agent"
