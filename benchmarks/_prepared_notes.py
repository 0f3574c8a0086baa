"""Notes that are split, analysed and embedded once, and kept in files, so that several stores get the same."""

from __future__ import annotations

import pickle
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks._corpus import CHUNKS_A_NOTE, SEED, NoteGenerator
from benchmarks._vectors import WordVectors
from benchmarks._vocabulary import vocabularies
from memoriter.ids import content_hash
from memoriter.search import clean_query
from memoriter.sync import ChunkingSettings, analyze_file
from memoriter.types import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.records import ChunkRecord

BATCH = 2_000
"""The least number of passages in a batch."""
_QUESTION_SEED = SEED + 3


@dataclass(frozen=True, slots=True)
class Batch:
    """Notes of about `BATCH` passages, with one vector for each text."""

    notes: list[tuple[Source, str, list[ChunkRecord]]]
    """Source, hash and passages of each note."""
    keys: list[bytes]
    vectors: NDArray[np.float32]
    """(texts, dimensions); row i belongs to key i."""

    @property
    def passages(self) -> int:
        return sum(len(entries) for _, _, entries in self.notes)


def batches(folder: Path, size: int) -> Iterator[Batch]:
    """Yield notes with at least `size` passages, and keep them in `folder`, from where the next run reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = _new_generator()
    vectors = None
    made = count = 0
    number = notes = 0
    while count < size:
        file = folder / f"{number}.pickle"
        if file.exists():
            batch: Batch = pickle.loads(file.read_bytes())  # this benchmark has written it
        else:
            vectors = vectors or WordVectors()
            while made < notes:  # the state of the generator after the notes of the files
                generator.note(made, items=CHUNKS_A_NOTE)
                made += 1
            batch = _make(generator, vectors, notes)
            made += len(batch.notes)
            partial = file.with_suffix(".partial")
            partial.write_bytes(pickle.dumps(batch, protocol=5))
            partial.replace(file)
        yield batch
        number += 1
        notes += len(batch.notes)
        count += batch.passages


def questions(count: int) -> list[tuple[str, NDArray[np.float32]]]:
    """Return questions with their vectors, always the same for a count."""
    generator = NoteGenerator(vocabularies(SEED), random.Random(_QUESTION_SEED))
    texts = [clean_query(generator.question()) for _ in range(count)]
    return list(zip(texts, WordVectors().embed(texts, role="query"), strict=True))


def _new_generator() -> NoteGenerator:
    return NoteGenerator(vocabularies(SEED), random.Random(SEED))


def _make(generator: NoteGenerator, vectors: WordVectors, first: int) -> Batch:
    notes = list[tuple[Source, str, list["ChunkRecord"]]]()
    texts = dict[bytes, str]()
    passages = 0
    while passages < BATCH:
        note = generator.note(first + len(notes), items=CHUNKS_A_NOTE)
        source = Source(note.path, "memory", Path("/") / note.path, len(note.text), 0)
        entries = analyze_file(source, note.text, ChunkingSettings())
        notes.append((source, content_hash(note.text), entries))
        texts |= {entry.key: entry.chunk.contextual for entry in entries}
        passages += len(entries)
    return Batch(notes, list(texts), vectors.embed(list(texts.values()), role="document"))
