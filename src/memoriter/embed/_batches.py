"""Embed many texts in batches; a text that fails does not affect the others."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from memoriter.embed._provider import SendsTexts, group_by_budget, normalise, split_within
from memoriter.errors import BadVector, EmbeddingError, InputRejected, InputTooLarge
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed._provider import EmbeddingProvider
    from memoriter.types import Role

_MOST_PARTS = 8
_SHORTEST_PART = 64
"""Characters. A provider that rejects parts this short will not accept the text at all."""


@dataclass(frozen=True, slots=True)
class BatchFailure:
    """A text without a vector, and the reason."""

    position: int
    error: EmbeddingError


@dataclass(frozen=True, slots=True, eq=False)
class Embedded:
    """The outcome of one batch. Every position of the batch is either in `positions` or in `failures`."""

    positions: tuple[int, ...]
    """Positions of the input texts, ascending; row i of `vectors` belongs to `positions[i]`."""
    vectors: NDArray[np.float32]
    """Shape (positions, dimensions); rows of unit length."""
    failures: tuple[BatchFailure, ...]


@dataclass(frozen=True, slots=True)
class _Item:
    """A text to embed, split into parts that fit the model."""

    position: int
    parts: tuple[str, ...]

    def halved(self) -> _Item | None:
        """Return the same text in parts half as long, or None if they would be too short."""
        if max(map(len, self.parts)) < 2 * _SHORTEST_PART:
            return None
        halves = (half for part in self.parts for half in (part[: len(part) // 2], part[len(part) // 2 :]) if half)
        return _Item(self.position, tuple(halves))


def embed_in_batches(
    provider: EmbeddingProvider, texts: Sequence[str], *, role: Role, budget: int = 8_000
) -> Iterator[Embedded]:
    """Embed texts in order and yield each batch of at most `budget` tokens, so that callers can store it at once.

    A text over the model's limit is embedded in parts, and their vectors are averaged by length; if its end were cut
    off, no search could find the end. Parts after the eighth are dropped, as the average of more would mean little. If
    the provider rejects a batch because of a text, the batch is halved until that text is alone. It then becomes a
    `BatchFailure`, as does a text whose vector is zero, not finite or of the wrong length.

    Raises:
        EmbeddingError: any error except `InputTooLarge` and `InputRejected`; the remaining texts were not embedded.
    """
    if texts and role == "document":
        provider.hint_batch_size(len(texts))
    if isinstance(provider, SendsTexts):  # before texts are cut: half of a secret is not recognised
        texts = [provider.outgoing(text) for text in texts]
    sizes = [provider.count_tokens(text) for text in texts]
    for group in group_by_budget(sizes, budget):
        items = [_make_item(provider, position, texts[position], sizes[position]) for position in group]
        yield _collect(provider, _embed_items(provider, items, role))


def _make_item(provider: EmbeddingProvider, position: int, text: str, size: int) -> _Item:
    limit = provider.spec.max_tokens
    if size <= limit:
        return _Item(position, (text,))
    return _Item(position, tuple(islice(split_within(text, limit, size=provider.count_tokens), _MOST_PARTS)))


def _embed_items(
    provider: EmbeddingProvider, items: Sequence[_Item], role: Role
) -> Iterator[tuple[int, NDArray[np.float32] | EmbeddingError]]:
    """Yield a vector or an error for each item, in order."""
    try:
        rows = provider.embed([part for item in items for part in item.parts], role=role)
    except (InputTooLarge, InputRejected) as error:
        if len(items) > 1:
            middle = len(items) // 2
            yield from _embed_items(provider, items[:middle], role)
            yield from _embed_items(provider, items[middle:], role)
        elif isinstance(error, InputTooLarge) and (shorter := items[0].halved()) is not None:
            yield from _embed_items(provider, [shorter], role)
        else:
            yield items[0].position, error
        return
    vectors, faults = _check_rows(rows, sum(len(item.parts) for item in items), provider.spec.dimensions)
    start = 0
    for item in items:
        end = start + len(item.parts)
        fault = next((fault for fault in faults[start:end] if fault), None)
        yield item.position, BadVector(fault) if fault else _average(vectors[start:end], item.parts)
        start = end


def _check_rows(
    rows: Sequence[Sequence[float]] | NDArray[np.float32], count: int, dimensions: int
) -> tuple[NDArray[np.float32], list[str]]:
    """Return unit vectors, and for each row its fault or an empty string.

    Rows may differ in length, since providers make mistakes.
    """
    import numpy as np

    vectors = np.zeros((count, dimensions))
    if len(rows) != count:
        return vectors.astype(np.float32), [f"The provider gave {len(rows)} vectors for {count} texts."] * count
    faults = [""] * count
    for position, row in enumerate(rows):
        if np.shape(row) == (dimensions,):
            vectors[position] = row
        else:
            faults[position] = f"The vector has the shape {np.shape(row)} instead of ({dimensions},)."
    unit, usable = normalise(vectors)
    return unit, [
        fault or ("" if is_usable else "The vector is zero or not finite.")
        for fault, is_usable in zip(faults, usable, strict=True)
    ]


def _average(vectors: NDArray[np.float32], parts: Sequence[str]) -> NDArray[np.float32] | BadVector:
    """Return the mean of the parts' vectors, weighted by the length of the parts."""
    import numpy as np

    if len(parts) == 1:
        return vectors[0]
    weights = np.array([[len(part)] for part in parts])
    (mean,), (usable,) = normalise((vectors * weights).sum(axis=0, keepdims=True))
    return mean if usable else BadVector("The vectors of the parts cancel each other out.")


def _collect(
    provider: EmbeddingProvider, outcomes: Iterator[tuple[int, NDArray[np.float32] | EmbeddingError]]
) -> Embedded:
    """Collect the outcomes of one batch."""
    import numpy as np

    positions: list[int] = []
    vectors: list[NDArray[np.float32]] = []
    failures: list[BatchFailure] = []
    for position, outcome in outcomes:
        if isinstance(outcome, EmbeddingError):
            failures.append(BatchFailure(position, outcome))
        else:
            positions.append(position)
            vectors.append(outcome)
    matrix = np.array(vectors, np.float32).reshape(len(vectors), provider.spec.dimensions)
    return Embedded(tuple(positions), matrix, tuple(failures))
