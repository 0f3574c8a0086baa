"""What goes into the index and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from memoriter.types import Chunk, SourceKind


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """A chunk, ready to be stored: with its analysed words and the key of its vector."""

    chunk: Chunk
    key: bytes
    """`ids.vector_key` of the chunk."""
    terms: str
    """Analysed tokens in order, duplicates kept, joined by single spaces."""
    length: int
    """Number of tokens."""
    term_counts: bytes
    """Packed term counts, made and read by the search room."""
    day: int
    """`date.toordinal()` of the chunk."""
    script: str = "latin"
    """Writing system, as the search room names it."""


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file as it was when it was indexed."""

    path: str
    kind: SourceKind
    hash: str
    size: int
    mtime_ns: int
    chunks: int
    tail: str = ""
    """How far a file that only grows was read, as whoever put it there wrote it."""
    stamp: int = 0
    """`Source.stamp` of the file then."""


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A stored chunk with its place."""

    id: int
    path: str
    source: SourceKind
    ordinal: int
    """0-based position in its file."""
    chunk: Chunk
    term_counts: bytes
    length: int
    day: int
    script: str
    key: bytes
    """`ids.vector_key` of the chunk, as it was stored."""


class ScoringRow(NamedTuple):
    """What ranking needs of a stored chunk, without its text. A tuple, since a question looks at hundreds."""

    id: int
    path: str
    source: SourceKind
    length: int
    term_counts: bytes
    day: int
    script: str


class KindCount(NamedTuple):
    """How much of one kind is indexed."""

    files: int
    chunks: int


@dataclass(frozen=True, slots=True)
class Corpus:
    """How much is indexed."""

    files: int
    chunks: int
    mean_length: float
    """Tokens a chunk, 0 when there is none."""
