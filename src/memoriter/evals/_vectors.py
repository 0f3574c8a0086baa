"""Storage of the vectors of documents and questions between runs, so that a second run embeds nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoriter.embed import embed_in_batches, open_provider, spec_of
from memoriter.ids import content_hash, fingerprint
from memoriter.sync import Progress
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.types import ModelSpec, Role

    Rows = Mapping[bytes, NDArray[np.float32]]

SAVE_INTERVAL = 500
"""New vectors after which the file is written, the most that an interrupted run can lose."""


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
        """Return a vector (dims,) for each key, without the texts that the provider refuses.

        Args:
            texts: the texts by key.
            role: document or query.
            progress: called after each batch.

        Raises:
            EmbeddingError: if the provider fails.
        """
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
        keys, saved_count, processed = list(missing), len(stored), 0
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
            keys, rows = stored["keys"], stored["rows"]
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
