"""The memory that memoriter itself keeps: files, one SQLite index, two legs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.backends._context import BackendContext
from memoriter.backends._health import WARMING, health_of, standing_health
from memoriter.backends._indexing import Indexing
from memoriter.backends._scope import scope_of
from memoriter.backends._verified import Comparing
from memoriter.errors import EmbeddingError, IndexBusy, TransientFailure
from memoriter.search import Deadline, clean_query, outcome_of, rank
from memoriter.sync import Task, background_of
from memoriter.types import Diagnostic, SearchResult

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.backends._embedding import Embedding
    from memoriter.backends._forget import ForgetPlan, ForgetRequest, Forgotten
    from memoriter.backends._settings import BackendSettings, Clocks
    from memoriter.index import Index
    from memoriter.search import SearchSettings
    from memoriter.sync import IndexJob, Plan, Progress, WatchRun
    from memoriter.types import CompactReport, Estimate, Filters, Health, Mode, Query, Status, SyncReport
    from memoriter.workspace import Scan, Workspace

PATIENCE = 60.0
"""Seconds that an indexing or compacting that somebody asked for waits for another one; a search never waits."""

WARMING_SECONDS = 0.5
"""How long a search waits for a model that is being loaded: the bundled one takes a tenth of it."""
RANKINGS = 3
"""How often a search is made at most, as long as somebody else writes meanwhile: a passage that was just replaced would
be missing, and its replacement too."""


class BuiltinBackend:
    """One workspace with its index, opened when first used. Threads may share it."""

    def __init__(self, workspace: Workspace, settings: BackendSettings, embedding: Embedding, clocks: Clocks) -> None:
        """Take the parts as they are; nothing is opened yet."""
        self.workspace, self.settings, self.embedding, self.clocks = workspace, settings, embedding, clocks
        self._parts = BackendContext(workspace, settings, embedding, clocks)
        self._indexing = Indexing(self._parts)
        self._comparing = Comparing(workspace, clocks.wall, whole_lines=settings.sync.chunking.strategy == "markdown")

    @property
    def index(self) -> Index:
        """The open index, the current generation of it."""
        return self._parts.index

    def search(self, query: Query, *, progress: Callable[[Progress], None] | None = None) -> SearchResult:
        """Answer a question; indexes first where nothing was indexed yet. Raises InvalidQuery."""
        text = clean_query(query.text)
        return self._parts.with_recovery(lambda: self._search(text, query, progress))

    def _search(self, text: str, query: Query, progress: Callable[[Progress], None] | None) -> SearchResult:
        limit = self.settings.deadline_ms if query.deadline_ms is None else query.deadline_ms
        deadline = Deadline.within(limit, self.clocks.monotonic)
        self.embedding.await_model(min(WARMING_SECONDS, deadline.left))
        self._parts.follow_provider()
        self.index.check_if_changed()
        reasons = [*self._indexing.update_before_search(deadline, progress), *self.index.notices]
        vector, trouble = self._vector(text, deadline, hasty=limit < self.settings.deadline_ms)
        scope = scope_of(query.filters, self.settings.sources, self.index.kinds())
        reasons += scope.reasons
        settings, filters, now = replace(self._settings(query), kinds=scope.kinds), scope.filters, self.clocks.wall()
        hits, version = (), -1
        for _ in range(RANKINGS):
            if version == (version := self.index.version()):
                break
            reader = self._comparing.reader(self.index)
            hits = rank(reader.as_reader, text, vector, settings, filters=filters, now=now)
            if reader.refused:
                reasons += self._indexing.mend(reader.refused.values(), self._comparing, deadline)
        nothing = () if hits else self._nothing(text, vector, settings, filters)
        if not query.explain:
            hits = tuple(replace(hit, explanation=None) for hit in hits)
        told = [each for each in (self.embedding.failed, trouble) if each]
        health = health_of(self._parts, [*reasons, *told], serving=vector is not None)
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
            reasons=nothing,
        )

    def _nothing(
        self, text: str, vector: NDArray[np.float32] | None, settings: SearchSettings, filters: Filters
    ) -> tuple[Diagnostic, ...]:
        """Why nothing was found, and what would find something."""
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

    def _vector(
        self, text: str, deadline: Deadline, *, hasty: bool
    ) -> tuple[NDArray[np.float32] | None, Diagnostic | None]:
        """The question's vector, and what is wrong with the provider that was to give it.

        `hasty`: there is less time than usual, so that a late answer says nothing about the provider.
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
            # Never a question of one model to the vectors of another.
            self._parts.follow_provider()
        return None, self.embedding.problem or self.embedding.failed or self.embedding.paused

    def sync(
        self, *, force: bool = False, vectors: bool = False, progress: Callable[[Progress], None] | None = None
    ) -> SyncReport:
        """Make the index say what the files say, all of it anew with `force`, with `vectors` these too.

        Raises IndexBusy.
        """

        def act() -> SyncReport:
            self.embedding.try_again()
            report = self._indexing.run(Task(force=force or vectors, vectors=vectors, wait=PATIENCE), progress)
            self.index.purge()
            if self.index.forgetting:
                with suppress(IndexBusy):
                    self._indexing.drop(())
            return report

        report = self._parts.with_recovery(act)
        health = health_of(self._parts, [*report.reasons, *self.index.notices], serving=self._parts.serving)
        reasons = tuple(dict.fromkeys((*report.reasons, *self.index.notices)))
        return replace(report, reasons=reasons, pending=health.pending, health=health)

    def warm(self) -> None:
        """Begin to load the model, in a thread of its own; words alone answer until it is there."""
        self.embedding.warm()

    def refresh(self, *, progress: Callable[[Progress], None] | None = None) -> tuple[Diagnostic, ...]:
        """Take up what changed, as far as a search would; what is left undone."""
        return self._indexing.refresh(progress=progress)

    def notes_changed(self, *paths: Path) -> tuple[Diagnostic, ...]:
        """Hear that notes were written, so that the next search finds them; why it may not, if so."""
        return self._indexing.notes_changed(*paths)

    def watch_lease(self) -> AbstractContextManager[None]:
        """The right to watch. Raises IndexBusy."""
        return self.index.watch_lease()

    def follow(self, job: IndexJob, clock: Callable[[], float]) -> WatchRun:
        """Take up changes for a watcher, whose clock is infinite when it is time to stop.

        Raises IndexUnavailable, and WorkspaceNotFound while there is none.
        """
        return self._indexing.follow(job, clock)

    def estimate(self) -> Estimate:
        """What `sync` would do."""
        from memoriter.backends._status import estimate_of

        def act() -> Estimate:
            self._parts.follow_provider()
            return estimate_of(self._indexing.new_sync(), self.embedding)

        return self._parts.with_recovery(act)

    def compact(self, *, unused: bool = False, damaged: bool = False) -> CompactReport:
        """Make the index as small as it can be; `unused` empties the store of all vectors without a chunk."""
        started, limits = self.clocks.monotonic(), self.settings.sync
        entries, size = (0, 0) if unused else (limits.max_entries, limits.max_bytes)
        report = self._parts.with_recovery(
            lambda: self.index.compact(max_entries=entries, max_bytes=size, damaged=damaged, wait=PATIENCE)
        )
        return replace(report, seconds=self.clocks.monotonic() - started)

    def plan_forget(self, request: ForgetRequest) -> ForgetPlan:
        """What would go; nothing changes. Raises UsageError and PathRefused."""
        from memoriter.backends._forget import plan_of
        from memoriter.backends._residual_copies import residual_copies

        sessions, index = self.settings.sessions_dir, self.settings.index_path
        plan = self._parts.with_recovery(lambda: plan_of(request, self.workspace, self.index, sessions))
        asked = residual_copies(
            plan, root=self.workspace.root, index=index, sessions=sessions, providers=self.index.providers()
        )
        return replace(plan, unreached=tuple(asked))

    def forget(self, plan: ForgetPlan) -> Forgotten:
        """Let it go from notes, transcripts and index. Raises WriteConflict, WriteError."""
        from memoriter.backends._forget import carry_out

        def drop(paths: tuple[str, ...]) -> CompactReport:
            return self._parts.with_recovery(lambda: self._indexing.drop(paths))

        return carry_out(plan, self.workspace, self.index, self.settings.sessions_dir, drop)

    def egress_notice(self) -> str | None:
        """Where notes are about to be sent for the first time; None if nowhere, or if it was told before."""
        return self.embedding.egress_notice()

    def status(self, *, deep: bool = False) -> Status:
        """What there is, and whether it works; `deep` searches for known passages and loads the model."""
        from memoriter.backends._status import builtin_status

        def act() -> Status:
            self._parts.follow_provider()
            return builtin_status(self, deep=deep)

        return self._parts.with_recovery(act)

    def health(self, scan: Scan, plan: Plan) -> Health:
        """The state of both legs, without loading a model; of what `scan` saw, `plan` is still to be indexed."""
        return standing_health(self._parts, scan, plan)

    def stop(self) -> None:
        """Let nobody wait for a service any more: whoever does so gets an answer without vectors."""
        self.embedding.calls.abort()

    def close(self) -> None:
        """Let go of files and models."""
        self._parts.close()
