"""Vectors without a model: texts with common words have similar vectors."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

from memoriter.embed import spec_of
from memoriter.search import analyse

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from numpy.typing import NDArray

    from memoriter.types import ModelSpec, Role

DIRECTIONS = 16_384
COMMON = 1.9
"""Length of the component that all vectors share; the component of each vector itself has length 1.

Unrelated texts then have a cosine near .78, as with the bundled model.
"""
FIRST_AXES = 3
DECAY = 1.2
"""The variance of axis i is (i + 3)^-1.2. With the bundled model on the public conversations it falls alike:
.07 of all on the first axis (here .08), .36 on the first ten (.39), .81 on the first hundred (.81)."""


class WordVectors:
    """A substitute for the bundled model, with its name, so that the real program reads an index with these vectors.

    It serves to measure the time of searches, never the quality of results.
    """

    spec: ModelSpec = spec_of("bundled")

    def __init__(self, seed: int = 11) -> None:
        source = np.random.default_rng(seed)
        dimensions = self.spec.dimensions
        spreads = (np.arange(1, dimensions + 1) + FIRST_AXES) ** (-DECAY / 2)
        # The axes of a model are not aligned with the variance, so a random rotation is applied.
        turned = np.linalg.qr(source.standard_normal((dimensions, dimensions)))[0] * spreads[:, None]
        drawn = source.standard_normal((DIRECTIONS + 1, dimensions), dtype=np.float32)
        self._directions = drawn @ turned.astype(np.float32)
        del drawn
        self._directions /= np.linalg.norm(self._directions, axis=1, keepdims=True)

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        del role
        return self.of_terms(map(analyse, texts))

    def of_terms(self, texts: Iterable[Sequence[str]]) -> NDArray[np.float32]:
        """Return the vectors of analysed texts."""
        rows = [self._sum(set(terms)) for terms in texts]
        vectors = np.array(rows, np.float32).reshape(len(rows), self.spec.dimensions)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        vectors += COMMON * self._directions[DIRECTIONS]
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def count_tokens(self, text: str) -> int:
        return min(len(text) // 3 + 4, self.spec.max_tokens)

    def hint_batch_size(self, chunks: int) -> None:
        """Do nothing: every batch size is equally fast."""

    def close(self) -> None:
        """Do nothing: there is nothing to free."""

    def _sum(self, terms: Collection[str]) -> NDArray[np.float32]:
        """Return the sum of a random direction for each term."""
        slots = [zlib.crc32(term.encode()) % DIRECTIONS for term in terms]
        return self._directions[slots].sum(axis=0)
