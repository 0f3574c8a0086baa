"""The values that pass between indexing, search and a store."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from memoriter.types import Chunk, Item, SourceKind


COUNTED_OF_FILE = 8
"""Chunks of one file that count in what is measured on all, so that no file changes the scores of the others. With 4,
two messages about no note are taken for questions in the example workspace; 16 let one note change more scores."""
SKETCH_BYTES = 16
"""Length of the sketches by which near-copies are recognized: the four lowest hashes of terms, with which packed term
counts begin (MinHash: Broder 1997, "On the resemblance and containment of documents")."""
SEEN_PER_SAMPLED = 100
"""Texts that are looked at for each one that a sample may have."""


class ItemRecord(NamedTuple):
    """An item of a chunk to be stored, with the key of its vector."""

    item: Item
    key: bytes
    """`ids.text_key` of `Chunk.contextual_item`."""
    script: str = "latin"
    """The writing system, as `search` names it; a list may mix languages."""


@dataclass(frozen=True, slots=True)
class StoredIndex:
    """An index that a server or a folder holds."""

    name: str
    """Of a server: the workspace and the agent; of a folder: the file."""
    owner: str | None
    """The role of the server that owns it; None for a file."""
    passages: int | None
    """None if it cannot be read now."""
    vectors: int | None
    """Vectors of all models, also unused ones; None if it cannot be read now."""
    size: int | None
    """Bytes on disk; None if they cannot be read now."""
    changed_at: float | None
    """When it was last indexed, in seconds since 1970; None if that is unknown."""


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """A chunk to be stored, with its analysed words and the key of its vector."""

    chunk: Chunk
    key: bytes
    """`ids.vector_key` of the chunk."""
    terms: str
    """Analysed tokens in order, with duplicates, joined by single spaces."""
    length: int
    """The number of tokens."""
    term_counts: bytes
    """Packed term counts, written and read by `search`."""
    day: int
    """`date.toordinal()` of the chunk."""
    script: str = "latin"
    """The writing system, as `search` names it."""
    items: tuple[ItemRecord, ...] = ()
    """What gets a vector of its own; empty if the chunk has only one item."""


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
    """How far a growing file was read, in the format of whoever stored it."""
    stamp: int = 0
    """`Source.stamp` of the file at that time."""


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A stored chunk with its place."""

    id: int
    path: str
    source: SourceKind
    ordinal: int
    """The 0-based position in its file."""
    chunk: Chunk
    term_counts: bytes
    length: int
    day: int
    script: str
    key: bytes
    """`ids.vector_key` of the chunk when it was stored."""


class ScoringRow(NamedTuple):
    """The values of a stored chunk that ranking needs, without its text. A tuple, because a query reads hundreds."""

    id: int
    path: str
    source: SourceKind
    length: int
    term_counts: bytes
    day: int
    script: str


class KindCount(NamedTuple):
    """Totals of one kind of source."""

    files: int
    chunks: int


@dataclass(frozen=True, slots=True)
class Corpus:
    """Totals of the index."""

    files: int
    chunks: int
    mean_length: float
    """Tokens per chunk; 0 if there are no chunks."""
    has_other_names: bool = False
    """Whether any note has more than one name."""
    kinds: Mapping[SourceKind, KindCount] = field(default_factory=dict["SourceKind", "KindCount"])
    """Totals of each kind of source that is indexed."""


class TextPlace(NamedTuple):
    """A chunk with a text, and the first of the files that have it."""

    chunk: int
    path: str
    sketch: bytes
    """The first `SKETCH_BYTES` of its packed term counts; near-copies have the same. Empty without terms."""


def sampled(texts: Iterable[TextPlace], count: int) -> list[int]:
    """Return the first `count` chunks of different texts, near-copies once and at most `COUNTED_OF_FILE` of a file."""
    chosen = list[int]()
    of_file = Counter[str]()
    sketches = set[bytes]()
    for text in texts:
        if len(chosen) == count:
            break
        if text.sketch in sketches:
            continue
        if text.sketch:
            sketches.add(text.sketch)
        if of_file[text.path] < COUNTED_OF_FILE:
            of_file[text.path] += 1
            chosen.append(text.chunk)
    return chosen
