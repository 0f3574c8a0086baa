"""What every source of vectors promises."""

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
        """Vectors of shape (texts, dimensions), rows of unit length, in the order of the texts.

        A text over the model's limit is cut at the limit or refused; `embed_in_batches` deals with both.

        Raises:
            EmbeddingError: `InputTooLarge` or `InputRejected` when a text is at fault, another when none is.
        """
        ...

    def count_tokens(self, text: str) -> int:
        """About how many tokens the model would read: exact near the limit, cheap elsewhere."""
        ...

    def hint_batch_size(self, chunks: int) -> None:
        """Hear that so many documents wait, so that a heavier engine may pay; 0 says that the work is done."""
        ...

    def close(self) -> None:
        """Let go of the model. Closing twice is harmless."""
        ...


@runtime_checkable
class SendsTexts(Protocol):
    """A provider that sends texts out of this process."""

    def outgoing(self, text: str) -> str:
        """Return what of a text may be sent: all but its secrets. The same object if it has none."""
        ...
