"""Export memories as JSON Lines or as Markdown, and import either form. A round trip loses nothing but vectors."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from memoriter.errors import UsageError, sentence
from memoriter.extensions.longterm._json import memory_json
from memoriter.extensions.longterm._note import HEADER, clean_text, entry_text, parse_note, principals_in
from memoriter.extensions.longterm._records import (
    DEFAULT_CATEGORY,
    DEFAULT_IMPORTANCE,
    LONGEST,
    OWN_FOLDER,
    Category,
    LongTermMemory,
    Origin,
    Span,
    Speaker,
    Status,
    is_memory_id,
    least_trusted,
)
from memoriter.extensions.longterm._results import Imported
from memoriter.masking import mask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoriter.extensions.longterm._memories import LongTermMemories


def _valid_id(text: str) -> str:
    if text and not is_memory_id(text):
        raise ValueError("it is not a UUID")
    return text.lower()


class _Strict(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="ignore", strict=True)


class _SpanRow(_Strict):
    speaker: Speaker
    message: int = Field(ge=0)
    start: int = Field(ge=0)
    end: int = Field(ge=0)


class _Row(_Strict):
    """One line of an export. Keys that are not listed are ignored."""

    id: Annotated[str, AfterValidator(_valid_id)] = ""
    text: str
    category: Category = DEFAULT_CATEGORY
    importance: float = Field(DEFAULT_IMPORTANCE, ge=0, le=1)
    created_at: Annotated[datetime | None, Field(strict=False)] = None
    origin: Origin = "import"
    approved: bool = False
    status: Status = "active"
    supersedes: Annotated[str, AfterValidator(_valid_id)] = ""
    session: str = ""
    span: _SpanRow | None = None
    principal: str = ""


def export_rows(memories: Iterable[LongTermMemory]) -> Iterator[dict[str, Any]]:
    """Yield memories as JSON objects, with all that `import_text` needs to restore them."""
    for each in memories:
        named = {} if each.principal.startswith(OWN_FOLDER) else {"principal": each.principal}
        approved = {"approved": True} if each.approved else {}
        yield {**memory_json(each), **approved, **named}


def export_markdown(memories: Iterable[LongTermMemory]) -> str:
    """Return memories in the form of the note, with all that `import_text` needs to restore them."""
    return HEADER + "".join(map(entry_text, memories))


def import_text(memories: LongTermMemories, text: str, *, own: bool) -> Imported:
    """Add the memories of an export that are not there yet, with their ids, times and links. All are added, or none.

    The text is JSON Lines or Markdown, as `export_rows` and `export_markdown` return them. An export of the owner's
    `own` is believed about who wrote a memory and what was approved. Of others, all memories get the origin `import`.

    Raises:
        UsageError: the text is no export, or has memories of another principal.
        EmbeddingError: there are no vectors.
        IndexUnavailable: the database cannot be written; the note has the memories.
        WriteError: the note could not be written.
    """
    rows, skipped = _parsed(memories, text)
    noted = memories.noted()
    known = set(noted)
    texts = {memory.text for memory in noted.values() if memory.status == "active"}
    fresh = list[LongTermMemory]()
    for row in rows:
        said = row.status == "active" and row.text in texts
        if row.id not in known and not said:
            unproven = replace(row, origin=least_trusted(row.origin, "import"), approved=False)
            fresh.append(row if own else unproven)
            known.add(row.id)
            texts |= {row.text} if row.status == "active" else set()
    memories.add_all(fresh)
    return Imported(len(fresh), len(rows) - len(fresh), skipped)


def _parsed(memories: LongTermMemories, text: str) -> tuple[list[LongTermMemory], int]:
    """Return the memories of an export in the order of their creation, and the number of rows without a text."""
    plain = text.removeprefix("\ufeff")
    if not plain.strip():
        raise UsageError("There is nothing to import: the text is empty.", remedy="Give what `ltm export` has written.")
    is_json = plain.lstrip().startswith("{")
    found, skipped = _json_rows(memories, plain) if is_json else (_markdown_rows(memories, plain), 0)
    rows = [replace(row, text=mask(row.text)) for row in found]
    if too_long := next((row for row in rows if len(row.text) > LONGEST), None):
        message = (
            f"The memory {too_long.id} has {len(too_long.text):,} characters, and a memory has at most {LONGEST:,}."
        )
        raise UsageError(message, remedy="Shorten it; nothing was imported.")
    return sorted(rows, key=lambda row: (row.created_at, row.id)), skipped


def _markdown_rows(memories: LongTermMemories, text: str) -> list[LongTermMemory]:
    rules = replace(memories.rules(), origin="owner")
    rows = [entry.memory for entry in parse_note(text, rules)]
    if not rows:
        remedy = "Give JSON Lines or Markdown as `memoriter ltm export` writes them, or a folder of OpenClaw."
        raise UsageError("The text holds no memory.", remedy=remedy)
    _check_principals(memories, principals_in(text))
    return rows


def _json_rows(memories: LongTermMemories, text: str) -> tuple[list[LongTermMemory], int]:
    """Return the memories of JSON Lines, and the number of rows without a text."""
    rows = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    parsed = [(number, _row_of(number, line)) for number, line in rows]
    _check_principals(memories, {row.principal for _, row in parsed if row.principal})
    kept = [_memory_of(memories, row) for _, row in parsed if clean_text(row.text)]
    return kept, len(parsed) - len(kept)


def _row_of(number: int, line: str) -> _Row:
    try:
        return _Row.model_validate(json.loads(line))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the line"
        reason = f"{where}: {first['msg']}"
    except (ValueError, RecursionError) as error:
        reason = str(error)
    message = f"Line {number} is no memory, so nothing was imported: {sentence(reason)}"
    raise UsageError(message, remedy="Correct the line: each has an object as `memoriter ltm export` writes it.")


def _memory_of(memories: LongTermMemories, row: _Row) -> LongTermMemory:
    parts = memories.parts
    created = row.created_at and (row.created_at if row.created_at.tzinfo else row.created_at.replace(tzinfo=UTC))
    span = row.span and Span(row.span.speaker, row.span.message, row.span.start, row.span.end)
    return LongTermMemory(
        id=row.id or parts.new_id(),
        text=clean_text(row.text),
        importance=row.importance,
        category=row.category,
        created_at=round(created.timestamp() if created else parts.wall(), 3),
        origin=row.origin,
        principal=parts.principal,
        session=row.session,
        span=span or None,
        status=row.status,
        supersedes=row.supersedes,
        approved=row.approved,
        note=parts.note,
    )


def _check_principals(memories: LongTermMemories, named: Iterable[str]) -> None:
    """Raise UsageError if an export names another principal than that of these memories."""
    own = memories.parts.principal if memories.parts.shared else ""
    foreign = next((each for each in sorted(named) if each != own), None)
    if foreign is not None:
        here = f"this is {own!r}" if own else "no principal is configured here"
        setting = "plugins.entries.memory-lancedb.config.principal"
        remedy = f"If they are yours, set {setting} to {foreign!r}; or remove the principal from the export."
        raise UsageError(f"These are memories of the principal {foreign!r}, and {here}.", remedy=remedy)
