"""The state of the builtin backend, and what indexing would cost."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from memoriter.backends._canaries import DeepLook, look_deep
from memoriter.errors import PathRefused
from memoriter.sync import WORTH_A_BATCH, background_of, chunks_of, make_plan
from memoriter.types import Estimate, Status
from memoriter.workspace import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoriter.backends._embedding import Embedding
    from memoriter.backends._settings import BackendSettings
    from memoriter.index import Index
    from memoriter.sync import Plan, Sync
    from memoriter.types import Health, Query, SearchResult, Source
    from memoriter.workspace import Loaded, Workspace


class Inspected(Protocol):
    """The parts of a backend that are looked at."""

    workspace: Workspace
    settings: BackendSettings
    embedding: Embedding

    @property
    def index(self) -> Index: ...
    def search(self, query: Query) -> SearchResult: ...
    def health(self, plan: Plan) -> Health: ...


def builtin_status(backend: Inspected, *, deep: bool) -> Status:
    """Count what there is; `deep` also runs the real search path on passages that must be found."""
    looked = look_deep(backend) if deep else DeepLook()
    index, spec, settings = backend.index, backend.embedding.spec, backend.settings
    corpus, choice, scan = index.corpus(), backend.embedding.choice, backend.workspace.scan()
    plan = make_plan(scan.sources, index.files())
    return Status(
        agent=settings.agent,
        workspace=str(backend.workspace.root),
        workspace_reason=settings.workspace_reason,
        index=str(settings.index_path),
        index_bytes=_size(backend),
        files=corpus.files,
        chunks=corpus.chunks,
        vectors=index.vectors() if spec else 0,
        pending=index.pending() if spec else 0,
        failed=index.failures() if spec else 0,
        provider=backend.embedding.provider_name,
        model=spec.model if spec else "",
        dimensions=spec.dimensions if spec else 0,
        vector_engine=index.engine,
        scoring=settings.search.scoring,
        backend="builtin",
        leaves_machine=choice.leaves_machine if choice else False,
        background=background_of(index, spec).figures if spec else None,
        health=looked.seen_in(backend.health(plan)),
        skipped=scan.skipped,
        canaries=looked.canaries,
        stale=plan.size,
        oversampling=index.oversampling,
        endpoint=choice.endpoint if choice else "",
        key_source=choice.key_source if choice else "",
    )


def estimate_of(sync: Sync, embedding: Embedding) -> Estimate:
    """Read and cut what is new, without writing anything."""
    scan, known, index = sync.workspace.scan(), sync.index.files(), sync.index
    plan = make_plan(scan.sources, known)
    anew = sync.outdated
    loaded = list(_readable(sync.workspace, scan.sources if anew else (*plan.added, *plan.suspect)))
    new = [item for item in loaded if item.source.path not in known]
    old = [item for item in loaded if item.source.path in known]
    changed = [item for item in old if anew or known[item.source.path].hash != item.hash]
    chunks = [chunk for item in (*new, *changed) for chunk in chunks_of(item.text, sync.settings.cutting)]
    waiting = () if anew else index.missing(index.corpus().chunks)
    texts = (*(chunk.contextual for chunk in chunks), *(text for _, text in waiting))
    tokens = sum(map(estimate_tokens, texts)) if index.spec or embedding.unknown else 0
    account = embedding.account(embedding.choice) if embedding.choice else None
    in_batches = embedding.rules is not None and len(texts) >= WORTH_A_BATCH
    return Estimate(
        files=len(scan.sources),
        added=len(new),
        changed=len(changed),
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


def _size(backend: Inspected) -> int:
    """Bytes of the index with its journal."""
    file = backend.settings.index_path.resolve()
    parts = (file, file.with_name(f"{file.name}-wal"))
    return sum(part.stat().st_size for part in parts if part.exists())
