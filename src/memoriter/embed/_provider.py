"""The Protocol that every provider of vectors implements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.types import ModelSpec, Role


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
