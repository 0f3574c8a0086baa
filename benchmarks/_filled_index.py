"""An index without a workspace: notes are generated and indexed one by one, so that any number fits into memory."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks._corpus import CHUNKS_A_NOTE, SEED, Note, NoteGenerator
from benchmarks._vectors import WordVectors
from benchmarks._vocabulary import vocabularies
from memoriter.ids import content_hash
from memoriter.index import Index
from memoriter.sync import ChunkingSettings, analyze_file, learn_background
from memoriter.types import Source

_BATCH = 2_000
"""Chunks per batch of vectors."""


@dataclass(frozen=True, slots=True)
class FilledIndex:
    """One index file of about `size` chunks, and questions about it."""

    path: Path
    size: int
    questions: tuple[str, ...]

    @classmethod
    def make(cls, path: Path, size: int, *, questions: int, bullets: bool = False, items: bool = True) -> FilledIndex:
        """Fill an index; equal arguments give equal notes.

        Args:
            path: where the index is made.
            size: the least number of chunks.
            questions: the number of questions.
            bullets: whether the notes are short bullets.
            items: whether the index has the items of its chunks.
        """
        generator = NoteGenerator(vocabularies(SEED), random.Random(SEED))
        vectors = WordVectors()
        with Index.open(path, clock=time.monotonic) as index, index.lease():
            index.use_vectors(vectors.spec)
            count = number = embedded = 0
            while count < size:
                note = generator.bullets(number) if bullets else generator.note(number, items=CHUNKS_A_NOTE)
                count += _put(index, note, items=items)
                number += 1
                if count - embedded >= _BATCH or count >= size:
                    _embed(index, vectors)
                    embedded = count
            learn_background(index, vectors.spec)
        return cls(path, size, tuple(generator.question() for _ in range(questions)))


def _put(index: Index, note: Note, *, items: bool) -> int:
    """Store a note and return the number of its chunks."""
    source = Source(note.path, "memory", Path("/") / note.path, len(note.text), 0)
    entries = analyze_file(source, note.text, ChunkingSettings())
    if not items:
        entries = [replace(entry, items=()) for entry in entries]
    index.put_file(source, content_hash(note.text), entries)
    return len(entries)


def _embed(index: Index, vectors: WordVectors) -> None:
    """Give every chunk and item a vector."""
    waiting = index.missing(index.waiting())
    index.put_vectors([key for key, _ in waiting], vectors.embed([text for _, text in waiting], role="document"))
