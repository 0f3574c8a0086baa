"""The Protocol that every provider of vectors implements, and arithmetic on those vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.types import ModelSpec, Role

_SHORTEST = 1e-10
"""Shorter vectors count as zero: they have no meaningful direction."""
_LARGE = 1e100


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

    left, right = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if left.shape != right.shape:
        raise ValueError(f"vectors of {left.size} and {right.size} dimensions cannot be compared")
    lengths = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(left @ right) / lengths if lengths else 0.0
