"""Giving vectors to the chunks that have none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.errors import ProviderUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoriter.embed import EmbeddingProvider
    from memoriter.index import Index
    from memoriter.search import Deadline
    from memoriter.sync._task import Batches

BATCH_TOKENS = 8_000
FETCH = 512
"""Chunks that are taken from the index at a time to be embedded."""
WORTH_A_BATCH = 64
"""Chunks from which a batch interface is used: it is half the price, and may take hours."""


def fill(
    index: Index, provider: EmbeddingProvider, batches: Batches | None, *, deadline: Deadline | None
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
            if done.keys:
                index.put_vectors([bytes.fromhex(key) for key in done.keys], done.vectors)
            for key, error in done.failures.items():
                index.put_failure(bytes.fromhex(key), error.message)
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
        if done.positions:
            index.put_vectors([keys[position] for position in done.positions], done.vectors)
        for failure in done.failures:
            index.put_failure(keys[failure.position], failure.error.message)
        yield len(done.positions), len(done.failures)
