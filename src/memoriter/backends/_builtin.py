"""The builtin backend: Markdown files, one SQLite index, keyword search and vector search."""

from __future__ import annotations

import logging
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from memoriter.backends._context import WARMING, BackendContext, Question, Ranking, health_of, scope_of, state_folders
from memoriter.backends._indexing import Indexing, last_run
from memoriter.backends._verified import Verified, Verifier
from memoriter.environment import Deadline, Listed, Stopwatch, work_until
from memoriter.errors import PROVIDER_FAILURES, EmbeddingError, IndexBusy, IndexUnavailable, TransientFailure
from memoriter.search import (
    EmbeddedLine,
    SearchSettings,
    Trace,
    TypedQuery,
    certainty_of,
    clean_query,
    deciding,
    in_order_of_time,
    newest,
    of_time,
    outcome_of,
    rank,
)
from memoriter.sync import Task, background_of
from memoriter.types import Diagnostic, SearchResult, search_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from threading import Event

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.backends._context import BackendSettings, Clocks
    from memoriter.backends._embedding import Embedding
    from memoriter.backends._forget import ForgetPlan, ForgetRequest, Forgotten
    from memoriter.backends._indexing import WatchRun
    from memoriter.backends._reranking import Reranking
    from memoriter.search import CosineBaseline
    from memoriter.store import Passages, Snapshot, Store
    from memoriter.sync import IndexJob, Progress
    from memoriter.types import (
        BackgroundRun,
        CompactReport,
        Estimate,
        Excerpt,
        Hit,
        ModelSpec,
        PassageMap,
        Query,
        Role,
        Status,
        SyncReport,
        WhyNot,
    )
    from memoriter.workspace import Workspace

    Vectors = list[NDArray[np.float32]]
    """Each of them (dims,), unit length."""

log = logging.getLogger(__name__)

_T = TypeVar("_T")

PATIENCE = 60.0
"""Seconds that requested indexing or compacting waits for another process that writes. A search never waits so long."""

WARMING_SECONDS = 0.5
"""How long a search waits for a model that is being loaded. The bundled model takes a tenth of it."""
RANKINGS = 3
"""The most rankings for one search: it ranks again after passages that differ from their notes were repaired."""
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
"""Seconds until an index that cannot be read, or was replaced, is asked again for changes; each pause is twice as long
as the one before."""
OVERRIDING = tuple(each.name for each in fields(SearchSettings) if each.name in search_arguments())
"""The settings that an argument of a search overrides."""


class _KnownBaseline(NamedTuple):
    """The baseline of a model's vectors in an index, and the version of the index that it was read from."""

    store: Store
    version: int
    spec: ModelSpec
    baseline: CosineBaseline


class BuiltinBackend:
    """A workspace with its index. Safe to share between threads; `MemoryBackend` describes the methods."""

    def __init__(
        self,
        workspace: Workspace,
        settings: BackendSettings,
        embedding: Embedding,
        clocks: Clocks,
        reranking: Reranking | None = None,
    ) -> None:
        """Store the parts. Nothing is opened yet."""
        self.workspace = workspace
        self.settings = settings
        self.embedding = embedding
        self.clocks = clocks
        self.reranking = reranking
        self._context = BackendContext(workspace, settings, embedding, clocks)
        self._indexing = Indexing(self._context)
        self._baseline: _KnownBaseline | None = None
        self._verifier = Verifier(workspace, clocks.wall, whole_lines=settings.sync.chunking.strategy == "markdown")

    @property
    def index(self) -> Store:
        """The index in its current generation, opened on first use. Operations receive it once, as an argument."""
        return self._context.current_index()

    def search(
        self,
        query: Query,
        *,
        progress: Callable[[Progress], None] | None = None,
        observe: Callable[[Store, Question, Ranking], None] | None = None,
    ) -> SearchResult:
        """Return the hits of a query; `observe` receives index, question and ranking. Raises InvalidQuery."""
        text = "" if query.newest else clean_query(query.text)
        watch = Stopwatch(self.clocks.monotonic)
        limit = self.settings.deadline_ms if query.deadline_ms is None else query.deadline_ms
        deadline = Deadline.within(limit, self.clocks.monotonic)
        hasty = query.deadline_ms is not None and query.deadline_ms < self.settings.deadline_ms
        if self.reranking is not None and not hasty:
            self.reranking.warm()  # while the index is updated
        act = partial(
            self._search,
            text=text,
            query=query,
            deadline=deadline,
            hasty=hasty,
            watch=watch,
            progress=progress,
            observe=observe,
        )
        with work_until(deadline):
            result = self._context.with_recovery(act)
            timings = watch.timings()
        log.debug("search stages: %s", Listed(timings))
        values = len(text), result.mode, len(result.hits), result.outcome, timings["total"]
        log.info("search: %d characters, %s, %d hits, outcome %s, %.1f ms", *values)
        return replace(result, timings=timings) if query.explain else result

    def _search(
        self,
        index: Store,
        text: str,
        query: Query,
        deadline: Deadline,
        *,
        hasty: bool,
        watch: Stopwatch,
        progress: Callable[[Progress], None] | None,
        observe: Callable[[Store, Question, Ranking], None] | None,
    ) -> SearchResult:
        """Bring the index up to date, embed the question, rank, rank again if the judge has answered, and answer."""
        with watch.stage("embed"):
            if not query.update:
                self.embedding.warm()
            self.embedding.await_model(min(WARMING_SECONDS, deadline.left))
        with watch.stage("changes"):
            self._context.follow_provider(index)
            reasons = list(index.notices)
            if query.update:
                reasons[:0] = self._indexing.update_before_search(index, deadline, progress, watch, question=text)
            else:
                self._indexing.index_words(index, deadline)
        with watch.stage("embed"):
            texts: list[tuple[str, Role]] = [(text, "query")] if text else []
            if query.lines:
                texts = _texts_of(query)
            vectors, problem = _query_vectors(self._context, index, texts, deadline, hasty=hasty)
        asked = f"{query.intent} {text}".lstrip()
        rescoring = self.reranking and self.reranking.question(asked, deadline, watch, hasty=hasty)
        vector = vectors[0] if vectors else None
        typed = _typed_query(query, vectors) if query.lines else None
        question = Question(text, query, vector, deadline, watch, rescoring, typed)
        ranking, repairs = self._rank_verified(index, question, most=RANKINGS if query.update else 1)
        if rescoring is not None and rescoring.fetch():
            ranking, _ = self._rank_verified(index, question, most=1)
        if observe is not None:
            observe(index, question, ranking)
        missed = _unsearched(query, vectors, problem) if query.lines else None
        reasons += [*ranking.reasons, *repairs, *filter(None, (self.embedding.failed, problem, missed))]
        reasons += [rescoring.problem] if rescoring and rescoring.problem else []
        return self._answer(index, question, ranking, reasons, vectors=vectors, problem=problem)

    def _answer(
        self,
        index: Store,
        question: Question,
        ranking: Ranking,
        reasons: list[Diagnostic],
        *,
        vectors: Vectors | None,
        problem: Diagnostic | None,
    ) -> SearchResult:
        """Return the result of a ranking: whether it answers, and whether the memory could look everywhere.

        `vectors` are those of the question, empty if it has no text to embed; `problem` states why there are none, or
        why another provider made them. `reasons` has the diagnostics of the search so far.
        """
        query = question.query
        hits = ranking.hits
        embeds_nothing = vectors is not None and not vectors
        serving = self._context.serving(index) if embeds_nothing else vectors is not None
        health = health_of(self._context, index, reasons, serving=serving)
        # A search that was cut short may miss a better passage, and so may one without vectors that are still to come.
        is_late = question.deadline.passed
        certain = not is_late
        if health.pending and not embeds_nothing and (vectors or not query.update or _are_to_come(problem, reasons)):
            certain = False
        deciding_hits = hits if query.time is None else deciding(hits)
        spec = self.embedding.slot().spec
        by_words = self.settings.search.hybrid
        if query.lines:
            by_words = any(line.kind == "lex" for line in query.lines)
        mode_with_vectors = "hybrid" if by_words else "vector"
        return SearchResult(
            hits=hits,
            outcome=outcome_of(deciding_hits, certain=certain, certainty=ranking.certainty),
            provider=self.embedding.provider_name,
            model=spec.model if spec else "",
            mode=mode_with_vectors if vectors else "keyword",
            health=health,
            fallback=problem,
            fallback_from=self.embedding.first_name if problem else "",
            truncated_by="deadline" if is_late else None,
            reasons=() if hits and query.time is None else _explain_hits(index, question, ranking),
            understood=query.understood,
            certainty=ranking.certainty if certain else None,
        )

    def _rank_verified(self, index: Store, question: Question, most: int) -> tuple[Ranking, list[Diagnostic]]:
        """Rank until every passage matches its note, at most `most` times; return the repairs as well."""
        rank_once = partial(self._rank, index, question)
        ranking = index.at_one_state(rank_once)
        repairs = list[Diagnostic]()
        for _ in range(most - 1):
            if not ranking.refused:
                break
            with question.watch.stage("index"):
                repairs += self._indexing.repair(index, ranking.refused, self._verifier, question.deadline)
            ranking = index.at_one_state(rank_once)
        return ranking, repairs

    def _rank(self, store: Store, question: Question, index: Snapshot) -> Ranking:
        """Return the ranking of a question: its scope, its settings and its hits come from one state of the store."""
        scope = scope_of(question.query.filters, self.settings.sources, index.corpus().kinds)
        settings = replace(self._settings(store, index, question.query), kinds=scope.kinds)
        now = self.clocks.wall()
        verified = Verified(index, self._verifier, question.watch)
        traces = list[Trace]()
        if question.query.newest:
            hits = newest(verified, settings, filters=scope.filters)
            refused = tuple(verified.refused.values())
            return Ranking(hits, settings, scope.filters, now, scope.reasons, refused, certainty=None)
        with question.watch.stage("rank"):
            typed = question.typed
            ranked = partial(
                partial(rank, verified, question.text, question.vector)
                if typed is None
                else _lines_of(verified, typed),
                now=now,
                explain=question.query.explain,
                trace=traces.append,
                rescorer=question.rescoring,
            )
            hits = ranked(settings, filters=scope.filters)
            if (time := question.query.time) is not None:
                every = settings if question.query.min_score is not None else replace(settings, min_score=0.0)
                inside = ranked(every, filters=of_time(scope.filters, time))
                hits = in_order_of_time(inside, hits, time, settings)
                if not hits or hits[0].outside_time:
                    traces.pop()  # what decides about a match is the ranking with the first hit
        judged = question.rescoring is not None and question.rescoring.weight is not None
        certainty = certainty_of(traces[-1], judged=judged) if settings.scoring == "calibrated" else None
        return Ranking(hits, settings, scope.filters, now, scope.reasons, tuple(verified.refused.values()), certainty)

    def _settings(self, store: Store, index: Snapshot, query: Query) -> SearchSettings:
        settings = self.settings.search
        spec = self.embedding.slot().spec
        if spec is not None:
            settings = replace(settings, background=self._baseline_of(store, index, spec))
        given = {name: getattr(query, name) for name in OVERRIDING}
        return replace(settings, **{name: value for name, value in given.items() if value is not None})

    def _baseline_of(self, store: Store, index: Snapshot, spec: ModelSpec) -> CosineBaseline:
        """Return the baseline of the active vectors, which is read once until the store changes."""
        version = index.version()
        known = self._baseline
        if known is not None and known.store is store and (known.version, known.spec) == (version, spec):
            return known.baseline
        baseline = background_of(index, spec)
        self._baseline = _KnownBaseline(store, version, spec, baseline)
        return baseline

    def sync(
        self, *, force: bool = False, vectors: bool = False, progress: Callable[[Progress], None] | None = None
    ) -> SyncReport:
        task = Task(force=force or vectors, vectors=vectors, wait=PATIENCE)
        return self._context.with_recovery(lambda index: self._sync(index, task, progress))

    def _sync(self, index: Store, task: Task, progress: Callable[[Progress], None] | None) -> SyncReport:
        self.embedding.try_again()
        receipts, left = self._recover()
        report = self._indexing.run(index, task, progress)
        index.purge()
        if index.forgetting:
            with suppress(IndexBusy):
                self._indexing.drop(index, ())
        reasons = [*left, *report.reasons, *index.notices]
        health = health_of(self._context, index, list(reasons), serving=self._context.serving(index))
        reasons = dict.fromkeys([*receipts, *reasons])
        return replace(report, reasons=tuple(reasons), pending=health.pending, health=health)

    def _recover(self) -> tuple[list[Diagnostic], list[Diagnostic]]:
        """Finish what killed processes and sync programs left next to notes.

        Return receipts, and diagnostics for what still waits.
        """
        from memoriter.workspace import join_versions, recover, unfinished, versions_diagnostics

        scan = self.workspace.scan()
        state = state_folders(self.settings.sessions_dir)
        receipts = recover([*scan.folders, *state] if self.settings.recovers else state)
        receipts += join_versions(self.workspace, scan.skipped) if self.settings.recovers else []
        left = [each.diagnostic for each in unfinished([*scan.folders, *state]) if not each.active]
        return receipts, [*left, *versions_diagnostics(scan.skipped, self.workspace.root)]

    def warm(self) -> None:
        self.embedding.warm()
        if self.reranking is not None:
            self.reranking.warm()

    def refresh(self, *, progress: Callable[[Progress], None] | None = None) -> tuple[Diagnostic, ...]:
        return self._indexing.refresh(progress=progress)

    def notes_changed(self, *paths: Path) -> tuple[Diagnostic, ...]:
        return self._indexing.notes_changed(*paths)

    def watch_lease(self) -> AbstractContextManager[None]:
        return self._context.current_index().watch_lease()

    def follow(self, job: IndexJob, clock: Callable[[], float]) -> WatchRun:
        return self._indexing.follow(job, clock)

    def finish(self, stop: Event) -> SyncReport:
        return self._indexing.finish(stop)

    def content_version(self) -> str:
        return self._context.with_recovery(lambda index: index.content_version())

    def changes(self, stop: Event) -> Generator[str]:
        seen = ""
        pause = FIRST_PAUSE
        while not stop.is_set():
            try:
                for version in self.index.changes(stop):
                    pause = FIRST_PAUSE
                    if version != seen:
                        seen = version
                        yield version
            except IndexUnavailable as error:
                log.debug("changes of the index cannot be followed now: %s", error)
            stop.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        return tuple(filter(None, (self.embedding.slot().problem,)))

    @property
    def background_run(self) -> BackgroundRun | None:
        return last_run(self.settings)

    def estimate(self, *, measured: bool = False) -> Estimate:
        from memoriter.backends._estimate import estimate_of

        def act(backend: BuiltinBackend, index: Store) -> Estimate:
            return estimate_of(backend.embedding, index, backend._indexing.new_sync(index), measured=measured)

        return self._inspect(act)

    def compact(self, *, unused: bool = False, damaged: bool = False) -> CompactReport:
        """Make the index as small as possible. `unused` removes all stored vectors that no chunk uses."""
        started = self.clocks.monotonic()
        limits = self.settings.sync
        receipts, left = self._recover()
        entries, size = (0, 0) if unused else (limits.max_entries, limits.max_bytes)
        report = self._context.with_recovery(
            lambda index: index.compact(max_entries=entries, max_bytes=size, damaged=damaged, wait=PATIENCE)
        )
        return replace(report, seconds=self.clocks.monotonic() - started, reasons=(*receipts, *left))

    def why_not(self, query: Query, citation: str) -> WhyNot:
        from memoriter.backends._why_not import explain_miss

        return explain_miss(self._context, self.search, self.varied, query, citation)

    def draw_map(self, *, similarity: float) -> PassageMap:
        from memoriter.backends._map import draw_map

        configured = self.embedding.configured
        return self._inspect(lambda _, index: draw_map(index, similarity=similarity, configured=configured))

    def varied(self, changes: Mapping[str, Any]) -> AbstractContextManager[BuiltinBackend]:
        from memoriter.backends._why_not import with_changes

        return self._with_settings(replace(self.settings, search=with_changes(self.settings.search, changes)))

    def plan_forget(self, request: ForgetRequest) -> ForgetPlan:
        from memoriter.backends._forget import plan_with_copies

        act = partial(plan_with_copies, request, self.workspace, settings=self.settings, reranking=self.reranking)
        return self._context.with_recovery(act)

    def forget(self, plan: ForgetPlan) -> Forgotten:
        from memoriter.backends._forget import carry_out

        def drop(paths: tuple[str, ...]) -> CompactReport:
            return self._context.with_recovery(lambda index: self._indexing.drop(index, paths))

        return carry_out(plan, self.workspace, self._context.current_index(), self.settings.sessions_dir, drop)

    def egress_notice(self) -> str | None:
        notices = self.embedding.egress_notice(), self.reranking and self.reranking.egress_notice()
        return " and to ".join(filter(None, notices)) or None

    def status(self, *, deep: bool = False) -> Status:
        from memoriter.backends._status import builtin_status

        def act(backend: BuiltinBackend, index: Store) -> Status:
            return builtin_status(backend._context, index, backend.reranking, backend.search if deep else None)

        return self._inspect(act, write=deep)

    def _inspect(self, act: Callable[[BuiltinBackend, Store], _T], *, write: bool = False) -> _T:
        """Return the result of `act` for this backend if its index is open, or for one that only reads the index."""
        if write or self._context.is_open or self.settings.inspect:
            return self.follow_and_act(act)
        with self._with_settings(replace(self.settings, inspect=True)) as inspector:
            return inspector.follow_and_act(act)

    @contextmanager
    def _with_settings(self, settings: BackendSettings) -> Generator[BuiltinBackend]:
        other = BuiltinBackend(self.workspace, settings, self.embedding, self.clocks, self.reranking)
        try:
            yield other
        finally:
            other._context.close_index()

    def follow_and_act(self, act: Callable[[BuiltinBackend, Store], _T]) -> _T:
        """Return the result of `act` for the open index, with the provider that the settings name."""

        def follow(index: Store) -> _T:
            self._context.follow_provider(index)
            return act(self, index)

        return self._context.with_recovery(follow)

    def read(self, path: str, *, start: int | None = None, lines: int | None = None) -> Excerpt:
        return self.workspace.read(path, start=start, lines=lines)

    def start(self) -> str:
        return "The builtin engine"

    def stop(self) -> None:
        """End all waiting for services. Callers that wait get a result without vectors."""
        self.embedding.calls.abort()

    def close_index(self) -> None:
        """Close the files of the index, and leave the models open for others that use them."""
        self._context.close_index()

    def close(self) -> None:
        if self.reranking is not None:
            self.reranking.close()
        self._context.close()


def _texts_of(query: Query) -> list[tuple[str, Role]]:
    """Return the texts whose vectors a typed query needs, with their roles. A hypothetical answer is a passage."""
    return [(each.text, "document" if each.kind == "hyde" else "query") for each in query.lines if each.kind != "lex"]


def _query_vectors(
    context: BackendContext, index: Store, texts: Sequence[tuple[str, Role]], deadline: Deadline, *, hasty: bool
) -> tuple[Vectors | None, Diagnostic | None]:
    """Return the vectors of the texts, all of one model, and a diagnostic if the provider failed or is replaced.

    The vectors are None if one of them is not available. If the search is `hasty`, a late response does not count
    against the provider.
    """
    embedding = context.embedding
    if not texts:
        return [], None
    if embedding.warming:
        return None, WARMING
    while embedding.slot().spec is not None and index.vectors():
        if deadline.passed and not all(embedding.knows(*each) for each in texts):
            return None, Diagnostic("deadline", "The deadline left no time for vector search.", "Ask again.")
        try:
            return [embedding.query_vector(text, deadline, role) for text, role in texts], embedding.failed
        except EmbeddingError as error:
            late = hasty and isinstance(error, TransientFailure)
            if late or not embedding.fall_back(error):
                return None, Diagnostic.of(error)
        # The index must hold the vectors of the model that embeds the query.
        context.follow_provider(index)
    return None, embedding.slot().problem or embedding.failed or embedding.paused


def _typed_query(query: Query, vectors: Vectors | None) -> TypedQuery:
    """Return the lines of a typed query with their vectors."""
    left = iter(vectors or ())
    return TypedQuery(
        [EmbeddedLine(each, None if each.kind == "lex" else next(left, None)) for each in query.lines], query.intent
    )


def _lines_of(reader: Passages, typed: TypedQuery) -> Callable[..., tuple[Hit, ...]]:
    """Return the ranking of a typed query, which takes the settings and the keyword arguments of `rank`."""
    from memoriter.search import rank_lines

    return partial(rank_lines, reader, typed)


def _unsearched(query: Query, vectors: Vectors | None, problem: Diagnostic | None) -> Diagnostic | None:
    """Return the diagnostic about the lines that were not searched because there are no vectors.

    None if all were, and if a problem says why there are none.
    """
    kinds = list(dict.fromkeys(each.kind for each in query.lines if each.kind != "lex"))
    if vectors is not None or not kinds or problem is not None:
        return None
    names = " and ".join(f"`{kind}`" for kind in kinds)
    message = f"The lines of the type {names} were not searched, because vector search is not available."
    return Diagnostic("lines_unsearched", message, "Write a `lex` line with words, or run `memoriter doctor`.")


def _are_to_come(problem: Diagnostic | None, reasons: Sequence[Diagnostic]) -> bool:
    """Return whether only time keeps the vectors of a search away, and no failure of the provider."""
    return problem in {None, WARMING} and PROVIDER_FAILURES.isdisjoint(each.code for each in reasons)


def _explain_hits(index: Store, question: Question, ranking: Ranking) -> tuple[Diagnostic, ...]:
    """Return why there are no hits, or none of the time that the question names, and what would give some."""
    query = question.query
    hits = ranking.hits
    reasons = list[Diagnostic]()
    if query.time is not None and all(hit.outside_time for hit in hits):
        from memoriter.search import nothing_then

        reasons = [nothing_then(query)]
    if not hits and not (reasons and query.newest):
        reasons += _explain_empty(index, question, ranking)
    return tuple(reasons)


def _explain_empty(index: Store, question: Question, ranking: Ranking) -> tuple[Diagnostic, ...]:
    """Return why there are no hits, and what would give some."""
    from memoriter.search import diagnose_empty, search_without_limits

    text = question.text
    vector = question.vector
    settings = ranking.settings
    unlimited = search_without_limits(
        index, text, vector, settings, filters=ranking.filters, now=ranking.now, typed=question.typed
    )
    reasons = diagnose_empty(unlimited)
    if question.query.newest:  # no words were asked for
        return tuple(reason for reason in reasons if reason.code == "filtered_out")
    return reasons
