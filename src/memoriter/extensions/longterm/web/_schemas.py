"""JSON schemas of the answers about long-term memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.web.schemas import (
    ANY,
    FLAG,
    NUMBER,
    REASONS,
    SHARE,
    TEXT,
    WHOLE,
    list_schema,
    object_schema,
    reference,
    text,
    whole,
)

if TYPE_CHECKING:
    from memoriter.web.schemas import Schema

SCHEMAS: dict[str, Schema] = {
    "Memory": object_schema(
        {
            **text("id", "text", "category", "createdAt", "origin", "status"),
            "importance": SHARE,
            "trusted": FLAG,
        },
        {**text("supersedes", "supersededBy", "session"), "span": ANY, "score": NUMBER},
    ),
    "Memories": list_schema(reference("Memory")),
    "FoundMemories": object_schema({"memories": list_schema(reference("Memory"))}, {"reasons": REASONS}),
    "StoredMemory": object_schema(
        {"stored": FLAG, "memory": reference("Memory")}, {"similarity": NUMBER, "masked": FLAG, "reasons": REASONS}
    ),
    "ForgottenMemories": object_schema(
        {"forgotten": list_schema(reference("Memory")), **whole("lines", "rows")},
        {"restored": list_schema(reference("Memory")), "candidates": list_schema(reference("Memory")), "left": REASONS},
    ),
    "MemoryStats": object_schema({"memories": WHOLE, "byCategory": ANY, "byOrigin": ANY}, {"reasons": REASONS}),
    "Rebuilt": object_schema(whole("memories", "added", "changed", "removed", "numbered")),
    "Candidate": object_schema(
        {**text("id", "text", "category", "createdAt", "expiresAt", "origin"), "score": NUMBER},
        {"supersedes": TEXT, "session": TEXT, "span": ANY},
    ),
    "Candidates": list_schema(reference("Candidate")),
    "RestoredCandidate": object_schema(
        {"candidate": reference("Candidate")}, {"forgotten": reference("ForgottenMemories")}
    ),
    "Accepted": list_schema(
        object_schema({"candidate": reference("Candidate"), "stored": FLAG, "memory": reference("Memory")})
    ),
}
"""The schemas by their names in the OpenAPI document."""
DAY: Schema = object_schema(
    {"memories": list_schema(reference("Memory")), "candidates": list_schema(reference("Candidate"))},
    {"longTerm": reference("Reason")},
)
"""The members of the answer about a day."""
