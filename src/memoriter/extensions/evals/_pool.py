"""A pool of documents in a real index, stored as sync would store it, and the vectors kept between runs."""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memoriter.embed import embed_in_batches, open_provider, spec_of
from memoriter.ids import content_hash, fingerprint, text_key
from memoriter.index import Index
from memoriter.search import CosineBaseline, SearchSettings, clean_query, rank
from memoriter.sync import ChunkingSettings, Progress, entry_of, learn_background, texts_of
from memoriter.types import Chunk, Filters, Source
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.extensions.evals._datasets import Document, Pool
    from memoriter.types import ModelSpec, Role

    Rows = Mapping[bytes, NDArray[np.float32]]

SAVE_INTERVAL = 500
"""New vectors after which the file is written, the most that an interrupted run can lose."""
Words = Literal["analysed", "classic"]

DAY = date(2026, 1, 1).toordinal()
"""Day of every document, so that decay has no effect."""
DEPTH = 10
"""Number of hits that are judged."""
CANDIDATES = 40
"""Candidates from each retriever for any number of hits, as many as in a search for ten."""


def question_key(text: str) -> bytes:
    """Return the storage key of a question's vector, which differs from that of a document with the same text."""
    return bytes.fromhex(content_hash(f"query\0{text}"))[:16]


@dataclass(frozen=True, slots=True)
class VectorStore:
    """One provider's vectors in one file of a folder. The file can be deleted at any time."""

    provider: str
    folder: Path
    models: Path
    """Cache folder of the provider."""

    @property
    def spec(self) -> ModelSpec:
        return spec_of(self.provider)

    @property
    def file(self) -> Path:
        return self.folder / f"vectors-{fingerprint(self.spec)}.npz"

    def vectors(self, texts: Mapping[bytes, str], role: Role, progress: Callable[[Progress], None]) -> Rows:
        """Return a vector (dims,) for each key, without the texts that the provider refuses. Raises EmbeddingError."""
        stored = self._load()
        missing = {key: text for key, text in texts.items() if key not in stored}
        if missing:
            self._embed_missing(stored, missing, role, progress)
        return {key: stored[key] for key in texts if key in stored}

    def _embed_missing(
        self,
        stored: dict[bytes, NDArray[np.float32]],
        missing: Mapping[bytes, str],
        role: Role,
        progress: Callable[[Progress], None],
    ) -> None:
        """Embed the missing texts, and save after every `SAVE_INTERVAL` vectors and at the end."""
        provider = open_provider(self.provider, cache_dir=self.models)
        keys = list(missing)
        saved_count = len(stored)
        processed = 0
        try:
            for batch in embed_in_batches(provider, list(missing.values()), role=role):
                stored.update(zip((keys[position] for position in batch.positions), batch.vectors, strict=True))
                processed += len(batch.positions) + len(batch.failures)
                progress(Progress("embed", processed, len(keys)))
                if len(stored) - saved_count >= SAVE_INTERVAL:
                    self._save(stored)
                    saved_count = len(stored)
        finally:
            provider.close()
            self._save(stored)

    def _load(self) -> dict[bytes, NDArray[np.float32]]:
        import numpy as np

        if not self.file.is_file():
            return {}
        with np.load(self.file, allow_pickle=False) as stored:
            keys = stored["keys"]
            rows = stored["rows"]
        return dict(zip((key.tobytes() for key in keys), rows, strict=True))

    def _save(self, stored: Mapping[bytes, NDArray[np.float32]]) -> None:
        import numpy as np

        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.file.with_suffix(f".{os.getpid()}.npz")
        keys = np.frombuffer(b"".join(stored), dtype=np.uint8).reshape(-1, 16)
        np.savez(temporary, keys=keys, rows=_to_matrix(stored.values(), self.spec.dimensions))
        temporary.replace(self.file)


def select_vectors(rows: Rows, keys: Sequence[bytes], dimensions: int) -> tuple[list[bytes], NDArray[np.float32]]:
    """Return the keys that have a vector, each once, and their vectors (n, dims)."""
    available = [key for key in dict.fromkeys(keys) if key in rows]
    return available, _to_matrix((rows[key] for key in available), dimensions)


def _to_matrix(rows: Iterable[NDArray[np.float32]], dimensions: int) -> NDArray[np.float32]:
    import numpy as np

    return np.array(list(rows), dtype=np.float32).reshape(-1, dimensions)


@dataclass(frozen=True, slots=True)
class System:
    """A ranking method."""

    name: str
    settings: SearchSettings
    words: Words = "analysed"
    use_vector: bool = True
    """True if the question's vector is used."""


SYSTEMS = (
    System("keyword alone", SearchSettings(), use_vector=False),
    System("vector alone", SearchSettings(hybrid=False)),
    System("classic", SearchSettings(scoring="classic"), words="classic"),
    System("calibrated", SearchSettings()),
)
OURS = SYSTEMS[-1]
RRF = System("RRF", SearchSettings(scoring="rrf"))


@dataclass(frozen=True, slots=True)
class Ranking:
    """The documents that one search found."""

    documents: tuple[str, ...]
    """Ids, best first."""
    top_score: float
    """Score of the first hit, 0 without hits."""


@dataclass(slots=True)
class PoolIndex:
    """An open index of one pool.

    A session is a file with one chunk for each turn. Any other document is a file of its own.
    """

    index: Index
    spec: ModelSpec
    chunking: ChunkingSettings
    vectors: Rows
    files: dict[str, list[tuple[Document, Chunk]]]
    background: CosineBaseline
    _document_ids: dict[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])

    @classmethod
    @contextmanager
    def build(
        cls, file: Path, pool: Pool, *, words: Words, vectors: Rows, spec: ModelSpec, clock: Callable[[], float]
    ) -> Generator[PoolIndex]:
        """Open a new index of all documents of a pool, with their vectors."""
        with Index.open(file, clock=clock) as index:
            index.choose_engine("exact")
            index.use_vectors(spec)
            prior = CosineBaseline.of_model(spec.background)
            pool_index = cls(
                index, spec, ChunkingSettings(words=words), vectors, _group_into_files(pool.documents), prior
            )
            with index.lease():
                for path in pool_index.files:
                    pool_index.write(path)
            pool_index.store_vectors()
            pool_index.learn_background()
            yield pool_index

    def write(self, path: str, without: Collection[str] = ()) -> None:
        """Index one file without some of its documents, or remove it if no document is left."""
        kept = [(document, chunk) for document, chunk in self.files[path] if document.id not in without]
        if not kept:
            self.index.remove_files([path])
            return
        self._document_ids |= {(path, chunk.start_line): document.id for document, chunk in kept}
        text = "\n".join(chunk.text for _, chunk in kept)
        source = Source(path, "memory", Path(path), len(text.encode("utf-8", "replace")), 0)
        entries = [entry_of(chunk, DAY, self.chunking) for _, chunk in kept]
        self.index.put_file(source, content_hash(text), entries)

    def store_vectors(self) -> None:
        """Store the vectors of every chunk and of its items."""
        chunks = [chunk for chunks in self.files.values() for _, chunk in chunks]
        keys = [text_key(text) for chunk in chunks for text in texts_of(chunk, self.chunking)]
        self.index.put_vectors(*select_vectors(self.vectors, keys, self.spec.dimensions))

    def learn_background(self) -> None:
        """Measure the similarity of unrelated chunks, as sync does after every change."""
        self.background = learn_background(self.index, self.spec)

    @contextmanager
    def without(self, documents: Collection[str]) -> Generator[None]:
        """Remove documents within the context, as if never written: terms, vectors, neighbours and baseline change."""
        paths = [path for path, chunks in self.files.items() if any(document.id in documents for document, _ in chunks)]
        background = self.background
        with self.index.lease():
            for path in paths:
                self.write(path, documents)
        self.learn_background()
        try:
            yield
        finally:
            with self.index.lease():
                for path in paths:
                    self.write(path)
            self.background = background

    def rank(self, system: System, text: str, vector: NDArray[np.float32] | None, *, depth: int = DEPTH) -> Ranking:
        """Return the first `depth` hits of any score, found as the backend finds them."""
        settings = replace(
            system.settings,
            background=self.background,
            max_results=depth,
            candidate_multiplier=CANDIDATES // depth,
            min_score=float("-inf"),
        )
        query_vector = vector if system.use_vector else None
        hits = rank(self.index, clean_query(text), query_vector, settings, filters=Filters(), now=0.0)
        documents = tuple(self._document_ids[hit.path, hit.start_line] for hit in hits)
        return Ranking(documents, hits[0].score if hits else 0.0)


def _group_into_files(documents: Sequence[Document]) -> dict[str, list[tuple[Document, Chunk]]]:
    """Return the documents as consecutive chunks of files, by path."""
    files: defaultdict[str, list[tuple[Document, Chunk]]] = defaultdict(list)
    for document in documents:
        chunks = files[f"memory/{document.session or document.id}.md"]
        start = chunks[-1][1].end_line + 1 if chunks else 1
        chunks.append((document, Chunk(start, start + document.text.count("\n"), document.text)))
    return dict(files)
