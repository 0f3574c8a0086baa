"""The builtin backend: Markdown files, one SQLite index, keyword search and vector search."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from memoriter.backends._context import BackendContext
from memoriter.backends._health import WARMING, health_of, standing_health
from memoriter.backends._indexing import Indexing
from memoriter.backends._scope import scope_of
from memoriter.backends._timed import Timed
from memoriter.backends._verified import Verifier
from memoriter.errors import EmbeddingError, IndexBusy, TransientFailure
from memoriter.search import Deadline, Listed, Stopwatch, clean_query, outcome_of, rank
from memoriter.sync import Task, background_of
from memoriter.types import Diagnostic, SearchResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.backends._embedding import Embedding
    from memoriter.backends._forget import ForgetPlan, ForgetRequest, Forgotten
    from memoriter.backends._settings import BackendSettings, Clocks
    from memoriter.index import Index, StoredChunk
    from memoriter.search import SearchSettings
    from memoriter.sync import IndexJob, Plan, Progress, WatchRun
    from memoriter.types import CompactReport, Estimate, Filters, Health, Hit, Mode, Query, Status, SyncReport
    from memoriter.workspace import Scan, Workspace

log = logging.getLogger(__name__)
_T = TypeVar("_T")

PATIENCE = 60.0
"""Seconds that requested indexing or compacting waits for another process that writes. A search never waits so long."""

WARMING_SECONDS = 0.5
"""How long a search waits for a model that is being loaded. The bundled model takes a tenth of it."""
RANKINGS = 3
"""The most rankings for one search. A ranking is repeated after passages that differ from their notes were repaired."""


class BuiltinBackend:
    """A workspace with its index, which is opened on first use. Safe to share between threads."""

    def __init__(self, workspace: Workspace, settings: BackendSettings, embedding: Embedding, clocks: Clocks) -> None:
        """Store the parts. Nothing is opened yet."""
        self.workspace, self.settings, self.embedding, self.clocks = workspace, settings, embedding, clocks
        self._context = BackendContext(workspace, settings, embedding, clocks)
        self._indexing = Indexing(self._context)
        self._verifier = Verifier(workspace, clocks.wall, whole_lines=settings.sync.chunking.strategy == "markdown")

    @property
    def index(self) -> Index:
        """The open index, always in its current generation. Opened on first use."""
        return self._context.index

    def search(self, query: Query, *, progress: Callable[[Progress], None] | None = None) -> SearchResult:
        """Return the hits of a query. Index the notes first if nothing is indexed yet. Raises InvalidQuery."""
        text, watch = clean_query(query.text), Stopwatch(self.clocks.monotonic)
        result = self._context.with_recovery(lambda: self._search(text, query, progress, watch))
        timings = watch.timings()
        log.debug("search stages: %s", Listed(timings))
        log.info(
            "search: %d characters, %s, %d hits, outcome %s, %.1f ms",
            len(text),
            result.mode,
            len(result.hits),
            result.outcome,
            timings["total"],
        )
        return replace(result, timings=timings) if query.explain else result

    def _search(
        self, text: str, query: Query, progress: Callable[[Progress], None] | None, watch: Stopwatch
    ) -> SearchResult:
        limit = self.settings.deadline_ms if query.deadline_ms is None else query.deadline_ms
        deadline = Deadline.within(limit, self.clocks.monotonic)
        with watch.stage("embed"):
            self.embedding.await_model(min(WARMING_SECONDS, deadline.left))
        with watch.stage("changes"):
            self._context.follow_provider()
            self.index.check_if_changed()
            reasons = [*self._indexing.update_before_search(deadline, progress, watch), *self.index.notices]
        with watch.stage("embed"):
            vector, problem = self._query_vector(text, deadline, hasty=limit < self.settings.deadline_ms)
        scope = scope_of(query.filters, self.settings.sources, self.index.kinds())
        reasons += scope.reasons
        settings, filters, now = replace(self._settings(query), kinds=scope.kinds), scope.filters, self.clocks.wall()
        hits: tuple[Hit, ...] = ()

        def ranking(index: Index) -> tuple[tuple[Hit, ...], Mapping[int, StoredChunk]]:
            reader = self._verifier.reader(index)
            with watch.stage("rank"):
                timed = Timed(reader.as_reader, watch)
                return rank(timed.as_reader, text, vector, settings, filters=filters, now=now), reader.refused

        for _ in range(RANKINGS):
            index = self.index
            hits, refused = index.at_one_state(partial(ranking, index))
            if not refused:
                break
            with watch.stage("index"):
                reasons += self._indexing.mend(refused.values(), self._verifier, deadline)
        empty_reasons = () if hits else self._diagnose_empty(text, vector, settings, filters)
        if not query.explain:
            hits = tuple(replace(hit, explanation=None) for hit in hits)
        provider_diagnostics = [diagnostic for diagnostic in (self.embedding.failed, problem) if diagnostic]
        health = health_of(self._context, [*reasons, *provider_diagnostics], serving=vector is not None)
        return SearchResult(
            hits=hits,
            outcome=outcome_of(hits),
            provider=self.embedding.provider_name,
            model=self.embedding.spec.model if self.embedding.spec else "",
            mode=self._mode(vector),
            health=health,
            fallback=problem,
            fallback_from=self.embedding.first_name if problem else "",
            truncated_by="deadline" if deadline.passed else None,
            reasons=empty_reasons,
            understood=query.understood,
        )

    def _diagnose_empty(
        self, text: str, vector: NDArray[np.float32] | None, settings: SearchSettings, filters: Filters
    ) -> tuple[Diagnostic, ...]:
        """Return why there are no hits, and what would give some."""
        from memoriter.search import diagnose_empty, search_without_limits

        now = self.clocks.wall()
        return diagnose_empty(search_without_limits(self.index, text, vector, settings, filters=filters, now=now))

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

    def _query_vector(
        self, text: str, deadline: Deadline, *, hasty: bool
    ) -> tuple[NDArray[np.float32] | None, Diagnostic | None]:
        """Return the query vector (dims,), and a diagnostic if the provider failed or the fallback serves.

        Args:
            text: the cleaned query.
            deadline: the deadline of the search.
            hasty: there is less time than usual, so a late response does not count against the provider.
        """
        if self.embedding.warming:
            return None, WARMING
        while self.embedding.spec is not None and self.index.vectors():
            if deadline.passed:
                return None, Diagnostic("deadline", "There was no time left to search by meaning.", "Ask again.")
            try:
                return self.embedding.query_vector(text, deadline), self.embedding.failed
            except EmbeddingError as error:
                late = hasty and isinstance(error, TransientFailure)
                if late or not self.embedding.fall_back(error):
                    return None, Diagnostic(error.code, error.message, error.remedy)
            # The index must hold the vectors of the model that embeds the query.
            self._context.follow_provider()
        return None, self.embedding.problem or self.embedding.failed or self.embedding.paused

    def sync(
        self, *, force: bool = False, vectors: bool = False, progress: Callable[[Progress], None] | None = None
    ) -> SyncReport:
        """Update the index to the current files.

        Args:
            force: index every file again.
            vectors: also compute every vector again.
            progress: receives the progress of each stage.

        Raises:
            IndexBusy: another process is indexing.
        """

        def act() -> SyncReport:
            self.embedding.try_again()
            report = self._indexing.run(Task(force=force or vectors, vectors=vectors, wait=PATIENCE), progress)
            self.index.purge()
            if self.index.forgetting:
                with suppress(IndexBusy):
                    self._indexing.drop(())
            return report

        report = self._context.with_recovery(act)
        health = health_of(self._context, [*report.reasons, *self.index.notices], serving=self._context.serving)
        reasons = tuple(dict.fromkeys((*report.reasons, *self.index.notices)))
        return replace(report, reasons=reasons, pending=health.pending, health=health)

    def warm(self) -> None:
        """Start loading the model in a thread of its own; until it is loaded, only keyword search answers."""
        self.embedding.warm()

    def refresh(self, *, progress: Callable[[Progress], None] | None = None) -> tuple[Diagnostic, ...]:
        """Index changes within a search's time budget and return diagnostics for what remains."""
        return self._indexing.refresh(progress=progress)

    def notes_changed(self, *paths: Path) -> tuple[Diagnostic, ...]:
        """Mark notes as written, so that the next search finds them. Return a diagnostic if it may not."""
        return self._indexing.notes_changed(*paths)

    def watch_lease(self) -> AbstractContextManager[None]:
        """Return the lease of the one watcher. Raises IndexBusy."""
        return self.index.watch_lease()

    def follow(self, job: IndexJob, clock: Callable[[], float]) -> WatchRun:
        """Index changes for a watcher; see `MemoryBackend.follow`."""
        return self._indexing.follow(job, clock)

    def estimate(self) -> Estimate:
        """Return what `sync` would do and cost. Nothing is created or changed."""
        from memoriter.backends._status import estimate_of

        def act(backend: BuiltinBackend) -> Estimate:
            return estimate_of(backend._indexing.new_sync(), backend.embedding)

        return self._inspect(act)

    def compact(self, *, unused: bool = False, damaged: bool = False) -> CompactReport:
        """Make the index as small as possible. `unused` removes all stored vectors that no chunk uses."""
        started, limits = self.clocks.monotonic(), self.settings.sync
        entries, size = (0, 0) if unused else (limits.max_entries, limits.max_bytes)
        report = self._context.with_recovery(
            lambda: self.index.compact(max_entries=entries, max_bytes=size, damaged=damaged, wait=PATIENCE)
        )
        return replace(report, seconds=self.clocks.monotonic() - started)

    def plan_forget(self, request: ForgetRequest) -> ForgetPlan:
        """Return what forgetting would remove. Nothing changes. Raises UsageError and PathRefused."""
        from memoriter.backends._forget import plan_of
        from memoriter.backends._residual_copies import residual_copies

        sessions, index = self.settings.sessions_dir, self.settings.index_path
        plan = self._context.with_recovery(lambda: plan_of(request, self.workspace, self.index, sessions))
        copies = residual_copies(
            plan, root=self.workspace.root, index=index, sessions=sessions, providers=self.index.providers()
        )
        return replace(plan, unreached=tuple(copies))

    def forget(self, plan: ForgetPlan) -> Forgotten:
        """Remove a plan's text from notes, transcripts and the index. Raises WriteConflict, WriteError."""
        from memoriter.backends._forget import carry_out

        def drop(paths: tuple[str, ...]) -> CompactReport:
            return self._context.with_recovery(lambda: self._indexing.drop(paths))

        return carry_out(plan, self.workspace, self.index, self.settings.sessions_dir, drop)

    def egress_notice(self) -> str | None:
        """Return where notes are about to be sent for the first time; None if nowhere, or if reported before."""
        return self.embedding.egress_notice()

    def status(self, *, deep: bool = False) -> Status:
        """Return the state of the memory. Nothing is created or changed.

        With `deep`, index what changed, load the model and search for known passages.
        """
        from memoriter.backends._status import builtin_status

        return self._inspect(lambda backend: builtin_status(backend, deep=deep), write=deep)

    def _inspect(self, act: Callable[[BuiltinBackend], _T], *, write: bool = False) -> _T:
        """Return the result of `act` for this backend if its index is open, or for one that only reads the index."""

        def follow_and_act(backend: BuiltinBackend) -> _T:
            backend._context.follow_provider()
            return act(backend)

        if write or self._context.is_open or self.settings.inspect:
            return self._context.with_recovery(lambda: follow_and_act(self))
        inspector = BuiltinBackend(self.workspace, replace(self.settings, inspect=True), self.embedding, self.clocks)
        context = inspector._context
        try:
            return context.with_recovery(lambda: follow_and_act(inspector))
        finally:
            context.close_index()

    def health(self, scan: Scan, plan: Plan) -> Health:
        """Return the health of both retrievers, without loading a model.

        Args:
            scan: the files that exist.
            plan: the changes among them that are not indexed yet.
        """
        return standing_health(self._context, scan, plan)

    def stop(self) -> None:
        """End all waiting for services. Callers that wait get a result without vectors."""
        self.embedding.calls.abort()

    def close(self) -> None:
        """Close files and models."""
        self._context.close()
