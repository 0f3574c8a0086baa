"""From the text of a file to its index entries. Pure."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from memoriter.ids import content_hash, vector_key
from memoriter.records import ChunkRecord
from memoriter.search import analyse, classic_terms, pack, path_date, script_of, terms_of_day
from memoriter.types import ORIGIN
from memoriter.values import dataclass

if TYPE_CHECKING:
    from datetime import date

    from memoriter.types import Chunk, Source

ANALYSIS = 1
"""Increased whenever the same text would give other chunks or other terms. Older indexes are then rebuilt."""


@dataclass(frozen=True, slots=True)
class ChunkingSettings:
    """How text is split into chunks and terms. All text of an index uses the same settings."""

    strategy: Literal["markdown", "lines"] = "markdown"
    tokens: int = 400
    overlap: int = 80
    words: Literal["analysed", "classic"] = "analysed"

    @property
    def fingerprint(self) -> str:
        return content_hash(f"{ANALYSIS} {sorted(asdict(self).items())}")[:16]


def chunks_of(text: str, cutting: ChunkingSettings) -> list[Chunk]:
    """Return the chunks of a text that are not empty."""
    from memoriter.workspace import chunk_lines, chunk_markdown

    chunker = chunk_lines if cutting.strategy == "lines" else chunk_markdown
    chunks = chunker(text, tokens=cutting.tokens, overlap=cutting.overlap)
    return [chunk for chunk in chunks if ORIGIN.sub("", chunk.text).strip()]


def analyze_file(source: Source, text: str, cutting: ChunkingSettings) -> list[ChunkRecord]:
    """Return the index entries of a source."""
    day = day_of(source)
    named = path_date(source.path)
    return [entry_of(chunk, day, cutting, named=named) for chunk in chunks_of(text, cutting)]


def day_of(source: Source) -> int:
    """Return the day of a source as `date.toordinal()`.

    It is the date in the path, or else the date (UTC) of the last change.
    """
    named = path_date(source.path)
    return (named or datetime.fromtimestamp(source.mtime_ns / 1e9, tz=UTC).date()).toordinal()


def entry_of(chunk: Chunk, day: int, cutting: ChunkingSettings, *, named: date | None = None) -> ChunkRecord:
    """Return the index entry of a chunk.

    Args:
        chunk: the chunk.
        day: its day as `date.toordinal()`.
        cutting: the chunking settings.
        named: the day that its path names, if any.
    """
    if cutting.words == "classic":
        terms = classic_terms(ORIGIN.sub("", chunk.text))
    else:
        terms = analyse(chunk.contextual) + (terms_of_day(named) if named else [])
    return ChunkRecord(
        chunk=chunk,
        key=vector_key(chunk),
        terms=" ".join(terms),
        length=len(terms),
        term_counts=pack(terms),
        day=day,
        script=script_of(ORIGIN.sub("", chunk.text)),
    )
