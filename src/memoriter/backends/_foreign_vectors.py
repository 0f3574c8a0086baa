"""The vectors of the foreign questions and tasks under the bundled model, and those of the questions under services."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoriter.errors import ProviderUnavailable
from memoriter.ids import content_hash, fingerprint
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.backends._ports import Ledger
    from memoriter.embed import EmbeddingProvider
    from memoriter.types import ModelSpec

FILE = Path(__file__).with_name("foreign_vectors.json")
TASKS_FILE = Path(__file__).with_name("foreign_task_vectors.json")


def questions() -> list[str]:
    """Return all foreign questions, script after script."""
    from memoriter.search import FOREIGN_QUESTIONS

    return [question for group in FOREIGN_QUESTIONS.values() for question in group]


def tasks() -> list[str]:
    """Return all foreign tasks, script after script."""
    from memoriter.search import FOREIGN_TASKS

    return [task for group in FOREIGN_TASKS.values() for task in group]


def dumps(spec: ModelSpec, texts: Sequence[str], vectors: NDArray[np.float32]) -> str:
    """Return the content of a file: the model, the texts, and their vectors (n, dims)."""
    from memoriter.search import pack_vectors

    fields = {"model": fingerprint(spec), "questions": content_hash("\n".join(texts)), **pack_vectors(vectors)}
    return json.dumps(fields, indent=1) + "\n"


def shipped_vectors(spec: ModelSpec) -> NDArray[np.float32] | None:
    """Return the vectors of all foreign questions (n, dims), or None if the file is for another model."""
    return loads(FILE.read_text(encoding="utf-8"), spec, questions())


def shipped_task_vectors(spec: ModelSpec) -> NDArray[np.float32] | None:
    """Return the vectors of all foreign tasks (n, dims), or None if the file is for another model."""
    return loads(TASKS_FILE.read_text(encoding="utf-8"), spec, tasks())


def loads(text: str, spec: ModelSpec, texts: Sequence[str]) -> NDArray[np.float32] | None:
    """Return the vectors (n, dims) that `dumps` wrote; None if they are of another model or of other texts.

    Raises:
        ValueError, KeyError, TypeError: `dumps` did not write the text.
    """
    from memoriter.search import unpack_vectors

    fields: Any = json.loads(text)
    same = fields["model"] == fingerprint(spec) and fields["questions"] == content_hash("\n".join(texts))
    return unpack_vectors(fields) if same else None


def embedded(provider: EmbeddingProvider, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the vectors of messages (n, dims). Raises EmbeddingError if the provider does not return all of them."""
    import numpy as np

    from memoriter.embed import embed_in_batches

    rows: list[NDArray[np.float32]] = [np.zeros((0, provider.spec.dimensions), np.float32)]
    for batch in embed_in_batches(provider, texts, role="query"):
        for failure in batch.failures:
            raise failure.error
        rows.append(batch.vectors)
    return np.concatenate(rows)


@dataclass(frozen=True, slots=True)
class SharedVectors:
    """The vectors of the foreign questions under the model of a service, which every index of one home uses."""

    ledger: Ledger
    endpoint: str
    """The address of the service, since two services may give a model the same name."""

    def load(self, spec: ModelSpec) -> NDArray[np.float32] | None:
        """Return the stored vectors (n, dims), or None. Those that cannot be read count as none."""
        with suppress(ProviderUnavailable, ValueError, KeyError, TypeError):
            text = self.ledger.get(self._name(spec))
            return None if text is None else loads(text, spec, questions())
        return None

    def keep(self, spec: ModelSpec, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Store the vectors (n, dims), if the ledger can be written, and return them as `load` does."""
        from memoriter.search import pack_vectors, unpack_vectors

        with suppress(ProviderUnavailable):
            self.ledger.set(self._name(spec), dumps(spec, questions(), vectors))
        return unpack_vectors(pack_vectors(vectors))

    def _name(self, spec: ModelSpec) -> str:
        return f"foreign:{fingerprint(spec)}:{content_hash(self.endpoint)[:16]}"
