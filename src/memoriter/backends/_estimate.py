"""The estimate of what indexing would do and cost."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from memoriter.errors import EmbeddingError, PathRefused
from memoriter.ids import text_key
from memoriter.sync import WORTH_A_BATCH, make_plan, new_chunks, note_of, texts_of
from memoriter.types import Estimate
from memoriter.workspace import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from memoriter.backends._embedding import Embedding
    from memoriter.records import IndexedFile
    from memoriter.store import Store
    from memoriter.sync import Sync
    from memoriter.types import Chunk, Source
    from memoriter.workspace import Loaded, Workspace


def estimate_of(embedding: Embedding, index: Store, sync: Sync, *, measured: bool = False) -> Estimate:
    """Return what indexing would do and cost. Reads and chunks new text, but writes nothing.

    `measured` adds how long the vectors will take, if the model runs here; this loads the model.
    """
    scan = sync.workspace.scan()
    indexed = index.files()
    plan = make_plan(scan.sources, indexed)
    rebuild = sync.outdated
    changed_sources = scan.sources if rebuild else (*plan.added, *plan.suspect)
    transcripts = _new_transcript_chunks(
        sync, [source for source in changed_sources if source.kind == "sessions"], {} if rebuild else indexed
    )
    loaded = list(_load_readable(sync.workspace, [source for source in changed_sources if source.kind == "memory"]))
    new = [item for item in loaded if item.source.path not in indexed]
    existing = [item for item in loaded if item.source.path in indexed]
    changed = [item for item in existing if rebuild or indexed[item.source.path].hash != item.hash]
    chunking = sync.settings.chunking
    chunks = [chunk for item in (*new, *changed) for chunk in note_of(item.source.path, item.text, chunking).chunks]
    chunks += [chunk for transcript_chunks in transcripts.values() for chunk in transcript_chunks]
    without_vector = () if rebuild else index.missing(index.waiting())
    texts = (*(text for chunk in chunks for text in texts_of(chunk, chunking)), *(text for _, text in without_vector))
    keys = [text_key(text) for text in texts]
    shared = _shared_keys(index, keys)
    texts = tuple(text for text, key in zip(texts, keys, strict=True) if key not in shared)
    tokens = sum(map(estimate_tokens, texts)) if index.spec or embedding.unknown else 0
    choice = embedding.slot().choice
    account = embedding.account(choice) if choice else None
    in_batches = embedding.rules is not None and len(texts) >= WORTH_A_BATCH
    return Estimate(
        files=len(scan.sources),
        added=len(new) + len(transcripts.keys() - indexed.keys()),
        changed=len(changed) + len(transcripts.keys() & indexed.keys()),
        removed=len(plan.removed),
        chunks=len(chunks),
        tokens=tokens,
        price=0.0 if account is None else account.price(tokens, batch=in_batches),
        price_seen=account.seen if account else "",
        skipped=scan.skipped,
        seconds=_measured_seconds(embedding, texts, tokens) if measured and tokens else None,
    )


def _shared_keys(index: Store, keys: Sequence[bytes]) -> set[bytes]:
    """Return the keys of vectors that will be copied from other memories of a server."""
    starts = range(0, len(keys), KEYS_AT_ONCE)
    return {key for start in starts for key in index.shared_vectors(keys[start : start + KEYS_AT_ONCE])}


MEASURED = frozenset({"bundled", "onnx"})
"""Kinds of providers whose speed can be measured at once: nothing is downloaded or sent."""
KEYS_AT_ONCE = 4_096
"""Texts of which a server is asked at once."""
SAMPLE = 24
"""Texts of a measurement."""
QUICK_TOKENS = 20_000
"""Fewer tokens are not worth a measurement."""


def _measured_seconds(embedding: Embedding, texts: Sequence[str], tokens: int) -> float | None:
    """Return how long all texts will take, from the time of a sample; None if it cannot or need not be measured."""
    choice = embedding.slot().choice
    problem = embedding.slot().problem
    if tokens < QUICK_TOKENS or choice is None or choice.kind not in MEASURED or problem is not None:
        return None
    sample = texts[:: max(1, len(texts) // SAMPLE)][:SAMPLE]
    monotonic = embedding.outside.monotonic
    try:
        provider = embedding.open()
        provider.hint_batch_size(len(texts))
        provider.embed(sample[:2], role="document")  # the model gets ready
        began = monotonic()
        provider.embed(sample, role="document")
        seconds = monotonic() - began
        provider.hint_batch_size(0)
    except EmbeddingError:
        return None
    return seconds / max(1, sum(map(estimate_tokens, sample))) * tokens


def _load_readable(workspace: Workspace, sources: Iterable[Source]) -> Iterator[Loaded]:
    """Yield the notes that can be read. An indexing run reports the others."""
    for source in sources:
        with suppress(PathRefused):
            yield workspace.peek(source)


def _new_transcript_chunks(
    sync: Sync, sources: Iterable[Source], indexed: Mapping[str, IndexedFile]
) -> dict[str, list[Chunk]]:
    """Return the new chunks of each transcript that has any."""
    transcripts = sync.workspace.transcripts
    chunking = sync.settings.chunking
    if transcripts is None:
        return {}
    chunks_by_path = {
        source.path: new_chunks(transcripts, source, indexed.get(source.path), chunking) for source in sources
    }
    return {path: chunks for path, chunks in chunks_by_path.items() if chunks is not None}
