"""A deterministic provider without a model, for tests and dry runs: words and their trigrams hashed into 256 slots."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from memoriter.embed._provider import max_input_tokens, utf8_size
from memoriter.types import ModelSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.types import Role

_DIMENSIONS = 256
_MODEL = "hashed-words-256"
_WORD = re.compile(r"\w+")

SPEC = ModelSpec(
    provider="fake",
    model=_MODEL,
    dimensions=_DIMENSIONS,
    revision="1",
    pooling="sum",
    max_tokens=max_input_tokens("fake", _MODEL),
    # 20,000 pairs of passages of 60 words drawn from 5,000 random ones.
    background=(0.03, 0.064),
)


class FakeProvider:
    """Gives similar vectors to texts that share words. A word weighs 1, each of its trigrams half."""

    spec = SPEC

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        del role
        import numpy as np

        vectors = np.zeros((len(texts), _DIMENSIONS))
        for row, text in zip(vectors, texts, strict=True):
            slots = [slot for word in _WORD.findall(text.lower()) for slot in _slots(word)]
            if slots:
                positions, weights = zip(*slots, strict=True)
                row[:] = np.bincount(positions, weights, minlength=_DIMENSIONS)
            if not row.any():
                row[0] = 1.0
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    def count_tokens(self, text: str) -> int:
        return utf8_size(text)

    def hint_batch_size(self, chunks: int) -> None:
        """Do nothing: every batch size costs the same."""

    def close(self) -> None:
        """Do nothing: there are no resources to release."""


@lru_cache(maxsize=65_536)
def _slots(word: str) -> tuple[tuple[int, float], ...]:
    """Return the word's slots with their signed weights: its own slot first, then those of the trigrams of `^word$`."""
    bounded = f"^{word}$"
    keys = [("w:" + word, 1.0), *(("g:" + bounded[i : i + 3], 0.5) for i in range(len(bounded) - 2))]
    return tuple(_slot(key, weight) for key, weight in keys)


def _slot(key: str, weight: float) -> tuple[int, float]:
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
    sign = 1.0 if digest[4] % 2 == 0 else -1.0
    return int.from_bytes(digest[:4], "big") % _DIMENSIONS, sign * weight
