"""JSON form of all results, shared by the command line, MCP, HTTP and the tools; keys are camelCase."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from memoriter.errors import MemoriterError, PathRefused, sentence
from memoriter.tools._citations import with_footer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from memoriter.backends import ForgetPlan, Forgotten
    from memoriter.types import (
        Attempt,
        CompactReport,
        Diagnostic,
        Estimate,
        Excerpt,
        Explanation,
        Health,
        Hit,
        SearchResult,
        Skipped,
        Spending,
        Spent,
        Status,
        SyncReport,
    )
    from memoriter.workspace import Removal


class DayLimits(Protocol):
    """The daily spending limits; 0 is no limit."""

    @property
    def tokens_per_day(self) -> int: ...
    @property
    def dollars_per_day(self) -> float: ...


class WatchEventLike(Protocol):
    """An event of a watcher."""

    @property
    def kind(self) -> str: ...
    @property
    def at(self) -> float: ...
    @property
    def report(self) -> SyncReport | None: ...
    @property
    def reason(self) -> Diagnostic | None: ...
    @property
    def folders(self) -> int: ...


class WrittenLines(Protocol):
    """Lines that were added to a file."""

    @property
    def reasons(self) -> tuple[Diagnostic, ...]: ...
    @property
    def path(self) -> Path: ...
    @property
    def start_line(self) -> int: ...
    @property
    def end_line(self) -> int: ...


def result_json(result: SearchResult, *, citations: bool = True) -> dict[str, Any]:
    """Return a search result; with citations, each hit has a `citation`, and its snippet a footer with the source.

    `reasons` explains an empty result; `health` has the diagnostics of the memory; `timings` has milliseconds by stage.
    """
    answer: dict[str, Any] = {
        "results": [hit_json(hit, citations=citations) for hit in result.hits],
        "outcome": result.outcome,
        "provider": result.provider,
        "model": result.model,
        "mode": result.mode,
        "citations": "on" if citations else "off",
        "health": health_json(result.health),
    }
    if result.fallback is not None:
        answer["fallback"] = {"from": result.fallback_from or result.provider, "reason": result.fallback.message}
    if result.reasons:
        answer["reasons"] = [reason_json(reason) for reason in result.reasons]
    if result.understood is not None:
        answer["understood"] = dict(result.understood)
    if result.truncated_by is not None:
        answer["truncatedBy"] = result.truncated_by
    if result.timings is not None:
        answer["timings"] = dict(result.timings)
    return answer


def hit_json(hit: Hit, *, citations: bool) -> dict[str, Any]:
    """Return a hit; with citations, its snippet has a footer with the source."""
    fields: dict[str, Any] = {
        "path": hit.path,
        "startLine": hit.start_line,
        "endLine": hit.end_line,
        "score": hit.score,
        "snippet": with_footer(hit.snippet, hit.citation) if citations else hit.snippet,
        "source": hit.source,
    }
    if citations:
        fields["citation"] = hit.citation
    if hit.heading:
        fields["heading"] = list(hit.heading)
    if hit.date is not None:
        fields["date"] = hit.date.isoformat()
    if hit.explanation is not None:
        fields["explain"] = explanation_json(hit.explanation)
    return fields


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    """Return the parts of a hit's score."""
    return {
        "legs": list(explanation.legs),
        "terms": list(explanation.terms),
        "cosine": explanation.cosine,
        "vector": explanation.vector,
        "keyword": explanation.keyword,
        "coverage": explanation.coverage,
        "saturation": explanation.saturation,
        "neighbours": explanation.neighbours,
        "raw": explanation.raw,
        "calibrated": explanation.calibrated,
        "decay": explanation.decay,
    }


def health_json(health: Health) -> dict[str, Any]:
    """Return the state of the memory: whether it works, the state of each retriever, and the diagnostics."""
    return {
        "ok": health.ok,
        "legs": dict(health.legs),
        "pending": health.pending,
        "generation": health.generation,
        "reasons": [reason_json(reason) for reason in health.reasons],
    }


def reason_json(reason: Diagnostic) -> dict[str, str]:
    """Return a diagnostic."""
    return {"code": reason.code, "message": reason.message, "remedy": reason.remedy}


def unavailable_json(error: str, *, action: str, code: str = MemoriterError.code) -> dict[str, Any]:
    """Return the result of a search that could not run: the error, its meaning for the answer, and the next step."""
    return {
        "results": [],
        "disabled": True,
        "unavailable": True,
        "error": error,
        "warning": "The memory was not searched, so say that rather than that nothing is known.",
        "action": action,
        "code": code,
    }


def excerpt_json(excerpt: Excerpt) -> dict[str, Any]:
    """Return lines of a file; `truncated` is present if the text was cut, `reasons` if it is empty."""
    answer: dict[str, Any] = {"path": excerpt.path, "text": excerpt.text}
    if excerpt.truncated:
        answer["truncated"] = True
    if excerpt.reason is not None:
        answer["reasons"] = [reason_json(excerpt.reason)]
    return answer


def refusal_json(path: str, error: str, remedy: str = "", *, code: str = PathRefused.code) -> dict[str, Any]:
    """Return the refusal to read a path: the reason, and the paths that are allowed."""
    words = f"{sentence(error)} {remedy}" if remedy else error
    return {"path": path, "text": "", "disabled": True, "error": words, "code": code}


def sync_json(report: SyncReport) -> dict[str, Any]:
    """Return the report of an indexing run; times in seconds."""
    answer: dict[str, Any] = {
        "files": report.files,
        "added": report.added,
        "changed": report.changed,
        "removed": report.removed,
        "chunks": report.chunks,
        "embedded": report.embedded,
        "cached": report.cached,
        "failed": report.failed,
        "seconds": report.seconds,
        "pending": report.pending,
        "unread": report.unread,
        "reasons": [reason_json(reason) for reason in report.reasons],
    }
    return answer if report.health is None else answer | {"health": health_json(report.health)}


def watch_json(event: WatchEventLike) -> dict[str, Any]:
    """Return an event of a watcher; the time is ISO 8601 in UTC, `report` and `reason` are optional."""
    answer: dict[str, Any] = {"kind": event.kind, "time": _time(event.at)}
    if event.folders:
        answer["folders"] = event.folders
    if event.report is not None:
        answer["report"] = sync_json(event.report)
    if event.reason is not None:
        answer["reason"] = reason_json(event.reason)
    return answer


def compact_json(report: CompactReport) -> dict[str, Any]:
    """Return the report of a compaction of the index; `vectors` were removed, `unused` ones stayed."""
    return {
        "bytesBefore": report.bytes_before,
        "bytesAfter": report.bytes_after,
        "vectors": report.vectors,
        "unused": report.unused,
        "damaged": list(report.damaged),
        "damagedBytes": report.damaged_bytes,
        "damagedRemoved": report.damaged_removed,
        "seconds": report.seconds,
    }


def forget_plan_json(plan: ForgetPlan) -> dict[str, Any]:
    """Return a plan of what to forget; `dryRun` distinguishes it from a receipt."""
    return {
        "dryRun": True,
        "notes": [removal_json(removal) for removal in plan.notes],
        "transcripts": [str(file) for file in plan.transcripts],
        "indexed": list(plan.indexed),
        "kept": [str(file) for file in plan.kept],
        "unfinished": plan.unfinished,
        "unreached": [reason_json(reason) for reason in plan.unreached],
    }


def forgotten_json(receipt: Forgotten) -> dict[str, Any]:
    """Return a receipt of what was forgotten.

    `index` is null if the index was not reached; `left` has the steps that remain.
    """
    return {
        "notes": [removal_json(removal) for removal in receipt.notes],
        "transcripts": [str(file) for file in receipt.transcripts],
        "kept": [str(file) for file in receipt.plan.kept],
        "index": compact_json(receipt.index) if receipt.index else None,
        "left": [reason_json(reason) for reason in receipt.left],
        "unreached": [reason_json(reason) for reason in receipt.plan.unreached],
    }


def removal_json(removal: Removal) -> dict[str, Any]:
    """Return the passages to remove from a note; `whole` is true if the file itself is removed."""
    return {
        "path": removal.path,
        "whole": removal.whole,
        "passages": [
            {"startLine": passage.start_line, "endLine": passage.end_line, "text": passage.text}
            for passage in removal.passages
        ],
    }


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate of an indexing run; `dryRun` distinguishes it from a report."""
    return {
        "dryRun": True,
        "files": estimate.files,
        "added": estimate.added,
        "changed": estimate.changed,
        "removed": estimate.removed,
        "chunks": estimate.chunks,
        "tokens": estimate.tokens,
        "price": estimate.price,
        "priceSeen": estimate.price_seen,
        "skipped": [skipped_json(skipped) for skipped in estimate.skipped],
    }


def skipped_json(skipped: Skipped) -> dict[str, str]:
    """Return a skipped file with the reason."""
    return {"path": skipped.path, "reason": skipped.reason, "message": skipped.message}


def status_json(status: Status) -> dict[str, Any]:
    """Return the state of one agent's memory; `canaries` is present only after a deep check."""
    answer: dict[str, Any] = {
        "agent": status.agent,
        "workspace": status.workspace,
        "workspaceReason": status.workspace_reason,
        "index": status.index,
        "indexBytes": status.index_bytes,
        "files": status.files,
        "chunks": status.chunks,
        "sources": [{"kind": each.kind, "files": each.files, "chunks": each.chunks} for each in status.sources],
        "vectors": status.vectors,
        "pending": status.pending,
        "failed": status.failed,
        "stale": status.stale,
        "provider": status.provider,
        "model": status.model,
        "dimensions": status.dimensions,
        "vectorEngine": status.vector_engine,
        "scoring": status.scoring,
        "backend": status.backend,
        "leavesMachine": status.leaves_machine,
        "endpoint": status.endpoint,
        "keySource": status.key_source,
        "background": _background_json(status.background),
        "health": health_json(status.health),
        "skipped": [skipped_json(skipped) for skipped in status.skipped],
    }
    if status.notices:
        answer["notices"] = [reason_json(reason) for reason in status.notices]
    if status.last_attempt is not None:
        answer["lastAttempt"] = attempt_json(status.last_attempt)
    if status.index_reason:
        answer["indexReason"] = status.index_reason
    if status.oversampling is not None:
        answer["oversampling"] = status.oversampling
    if status.canaries:
        answer["canaries"] = [
            {"citation": canary.citation, "query": canary.query, "found": canary.found, "lost": list(canary.lost)}
            for canary in status.canaries
        ]
    return answer


def attempt_json(attempt: Attempt) -> dict[str, Any]:
    """Return the last call of the provider, with the reason if it failed; the time is ISO 8601 in UTC."""
    answer: dict[str, Any] = {"time": _time(attempt.at), "ok": attempt.ok}
    if attempt.reason is not None:
        answer["reason"] = reason_json(attempt.reason)
    return answer


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def cost_json(rows: Sequence[Spending], today: Spent, budget: DayLimits) -> dict[str, Any]:
    """Return the spending at services, the newest day first; `unpriced` counts tokens with an unknown price."""
    return {
        "days": [
            {
                "day": row.day.isoformat(),
                "provider": row.provider,
                "model": row.model,
                "calls": row.calls,
                "tokens": row.tokens,
                "unpriced": row.unpriced,
                "dollars": row.dollars,
            }
            for row in rows
        ],
        "today": {"tokens": today.tokens, "dollars": today.dollars},
        "budget": {"tokensPerDay": budget.tokens_per_day, "dollarsPerDay": budget.dollars_per_day},
    }


def _background_json(background: tuple[float, float] | None) -> dict[str, float] | None:
    """Return the mean and the deviation of the cosine of unrelated passages."""
    return None if background is None else {"mean": background[0], "deviation": background[1]}


def appended_json(written: WrittenLines, *, workspace: Path) -> dict[str, Any]:
    """Return the location of a new entry, with the path as cited; `health` is good if the next search finds it."""
    path = written.path
    cited = path.relative_to(workspace).as_posix() if path.is_relative_to(workspace) else path.as_posix()
    start, end = written.start_line, written.end_line
    citation = f"{cited}#L{start}" + (f"-L{end}" if end != start else "")
    health = {"ok": not written.reasons, "reasons": [reason_json(reason) for reason in written.reasons]}
    return {"path": cited, "startLine": start, "endLine": end, "citation": citation, "health": health}


def error_json(code: str, message: str, remedy: str = "") -> dict[str, dict[str, str]]:
    """Return a failure: a stable code, a message, and the next step."""
    return {"error": {"code": code, "message": message, "remedy": remedy}}
