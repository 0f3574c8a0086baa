"""Health: whether both retrievers work, whether the index is behind the notes, and what to do about it."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.errors import PROVIDER_FAILURES, IndexBusy, IndexUnavailable, PathRefused
from memoriter.sync import (
    UNSURE,
    Plan,
    conflict_markers,
    faulty_front_matter,
    make_plan,
    undecoded_of,
    unreadable_diagnostics,
)
from memoriter.types import Diagnostic, Health, Skipped
from memoriter.workspace import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoriter.backends._context import BackendContext, Question, Ranking
    from memoriter.records import IndexedFile
    from memoriter.store import Store
    from memoriter.types import Source
    from memoriter.workspace import Scan, Workspace

NAMED = 3


def scan_staleness(workspace: Workspace, index: Store, *, busy: bool = False) -> list[Diagnostic]:
    """Return a warning if notes changed since they were indexed; `busy` as for `staleness`."""
    indexed = index.files()
    return staleness(confirmed(make_plan(workspace.scan().sources, indexed), workspace, indexed), busy=busy)


def confirmed(plan: Plan, workspace: Workspace, indexed: Mapping[str, IndexedFile]) -> Plan:
    """Return the plan without notes whose content is unchanged.

    Notes that changed very recently are read, because their stat alone is no proof.
    """
    return replace(
        plan,
        suspect=tuple(source for source in plan.suspect if not _unchanged(source, workspace, indexed[source.path])),
    )


def _unchanged(source: Source, workspace: Workspace, indexed: IndexedFile) -> bool:
    if source.kind != "memory" or indexed.stamp != UNSURE or source.size != indexed.size:
        return False
    with suppress(PathRefused):
        return workspace.peek(source).hash == indexed.hash
    return False


def staleness(plan: Plan, *, busy: bool = False) -> list[Diagnostic]:
    """Return a warning if the newest changes are not indexed yet; `busy`: another process is doing so."""
    if plan.empty:
        return []
    paths = sorted([*(source.path for source in (*plan.added, *plan.suspect)), *plan.removed])
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    changed = f"{plan.size} note{'' if plan.size == 1 else 's'} changed after the index was updated"
    message = f"{changed}; this answer does not include them: {', '.join(paths[:NAMED])}{more}."
    remedy = "Search again when the other process is done." if busy else "Run `memoriter index`."
    return [Diagnostic("stale", message, remedy)]


def unindexed(plan: Plan) -> Diagnostic:
    """Return the diagnostic that notes exist and none is indexed."""
    notes = f"{len(plan.added)} note{' is' if len(plan.added) == 1 else 's are'}"
    return Diagnostic("not_indexed", f"{notes} there, and none is indexed yet.", "Run `memoriter index`, or search.")


WARMING = Diagnostic("warming", "The model is loading; keyword search works meanwhile.", "Search again in a moment.")
UNUSED = frozenset({"index_outdated", "index_damaged"})
"""Notices of an index that exists and cannot serve as it is."""
REQUEST_TEXTS = 64
REQUEST_TOKENS = 8_000
"""About the size of one indexing request."""


def health_of(context: BackendContext, index: Store, reasons: list[Diagnostic], *, serving: bool) -> Health:
    """Return the health of both retrievers. `reasons` has the diagnostics so far, and gets more."""
    embedding = context.embedding
    provider = context.embedding.slot()
    index_unread = {IndexBusy.code, IndexUnavailable.code, *UNUSED, "index_read_only", "not_indexed", "unreadable"}
    chunks = index.corpus().chunks
    if not chunks and index_unread.isdisjoint(reason.code for reason in reasons):
        reasons.append(_no_notes(context, index))
    pending = 0
    if provider.spec:
        pending = index.pending()
    elif embedding.configured:  # while the model is not known, every chunk waits
        pending = chunks
    if pending and provider.problem is None:
        message = f"{pending} of {chunks} chunks wait for vectors; until then, search may miss their meaning."
        jobs = len(index.metas("batch:")) if embedding.rules else 0
        batches = f" {jobs} batches are waiting at the service." if jobs else ""
        reasons.append(Diagnostic("vectors_pending", message + batches, "Run `memoriter index`."))
    if pending or not serving:
        refusal = embedding.refusal(_next_request_tokens(context, index, pending))
        reasons += [refusal] if refusal and refusal.code not in {reason.code for reason in reasons} else []
    for diagnostic in (provider.problem, embedding.trouble):
        reasons += [diagnostic] if diagnostic and diagnostic.code not in {reason.code for reason in reasons} else []
    if failures := (index.failures() if provider.spec else 0):
        message = f"{failures} chunks could not be embedded; only keyword search finds them."
        reasons.append(Diagnostic("vectors_failed", message, "Run `memoriter index --force`."))
    if index.forgetting:
        message = "A `memoriter forget` was interrupted: the index may still contain the deleted text."
        reasons.append(Diagnostic("forgetting_unfinished", message, "Run `memoriter index`."))
    reasons += undecoded_of(index)
    legs = {"keyword": True, "vector": serving}
    return Health(legs, pending, index.generation, tuple(dict.fromkeys(reasons)))


def _no_notes(context: BackendContext, index: Store) -> Diagnostic:
    files = len(index.files())
    folder = str(context.workspace.root)
    if files:
        notes = "The one note" if files == 1 else f"Each of the {files} notes"
        return Diagnostic("no_text", f"{notes} in {folder!r} is empty.", "Run `memoriter remember TEXT`.")
    message = f"There are no notes in {folder!r}."
    return Diagnostic("no_notes", message, "Write Markdown files into it, or run `memoriter remember TEXT`.")


def _next_request_tokens(context: BackendContext, index: Store, pending: int) -> int:
    """Return the approximate number of tokens of the next indexing request."""
    texts = index.missing(min(pending, REQUEST_TEXTS)) if pending and context.embedding.slot().spec else ()
    return min(sum(estimate_tokens(text) for _, text in texts), REQUEST_TOKENS)


def standing_health(context: BackendContext, index: Store, scan: Scan, plan: Plan) -> Health:
    """Return the health of both retrievers, without loading a model."""
    from memoriter.backends._copies import state_folders
    from memoriter.workspace import unfinished, versions_diagnostics

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
        diagnostics.append(unindexed(plan))
    elif not context.settings.on_search:
        diagnostics += staleness(confirmed(plan, context.workspace, indexed))
    return health_of(context, index, diagnostics, serving=context.serving(index))


def are_to_come(problem: Diagnostic | None, reasons: Sequence[Diagnostic]) -> bool:
    """Return whether only time keeps the vectors of a search away, and no failure of the provider."""
    return problem in {None, WARMING} and PROVIDER_FAILURES.isdisjoint(each.code for each in reasons)


def explain_hits(index: Store, question: Question, ranking: Ranking) -> tuple[Diagnostic, ...]:
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
