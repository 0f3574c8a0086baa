"""claude-mem: its database `claude-mem.db`, or the JSON of its script `export-memories`.

Observations, summaries of sessions and prompts become entries of a note for each project and day.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.errors import UsageError
from memoriter.extensions.importing._json import lists, named, objects, open_database, parsed
from memoriter.extensions.importing._records import Entry, Format, LeftOut, Record, id_of, moment, text_of
from memoriter.extensions.importing.formats._conversation import lowered
from memoriter.ids import content_hash

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memoriter.extensions.importing._files import Files

_PARTS = {
    "request": "Request",
    "investigated": "Investigated",
    "learned": "Learned",
    "completed": "Completed",
    "next_steps": "Next steps",
    "notes": "Notes",
}
"""The columns of a summary, with what is written before their texts."""
_OF_SESSION = ("id", "memory_session_id", "project", "created_at")
_OBSERVATION = (*_OF_SESSION, "type", "title", "subtitle", "narrative", "text", "facts")
_SUMMARY = (*_OF_SESSION, *_PARTS)
_PROMPT = ("id", "content_session_id", "prompt_text", "created_at")


class ClaudeMem(Format):
    """What claude-mem recorded of Claude Code."""

    name = "claude-mem"
    read_as = "claude-mem 13.25.3"
    local_ids = True

    def read(self, files: Files) -> Iterator[Record]:
        databases = named(files, "claude-mem.db") or [name for name in files.names if name.endswith((".db", ".sqlite"))]
        if databases:
            with open_database(files, databases[0]) as database:
                for row in database.rows("observations", _OBSERVATION):
                    yield _observation(row)
                for row in database.rows("session_summaries", _SUMMARY):
                    yield _summary(row)
                sessions = database.rows("sdk_sessions", ("content_session_id", "project"))
                projects = {row["content_session_id"]: row["project"] for row in sessions}
                for row in database.rows("user_prompts", _PROMPT):
                    yield _prompt(row | {"project": projects.get(row["content_session_id"])})
            return
        names = [name for name in files.names if name.lower().endswith(".json")]
        if len(names) != 1:
            message = f"The export {files.title!r} has neither claude-mem.db nor one JSON file."
            raise UsageError(message, remedy="Give ~/.claude-mem/claude-mem.db, or the file of export-memories.")
        for place, read in (("observations", _observation), ("summaries", _summary), ("prompts", _prompt)):
            for found in objects(files, names[0], f"{place}.item"):
                yield read(found)


def _observation(row: Mapping[str, Any]) -> Record:
    facts = row.get("facts")
    listed = lists(parsed(facts)) if isinstance(facts, str) else lists(facts)
    kind = text_of(row.get("type")).strip()
    title = text_of(row.get("title")).strip()
    heading = ": ".join(filter(None, [kind, title]))
    body = [text_of(row.get("subtitle")), text_of(row.get("narrative")) or text_of(row.get("text"))]
    points = "\n".join(f"- {' '.join(fact.split())}" for fact in listed if isinstance(fact, str) and fact.strip())
    parts = [f"**{' '.join(heading.split())}**" if heading else "", *map(str.strip, body), points]
    return _entry("observation", row, [part for part in parts if part])


def _summary(row: Mapping[str, Any]) -> Record:
    said = ((name, text_of(row.get(key)).strip()) for key, name in _PARTS.items())
    parts = [f"{name}: {text}" for name, text in said if text]
    return _entry("summary", row, ["**Summary of a session**", *parts] if parts else [])


def _prompt(row: Mapping[str, Any]) -> Record:
    text = text_of(row.get("prompt_text")).strip()
    return _entry("prompt", row, [f"**Prompt**: {text}"] if text else [])


def _entry(kind: str, row: Mapping[str, Any], parts: list[str]) -> Record:
    # Each machine counts from 1; the session and the time tell their rows apart.
    origin = [str(row.get(key) or "") for key in ("memory_session_id", "content_session_id", "created_at")]
    identifier = f"{kind}-{id_of(row.get('id'), *parts)}-{content_hash(chr(10).join(origin))[:8]}"
    if not parts:
        return LeftOut(identifier, "it has no text")
    group = text_of(row.get("project")).strip("/").replace("/", " ")
    return Entry(identifier, lowered("\n\n".join(parts)), moment(row.get("created_at")), group)
