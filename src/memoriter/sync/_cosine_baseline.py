"""The cosine baseline of an index: how similar unrelated chunks are. Measured after indexing and stored in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.errors import IndexDamaged, sentence
from memoriter.ids import fingerprint
from memoriter.search import CosineBaseline, measure

if TYPE_CHECKING:
    from memoriter.sync._ports import WritableStore
    from memoriter.types import ModelSpec

BACKGROUND_SAMPLE = 2_000
"""The number of chunks in the sample."""


def learn_background(index: WritableStore, spec: ModelSpec) -> CosineBaseline:
    """Measure the cosine baseline of unrelated chunks and store it. The same notes give the same figures."""
    texts, vectors = index.sample(BACKGROUND_SAMPLE)
    background = measure(texts, vectors, spec.background)
    index.set_meta(background_key(spec), background.dumps())
    return background


def background_key(spec: ModelSpec) -> str:
    """Return the key under which the baseline of a set of vectors is stored."""
    return f"background:{fingerprint(spec)}"


def background_of(index: WritableStore, spec: ModelSpec) -> CosineBaseline:
    """Return the measured baseline of the active vectors, or the model's default. Raises IndexDamaged."""
    stored = index.get_meta(background_key(spec))
    if stored is None:
        return CosineBaseline.of_model(spec.background)
    try:
        return CosineBaseline.loads(stored)
    except (ValueError, KeyError, TypeError) as error:
        raise IndexDamaged(
            f"The index {str(index.path)!r} holds a background that cannot be read: {sentence(error)}",
            remedy="Run `memoriter index --force`.",
        ) from error
