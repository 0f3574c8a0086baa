"""Every answer as JSON: one form for the command line, MCP, HTTP and the tools, with camelCase keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from memoriter.tools._citations import with_footer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from memoriter.types import (
        CompactReport,
        Estimate,
        Excerpt,
        Explanation,
        Health,
        Hit,
        Reason,
        SearchResult,
        Skipped,
        Spending,
        Spent,
        Status,
        SyncReport,
    )


class DayLimits(Protocol):
    """The most that may be spent in a day; 0 is no limit."""

    @property
    def tokens_per_day(self) -> int: ...
    @property
    def dollars_per_day(self) -> float: ...


class Written(Protocol):
    """Lines that were added to a file."""

    @property
    def path(self) -> Path: ...
    @property
    def start_line(self) -> int: ...
    @property
    def end_line(self) -> int: ...


def result_json(result: SearchResult, *, citations: bool = True) -> dict[str, Any]:
    """The answer to a search; with citations, each result has a `citation` and its snippet a footer with the source."""
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
    if result.truncated_by is not None:
        answer["truncatedBy"] = result.truncated_by
    return answer


def hit_json(hit: Hit, *, citations: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "path": hit.path,
        "startLine": hit.start_line,
        "endLine": hit.end_line,
        "score": hit.score,
        "snippet": with_footer(hit.snippet, hit.citation) if citations else hit.snippet,
        "source": hit.source,
    }
    if citations:
        found["citation"] = hit.citation
    if hit.heading:
        found["heading"] = list(hit.heading)
    if hit.explanation is not None:
        found["explain"] = explanation_json(hit.explanation)
    return found


def explanation_json(explanation: Explanation) -> dict[str, Any]:
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
    return {
        "ok": health.ok,
        "legs": dict(health.legs),
        "pending": health.pending,
        "generation": health.generation,
        "reasons": [reason_json(reason) for reason in health.reasons],
    }


def reason_json(reason: Reason) -> dict[str, str]:
    return {"code": reason.code, "message": reason.message, "remedy": reason.remedy}


def unavailable_json(error: str, *, action: str) -> dict[str, Any]:
    """A search that could not be made: what went wrong, what that means for the agent's answer, what helps."""
    return {
        "results": [],
        "disabled": True,
        "unavailable": True,
        "error": error,
        "warning": "The memory was not searched, so say that rather than that nothing is known.",
        "action": action,
    }


def excerpt_json(excerpt: Excerpt) -> dict[str, Any]:
    """Lines of a file; `truncated` is there when the text was cut."""
    answer: dict[str, Any] = {"path": excerpt.path, "text": excerpt.text}
    return answer | {"truncated": True} if excerpt.truncated else answer


def refusal_json(path: str, error: str, remedy: str = "") -> dict[str, Any]:
    """A path that may not be read: why, and what could be."""
    words = f"{error.rstrip('.')}. {remedy}" if remedy else error
    return {"path": path, "text": "", "disabled": True, "error": words}


def sync_json(report: SyncReport) -> dict[str, Any]:
    """What a run of indexing did; times in seconds."""
    return {
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
        "reasons": [reason_json(reason) for reason in report.reasons],
    }


def compact_json(report: CompactReport) -> dict[str, Any]:
    """What making the index smaller did; `vectors` went, `unused` ones stayed."""
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


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """What a run of indexing would do; `dryRun` tells it from one that was made."""
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
    return {"path": skipped.path, "reason": skipped.reason, "message": skipped.message}


def status_json(status: Status) -> dict[str, Any]:
    """The state of one agent's memory; `canaries` only after a deep look."""
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
    if status.oversampling is not None:
        answer["oversampling"] = status.oversampling
    if status.canaries:
        answer["canaries"] = [
            {"citation": canary.citation, "query": canary.query, "found": canary.found} for canary in status.canaries
        ]
    return answer


def cost_json(rows: Sequence[Spending], today: Spent, budget: DayLimits) -> dict[str, Any]:
    """What was spent at services, the newest day first; `unpriced` counts tokens whose price is not known."""
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
    """The cosine of unrelated passages."""
    return None if background is None else {"mean": background[0], "deviation": background[1]}


def appended_json(written: Written, *, workspace: Path) -> dict[str, Any]:
    """Where an entry was written; the path as it is cited."""
    path = written.path
    cited = path.relative_to(workspace).as_posix() if path.is_relative_to(workspace) else path.as_posix()
    start, end = written.start_line, written.end_line
    citation = f"{cited}#L{start}" + (f"-L{end}" if end != start else "")
    return {"path": cited, "startLine": start, "endLine": end, "citation": citation}


def error_json(code: str, message: str, remedy: str = "") -> dict[str, dict[str, str]]:
    """A failure: a stable word, what happened, the next step."""
    return {"error": {"code": code, "message": message, "remedy": remedy}}
