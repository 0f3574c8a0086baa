"""The table of OpenClaw's plugin: read it as it is, without changing it, and copy its memories."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memoriter.errors import EmbeddingError, IndexUnavailable, UsageError, sentence
from memoriter.extensions.longterm import _lance_upkeep as upkeep
from memoriter.extensions.longterm._lance import TABLE
from memoriter.extensions.longterm._note import clean_text
from memoriter.extensions.longterm._records import (
    CATEGORIES,
    DEFAULT_CATEGORY,
    DEFAULT_IMPORTANCE,
    LongTermMemory,
    id_of_text,
    is_memory_id,
    memories_at,
    moment_of,
)
from memoriter.extensions.longterm._results import (
    Imported,
    LongTermAnswer,
    LongTermHit,
    OpenClawState,
    answer_of,
    answering,
    coverage,
    words_only,
)
from memoriter.masking import mask
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from memoriter.extensions.longterm._memories import LongTermMemories
    from memoriter.extensions.longterm._records import AsOf, Category
    from memoriter.extensions.longterm._results import Vector

SCHEMA_ROW = "__schema__"
"""The id of a row with which OpenClaw creates its table; it is no memory."""
COMPARED = 3
"""Rows whose texts are embedded to see whether the model of the settings has made the vectors of a table."""
SAME_MODEL = 0.98
"""Lowest cosine of two vectors of one text by one model, which may have been rounded. Another model is near 0."""


def import_openclaw(memories: LongTermMemories, folder: Path) -> Imported:
    """Copy the memories of an OpenClaw database that are not there yet, with their ids and times.

    Their vectors are computed again, because the table does not name the model of its vectors. Who wrote a memory is
    not recorded there either, so the copies have the origin `import`.

    Raises:
        UsageError: the folder holds no table of OpenClaw.
        IndexUnavailable: the table or the database cannot be read, or the database not written.
        EmbeddingError: there are no vectors; nothing was copied.
        WriteError: the note could not be written; nothing was copied.
    """
    rows = read_openclaw(folder)
    found = _memories_of(rows, memories)
    fresh = _without_known(found, memories)
    memories.add_all(fresh)
    is_schema = sum(row.get("id") == SCHEMA_ROW for row in rows)
    return Imported(len(fresh), len(found) - len(fresh), len(rows) - is_schema - len(found))


def openclaw_memories(memories: LongTermMemories, *, as_of: AsOf = None) -> list[LongTermMemory]:
    """Return the memories of the table of OpenClaw that the settings name, without those that were copied already.

    They are in the order of their creation, and have the origin `import`; those after `as_of` are left out. Without
    such a table, there are none.

    Raises:
        UsageError: `as_of` is no day.
        IndexUnavailable: the table cannot be read.
    """
    at = moment_of(as_of, memories.parts.wall())
    if (folder := memories.parts.openclaw) is None:
        return []
    fresh = memories_at(_without_known(_memories_of(read_openclaw(folder), memories), memories), at, ())
    return sorted(fresh, key=lambda each: (each.created_at, each.id))


def search_openclaw(
    memories: LongTermMemories, query: str, *, limit: int, floor: float, as_of: AsOf = None
) -> LongTermAnswer:
    """Search the memories of `openclaw_memories`: by the vectors of the table if the model of the settings made them.

    If another model made them, by words, and the answer has a reason.

    Raises:
        UsageError: `as_of` is no day.
        IndexUnavailable: the table cannot be read.
    """
    at = moment_of(as_of, memories.parts.wall())
    if (folder := memories.parts.openclaw) is None:
        return LongTermAnswer()
    rows = read_openclaw(folder, vectors=True)
    known = {each.id: each for each in memories_at(_without_known(_memories_of(rows, memories), memories), at, ())}
    if not known:
        return LongTermAnswer()
    try:
        cosines = _cosines(memories, rows, query, [*known.values()])
        reasons = () if cosines is not None else (_other_model(memories),)
    except EmbeddingError as error:
        cosines = None
        reasons = (words_only(error),)
    if cosines is None:
        hits = [LongTermHit(memory, coverage(query, memory.text), None) for memory in known.values()]
    else:
        background = memories.spec().background
        hits = [answering(known[key], cosine, query, background) for key, cosine in cosines.items() if key in known]
    return replace(answer_of(hits, limit, floor), reasons=reasons)


def openclaw_state(memories: LongTermMemories) -> OpenClawState | None:
    """Return the condition of the table that the settings name; None: they name none. Raises IndexUnavailable."""
    if (folder := memories.parts.openclaw) is None:
        return None
    found = _memories_of(read_openclaw(folder), memories)
    return OpenClawState(str(folder), len(found), len(_without_known(found, memories)))


def read_openclaw(folder: Path, *, vectors: bool = False) -> list[dict[str, Any]]:
    """Return the rows of an OpenClaw table. Nothing is written there.

    Raises:
        UsageError: the folder holds no table of OpenClaw.
        IndexUnavailable: the table cannot be read.
    """
    if not (folder / f"{TABLE}.lance").is_dir():
        raise UsageError(
            f"The folder {str(folder)!r} holds no table {TABLE!r} of OpenClaw.",
            remedy="Give the dbPath of OpenClaw's plugin, such as ~/.openclaw/memory/lancedb.",
        )
    try:
        table = upkeep.imported().connect(str(folder), read_consistency_interval=None).open_table(TABLE)
        names = [name for name in table.schema.names if vectors or name != "vector"]
        return table.search().select(names).limit(max(table.count_rows(), 1)).to_list()
    except (RuntimeError, OSError, ValueError) as error:
        reason = sentence(str(error).partition("\n")[0][:300])
        message = f"The table of OpenClaw in {str(folder)!r} cannot be read: {reason}"
        raise IndexUnavailable(message, remedy="Check that the folder is complete.") from error


def _cosines(
    memories: LongTermMemories, rows: Sequence[dict[str, Any]], query: str, known: Sequence[LongTermMemory]
) -> dict[str, float] | None:
    """Return the cosine of the query and each vector of the table, by id; None if another model made the vectors."""
    import numpy as np

    spec = memories.spec()
    stored: dict[str, Vector] = {}
    for row in rows:
        vector = np.asarray(row.get("vector") or [], dtype=np.float32)
        if len(vector) == spec.dimensions and (length := float(np.linalg.norm(vector))) > 0:
            stored[_id_of(row)] = vector / length
    samples = [each for each in known if each.id in stored][:COMPARED]
    if not samples:
        return None
    own = memories.embed([each.text for each in samples])
    if any(float(stored[each.id] @ vector) < SAME_MODEL for each, vector in zip(samples, own, strict=True)):
        return None
    wanted = memories.parts.embedding.query_vector(mask(query), None)
    return {key: float(vector @ wanted) for key, vector in stored.items()}


def _other_model(memories: LongTermMemories) -> Diagnostic:
    spec = memories.spec()
    message = (
        f"The memories in OpenClaw's table were compared by their words only: its vectors are not those of {spec.model}"
        f" ({spec.provider})."
    )
    remedy = f"Copy them with `memoriter ltm import {memories.parts.openclaw}`, which computes their vectors."
    return Diagnostic("no_vectors", message, remedy)


def _without_known(found: Sequence[LongTermMemory], memories: LongTermMemories) -> list[LongTermMemory]:
    """Return those that are not in the note, and of several with one id or one text the first."""
    noted = memories.noted()
    ids = set(noted)
    texts = {memory.text for memory in noted.values()}
    fresh = list[LongTermMemory]()
    for each in found:
        if each.id not in ids and each.text not in texts:
            fresh.append(each)
            ids.add(each.id)
            texts.add(each.text)
    return fresh


def _memories_of(rows: Sequence[dict[str, Any]], memories: LongTermMemories) -> list[LongTermMemory]:
    return [memory for row in rows if (memory := _memory_of(row, memories))]


def _memory_of(row: dict[str, Any], memories: LongTermMemories) -> LongTermMemory | None:
    """Return a row as a memory, or None if it is none."""
    text = mask(clean_text(str(row.get("text") or "")))
    if row.get("id") == SCHEMA_ROW or not text:
        return None
    known: dict[str, Category] = {each: each for each in CATEGORIES}
    category = known.get(str(row.get("category")), DEFAULT_CATEGORY)
    created = _number(row.get("createdAt"), memories.parts.wall() * 1000) / 1000
    return LongTermMemory(
        id=_id_of(row),
        text=text,
        importance=min(max(_number(row.get("importance"), DEFAULT_IMPORTANCE), 0.0), 1.0),
        category=category,
        created_at=round(min(max(created, 0.0), 32_503_680_000.0), 3),
        origin="import",
        principal=memories.parts.principal,
        note=memories.parts.note,
    )


def _id_of(row: dict[str, Any]) -> str:
    """Return the id of a row. What is no UUID becomes one that depends on the row alone, so it stays the same."""
    written = str(row.get("id") or "").lower()
    return written if is_memory_id(written) else id_of_text(f"{written} {row.get('text')}")


def _number(value: object, default: float) -> float:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else default
