"""The vectors of an index: computing the missing ones, and measuring how similar unrelated chunks are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.errors import IndexDamaged, ProviderUnavailable, sentence
from memoriter.ids import fingerprint
from memoriter.search import CosineBaseline, measure

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed import EmbeddingProvider
    from memoriter.search import Deadline
    from memoriter.sync._ports import WritableStore
    from memoriter.sync._task import BatchQueue
    from memoriter.types import ModelSpec

BATCH_TOKENS = 8_000
FETCH = 512
"""The number of chunks read from the index at a time to be embedded."""
FIRST_STEP, STEP_SECONDS = 8, 0.5
"""With a deadline: the number of chunks of the first step, and about how long each later step may take.

No step can be interrupted, so short steps are what keeps a deadline, on a slow or busy machine too.
"""
STORING_SECONDS = 60.0
"""How long finished vectors wait for a process that is indexing text, such as one that rebuilds the index."""
WORTH_A_BATCH = 64
"""The fewest chunks for which a batch interface is used: it costs half as much and may take hours."""


def fill(
    index: WritableStore,
    provider: EmbeddingProvider,
    batches: BatchQueue | None,
    *,
    deadline: Deadline | None,
    first: Collection[int] = (),
) -> Iterator[tuple[int, int]]:
    """Compute and store missing vectors. Yield the number of new vectors and of failures after each step.

    Args:
        index: the store.
        provider: computes the vectors.
        batches: the batch interface of a service, if it is used.
        deadline: no step begins after it.
        first: chunk ids that come first, the most important one first.
    """
    if batches is None:
        yield from _fill_now(index, provider, deadline, first)
        return
    pending, under_way = index.missing(index.pending()), batches.under_way
    single = {key.hex() for key, _ in pending} - under_way
    batched = under_way if len(single) < WORTH_A_BATCH else under_way | single
    texts = {key.hex(): text for key, text in pending if key.hex() in batched}
    single -= texts.keys()
    try:
        for result in batches.run(texts, wait=deadline is None):
            failures = {bytes.fromhex(key): error.message for key, error in result.failures.items()}
            _store(index, [bytes.fromhex(key) for key in result.keys], result.vectors, failures)
            single.update(result.again)
            yield len(result.keys), len(result.failures)
    except ProviderUnavailable:  # no batch interface, or no service: single requests raise the right error
        single |= texts.keys() - batches.under_way
    remaining = [(key, text) for key, text in pending if key.hex() in single]
    for start in range(0, len(remaining), FETCH):
        if deadline and deadline.passed:
            return
        yield from _embed_now(index, provider, remaining[start : start + FETCH])


def _fill_now(
    index: WritableStore, provider: EmbeddingProvider, deadline: Deadline | None, first: Collection[int]
) -> Iterator[tuple[int, int]]:
    step = FETCH if deadline is None else FIRST_STEP
    while not (deadline and deadline.passed):
        missing = index.missing(step, of=first) if first else ()
        missing = missing or index.missing(step)
        if not missing:
            return
        if deadline is None:
            yield from _embed_now(index, provider, missing)
            continue
        started = deadline.clock()
        yield from _embed_now(index, provider, missing)
        seconds = max(deadline.clock() - started, 1e-3)
        step = min(FETCH, 2 * step, max(1, int(len(missing) / seconds * min(STEP_SECONDS, deadline.left))))


def _embed_now(
    index: WritableStore, provider: EmbeddingProvider, missing: Sequence[tuple[bytes, str]]
) -> Iterator[tuple[int, int]]:
    """Embed and store batch after batch. Yield the number of new vectors and of failures of each."""
    from memoriter.embed import embed_in_batches

    keys = [key for key, _ in missing]
    for batch in embed_in_batches(provider, [text for _, text in missing], role="document", budget=BATCH_TOKENS):
        failures = {keys[failure.position]: failure.error.message for failure in batch.failures}
        _store(index, [keys[position] for position in batch.positions], batch.vectors, failures)
        yield len(batch.positions), len(batch.failures)


def _store(
    index: WritableStore, keys: Sequence[bytes], vectors: NDArray[np.float32], failures: Mapping[bytes, str]
) -> None:
    """Store vectors and failures, except those of texts that left the notes meanwhile."""
    with index.storing(wait=STORING_SECONDS):
        wanted = index.referenced((*keys, *failures))
        positions = [position for position, key in enumerate(keys) if key in wanted]
        if positions:
            index.put_vectors(
                [keys[position] for position in positions],
                vectors[positions] if len(positions) < len(keys) else vectors,
            )
        for key, message in failures.items():
            if key in wanted:
                index.put_failure(key, message)


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
