"""The Protocol of a provider of vectors, its limits, arithmetic on its vectors, and embedding in batches."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from memoriter.errors import BadVector, EmbeddingError, InputRejected, InputTooLarge
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.types import ModelSpec, Role

_SHORTEST = 1e-10
"""Shorter vectors count as zero: they have no meaningful direction."""
_LARGE = 1e100
_DEFAULT_LIMIT = 8192
_MOST_THREADS = 8
# Maximum input tokens of each model, from its vendor. An empty model name stands for the vendor's other models.
_LIMITS = {
    ("bundled", ""): 512,
    ("gemini", ""): 2048,
    ("local", ""): 2048,
    ("openai", "text-embedding-3-large"): 8192,
    ("openai", "text-embedding-3-small"): 8192,
    ("openai", "text-embedding-ada-002"): 8191,
    ("voyage", "voyage-3"): 32000,
    ("voyage", "voyage-3-lite"): 16000,
    ("voyage", "voyage-code-3"): 32000,
}
_MOST_PARTS = 8
_SHORTEST_PART = 64
"""Characters. A provider that rejects parts this short will not accept the text at all."""


class EmbeddingProvider(Protocol):
    """Turns texts into vectors that can be compared by their dot product. Safe to share between threads."""

    @property
    def spec(self) -> ModelSpec: ...

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """Return vectors of shape (texts, dimensions), with rows of unit length, in the order of the texts.

        A text over the model's limit is cut at the limit or rejected; `embed_in_batches` handles both.

        Raises:
            EmbeddingError: `InputTooLarge` or `InputRejected` if a text is the cause, another error if none is.
        """
        ...

    def count_tokens(self, text: str) -> int:
        """Return about how many tokens the model would read: exact near the limit, cheap elsewhere."""
        ...

    def hint_batch_size(self, chunks: int) -> None:
        """Announce `chunks` documents, so that a faster engine may start; 0 announces the end of the work."""
        ...

    def close(self) -> None:
        """Release the model. Closing twice is harmless."""
        ...


@runtime_checkable
class EmbedsWithin(Protocol):
    """A provider that waits for a service, and for no longer than its caller does."""

    def embed_within(self, texts: Sequence[str], *, role: Role, seconds: float) -> NDArray[np.float32]:
        """Return what `embed` returns. Each request may take `seconds`."""
        ...


@runtime_checkable
class SendsTexts(Protocol):
    """A provider that sends texts out of this process."""

    def outgoing(self, text: str) -> str:
        """Return the text without its secrets. If it has none, return the same object."""
        ...


def normalise(vectors: NDArray[np.floating]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return the rows at unit length (L2), and which rows are usable: finite and not zero. Others become zeros."""
    import numpy as np

    wide = np.array(vectors, dtype=np.float64)
    finite: NDArray[np.bool_] = np.all(np.isfinite(wide), axis=1)
    wide[~finite] = 0.0
    # Squares of very large numbers overflow, so rows with such numbers are scaled to -1..1 first.
    peaks = np.abs(wide).max(axis=1, initial=0.0)
    wide /= np.where(peaks > _LARGE, peaks, 1.0)[:, None]
    lengths = np.linalg.norm(wide, axis=1)
    usable = finite & (lengths >= _SHORTEST)
    return (wide / np.where(usable, lengths, np.inf)[:, None]).astype(np.float32), usable


def cosine(left: NDArray[np.floating], right: NDArray[np.floating]) -> float:
    """Return the cosine of the angle between two vectors of the same length, -1..1; 0 if either is zero.

    Raises:
        ValueError: the lengths differ.
    """
    import numpy as np

    left = np.asarray(left, dtype=np.float64)
    right = np.asarray(right, dtype=np.float64)
    if left.shape != right.shape:
        raise ValueError(f"vectors of {left.size} and {right.size} dimensions cannot be compared")
    lengths = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(left @ right) / lengths if lengths else 0.0


def max_input_tokens(provider: str, model: str) -> int:
    """Return the maximum input of a model, in tokens; 8,192 for an unknown model. Names are case-insensitive."""
    provider = provider.lower()
    model = model.lower()
    return _LIMITS.get((provider, model)) or _LIMITS.get((provider, ""), _DEFAULT_LIMIT)


def utf8_size(text: str) -> int:
    """Return the bytes of the text as UTF-8, which no tokenizer exceeds in tokens. A lone surrogate counts as three."""
    return len(text.encode("utf-8", "surrogatepass"))


def extrapolate_tokens(tokens: int, text: str, readable: int) -> int:
    """Estimate the tokens of the whole text from the count for its `readable` first characters, at the same rate."""
    return tokens if len(text) <= readable else max(tokens, tokens * len(text) // readable)


def group_by_budget(sizes: Sequence[int], budget: int, *, most: int | None = None) -> list[list[int]]:
    """Group positions in order, so that the sizes of each group sum to at most the budget.

    A size above the budget gets a group of its own. A group has at most `most` positions.
    """
    groups: list[list[int]] = []
    used = 0
    for position, size in enumerate(sizes):
        if groups and used + size <= budget and len(groups[-1]) != most:
            groups[-1].append(position)
            used += size
        else:
            groups.append([position])
            used = size
    return groups


def split_within(text: str, limit: int, *, size: Callable[[str], int] = utf8_size) -> Iterator[str]:
    """Split the text into consecutive parts of at most `limit`, each as long as possible.

    No character is lost: one that exceeds the limit becomes a part of its own. A limit below 1 means no limit. `size`
    must not shrink when text is added.
    """
    if limit < 1 or size(text) <= limit:
        yield text
        return
    start = 0
    while start < len(text):
        end = start + _fitting_length(text, start, limit, size)
        yield text[start:end]
        start = end


def _fitting_length(text: str, start: int, limit: int, size: Callable[[str], int]) -> int:
    """Return how many characters from `start` fit, at least one.

    The search doubles before it halves, so that the cost depends on the part and not on the whole text.
    """
    longest = len(text) - start
    high = min(max(limit, 1), longest)
    while high < longest and size(text[start : start + high]) <= limit:
        high = min(high * 2, longest)
    low = 1
    while low < high:
        middle = (low + high + 1) // 2
        if size(text[start : start + middle]) <= limit:
            low = middle
        else:
            high = middle - 1
    return low


def threads_to_use(wanted: int | None) -> int:
    """Return `wanted`, or by default the number of processors that this process may use, up to 8."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return wanted or min(cores, _MOST_THREADS)


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
