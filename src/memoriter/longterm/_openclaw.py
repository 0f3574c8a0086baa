"""Read the table of OpenClaw's plugin without changing it, and copy its memories."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from memoriter.errors import IndexUnavailable, UsageError, sentence
from memoriter.longterm import _lance_upkeep as upkeep
from memoriter.longterm._item import clean_text
from memoriter.longterm._lance import TABLE
from memoriter.longterm._records import CATEGORIES, DEFAULT_CATEGORY, DEFAULT_IMPORTANCE, LongTermMemory, is_memory_id
from memoriter.longterm._results import Imported
from memoriter.masking import mask

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.longterm._memories import LongTermMemories
    from memoriter.longterm._records import Category

SCHEMA_ROW = "__schema__"
"""The id of a row with which OpenClaw creates its table; it is no memory."""


def import_openclaw(memories: LongTermMemories, folder: Path) -> Imported:
    """Copy the memories of an OpenClaw database that are not there yet, with their ids and times.

    Their vectors are computed again, because the table does not name the model of its vectors. Who wrote a memory is
    not recorded there either, so the copies have the origin `import`.

    Raises:
        UsageError: the folder holds no table of OpenClaw.
        IndexUnavailable: the table cannot be read.
        EmbeddingError: there are no vectors; nothing was copied.
        WriteError: the note could not be written; what was copied before stays.
    """
    known = {entry.memory.id for entry in memories.entries()}
    texts = {entry.memory.text for entry in memories.entries()}
    fresh, present, skipped = list[LongTermMemory](), 0, 0
    for row in read_openclaw(folder):
        memory = _memory_of(row, memories)
        if memory is None:
            skipped += row.get("id") != SCHEMA_ROW
        elif memory.id in known or memory.text in texts:
            present += 1
        else:
            fresh.append(memory)
            known.add(memory.id)
            texts.add(memory.text)
    vectors = memories.embed([memory.text for memory in fresh])
    for memory in fresh:
        memories.file.add(memory)
    memories.opened().store(fresh, vectors)
    return Imported(len(fresh), present, skipped)


def read_openclaw(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of an OpenClaw table, without their vectors. Nothing is written there."""
    if not (folder / f"{TABLE}.lance").is_dir():
        raise UsageError(
            f"The folder {str(folder)!r} holds no table {TABLE!r} of OpenClaw.",
            remedy="Give the dbPath of OpenClaw's plugin, such as ~/.openclaw/memory/lancedb.",
        )
    try:
        table = upkeep.imported().connect(str(folder), read_consistency_interval=None).open_table(TABLE)
        names = [name for name in table.schema.names if name != "vector"]
        count = table.count_rows()
        return table.search().select(names).limit(max(count, 1)).to_list()
    except (RuntimeError, OSError, ValueError) as error:
        reason = sentence(str(error).partition("\n")[0][:300])
        message = f"The table of OpenClaw in {str(folder)!r} cannot be read: {reason}"
        raise IndexUnavailable(message, remedy="Check that the folder is complete.") from error


def _memory_of(row: dict[str, Any], memories: LongTermMemories) -> LongTermMemory | None:
    """Return a row as a memory, or None if it is none."""
    text = mask(clean_text(str(row.get("text") or "")))
    if row.get("id") == SCHEMA_ROW or not text:
        return None
    identifier = str(row.get("id") or "").lower()
    known: dict[str, Category] = {each: each for each in CATEGORIES}
    category = known.get(str(row.get("category")), DEFAULT_CATEGORY)
    created = _number(row.get("createdAt"), memories.parts.wall() * 1000) / 1000
    return LongTermMemory(
        id=identifier if is_memory_id(identifier) else memories.parts.new_id(),
        text=text,
        importance=min(max(_number(row.get("importance"), DEFAULT_IMPORTANCE), 0.0), 1.0),
        category=category,
        created_at=round(min(max(created, 0.0), 32_503_680_000.0), 3),
        origin="import",
        principal=memories.parts.principal,
        note=memories.parts.note,
    )


def _number(value: object, default: float) -> float:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else default
