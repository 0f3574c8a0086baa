"""The parameters of the operations on long-term memories."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from memoriter.extensions.longterm._records import Category, Origin
from memoriter.web import Question, Request

AsOfDay = Annotated[
    str, Field(max_length=40, description="As the memories were at the end of this day (UTC): 2026-02-10 or 7d.")
]
MemoryId = Annotated[str, Field(min_length=1, max_length=64, description="The id of a long-term memory.")]
Statement = Annotated[str, Field(min_length=1, max_length=10_000, description="One statement, as a sentence.")]


class ListMemoriesRequest(Request):
    """Long-term memories, as `memoriter ltm list --json`."""

    category: Category | None = None
    origin: Origin | None = None
    status: Literal["active", "superseded"] | None = None
    text: Annotated[str, Field(max_length=1_000, description="Only memories with these words, in any case.")] | None = (
        None
    )
    as_of: AsOfDay | None = None
    limit: Annotated[int, Field(ge=1, le=10_000, description="At most so many, the newest.")] = 1_000


class SearchMemoriesRequest(Request):
    """A search of long-term memories, as `memoriter ltm search --json`."""

    query: Question
    limit: Annotated[int, Field(ge=1, le=1_000)] = 5
    min_score: Annotated[float, Field(ge=0, le=1)] = 0.3
    as_of: AsOfDay | None = None


class StoreMemoryRequest(Request):
    """A statement to store, as `memoriter ltm store --json`."""

    text: Statement
    category: Category = "other"
    importance: Annotated[float, Field(ge=0, le=1)] = 0.7
    supersedes: MemoryId | None = None


class ForgetMemoryRequest(Request):
    """A long-term memory to delete, as `memoriter ltm forget --json`. Give exactly one member."""

    id: MemoryId | None = None
    query: Question | None = None


class ApproveRequest(Request):
    """A long-term memory that may be put before a turn from now on."""

    id: MemoryId


class CandidatesRequest(Request):
    """Statements of the inbox: the beginnings of their ids, or `all` alone."""

    ids: Annotated[tuple[MemoryId, ...], Field(min_length=1, max_length=1_000)]


class EditCandidateRequest(Request):
    """New words or another category for a statement of the inbox."""

    id: MemoryId
    text: Statement | None = None
    category: Category | None = None


class RestoreCandidateRequest(Request):
    """A statement as it was before it was accepted, rejected or edited, with the members that `GET /ltm/inbox` has."""

    id: MemoryId
    text: Statement
    category: Category
    score: Annotated[float, Field(ge=0, le=1)]
    created_at: Annotated[str, Field(max_length=40)]
    origin: Origin
    expires_at: Annotated[str, Field(max_length=40, description="Not read.")] | None = None
    supersedes: MemoryId | None = None
    session: Annotated[str, Field(max_length=1_000)] | None = None
    span: dict[str, str | int] | None = None
    memory: MemoryId | None = Field(
        None,
        description="The id of the memory that accepting has stored, which is forgotten. An older one that it had"
        " replaced is current again.",
    )


class RebuildRequest(Request):
    """A rebuild of the database of long-term memories, as `memoriter ltm rebuild --json`."""

    all: bool = False
