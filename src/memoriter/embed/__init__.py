"""Text to vectors: providers behind one Protocol, and the batches that feed them."""

from typing import TYPE_CHECKING, Any

from memoriter.embed._limits import group_by_budget, max_input_tokens, split_within
from memoriter.embed._provider import EmbeddingProvider
from memoriter.embed._registry import open_provider, provider_names, spec_of
from memoriter.embed._vectors import cosine, normalise

if TYPE_CHECKING:
    from memoriter.embed._batches import Embedded, Failure, embed_in_batches

__all__ = [
    "Embedded",
    "EmbeddingProvider",
    "Failure",
    "cosine",
    "embed_in_batches",
    "group_by_budget",
    "max_input_tokens",
    "normalise",
    "open_provider",
    "provider_names",
    "spec_of",
    "split_within",
]


def __getattr__(name: str) -> Any:
    """Load what embeds many texts when it is first asked for: most searches embed nothing but the question."""
    if name in {"Embedded", "Failure", "embed_in_batches"}:
        from memoriter.embed import _batches

        return getattr(_batches, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
