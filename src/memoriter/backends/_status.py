"""The status of the builtin backend, and its deep check.

The deep check searches for canaries: known passages, by their own rarest words, through the real search path.
"""

from __future__ import annotations

import os
import random
import re
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from memoriter.backends._context import UNUSED, WARMING, health_of, state_folders
from memoriter.backends._indexing import confirmed, last_run, staleness
from memoriter.backends._service_records import KEPT
from memoriter.errors import EmbeddingError
from memoriter.search import classic_terms, clean_query, query_terms, rank
from memoriter.sync import (
    background_of,
    conflict_markers,
    faulty_front_matter,
    make_plan,
    skipped_in,
    unreadable_diagnostics,
)
from memoriter.types import Canary, Diagnostic, Filters, Query, Skipped, SourceCount, Status
from memoriter.values import dataclass, field
from memoriter.workspace import unfinished, versions_diagnostics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.backends._context import BackendContext
    from memoriter.backends._reranking import Reranking
    from memoriter.records import StoredChunk
    from memoriter.store import Store
    from memoriter.sync import Plan
    from memoriter.types import Health, Leg, SearchResult
    from memoriter.workspace import Scan


def builtin_status(
    context: BackendContext, index: Store, reranking: Reranking | None, search: Callable[[Query], SearchResult] | None
) -> Status:
    """Return the status of a backend. With its search, passages that must be found are searched for."""
    check = run_canaries(context, index, search) if search else CanaryReport()
    provider = context.embedding.slot()
    settings = context.settings
    spec = provider.spec
    choice = provider.choice
    corpus = index.corpus()
    indexed = index.files()
    scan = context.workspace.scan()
    plan = confirmed(make_plan(scan.sources, indexed), context.workspace, indexed)
    health = check.apply_to(_standing_health(context, index, scan, plan))
    if reranking is not None and (trouble := reranking.trouble) is not None:
        health = replace(health, reasons=(*health.reasons, trouble))
    health = replace(health, reasons=(*health.reasons, *index.work_left))
    run = last_run(settings)
    return Status(
        agent=settings.agent,
        workspace=str(context.workspace.root),
        workspace_reason=settings.workspace_reason,
        index=str(index.path),
        index_reason=settings.index_reason,
        index_bytes=index.size_on_disk(),
        files=corpus.files,
        chunks=corpus.chunks,
        vectors=index.vectors() if spec else 0,
        pending=health.pending,
        failed=index.failures() if spec else 0,
        provider=context.embedding.provider_name,
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
        recall=index.recall,
        endpoint=choice.endpoint if choice else "",
        key_source=choice.key_source if choice else "",
        indexing=run if run is not None and run.ended is None else None,
        last_attempt=context.embedding.last_attempt if choice and choice.kind in KEPT else None,
        sources=tuple(SourceCount(kind, *corpus.kinds.get(kind, (0, 0))) for kind in dict.fromkeys(settings.sources)),
        reranker=reranking.state if reranking else None,
    )


def _unindexed(plan: Plan) -> Diagnostic:
    """Return the diagnostic that notes exist and none is indexed."""
    notes = f"{len(plan.added)} note{' is' if len(plan.added) == 1 else 's are'}"
    return Diagnostic("not_indexed", f"{notes} there, and none is indexed yet.", "Run `memoriter index`, or search.")


def _standing_health(context: BackendContext, index: Store, scan: Scan, plan: Plan) -> Health:
    """Return the health of both retrievers, without loading a model."""
    loading = WARMING if context.embedding.warming else None
    problems = [each for each in (context.embedding.slot().problem, context.embedding.failed, loading) if each]
    indexed = index.files()
    unreadable = [
        Skipped(source.path, "unreadable", "it may not be read")
        for source in scan.sources
        if source.path not in indexed and not os.access(source.file, os.R_OK)
    ]
    if context.settings.inspect and (unwritable := context.unwritable):
        problems.append(unwritable)
    folders = [*scan.folders, *state_folders(context.settings.sessions_dir)]
    left = [each.diagnostic for each in unfinished(folders) if not each.active]
    diagnostics = [*index.notices, *problems, *left, *unreadable_diagnostics([*scan.skipped, *unreadable])]
    diagnostics += (*versions_diagnostics(scan.skipped, context.workspace.root), *conflict_markers(index))
    diagnostics += faulty_front_matter(index)
    unused = not UNUSED.isdisjoint(notice.code for notice in index.notices)
    if not plan.empty and not indexed and not unused:
        diagnostics.append(_unindexed(plan))
    elif not context.settings.on_search:
        diagnostics += staleness(plan)
    return health_of(context, index, diagnostics, serving=context.serving(index))


CANARIES = 8
WORDS = 6
"""How many of a passage's rarest words make its query."""
LONGEST_WORD = 100
RESULTS = 10
_PART = re.compile(r"\w+")
NEAR = 200
"""A passage must be among this many hits in its own file, since other passages may match its words better."""
TIE = 1e-3
AGREES = 0.9
"""The least cosine at which a stored vector counts as the model's. Engines of one model differ by less than .001."""


@dataclass(frozen=True, slots=True)
class CanaryReport:
    """The results of the canary searches."""

    canaries: tuple[Canary, ...] = ()
    reasons: tuple[Diagnostic, ...] = ()
    """Diagnostics of the searches, and of the passages that they lost."""

    def apply_to(self, health: Health) -> Health:
        """Return the health with these results: a retriever that lost a passage does not serve."""
        lost = {retriever for canary in self.canaries for retriever in canary.lost}
        legs = {name: serves and name not in lost for name, serves in health.legs.items()}
        return replace(health, legs=legs, reasons=tuple(dict.fromkeys((*health.reasons, *self.reasons))))


def run_canaries(context: BackendContext, index: Store, search: Callable[[Query], SearchResult]) -> CanaryReport:
    """Search for randomly chosen passages. The choice changes only when the index does."""
    ids = sample_chunks(index)
    content = index.content()
    reasons = list(search(Query(_question(index, ids))).health.reasons)
    if index.content() != content:  # the search has indexed new text
        ids = sample_chunks(index)
    rows = index.rows(ids)
    readable = [rows[row] for row in ids if row in rows and _plain(rows[row].chunk.text)]
    run = _CanaryRun(context, index, search, readable)
    canaries = tuple(run.canary(row) for row in run.rows)
    return CanaryReport(canaries, tuple(dict.fromkeys((*reasons, *run.reasons, *_losses(canaries, run.wrong)))))


def sample_chunks(index: Store) -> list[int]:
    """Return randomly chosen chunk ids, sorted. The state of the index is the seed."""
    ids = index.all_ids()
    generator = random.Random(f"{index.generation}:{index.content()}")  # noqa: S311 (a sample, not a secret)
    return sorted(generator.sample(ids, min(CANARIES, len(ids))))


def rarest_words(text: str, terms: Mapping[str, Sequence[str]], frequency: Mapping[str, int]) -> str:
    """Return the words of a text that the fewest chunks contain, in the order of the text.

    >>> rarest_words("the heron by the lock", {"heron": ["heron"], "lock": ["lock"]}, {"heron": 1, "lock": 2})
    'heron lock'
    """
    words = [word for word in dict.fromkeys(_words(text)) if terms.get(word)]
    chosen = sorted(words, key=lambda word: min(frequency.get(term, 0) for term in terms[word]))[:WORDS]
    return " ".join(word for word in words if word in chosen)


def _words(text: str) -> list[str]:
    """Return the words of a text, short ones whole.

    A long word is replaced by its parts. A long part is cut to its beginning, or dropped if it is a single term.
    """
    words: list[str] = []
    for word in _plain(text).split():
        if len(word) <= LONGEST_WORD:
            words.append(word)
            continue
        parts = _PART.findall(word)
        words += [part[:LONGEST_WORD] for part in parts if len(part) <= LONGEST_WORD or len(query_terms(part)) > 1]
    return words


def _question(index: Store, ids: Sequence[int]) -> str:
    """Return a query for the first search, which updates the index."""
    row = next(iter(index.rows(ids[:1]).values()), None)
    return (_plain(row.chunk.text) if row else "")[:LONGEST_WORD] or "memory"


def _plain(text: str) -> str:
    return " ".join(text.replace("\0", " ").split())


@dataclass(slots=True)
class _CanaryRun:
    """One check of some passages."""

    context: BackendContext
    index: Store
    search: Callable[[Query], SearchResult]
    rows: list[StoredChunk]
    wrong: list[str] = field(default_factory=list[str])
    """Citations of passages whose stored vector is not the one that the model computes."""
    reasons: list[Diagnostic] = field(default_factory=list[Diagnostic])
    _computed: dict[int, NDArray[np.float32]] | None = None

    def canary(self, row: StoredChunk) -> Canary:
        """Search for a passage, then check each retriever, and return which of them lost it."""
        question = self.question(row)
        lost: tuple[Leg, ...] = ()
        if question and not self.by_words(row, question):
            lost = ("keyword",)
        if not self.by_meaning(row):
            lost = (*lost, "vector")
        if question and not lost and not self.found(row, question):
            lost = ("keyword", "vector")
        return Canary(_citation(row), question, not lost, lost)

    def question(self, row: StoredChunk) -> str:
        """Return the passage's rarest words; empty if it has none, so that only vector search can find it."""
        text = row.chunk.text
        terms = {word: self.terms_of(word) for word in dict.fromkeys(_words(text))}
        all_terms = {term for word_terms in terms.values() for term in word_terms}
        return rarest_words(text, terms, self.index.document_frequency(all_terms))

    def terms_of(self, word: str) -> Sequence[str]:
        classic = self.context.settings.sync.chunking.words == "classic"
        return classic_terms(word) if classic else query_terms(word)

    def found(self, row: StoredChunk, question: str) -> bool:
        """Return whether the real search path finds the passage.

        If many passages match better, a search in its own file counts as well.
        """
        queries = (
            Query(question, RESULTS, 0.0),
            Query(question, NEAR, 0.0, Filters(path=row.path)),
        )
        for query in queries:
            result = self.search(query)
            self.reasons += result.health.reasons
            if any((hit.path, hit.start_line) == (row.path, row.chunk.start_line) for hit in result.hits):
                return True
        return False

    def by_words(self, row: StoredChunk, question: str) -> bool:
        settings = replace(self.context.settings.search, max_results=NEAR, min_score=-inf)
        filters = Filters(path=row.path)
        hits = rank(self.index, clean_query(question), None, settings, filters=filters, now=0.0)
        return any((hit.path, hit.start_line) == (row.path, row.chunk.start_line) for hit in hits)

    def by_meaning(self, row: StoredChunk) -> bool:
        """Return whether the stored vector is the model's and vector search finds it.

        A passage that has no vector yet is not lost.
        """
        computed = self.computed_vectors().get(row.id)
        index = self.index
        ids, stored = index.vectors_at([row.id])
        if computed is None or (not ids and index.pending()):
            return True
        if ids and float(stored[0] @ computed) < AGREES:
            self.wrong.append(_citation(row))
            return False
        hits = index.vector_search(computed, limit=RESULTS, filters=Filters())
        own_cosine = index.cosines(computed, [row.id]).get(row.id, 1.0)
        # Other passages may be just as similar, and the number of results is limited.
        return row.id in dict(hits) or (len(hits) == RESULTS and hits[-1][1] >= own_cosine - TIE)

    def computed_vectors(self) -> dict[int, NDArray[np.float32]]:
        """Return the vectors that the model computes for the passages now; empty if it is not in use."""
        if self._computed is None:
            self._computed = self._embed() if self.context.embedding.slot().spec and self.index.vectors() else {}
        return self._computed

    def _embed(self) -> dict[int, NDArray[np.float32]]:
        from memoriter.embed import SendsTexts, embed_in_batches
        from memoriter.sync import BATCH_TOKENS

        vectors_by_id: dict[int, NDArray[np.float32]] = {}
        try:
            provider = self.context.embedding.open()
            rows = [(row, row.chunk.contextual) for row in self.rows]
            if isinstance(provider, SendsTexts):
                # Older versions did not mask secrets, so their vectors are of other texts than would be sent now.
                rows = [(row, text) for row, text in rows if provider.outgoing(text) is text]
            texts = [text for _, text in rows]
            for batch in embed_in_batches(provider, texts, role="document", budget=BATCH_TOKENS):
                vectors_by_id |= {rows[at][0].id: row for at, row in zip(batch.positions, batch.vectors, strict=True)}
        except EmbeddingError as error:
            self.reasons.append(Diagnostic.of(error))
        return vectors_by_id


def _losses(canaries: Sequence[Canary], wrong: Sequence[str]) -> list[Diagnostic]:
    """Return diagnostics that name lost passages, the retrievers that lost them, and the repair."""
    lost = [canary for canary in canaries if not canary.found and canary.citation not in wrong]
    reasons: list[Diagnostic] = []
    if lost:
        places = ", ".join(f"{canary.citation} ({' and '.join(canary.lost)} retriever)" for canary in lost)
        message = f"{len(lost)} of {len(canaries)} known passages are not found by their own words: {places}."
        reasons.append(Diagnostic("canaries_lost", message, "Run `memoriter index --force`."))
    if wrong:
        message = (
            f"{len(wrong)} of {len(canaries)} vectors are not what the model makes of the passages: {', '.join(wrong)}."
        )
        reasons.append(Diagnostic("vectors_wrong", message, "Run `memoriter index --vectors`."))
    return reasons


def _citation(row: StoredChunk) -> str:
    return f"{row.path}#L{row.chunk.start_line}-L{row.chunk.end_line}"
