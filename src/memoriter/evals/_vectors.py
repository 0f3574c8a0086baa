"""The vectors of documents and questions, kept between runs: the second run embeds nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoriter.embed import embed_in_batches, open_provider, spec_of
from memoriter.ids import content_hash, fingerprint
from memoriter.sync import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.types import ModelSpec, Role

    Rows = Mapping[bytes, NDArray[np.float32]]

SAVE_INTERVAL = 500
"""Vectors after which the file is written: a run that is broken off loses no more."""


def question_key(text: str) -> bytes:
    """What a question's vector is kept under: never the key of a document with the same text."""
    return bytes.fromhex(content_hash(f"query\0{text}"))[:16]


@dataclass(frozen=True, slots=True)
class VectorStore:
    """One provider's vectors in one file of a folder. All of it can be deleted."""

    provider: str
    folder: Path
    models: Path
    """Where a provider keeps what it makes for itself."""

    @property
    def spec(self) -> ModelSpec:
        return spec_of(self.provider)

    @property
    def file(self) -> Path:
        return self.folder / f"vectors-{fingerprint(self.spec)}.npz"

    def vectors(self, texts: Mapping[bytes, str], role: Role, progress: Callable[[Progress], None]) -> Rows:
        """A vector (dims,) for each key; texts that the provider refuses are left out. Raises EmbeddingError."""
        known = self._load()
        missing = {key: text for key, text in texts.items() if key not in known}
        if missing:
            self._embed_missing(known, missing, role, progress)
        return {key: known[key] for key in texts if key in known}

    def _embed_missing(
        self,
        known: dict[bytes, NDArray[np.float32]],
        missing: Mapping[bytes, str],
        role: Role,
        progress: Callable[[Progress], None],
    ) -> None:
        """Add what is missing, saving as it grows."""
        provider = open_provider(self.provider, cache_dir=self.models)
        keys, saved, done = list(missing), len(known), 0
        try:
            for batch in embed_in_batches(provider, list(missing.values()), role=role):
                known.update(zip((keys[position] for position in batch.positions), batch.vectors, strict=True))
                done += len(batch.positions) + len(batch.failures)
                progress(Progress("embed", done, len(keys)))
                if len(known) - saved >= SAVE_INTERVAL:
                    self._save(known)
                    saved = len(known)
        finally:
            provider.close()
            self._save(known)

    def _load(self) -> dict[bytes, NDArray[np.float32]]:
        import numpy as np

        if not self.file.is_file():
            return {}
        with np.load(self.file, allow_pickle=False) as stored:
            keys, rows = stored["keys"], stored["rows"]
        return dict(zip((key.tobytes() for key in keys), rows, strict=True))

    def _save(self, known: Mapping[bytes, NDArray[np.float32]]) -> None:
        import numpy as np

        self.folder.mkdir(parents=True, exist_ok=True)
        fresh = self.file.with_suffix(f".{os.getpid()}.npz")
        keys = np.frombuffer(b"".join(known), dtype=np.uint8).reshape(-1, 16)
        np.savez(fresh, keys=keys, rows=_to_matrix(known.values(), self.spec.dimensions))
        fresh.replace(self.file)


def select_vectors(rows: Rows, keys: Sequence[bytes], dimensions: int) -> tuple[list[bytes], NDArray[np.float32]]:
    """Those of the keys that have a vector, each once, with their vectors (n, dims)."""
    found = [key for key in dict.fromkeys(keys) if key in rows]
    return found, _to_matrix((rows[key] for key in found), dimensions)


def _to_matrix(rows: Iterable[NDArray[np.float32]], dimensions: int) -> NDArray[np.float32]:
    import numpy as np

    return np.array(list(rows), dtype=np.float32).reshape(-1, dimensions)
