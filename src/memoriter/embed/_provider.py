"""The Protocol of a provider of vectors, the size limits of its inputs, and arithmetic on its vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.types import ModelSpec, Role

_SHORTEST = 1e-10
"""Shorter vectors count as zero: they have no meaningful direction."""
_LARGE = 1e100
_DEFAULT_LIMIT = 8192
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
