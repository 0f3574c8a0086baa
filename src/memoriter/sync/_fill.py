"""Missing vectors: copied from other memories of a server, or computed. Each step survives a kill."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoriter.errors import IndexUnavailable, ProviderUnavailable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed import EmbeddingProvider
    from memoriter.environment import Deadline
    from memoriter.store import Store
    from memoriter.sync._changes import BatchQueue

BATCH_TOKENS = 8_000
FETCH = 512
"""The number of chunks read from the index at a time to be embedded."""
FIRST_STEP = 12
STEP_SECONDS = 0.5
"""With a deadline: the number of chunks of the first step, and about how long each later step may take.

No step can be interrupted, so short steps are what keeps a deadline, on a slow or busy machine too.
"""
STORING_SECONDS = 60.0
"""How long finished vectors wait for a process that is indexing text, such as one that rebuilds the index."""
MOST_REPEATS = 3
"""How often the same texts are embedded. Another process may drop their vectors; a store that keeps none would let a
service be asked, and paid, without an end."""
WORTH_A_BATCH = 64
"""The fewest chunks for which a batch interface is used: it costs half as much and may take hours."""


class Step(NamedTuple):
    """What one step did."""

    embedded: int = 0
    """Vectors that were computed."""
    failed: int = 0
    """Texts that the model refused."""
    taken: int = 0
    """Vectors that were copied from other memories."""


def fill(
    index: Store,
    provider: EmbeddingProvider,
    batches: BatchQueue | None,
    *,
    deadline: Deadline | None,
    first: Collection[int] = (),
    shared: bool = True,
) -> Iterator[Step]:
    """Store missing vectors: those that other memories have, and computed ones. Yield what each step did.

    Args:
        index: the store.
        provider: computes the vectors.
        batches: the batch interface of a service, if it is used.
        deadline: no step begins after it.
        first: chunk ids that come first, the most important one first.
        shared: whether vectors of other memories are used; False computes all.
    """
    if batches is None:
        yield from _fill_now(index, provider, deadline, first, shared=shared)
        return
    under_way = batches.under_way
    pending = list[tuple[bytes, str]]()
    waiting = index.missing(index.waiting())
    for part in (waiting[start : start + FETCH] for start in range(0, len(waiting), FETCH)):
        taken = _copy_shared(index, [key for key, _ in part if key.hex() not in under_way]) if shared else ()
        if taken:
            yield Step(taken=len(taken))
        pending += [(key, text) for key, text in part if key not in taken]
    single = {key.hex() for key, _ in pending} - under_way
    in_batches = under_way if len(single) < WORTH_A_BATCH else under_way | single
    texts = {key.hex(): text for key, text in pending if key.hex() in in_batches}
    single -= texts.keys()
    try:
        for result in batches.run(texts, wait=deadline is None):
            failures = {bytes.fromhex(key): error.message for key, error in result.failures.items()}
            _store(index, [bytes.fromhex(key) for key in result.keys], result.vectors, failures)
            single.update(result.again)
            yield Step(len(result.keys), len(result.failures))
    except ProviderUnavailable:  # no batch interface, or no service: single requests raise the right error
        single |= texts.keys() - batches.under_way
    remaining = [(key, text) for key, text in pending if key.hex() in single]
    for start in range(0, len(remaining), FETCH):
        if deadline and deadline.passed:
            return
        yield from _embed_now(index, provider, remaining[start : start + FETCH])


def _fill_now(
    index: Store,
    provider: EmbeddingProvider,
    deadline: Deadline | None,
    first: Collection[int],
    *,
    shared: bool,
) -> Iterator[Step]:
    step = FETCH if deadline is None else FIRST_STEP
    repeated = 0
    before = list[bytes]()
    while not (deadline and deadline.passed):
        generation = _generation(index)
        missing = index.missing(step, of=first) if first else ()
        missing = missing or index.missing(step)
        if not missing:
            if generation == _generation(index):
                return
            continue
        keys = [key for key, _ in missing]
        repeated = repeated + 1 if before == keys else 0
        before = keys
        if repeated == MOST_REPEATS:
            raise IndexUnavailable(
                f"The index {str(index.path)!r} does not keep vectors: they were stored"
                f" {repeated} times and are missing again.",
                remedy="Run `memoriter index --force`; if that does not help, choose another memorySearch.store.",
            )
        started = deadline.clock() if deadline else 0.0
        if shared and (taken := _copy_shared(index, keys)):
            yield Step(taken=len(taken))
            yield from _embed_now(index, provider, [(key, text) for key, text in missing if key not in taken])
        else:
            yield from _embed_now(index, provider, missing)
        if deadline is None:
            continue
        rate = len(missing) / max(deadline.clock() - started, 1e-3)
        most_seconds = deadline.left / 2
        if rate * most_seconds < 1:  # a service's response after the deadline is lost if the process ends
            return
        step = min(FETCH, 2 * step, max(1, int(rate * min(STEP_SECONDS, most_seconds))))


def _generation(index: Store) -> int:
    """Return the content that serves now: nothing is missing in one that a rebuild has just replaced and deleted."""
    index.version()
    return index.generation


def _embed_now(index: Store, provider: EmbeddingProvider, missing: Sequence[tuple[bytes, str]]) -> Iterator[Step]:
    """Embed and store batch after batch. Yield what each did."""
    from memoriter.embed import embed_in_batches

    keys = [key for key, _ in missing]
    for batch in embed_in_batches(provider, [text for _, text in missing], role="document", budget=BATCH_TOKENS):
        failures = {keys[failure.position]: failure.error.message for failure in batch.failures}
        _store(index, [keys[position] for position in batch.positions], batch.vectors, failures)
        yield Step(len(batch.positions), len(batch.failures))


def _copy_shared(index: Store, keys: Sequence[bytes]) -> Collection[bytes]:
    """Copy the vectors that other memories have, and return their keys. It may need the right to index."""
    if not (held := index.shared_vectors(keys)):
        return ()
    with index.storing(wait=STORING_SECONDS):
        return index.take_vectors(held)


def _store(index: Store, keys: Sequence[bytes], vectors: NDArray[np.float32], failures: Mapping[bytes, str]) -> None:
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
