"""From the text of a file to its index entries. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from memoriter.ids import content_hash, text_key, vector_key
from memoriter.layout import DAILY_NOTE, daily_day
from memoriter.records import ChunkRecord, ItemRecord
from memoriter.search import (
    ANALYSIS,
    analyse,
    classic_terms,
    languages_of,
    link_terms,
    pack,
    script_of,
    terms_and_forms,
    terms_of_day,
)
from memoriter.times import path_date
from memoriter.types import ORIGIN
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from memoriter.types import Chunk, Item, Source
    from memoriter.workspace import Note

_FIRST_CHUNKS = 10
_FIRST_CHARACTERS = 1_000
"""The beginning of a note that tells its language."""


@dataclass(frozen=True, slots=True)
class ChunkingSettings:
    """How text is split into chunks and terms. All text of an index uses the same settings."""

    strategy: Literal["markdown", "lines"] = "markdown"
    tokens: int = 400
    overlap: int = 80
    words: Literal["analysed", "classic"] = "analysed"
    daily_note: str = DAILY_NOTE
    """Pattern of the path of a day's note, by which it has that day."""
    fingerprint: str = field(init=False, compare=False)
    """Identifies these settings in an index."""

    def __post_init__(self) -> None:
        values = {"strategy": self.strategy, "tokens": self.tokens, "overlap": self.overlap, "words": self.words}
        values["dailyNote"] = self.daily_note
        object.__setattr__(self, "fingerprint", content_hash(f"{ANALYSIS} {sorted(values.items())}")[:16])


def chunks_of(text: str, cutting: ChunkingSettings) -> list[Chunk]:
    """Return the chunks of a text that are not empty."""
    from memoriter.workspace import chunk_lines, chunk_markdown

    chunker = chunk_lines if cutting.strategy == "lines" else chunk_markdown
    chunks = chunker(text, tokens=cutting.tokens, overlap=cutting.overlap)
    return [chunk for chunk in chunks if ORIGIN.sub("", chunk.text).strip()]


def note_of(path: str, text: str, cutting: ChunkingSettings) -> Note:
    """Return a note with its chunks that are not empty. Chunks of lines, as in OpenClaw, are of the text alone."""
    from memoriter.workspace import Note, read_note

    if cutting.strategy == "lines":
        return Note(tuple(chunks_of(text, cutting)))
    note = read_note(path, text, tokens=cutting.tokens, overlap=cutting.overlap)
    return replace(note, chunks=tuple(chunk for chunk in note.chunks if ORIGIN.sub("", chunk.text).strip()))


def texts_of(chunk: Chunk, cutting: ChunkingSettings) -> list[str]:
    """Return the texts that are embedded for a chunk: its own, and those of its items."""
    return [chunk.contextual, *map(chunk.contextual_item, _items_of(chunk, cutting))]


def _items_of(chunk: Chunk, cutting: ChunkingSettings) -> tuple[Item, ...]:
    """Return the items of a chunk that get a vector; chunks of lines, as in OpenClaw, have none."""
    from memoriter.workspace import items_of

    return () if cutting.strategy == "lines" else items_of(chunk)


def _item_record(chunk: Chunk, item: Item) -> ItemRecord:
    text = chunk.contextual_item(item)
    return ItemRecord(item, text_key(text), script_of(text.rpartition("\n")[2]))


def analyze_file(source: Source, text: str, cutting: ChunkingSettings) -> list[ChunkRecord]:
    """Return the index entries of a source."""
    return analyze_note(source, note_of(source.path, text, cutting), cutting)


def analyze_note(source: Source, note: Note, cutting: ChunkingSettings, *, again: bool = False) -> list[ChunkRecord]:
    """Return the index entries of a note; `again`: an earlier version is indexed, so most chunks may be as before.

    Their day is the one in its front matter, or else in its path, by the pattern of daily notes first. Without one, it
    is that (UTC) of the last change, with a minus, because a file that was copied or touched is no newer.
    """
    named = note.day or daily_day(cutting.daily_note, source.path) or path_date(source.path)
    day = named.toordinal() if named else -datetime.fromtimestamp(source.mtime_ns / 1e9, tz=UTC).date().toordinal()
    names = analyse("\n".join(note.names))
    properties = analyse("\n".join(note.properties))
    beginning = "\n".join(chunk.text for chunk in note.chunks[:_FIRST_CHUNKS])[:_FIRST_CHARACTERS]
    languages = tuple(languages_of(beginning))
    own = (*names, *properties)
    entry = _kept_entry_of if again else entry_of
    return [
        entry(chunk, day, cutting, named=named, names=() if at else own, languages=languages)
        for at, chunk in enumerate(note.chunks)
    ]


def entry_of(
    chunk: Chunk,
    day: int,
    cutting: ChunkingSettings,
    *,
    named: date | None = None,
    names: Sequence[str] = (),
    languages: Sequence[str] = (),
) -> ChunkRecord:
    """Return the index entry of a chunk.

    Args:
        chunk: the chunk.
        day: its day as `date.toordinal()`; with a minus, the day of the last change of its file.
        cutting: the chunking settings.
        named: the day that its note or path names, if any.
        names: terms of its note, which the chunk gets once each unless it has them.
        languages: the languages of its note, for a chunk whose own words do not tell.
    """
    unscored: list[str] = []
    if cutting.words == "classic":
        terms = classic_terms(ORIGIN.sub("", chunk.text))
    else:
        own, forms = terms_and_forms(chunk.contextual, languages)
        unscored = link_terms(chunk.text) + forms
        held = set(own)
        borrowed = [term for term in dict.fromkeys(names) if term not in held]
        terms = own + borrowed + (terms_of_day(named) if named else [])
    return ChunkRecord(
        chunk=chunk,
        key=vector_key(chunk),
        terms=" ".join(terms + unscored),
        length=len(terms),
        term_counts=pack(terms + unscored),
        day=day,
        script=script_of(ORIGIN.sub("", chunk.text)),
        items=tuple(_item_record(chunk, item) for item in _items_of(chunk, cutting)),
    )


_last_entries = lru_cache(maxsize=1_024)(entry_of)


def _kept_entry_of(
    chunk: Chunk,
    day: int,
    cutting: ChunkingSettings,
    *,
    named: date | None,
    names: tuple[str, ...],
    languages: tuple[str, ...],
) -> ChunkRecord:
    """Return what `entry_of` does, quickly for a chunk that was seen before, wherever in its note it is now."""
    anywhere = replace(chunk, start_line=0, end_line=0)
    kept = _last_entries(anywhere, day, cutting, named=named, names=names, languages=languages)
    return replace(kept, chunk=chunk)
