"""The state of the builtin backend, and what indexing would cost."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from memoriter.backends._attempts import KEPT
from memoriter.backends._canaries import DeepLook, look_deep
from memoriter.errors import PathRefused
from memoriter.sync import WORTH_A_BATCH, background_of, chunks_of, make_plan, new_chunks, skipped_in
from memoriter.types import Estimate, SourceCount, Status
from memoriter.workspace import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from memoriter.backends._embedding import Embedding
    from memoriter.backends._settings import BackendSettings
    from memoriter.index import Index, IndexedFile
    from memoriter.sync import Plan, Sync
    from memoriter.types import Chunk, Health, Query, SearchResult, Source
    from memoriter.workspace import Loaded, Scan, Workspace


class Inspected(Protocol):
    """The parts of a backend that are looked at."""

    workspace: Workspace
    settings: BackendSettings
    embedding: Embedding

    @property
    def index(self) -> Index: ...
    def search(self, query: Query) -> SearchResult: ...
    def health(self, scan: Scan, plan: Plan) -> Health: ...


def builtin_status(backend: Inspected, *, deep: bool) -> Status:
    """Count what there is; `deep` also runs the real search path on passages that must be found."""
    looked = look_deep(backend) if deep else DeepLook()
    index, spec, settings = backend.index, backend.embedding.spec, backend.settings
    corpus, choice, scan = index.corpus(), backend.embedding.choice, backend.workspace.scan()
    plan = make_plan(scan.sources, index.files())
    health = looked.seen_in(backend.health(scan, plan))
    return Status(
        agent=settings.agent,
        workspace=str(backend.workspace.root),
        workspace_reason=settings.workspace_reason,
        index=str(settings.index_path),
        index_reason=settings.index_reason,
        index_bytes=_size(backend),
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
        skipped=tuple(sorted((*scan.skipped, *skipped_in(index.files())), key=lambda skip: skip.path)),
        canaries=looked.canaries,
        stale=plan.size,
        oversampling=index.oversampling,
        endpoint=choice.endpoint if choice else "",
        key_source=choice.key_source if choice else "",
        last_attempt=backend.embedding.last_attempt if choice and choice.kind in KEPT else None,
        sources=tuple(SourceCount(kind, *index.kinds().get(kind, (0, 0))) for kind in dict.fromkeys(settings.sources)),
    )


def estimate_of(sync: Sync, embedding: Embedding) -> Estimate:
    """Read and cut what is new, without writing anything."""
    scan, known, index = sync.workspace.scan(), sync.index.files(), sync.index
    plan = make_plan(scan.sources, known)
    anew = sync.outdated
    todo = scan.sources if anew else (*plan.added, *plan.suspect)
    said = _said(sync, [source for source in todo if source.kind == "sessions"], {} if anew else known)
    loaded = list(_readable(sync.workspace, [source for source in todo if source.kind == "memory"]))
    new = [item for item in loaded if item.source.path not in known]
    old = [item for item in loaded if item.source.path in known]
    changed = [item for item in old if anew or known[item.source.path].hash != item.hash]
    chunks = [chunk for item in (*new, *changed) for chunk in chunks_of(item.text, sync.settings.chunking)]
    chunks += [chunk for spoken in said.values() for chunk in spoken]
    waiting = () if anew else index.missing(index.corpus().chunks)
    texts = (*(chunk.contextual for chunk in chunks), *(text for _, text in waiting))
    tokens = sum(map(estimate_tokens, texts)) if index.spec or embedding.unknown else 0
    account = embedding.account(embedding.choice) if embedding.choice else None
    in_batches = embedding.rules is not None and len(texts) >= WORTH_A_BATCH
    return Estimate(
        files=len(scan.sources),
        added=len(new) + len(said.keys() - known.keys()),
        changed=len(changed) + len(said.keys() & known.keys()),
        removed=len(plan.removed),
        chunks=len(chunks),
        tokens=tokens,
        price=account.price(tokens, batch=in_batches) if account else 0.0,
        price_seen=account.seen if account else "",
        skipped=scan.skipped,
    )


def _readable(workspace: Workspace, sources: Iterable[Source]) -> Iterator[Loaded]:
    """Those that can be read; a run of indexing says which cannot."""
    for source in sources:
        with suppress(PathRefused):
            yield workspace.load(source)


def _said(sync: Sync, sources: Iterable[Source], known: Mapping[str, IndexedFile]) -> dict[str, list[Chunk]]:
    """The new chunks of each transcript in which there is anything new."""
    transcripts, cutting = sync.workspace.transcripts, sync.settings.chunking
    if transcripts is None:
        return {}
    found = {source.path: new_chunks(transcripts, source, known.get(source.path), cutting) for source in sources}
    return {path: chunks for path, chunks in found.items() if chunks is not None}


def _size(backend: Inspected) -> int:
    """Bytes of the index with its journal."""
    file = backend.settings.index_path.resolve()
    parts = (file, file.with_name(f"{file.name}-wal"))
    return sum(part.stat().st_size for part in parts if part.exists())
