"""The memory that memoriter itself keeps: files, one SQLite index, two legs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, TypeVar

from memoriter.backends._freshness import Freshness
from memoriter.backends._scope import scope_of
from memoriter.backends._settings import FIRST_EMBEDDING_MS, BackendSettings, Clocks
from memoriter.backends._status import builtin_status, estimate_of
from memoriter.errors import EmbeddingError, IndexBusy, IndexDamaged, TransientFailure
from memoriter.index import Index
from memoriter.search import Deadline, clean_query, outcome_of, rank
from memoriter.sync import Progress, Sync, background_of
from memoriter.types import Health, Reason, SearchResult
from memoriter.workspace import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.backends._embedding import Embedding
    from memoriter.search import SearchSettings
    from memoriter.sync import Look
    from memoriter.types import CompactReport, Estimate, Mode, Query, Status, SyncReport
    from memoriter.workspace import Workspace

LATER_EMBEDDING_MS = 2_000
INDEXING_SHARE = 0.9
"""Of the time that a search has: the rest is for asking what was indexed."""
REQUEST_TEXTS, REQUEST_TOKENS = 64, 8_000
"""About what goes into one request of indexing."""
WARMING_SECONDS = 0.5
"""How long a search waits for a model that is being loaded: the bundled one takes a tenth of it."""
WARMING = Reason("warming", "The model is being loaded; words alone answer meanwhile.", "Ask again in a moment.")
_T = TypeVar("_T")


@dataclass(slots=True)
class BuiltinBackend:
    """One workspace with its index; opened when first used, safe to use from one thread at a time."""

    workspace: Workspace
    settings: BackendSettings
    embedding: Embedding
    clocks: Clocks
    _index: Index | None = None
    _freshness: Freshness = field(default_factory=Freshness)

    @property
    def index(self) -> Index:
        """The open index, the current generation of it."""
        if self._index is None:
            self._index = Index.open(self.settings.index_path, clock=self.clocks.wall)
            self._prepare(self._index)
        elif self._index.refresh():
            self._prepare(self._index)
            self._freshness = Freshness()
        return self._index

    def _prepare(self, index: Index) -> None:
        index.choose_engine(self.settings.engine, self.settings.extension_path)
        if (spec := self.embedding.spec) is not None:
            index.use_vectors(spec)

    def _follow_provider(self) -> None:
        """Let the vectors be those of the provider that serves now."""
        self.embedding.look()
        spec = self.embedding.spec
        if spec is not None and spec != self.index.spec:
            self.index.use_vectors(spec)

    def search(self, query: Query, *, progress: Callable[[Progress], None] | None = None) -> SearchResult:
        """Answer a question; indexes first where nothing was indexed yet. Raises InvalidQuery."""
        text = clean_query(query.text)
        try:
            return self._surviving(lambda: self._search(text, query, progress))
        finally:
            self.embedding.left = lambda: inf

    def _search(self, text: str, query: Query, progress: Callable[[Progress], None] | None) -> SearchResult:
        limit = self.settings.deadline_ms if query.deadline_ms is None else query.deadline_ms
        deadline = Deadline.within(limit, self.clocks.monotonic)
        self.embedding.left = lambda: deadline.left * INDEXING_SHARE
        self.embedding.await_model(min(WARMING_SECONDS, deadline.left))
        self._follow_provider()
        reasons = [*self._fresh(deadline, progress), *self.index.notices]
        vector, trouble = self._vector(text, deadline, hasty=limit < self.settings.deadline_ms)
        scope = scope_of(query.filters, self.settings.sources, self.index.kinds())
        reasons += scope.reasons
        settings = replace(self._settings(query), kinds=scope.kinds)
        hits = rank(self.index, text, vector, settings, filters=scope.filters, now=self.clocks.wall())
        if not query.explain:
            hits = tuple(replace(hit, explanation=None) for hit in hits)
        told = [each for each in (self.embedding.failed, trouble) if each]
        health = self._health([*reasons, *told], serving=vector is not None)
        return SearchResult(
            hits=hits,
            outcome=outcome_of(hits),
            provider=self.embedding.provider_name,
            model=self.embedding.spec.model if self.embedding.spec else "",
            mode=self._mode(vector),
            health=health,
            fallback=trouble,
            fallback_from=self.embedding.first_name if trouble else "",
            truncated_by="deadline" if deadline.passed else None,
        )

    def _settings(self, query: Query) -> SearchSettings:
        settings = self.settings.search
        spec = self.embedding.spec
        if spec is not None:
            settings = replace(settings, background=background_of(self.index, spec))
        if query.max_results is not None:
            settings = replace(settings, max_results=query.max_results)
        if query.min_score is not None:
            settings = replace(settings, min_score=query.min_score)
        return settings

    def _mode(self, vector: NDArray[np.float32] | None) -> Mode:
        if vector is None:
            return "keyword"
        return "hybrid" if self.settings.search.hybrid else "vector"

    def _vector(
        self, text: str, deadline: Deadline, *, hasty: bool
    ) -> tuple[NDArray[np.float32] | None, Reason | None]:
        """The question's vector, and what is wrong with the provider that was to give it.

        `hasty`: there is less time than usual, so that a late answer says nothing about the provider.
        """
        if self.embedding.warming:
            return None, WARMING
        while self.embedding.spec is not None and self.index.vectors():
            if deadline.passed:
                return None, Reason("deadline", "There was no time left to search by meaning.", "Ask again.")
            try:
                return self.embedding.query_vector(text), self.embedding.failed
            except EmbeddingError as error:
                late = hasty and isinstance(error, TransientFailure)
                if late or not self.embedding.fall_back(error):
                    return None, Reason(error.code, error.message, error.remedy)
            # Never a question of one model to the vectors of another.
            self._follow_provider()
        return None, self.embedding.problem or self.embedding.failed

    def _fresh(self, deadline: Deadline, progress: Callable[[Progress], None] | None) -> list[Reason]:
        """Index what is new before answering, as far as there is time."""
        index, now = self.index, self.clocks.monotonic()
        first = not index.files()
        if not first and not self._freshness.due(now, self.settings):
            return self._acquainted() if self._freshness.looked_at is None else []
        look = None if first or self.embedding.unknown else self._sync(None).look()
        if look is not None and not look.needed:
            self._freshness = Freshness(self.clocks.monotonic())
            return []
        milliseconds = FIRST_EMBEDDING_MS if first else LATER_EMBEDDING_MS
        left = Deadline.within(min(milliseconds, deadline.left * 1000 * INDEXING_SHARE), self.clocks.monotonic)
        try:
            report = self._run(deadline=left, progress=progress, look=look)
        except IndexBusy as error:
            return [Reason(error.code, error.message, error.remedy)]
        self._freshness = Freshness(self.clocks.monotonic())
        return list(report.reasons)

    def _acquainted(self) -> list[Reason]:
        """Ask for a model that nobody knows yet, where indexing does not do it; why it is still not known."""
        if not self.embedding.unknown or self.embedding.warming:
            return []
        try:
            self.embedding.open()
        except EmbeddingError as error:
            if not self.embedding.fall_back(error):
                return [Reason(error.code, error.message, error.remedy)]
        self._follow_provider()
        return []

    def _health(self, reasons: list[Reason], *, serving: bool) -> Health:
        index = self.index
        if not index.files() and all(reason.code != IndexBusy.code for reason in reasons):
            message = f"There are no notes in {str(self.workspace.root)!r}."
            reasons.append(
                Reason("no_notes", message, "Write MEMORY.md or memory/*.md, or run: memoriter remember TEXT")
            )
        pending = index.pending() if self.embedding.spec else 0
        if pending and self.embedding.problem is None:
            message = f"{pending} of {index.corpus().chunks} chunks have no vector yet; words find them meanwhile."
            jobs = len(index.metas("batch:")) if self.embedding.rules else 0
            sent = f" {jobs} batches are under way at the service." if jobs else ""
            reasons.append(Reason("vectors_pending", message + sent, "Run: memoriter index"))
        if pending or not serving:
            refusal = self.embedding.refusal(self._waiting(pending))
            reasons += [refusal] if refusal and refusal.code not in {reason.code for reason in reasons} else []
        if failed := (index.failures() if self.embedding.spec else 0):
            message = f"{failed} chunks could not be embedded; words alone find them."
            reasons.append(Reason("vectors_failed", message, "Run: memoriter index --force"))
        legs = {"keyword": True, "vector": serving}
        return Health(legs, pending, index.generation, tuple(dict.fromkeys(reasons)))

    def _waiting(self, pending: int) -> int:
        """Tokens of the next request of indexing, about."""
        texts = self.index.missing(min(pending, REQUEST_TEXTS)) if pending else []
        return min(sum(estimate_tokens(text) for _, text in texts), REQUEST_TOKENS)

    def sync(self, *, force: bool = False, progress: Callable[[Progress], None] | None = None) -> SyncReport:
        """Make the index say what the files say. Raises IndexBusy."""

        def act() -> SyncReport:
            report = self._run(force=force, progress=progress, everything=True)
            self.index.purge()
            return report

        report = self._surviving(act)
        self._freshness = Freshness(self.clocks.monotonic())
        return replace(report, reasons=tuple(dict.fromkeys((*report.reasons, *self.index.notices))))

    def _run(
        self,
        *,
        force: bool = False,
        deadline: Deadline | None = None,
        progress: Callable[[Progress], None] | None = None,
        look: Look | None = None,
        everything: bool = False,
    ) -> SyncReport:
        sync, told = self._sync(progress), list[Reason]()
        if progress is not None:
            hears = progress
            self.embedding.downloading = lambda here, whole: hears(Progress("download", here, whole or here))
        self._follow_provider()
        if force:
            self.embedding.renew()
        while True:
            try:
                self._follow_provider()
                warming = self.embedding.warming
                if self.embedding.unknown and not warming:
                    self.embedding.open()
                    self._follow_provider()
                provider = self.embedding.open if self.embedding.spec and not warming else None
                report = sync.run(provider, force=force, deadline=deadline, look=look, everything=everything)
                break
            except EmbeddingError as error:
                look = None
                if not self.embedding.fall_back(error):
                    told.append(Reason(error.code, error.message, error.remedy))
                    again = force and not self.index.files()
                    report = sync.run(None, force=again, deadline=deadline, everything=everything)
                    break
        failed = [self.embedding.failed] if self.embedding.failed else []
        return replace(report, reasons=tuple(dict.fromkeys((*report.reasons, *failed, *told))))

    def _sync(self, progress: Callable[[Progress], None] | None) -> Sync:
        told: Callable[[Progress], None] = progress or (lambda _: None)
        return Sync(
            self.workspace,
            self.index,
            self.settings.sync,
            self.clocks.monotonic,
            told,
            lambda provider: self.embedding.batches(provider, self.index),
            wall=self.clocks.wall,
        )

    def _surviving(self, act: Callable[[], _T]) -> _T:
        """Do it; if the index turns out to be damaged, once more with a fresh one."""
        try:
            return act()
        except IndexDamaged as error:
            self._recover(error)
            return act()

    def _recover(self, error: IndexDamaged) -> None:
        """Set a damaged index aside and start a fresh one: the files hold everything."""
        index = self._index
        if index is None:
            raise error
        index.quarantine()
        self._prepare(index)
        self._freshness = Freshness()

    def warm(self) -> None:
        """Begin to load the model, in a thread of its own; words alone answer until it is there."""
        self.embedding.warm()

    def notes_changed(self) -> None:
        """Let the next search look at the files, however lately it did."""
        self._freshness = Freshness()

    def estimate(self) -> Estimate:
        """What `sync` would do."""

        def act() -> Estimate:
            self._follow_provider()
            return estimate_of(self._sync(None), self.embedding)

        return self._surviving(act)

    def compact(self, *, unused: bool = False, damaged: bool = False) -> CompactReport:
        """Make the index as small as it can be; `unused` empties the store of all vectors without a chunk."""
        started, limits = self.clocks.monotonic(), self.settings.sync
        entries, size = (0, 0) if unused else (limits.max_entries, limits.max_bytes)
        report = self._surviving(lambda: self.index.compact(max_entries=entries, max_bytes=size, damaged=damaged))
        return replace(report, seconds=self.clocks.monotonic() - started)

    def leaving(self) -> str | None:
        """Where notes are about to be sent for the first time; None if nowhere, or if it was told before."""
        return self.embedding.leaving()

    def status(self, *, deep: bool = False) -> Status:
        """What there is, and whether it works; `deep` searches for known passages and loads the model."""

        def act() -> Status:
            self._follow_provider()
            return builtin_status(self, deep=deep)

        return self._surviving(act)

    def health(self) -> Health:
        """The state of both legs, without loading a model."""
        spec = self.embedding.spec
        loading = WARMING if self.embedding.warming else None
        problem = [each for each in (self.embedding.problem, self.embedding.failed, loading) if each]
        able = not self.embedding.problem and not self.embedding.refusal(0)
        serving = spec is not None and able and self.index.vectors() > 0
        return self._health([*self.index.notices, *problem], serving=serving)

    def close(self) -> None:
        """Let go of files and models."""
        if self._index is not None:
            self._index.close()
            self._index = None
        self.embedding.close()
