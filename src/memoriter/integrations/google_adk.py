"""A memory service for Google's Agent Development Kit: `Runner(memory_service=NotesMemoryService(memory), …)`.

Each user's sessions are notes in a folder of the user: `memory/google-adk/APP/USER/SESSION.md`, one list item for each
event with text, marked with its author and its id. Searches of a user find this folder only.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memoriter.extras import require

require("google-adk", "The Google ADK adapter")

from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.genai import types

from memoriter.errors import PathRefused, UsageError
from memoriter.ids import content_hash
from memoriter.integrations._notes import edit_note, text_of, with_metadata
from memoriter.integrations._passages import Passage, find_passages
from memoriter.workspace import entry_of, log_form, marked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from google.adk.events import Event
    from google.adk.sessions import Session

    from memoriter import Memory

log = logging.getLogger(__name__)
FOLDER = "memory/google-adk"
ENTRIES = "entries"
"""The note of the entries that were added without a session."""
UNKNOWN_SESSION = "unknown-session"
MAX_RESULTS = 10
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_HASHED = re.compile(r".*-[0-9a-f]{12}")
_EVENT = re.compile(r"<!-- (?:from: [^<>\n]*? event|deleted event) ([\w-]{1,64})\b[^<>\n]*-->")
_HEADING = re.compile(r"(?m)^(?=#{1,6}(?:[ \t]|$))")
_ESCAPED = r"\\"
"""A heading in a message is escaped, so that the message stays one list item."""
_ID = re.compile(r"(?P<path>.+)#L(?P<first>\d+)-L(?P<last>\d+)@(?P<hash>[0-9a-f]{16})")


class NotesMemoryService(BaseMemoryService):
    """Keeps sessions as notes, and searches them; what is kept stays readable and editable for the owner."""

    def __init__(self, memory: Memory, *, owner: str | None = None) -> None:
        """Prepare the service.

        Args:
            memory: an open memory; the program closes it.
            owner: the user id of the owner of the notes, whose searches find all notes; None: every user's searches
                find only what this service has kept for them.
        """
        self._memory = memory
        self._owner = owner

    async def add_session_to_memory(self, session: Session) -> None:
        """Keep the events of a session that are not kept yet. Events without text are left out.

        Raises:
            MemoriterError: nothing was written.
        """
        folder = _folder(session.app_name, session.user_id)
        await asyncio.to_thread(self._keep_events, folder, session.id, session.events)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Keep events of a session that are not kept yet.

        Raises:
            UsageError: there is metadata, which this service cannot keep for events.
            MemoriterError: nothing was written.
        """
        if custom_metadata:
            message = f"Metadata of events is not kept: {', '.join(custom_metadata)}."
            raise UsageError(message, remedy="Leave it out, or call add_memory.")
        folder = _folder(app_name, user_id)
        await asyncio.to_thread(self._keep_events, folder, session_id or UNKNOWN_SESSION, events)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Keep entries with their author, their time and their metadata.

        Raises:
            UsageError: an entry has no text.
            MemoriterError: nothing was written.
        """
        blocks = [self._block_of_entry(entry, custom_metadata or {}) for entry in memories]
        if not blocks:
            return
        path = f"{_folder(app_name, user_id)}/{ENTRIES}.md"

        def add(text: str) -> str:
            known = _known_events(text)
            return text + "".join(block for key, block in blocks if key not in known)

        await asyncio.to_thread(self._change, path, "Entries", add)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return the passages of a user that answer a question, best first.

        Each passage begins with its citation, and its metadata has outcome, citation and health. If the notes could
        not be searched completely, the last entry says so; its author is `memoriter`.
        """
        path = None if user_id == self._owner is not None else _folder(app_name, user_id)
        found = await asyncio.to_thread(find_passages, self._memory, query, limit=MAX_RESULTS, path=path)
        return SearchMemoryResponse(memories=[_memory_entry(passage) for passage in found])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Delete a passage that a search has found, from the notes and the index; it is not kept again.

        Args:
            app_name: the app of the search.
            user_id: the user of the search; others' passages are refused.
            memory_id: `MemoryEntry.id`.

        Raises:
            UsageError: the id is none of the user's passages, or the note has changed since the search.
        """
        await asyncio.to_thread(self._delete, _folder(app_name, user_id), memory_id or "")

    def _keep_events(self, folder: str, session_id: str, events: Sequence[Event]) -> None:
        blocks = list[tuple[str, str]]()
        for event in events:
            key = _key(event.id)
            if block := self._block_of_event(event, key):
                blocks.append((key, block))
        if len(blocks) < len(events):
            log.info("%d events of a session have no text and were not kept.", len(events) - len(blocks))
        if not blocks:
            return

        def add(text: str) -> str:
            known = _known_events(text)
            new = {key: block for key, block in blocks if key not in known}
            return text + "".join(new.values())

        self._change(f"{folder}/{_file_name(session_id)}.md", f"Session {' '.join(session_id.split())}", add)

    def _block_of_event(self, event: Event, key: str) -> str:
        """Return an event as it is written; empty if it has no text, or is an unfinished part of another one."""
        text = _text_of(event.content)
        if event.partial or not text:
            return ""
        return self._block(text, event.author, key, self._local(event.timestamp))

    def _block_of_entry(self, entry: MemoryEntry, custom_metadata: Mapping[str, object]) -> tuple[str, str]:
        """Return the key of an entry, and the entry as it is written."""
        text = _text_of(entry.content)
        if not text:
            raise UsageError("A memory entry has no text.", remedy="Give content with a text part.")
        metadata = {**custom_metadata, **entry.custom_metadata}
        if entry.timestamp:
            metadata = {"time": entry.timestamp, **metadata}
        text = with_metadata(text, metadata)
        author = entry.author or "agent"
        key = _key(entry.id or content_hash(f"{author}\n{text}")[:32])
        return key, self._block(text, author, key, self._local(None))

    def _block(self, text: str, author: str, key: str, at: datetime) -> str:
        form = log_form("", f"{at:%Y-%m-%d %H:%M}")
        entry = entry_of(f"{' '.join(author.split())}: {_HEADING.sub(_ESCAPED, text)}", form)
        return marked(entry, f"Google ADK, event {key}", at.date().isoformat())

    def _local(self, seconds: float | None) -> datetime:
        """Return a time in the user's time zone; None: now."""
        now = self._memory.session(FOLDER).now
        return now if seconds is None else datetime.fromtimestamp(seconds, UTC).astimezone(now.tzinfo)

    def _change(self, path: str, title: str, change: Callable[[str], str]) -> None:
        """Change a note, or begin it with a title."""

        def edit(content: bytes | None) -> str | None:
            before = text_of(path, content or b"") or f"# {title}\n\n"
            after = change(before)
            return None if after == before else after

        edit_note(self._memory, path, edit)

    def _delete(self, folder: str, memory_id: str) -> None:
        match = _ID.fullmatch(memory_id)
        if match is None or not match["path"].startswith(f"{folder}/"):
            raise UsageError(
                f"{memory_id!r} is no memory of this user.",
                remedy="Give the id of an entry that a search has returned.",
            )
        path = match["path"]
        first = int(match["first"])
        last = int(match["last"])
        try:
            text = self._memory.read(path, start=first, lines=last - first + 1).text
        except PathRefused as error:
            raise UsageError(f"The note of {memory_id!r} is gone.", remedy="Search again.") from error
        if content_hash(text)[:16] != match["hash"]:
            raise UsageError(f"The note of {memory_id!r} has changed since the search.", remedy="Search again.")
        plan = self._memory.plan_forget(f"{path}#L{first}-L{last}")
        receipt = self._memory.forget(plan)
        for reason in receipt.left:
            log.warning("%s %s", reason.message, reason.remedy)
        keys = _known_events(text)
        if keys:
            marks = "".join(f"<!-- deleted event {key} -->\n" for key in sorted(keys))
            self._change(path, "Entries", lambda rest: rest + marks)


def _folder(app_name: str, user_id: str) -> str:
    return f"{FOLDER}/{_file_name(app_name)}/{_file_name(user_id)}"


def _file_name(name: str) -> str:
    """Return a name that no other name shares, also where upper and lower case are the same."""
    if _PLAIN.fullmatch(name) and not _HASHED.fullmatch(name):
        return name
    slug = re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-")[:40]
    return f"{slug or 'id'}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def _key(event_id: str) -> str:
    """Return the id of an event in the form in which a note holds it."""
    return event_id if re.fullmatch(r"[\w-]{1,40}", event_id) and "--" not in event_id else content_hash(event_id)[:32]


def _known_events(text: str) -> set[str]:
    return set(_EVENT.findall(text))


def _text_of(content: types.Content | None) -> str:
    parts = content.parts if content is not None and content.parts else []
    return "\n".join(part.text for part in parts if part.text and not part.thought).strip()


def _memory_entry(passage: Passage) -> MemoryEntry:
    hit = passage.hit
    content = types.Content(role="user", parts=[types.Part(text=passage.text)])
    if hit is None:
        return MemoryEntry(content=content, custom_metadata=passage.metadata, author="memoriter")
    identity = f"{hit.path}#L{hit.start_line}-L{hit.end_line}@{content_hash(hit.text)[:16]}"
    day = hit.date.isoformat() if hit.date else None
    return MemoryEntry(content=content, custom_metadata=passage.metadata, id=identity, author="notes", timestamp=day)
