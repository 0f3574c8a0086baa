"""JSON form of all results, shared by the command line, MCP, HTTP and the tools; keys are camelCase.

Tables of fields come first: which fields of a value its JSON form has, in which order, and how each is converted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Literal

from memoriter.errors import MemoriterError, PathRefused, sentence
from memoriter.types import camel_case
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from memoriter.backends import ForgetPlan, Forgotten
    from memoriter.config import DayBudget
    from memoriter.types import (
        CompactReport,
        Diagnostic,
        Estimate,
        Excerpt,
        Health,
        Hit,
        Remembered,
        SearchResult,
        Spending,
        Spent,
        Status,
        SyncReport,
        WhyNot,
    )
    from memoriter.watch import WatchEvent


def _unchanged(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a JSON form."""

    convert: Callable[[Any], Any] = _unchanged
    """Returns the JSON value of the field."""
    omit: Literal["none", "empty"] | None = None
    """The values for which the field is absent: None, every empty or false value, or no value at all."""
    key: str = ""
    """The JSON key; empty: the field's name in camelCase."""


Form = Mapping[str, Field]
"""The fields by their names in Python, in the order of the JSON form."""


def plain(*names: str) -> dict[str, Field]:
    """Return fields that need no conversion."""
    return dict.fromkeys(names, Field())


def apply_form(value: object, form: Form) -> dict[str, Any]:
    """Return the JSON form of a value: an object with one key for each field that is not omitted."""
    fields: dict[str, Any] = {}
    for name, field in form.items():
        content = getattr(value, name)
        if (field.omit == "none" and content is None) or (field.omit == "empty" and not content):
            continue
        fields[field.key or camel_case(name)] = field.convert(content)
    return fields


def object_of(form: Form) -> Callable[[Any], dict[str, Any]]:
    """Return a conversion to the JSON object of a form."""
    return lambda value: apply_form(value, form)


def list_of(form: Form) -> Callable[[Iterable[Any]], list[dict[str, Any]]]:
    """Return a conversion to a list of the JSON objects of a form."""
    return lambda values: [apply_form(value, form) for value in values]


def iso_time(at: float) -> str:
    """Return seconds since 1970 as ISO 8601 in UTC, with milliseconds."""
    return datetime.fromtimestamp(at, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _background(background: tuple[float, float] | None) -> dict[str, float] | None:
    """Return the mean and the deviation of the cosine of unrelated passages."""
    return None if background is None else {"mean": background[0], "deviation": background[1]}


REASON = plain("code", "message", "remedy")
REASONS = Field(list_of(REASON))
HEALTH = {"ok": Field(), "legs": Field(dict), **plain("pending", "generation"), "reasons": REASONS}
SKIPPED = Field(list_of(plain("path", "reason", "message")))
ATTEMPT = {"at": Field(iso_time, key="time"), "ok": Field(), "reason": Field(object_of(REASON), omit="none")}
RUN = {"pid": Field(), "since": Field(iso_time), **plain("stage", "done", "total")}
RERANKER = plain("provider", "model", "endpoint", "key_source", "leaves_machine")
CANARY = {**plain("citation", "query", "found"), "lost": Field(list)}
SIDECAR = {
    **plain("name", "answering", "binary", "version", "transport", "mode", "home", "documents", "vectors", "pending"),
    "collections": Field(list_of(plain("name", "path", "pattern", "files", "missing"))),
    **dict.fromkeys(("last_update", "last_embed", "last_error_at"), Field(iso_time, omit="none")),
    **dict.fromkeys(("reason", "last_error"), Field(object_of(REASON), omit="none")),
}
STATUS = {
    **plain("agent", "workspace", "workspace_reason", "trust", "layout", "index", "index_bytes", "files", "chunks"),
    "sources": Field(list_of(plain("kind", "files", "chunks"))),
    **plain("vectors", "pending", "failed", "stale", "provider", "model", "dimensions", "vector_engine", "scoring"),
    **plain("backend", "leaves_machine", "endpoint", "key_source"),
    "background": Field(_background),
    "health": Field(object_of(HEALTH)),
    "skipped": SKIPPED,
    "notices": Field(list_of(REASON), omit="empty"),
    "last_attempt": Field(object_of(ATTEMPT), omit="none"),
    "indexing": Field(object_of(RUN), omit="none"),
    "index_reason": Field(omit="empty"),
    **dict.fromkeys(("oversampling", "recall"), Field(omit="none")),
    "canaries": Field(list_of(CANARY), omit="empty"),
    "reranker": Field(object_of(RERANKER), omit="none"),
    "long_term_memories": Field(omit="none"),
    "sidecar": Field(object_of(SIDECAR), omit="none"),
}
CAPTURE = plain("id", "day", "client", "kind", "citation", "path", "start_line", "end_line", "text")
SPENDING = {"day": Field(date.isoformat), **plain("provider", "model", "calls", "tokens", "unpriced", "dollars")}


def reason_json(reason: Diagnostic) -> dict[str, str]:
    """Return a diagnostic."""
    return apply_form(reason, REASON)


def health_json(health: Health) -> dict[str, Any]:
    """Return the state of the memory: whether it works, the state of each retriever, and the diagnostics."""
    return apply_form(health, HEALTH)


def status_json(status: Status) -> dict[str, Any]:
    """Return the state of one agent's memory; `canaries` is present only after a deep check."""
    return apply_form(status, STATUS)


def cost_json(rows: Sequence[Spending], today: Spent, budget: DayBudget) -> dict[str, Any]:
    """Return the spending at services, the newest day first; `unpriced` counts tokens with an unknown price."""
    return {
        "days": [apply_form(row, SPENDING) for row in rows],
        "today": apply_form(today, plain("tokens", "dollars")),
        "budget": apply_form(budget, plain("tokens_per_day", "dollars_per_day")),
    }


EXPLANATION = {
    "legs": Field(list),
    "terms": Field(list),
    **plain("cosine", "vector", "keyword", "coverage", "saturation", "neighbours", "raw", "calibrated", "decay"),
    **{name: Field(omit="none") for name in ("rank", "reranked", "relevance")},
    "lines": Field(list_of(plain("line", "kind", "score", "place", "share")), omit="empty"),
}
HIT = plain("path", "start_line", "end_line", "score", "snippet", "source")
HIT_DETAILS = {
    "heading": Field(list, omit="empty"),
    "date": Field(date.isoformat, omit="none"),
    "changed": Field(date.isoformat, omit="none"),
    "outside_time": Field(omit="empty"),
    "answer_lines": Field(list, omit="none"),
    "explanation": Field(object_of(EXPLANATION), omit="none", key="explain"),
}
EXCERPT = plain("path", "text") | {
    "truncated": Field(omit="empty"),
    "reason": Field(lambda reason: [apply_form(reason, REASON)], omit="none", key="reasons"),
}


def result_json(result: SearchResult, *, citations: bool = True, texts: bool = False) -> dict[str, Any]:
    """Return a search result; with citations, each hit has a `citation`, and its snippet a footer with the source.

    With `texts`, each hit also has its whole passage as `text`, which would be too much for an agent.
    `reasons` explains an empty result; `health` has the diagnostics of the memory; `timings` has milliseconds by stage.
    """
    answer: dict[str, Any] = {
        "results": [hit_json(hit, citations=citations, texts=texts) for hit in result.hits],
        **apply_form(result, plain("outcome", "provider", "model", "mode")),
        "citations": "on" if citations else "off",
        "health": health_json(result.health),
    }
    if result.fallback is not None:
        answer["fallback"] = {"from": result.fallback_from or result.provider, "reason": result.fallback.message}
    if result.understood is not None:
        answer["understood"] = dict(result.understood)
    if result.reasons:
        answer["reasons"] = [reason_json(reason) for reason in result.reasons]
    if result.truncated_by is not None:
        answer["truncatedBy"] = result.truncated_by
    if result.timings is not None:
        answer["timings"] = dict(result.timings)
        if result.certainty is not None:
            answer["certainty"] = apply_form(result.certainty, plain("value", "threshold"))
    return answer


def hit_json(hit: Hit, *, citations: bool, texts: bool = False) -> dict[str, Any]:
    """Return a hit; with citations, its snippet has a footer with the source, and with `texts` it has its `text`."""
    fields = apply_form(hit, HIT)
    if citations:
        fields |= {"snippet": with_footer(hit.snippet, hit.citation), "citation": hit.citation}
    return fields | apply_form(hit, HIT_DETAILS) | (apply_form(hit, plain("text")) if texts else {})


def with_footer(snippet: str, citation: str) -> str:
    """Return the snippet, trimmed, with its source below it."""
    return f"{snippet.strip()}\n\nSource: {citation}"


def unavailable_json(error: str, *, action: str, code: str = MemoriterError.code) -> dict[str, Any]:
    """Return the result of a search that could not run: the error, its meaning for the answer, and the next step."""
    return {
        "results": [],
        "disabled": True,
        "unavailable": True,
        "error": error,
        "warning": "The memory was not searched. Say that, and do not say that nothing is known.",
        "action": action,
        "code": code,
    }


def excerpt_json(excerpt: Excerpt) -> dict[str, Any]:
    """Return lines of a file; `truncated` is present if the text was cut, `reasons` if it is empty."""
    return apply_form(excerpt, EXCERPT)


def refusal_json(path: str, error: str, remedy: str = "", *, code: str = PathRefused.code) -> dict[str, Any]:
    """Return the refusal to read a path: the reason, and the paths that are allowed."""
    words = f"{sentence(error)} {remedy}" if remedy else error
    return {"path": path, "text": "", "disabled": True, "error": words, "code": code}


def appended_json(written: Remembered, *, workspace: Path) -> dict[str, Any]:
    """Return the location of an entry, with the path as cited; `health` is good if the next search finds it.

    `existing` is present if the entry was already there and nothing was written.
    """
    path = written.path
    cited = path.relative_to(workspace).as_posix() if path.is_relative_to(workspace) else path.as_posix()
    start = written.start_line
    end = written.end_line
    citation = f"{cited}#L{start}" + (f"-L{end}" if end != start else "")
    health = {"ok": not written.reasons, "reasons": [reason_json(reason) for reason in written.reasons]}
    place: dict[str, Any] = {"path": cited, "startLine": start, "endLine": end, "citation": citation}
    return {**place, **({"existing": True} if written.existing else {}), "health": health}


def error_json(code: str, message: str, remedy: str = "") -> dict[str, dict[str, str]]:
    """Return a failure: a stable code, a message, and the next step."""
    return {"error": {"code": code, "message": message, "remedy": remedy}}


PATHS = Field(lambda files: [str(file) for file in files])
SYNC = {
    **plain("files", "added", "changed", "removed", "chunks", "embedded", "cached", "failed", "seconds", "pending"),
    "unread": Field(),
    "reasons": REASONS,
    "health": Field(object_of(HEALTH), omit="none"),
}
WATCH = {
    "kind": Field(),
    "at": Field(iso_time, key="time"),
    "folders": Field(omit="empty"),
    "report": Field(object_of(SYNC), omit="none"),
    "reason": Field(object_of(REASON), omit="none"),
}
ESTIMATE = {
    **plain("files", "added", "changed", "removed", "chunks", "tokens", "price", "price_seen", "seconds"),
    "skipped": SKIPPED,
}
COMPACT = {
    **plain("bytes_before", "bytes_after", "vectors", "unused"),
    "damaged": Field(list),
    **plain("damaged_bytes", "damaged_removed", "seconds"),
    "reasons": REASONS,
}
REMOVAL = {**plain("path", "whole"), "passages": Field(list_of(plain("start_line", "end_line", "text")))}
FORGET_PLAN = {
    "notes": Field(list_of(REMOVAL)),
    "transcripts": PATHS,
    "indexed": Field(list),
    "kept": PATHS,
    "unfinished": Field(),
    "unreached": REASONS,
    "recovered": REASONS,
}


def sync_json(report: SyncReport) -> dict[str, Any]:
    """Return the report of an indexing run; times in seconds."""
    return apply_form(report, SYNC)


def watch_json(event: WatchEvent) -> dict[str, Any]:
    """Return an event of a watcher; the time is ISO 8601 in UTC, `report` and `reason` are optional."""
    return apply_form(event, WATCH)


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate of an indexing run; `dryRun` distinguishes it from a report."""
    return {"dryRun": True, **apply_form(estimate, ESTIMATE)}


def captures_json(captures: Iterable[object]) -> dict[str, Any]:
    """Return the records of conversations, from `memoriter.agent.find_captures`."""
    return {"captures": list_of(CAPTURE)(captures)}


def compact_json(report: CompactReport) -> dict[str, Any]:
    """Return the report of a compaction of the index; `vectors` were removed, `unused` ones stayed."""
    return apply_form(report, COMPACT)


def forget_plan_json(plan: ForgetPlan) -> dict[str, Any]:
    """Return a plan of what to forget; `dryRun` distinguishes it from a receipt."""
    return {"dryRun": True, **apply_form(plan, FORGET_PLAN)}


def forgotten_json(receipt: Forgotten) -> dict[str, Any]:
    """Return a receipt of what was forgotten.

    `whole` is true if the file of a note itself was removed. `index` is null if the index was not reached; `left` has
    the steps that remain.
    """
    plan = apply_form(receipt.plan, FORGET_PLAN)
    return {
        **apply_form(receipt, {"notes": Field(list_of(REMOVAL)), "transcripts": PATHS}),
        "kept": plan["kept"],
        "index": compact_json(receipt.index) if receipt.index else None,
        "left": REASONS.convert(receipt.left),
        "unreached": plan["unreached"],
        "recovered": plan["recovered"],
    }


FIX = {
    "changes": Field(list_of({**plain("key", "now", "value"), "option": Field(omit="empty")})),
    "leave_out": Field(list),
    **plain("verified", "place"),
}
CANDIDACY = {**plain("limit", "keyword", "vector", "depth"), "missing": Field(list)}
WHY_NOT = {
    **plain("query", "citation", "passage", "found", "place", "hits", "stage"),
    "stages": Field(list_of(plain("stage", "status", "message"))),
    **plain("score", "last_score"),
    "candidacy": Field(object_of(CANDIDACY), omit="none"),
    "explanation": Field(object_of(EXPLANATION), omit="none", key="explain"),
    "fix": Field(object_of(FIX), omit="none"),
    "remedy": Field(omit="empty"),
    "reasons": REASONS,
}


def why_not_json(report: WhyNot) -> dict[str, Any]:
    """Return the answer of `why-not`; `stage` is null if the passage is found, and `fix` is absent if none helps."""
    return apply_form(report, WHY_NOT)
