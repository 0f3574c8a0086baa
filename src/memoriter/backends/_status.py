"""The status of the builtin backend, and the cost estimate of indexing."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from memoriter.backends._canaries import CanaryReport, run_canaries
from memoriter.backends._health import confirmed
from memoriter.backends._service_records import KEPT
from memoriter.errors import PathRefused
from memoriter.sync import WORTH_A_BATCH, background_of, make_plan, new_chunks, note_of, skipped_in
from memoriter.types import Estimate, SourceCount, Status
from memoriter.workspace import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from memoriter.backends._embedding import Embedding
    from memoriter.backends._ports import Store
    from memoriter.backends._settings import BackendSettings
    from memoriter.records import IndexedFile
    from memoriter.sync import Plan, Sync
    from memoriter.types import Chunk, Health, Query, SearchResult, Source
    from memoriter.workspace import Loaded, Scan, Workspace


class Inspected(Protocol):
    """The parts of a backend that the status is made from."""

    workspace: Workspace
    settings: BackendSettings
    embedding: Embedding

    def search(self, query: Query) -> SearchResult: ...
    def health(self, index: Store, scan: Scan, plan: Plan) -> Health: ...


def builtin_status(backend: Inspected, index: Store, *, deep: bool) -> Status:
    """Return the status of a backend.

    Args:
        backend: the backend.
        index: its open index.
        deep: also search for passages that must be found, through the real search path.
    """
    check = run_canaries(backend, index) if deep else CanaryReport()
    spec, settings = backend.embedding.spec, backend.settings
    corpus, choice, scan = index.corpus(), backend.embedding.choice, backend.workspace.scan()
    indexed = index.files()
    plan = confirmed(make_plan(scan.sources, indexed), backend.workspace, indexed)
    health = check.apply_to(backend.health(index, scan, plan))
    return Status(
        agent=settings.agent,
        workspace=str(backend.workspace.root),
        workspace_reason=settings.workspace_reason,
        index=str(settings.index_path),
        index_reason=settings.index_reason,
        index_bytes=_index_bytes(backend),
        files=corpus.files,
        chunks=corpus.chunks,
        vectors=index.vectors() if spec else 0,
        pending=health.pending,
        failed=index.failures() if spec else 0,
        provider=backend.embedding.provider_name,
        model=spec.model if spec else "",
        dimensions=spec.dimensions if spec else 0,
        vector_engine=index.engine,
        scoring=settings.search.scoring,
        backend="builtin",
        leaves_machine=choice.leaves_machine if choice else False,
        background=background_of(index, spec).figures if spec else None,
        health=health,
        skipped=tuple(sorted((*scan.skipped, *skipped_in(index.files())), key=lambda skipped: skipped.path)),
        canaries=check.canaries,
        stale=plan.size,
        oversampling=index.oversampling,
        endpoint=choice.endpoint if choice else "",
        key_source=choice.key_source if choice else "",
        last_attempt=backend.embedding.last_attempt if choice and choice.kind in KEPT else None,
        sources=tuple(SourceCount(kind, *index.kinds().get(kind, (0, 0))) for kind in dict.fromkeys(settings.sources)),
    )


def estimate_of(sync: Sync, embedding: Embedding) -> Estimate:
    """Return what indexing would do and cost. Reads and chunks new text, but writes nothing."""
    scan, indexed, index = sync.workspace.scan(), sync.index.files(), sync.index
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
    without_vector = () if rebuild else index.missing(index.corpus().chunks)
    texts = (*(chunk.contextual for chunk in chunks), *(text for _, text in without_vector))
    tokens = sum(map(estimate_tokens, texts)) if index.spec or embedding.unknown else 0
    account = embedding.account(embedding.choice) if embedding.choice else None
    in_batches = embedding.rules is not None and len(texts) >= WORTH_A_BATCH
    return Estimate(
        files=len(scan.sources),
        added=len(new) + len(transcripts.keys() - indexed.keys()),
        changed=len(changed) + len(transcripts.keys() & indexed.keys()),
        removed=len(plan.removed),
        chunks=len(chunks),
        tokens=tokens,
        price=account.price(tokens, batch=in_batches) if account else 0.0,
        price_seen=account.seen if account else "",
        skipped=scan.skipped,
    )


def _load_readable(workspace: Workspace, sources: Iterable[Source]) -> Iterator[Loaded]:
    """Yield the notes that can be read. An indexing run reports the others."""
    for source in sources:
        with suppress(PathRefused):
            yield workspace.load(source)


def _new_transcript_chunks(
    sync: Sync, sources: Iterable[Source], indexed: Mapping[str, IndexedFile]
) -> dict[str, list[Chunk]]:
    """Return the new chunks of each transcript that has any."""
    transcripts, chunking = sync.workspace.transcripts, sync.settings.chunking
    if transcripts is None:
        return {}
    chunks_by_path = {
        source.path: new_chunks(transcripts, source, indexed.get(source.path), chunking) for source in sources
    }
    return {path: chunks for path, chunks in chunks_by_path.items() if chunks is not None}


def _index_bytes(backend: Inspected) -> int:
    """Return the size of the index and its write-ahead log in bytes."""
    file = backend.settings.index_path.resolve()
    parts = (file, file.with_name(f"{file.name}-wal"))
    return sum(part.stat().st_size for part in parts if part.exists())
