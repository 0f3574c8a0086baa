"""Giving vectors to the chunks that have none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.errors import ProviderUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed import EmbeddingProvider
    from memoriter.index import Index
    from memoriter.search import Deadline
    from memoriter.sync._task import BatchQueue

BATCH_TOKENS = 8_000
FETCH = 512
"""Chunks that are taken from the index at a time to be embedded."""
STORING_SECONDS = 60.0
"""How long finished vectors wait for a process that is just writing words, such as one that rebuilds the index."""
WORTH_A_BATCH = 64
"""Chunks from which a batch interface is used: it is half the price, and may take hours."""


def fill(
    index: Index, provider: EmbeddingProvider, batches: BatchQueue | None, *, deadline: Deadline | None
) -> Iterator[tuple[int, int]]:
    """Everything that waits; yields how many vectors and how many failures each step brought."""
    if batches is None:
        while not (deadline and deadline.passed) and (some := index.missing(FETCH)):
            yield from _at_once(index, provider, some)
        return
    waiting, under_way = index.missing(index.pending()), batches.under_way
    plain = {key.hex() for key, _ in waiting} - under_way
    batched = under_way if len(plain) < WORTH_A_BATCH else under_way | plain
    texts = {key.hex(): text for key, text in waiting if key.hex() in batched}
    plain -= texts.keys()
    try:
        for done in batches.run(texts, wait=deadline is None):
            failures = {bytes.fromhex(key): error.message for key, error in done.failures.items()}
            _store(index, [bytes.fromhex(key) for key in done.keys], done.vectors, failures)
            plain.update(done.again)
            yield len(done.keys), len(done.failures)
    except ProviderUnavailable:  # no batch interface at this address, or nobody there: the plain way tells which
        plain |= texts.keys() - batches.under_way
    left = [(key, text) for key, text in waiting if key.hex() in plain]
    for start in range(0, len(left), FETCH):
        if deadline and deadline.passed:
            return
        yield from _at_once(index, provider, left[start : start + FETCH])


def _at_once(
    index: Index, provider: EmbeddingProvider, missing: Sequence[tuple[bytes, str]]
) -> Iterator[tuple[int, int]]:
    """Store batch after batch; yields how many vectors and how many failures each brought."""
    from memoriter.embed import embed_in_batches

    keys = [key for key, _ in missing]
    for done in embed_in_batches(provider, [text for _, text in missing], role="document", budget=BATCH_TOKENS):
        failures = {keys[failure.position]: failure.error.message for failure in done.failures}
        _store(index, [keys[position] for position in done.positions], done.vectors, failures)
        yield len(done.positions), len(done.failures)


def _store(index: Index, keys: Sequence[bytes], vectors: NDArray[np.float32], failures: Mapping[bytes, str]) -> None:
    """Keep what came back, but nothing of a text that left the notes while the provider had it."""
    with index.storing(wait=STORING_SECONDS):
        wanted = index.referenced((*keys, *failures))
        kept = [place for place, key in enumerate(keys) if key in wanted]
        if kept:
            index.put_vectors([keys[place] for place in kept], vectors[kept] if len(kept) < len(keys) else vectors)
        for key, message in failures.items():
            if key in wanted:
                index.put_failure(key, message)
