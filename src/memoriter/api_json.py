"""JSON form of all results, shared by the command line, MCP, HTTP and the tools; keys are camelCase.

Names, order and types of the fields are those of `memoriter.answers`.
"""

from __future__ import annotations

import re
from collections.abc import Sized
from datetime import UTC, date, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import MemoriterError, PathRefused, sentence

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from memoriter.answers import FieldRow
    from memoriter.backends import ForgetPlan, Forgotten
    from memoriter.config import DayBudget
    from memoriter.journal import HistoryReport, LineOrigin, TakeBackPlan
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


OTHER_NAMES = {"explain": "explanation", "time": "at"}
"""The attributes of values whose fields have other names in JSON."""
_MISSING = object()


def json_of(name: str, value: object, *, without: Collection[str] = (), tables: str = "") -> dict[str, Any]:
    """Return the JSON form of a value: those fields of an object of `memoriter.answers` that the value has.

    A field that can be absent is left out if it is None, false or empty. A plain tuple has the fields in their order.

    Args:
        name: the name of the object.
        value: the value.
        without: the names of fields to leave out.
        tables: the tables of an extension, whose objects take precedence.
    """
    rows = [(row, attribute) for row, attribute in _rows(name, tables) if row.name not in without]
    if type(value) is tuple:
        parts = cast("tuple[Any, ...]", value)
        return {row.name: _json_value(row.type, part, tables) for (row, _), part in zip(rows, parts, strict=True)}
    fields: dict[str, Any] = {}
    for row, attribute in rows:
        content = getattr(value, attribute, _MISSING)
        if content is not _MISSING and not (row.absent and _is_empty(content)):
            fields[row.name] = _json_value(row.type, content, tables)
    return fields


@cache
def _rows(name: str, tables: str = "") -> list[tuple[FieldRow, str]]:
    """Return the fields of an object, each with the attribute that holds it."""
    from memoriter.answers import fields_of  # most commands print no JSON

    rows = fields_of(name, tables)
    return [(row, OTHER_NAMES.get(row.name) or re.sub("[A-Z]", lambda m: f"_{m[0].lower()}", row.name)) for row in rows]


def _is_empty(content: Any) -> bool:
    return content is None or content is False or (isinstance(content, Sized) and not content)


def _json_value(type_text: str, content: Any, tables: str) -> Any:
    if content is None:
        return None
    if type_text.startswith("list of "):
        return [_json_value(type_text.removeprefix("list of "), each, tables) for each in content]
    if type_text.startswith("["):
        return json_of(type_text[1 : type_text.index("]")], content, tables=tables)
    if type_text == "object":
        return dict(content)
    return _text_of(content) if type_text.startswith("text") else content


def _text_of(content: Any) -> str:
    match content:
        case date():
            return content.isoformat()
        case float() | int():
            return iso_time(content)
        case _:
            return str(content)


def iso_time(at: float) -> str:
    """Return seconds since 1970 as ISO 8601 in UTC, with milliseconds."""
    return datetime.fromtimestamp(at, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def reason_json(reason: Diagnostic) -> dict[str, str]:
    """Return a diagnostic."""
    return json_of("Reason", reason)


def health_json(health: Health) -> dict[str, Any]:
    """Return the state of the memory: whether it works, the state of each retriever, and the diagnostics."""
    return json_of("Health", health)


def status_json(status: Status) -> dict[str, Any]:
    """Return the state of one agent's memory; `canaries` is present only after a deep check."""
    return json_of("Status", status)


def cost_json(rows: Sequence[Spending], today: Spent, budget: DayBudget) -> dict[str, Any]:
    """Return the spending at services, the newest day first; `unpriced` counts tokens with an unknown price."""
    return {
        "days": [json_of("Spending", row) for row in rows],
        "today": json_of("Spent", today),
        "budget": json_of("Budget", budget),
    }


def result_json(result: SearchResult, *, citations: bool = True, texts: bool = False) -> dict[str, Any]:
    """Return a search result; with citations, each hit has a `citation`, and its snippet a footer with the source.

    With `texts`, each hit also has its whole passage as `text`, which would be too much for an agent.
    `reasons` explains an empty result; `health` has the diagnostics of the memory; `timings` has milliseconds by stage.
    """
    answer: dict[str, Any] = {
        "results": [hit_json(hit, citations=citations, texts=texts) for hit in result.hits],
        "outcome": result.outcome,
        "provider": result.provider,
        "model": result.model,
        "mode": result.mode,
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
            answer["certainty"] = json_of("Certainty", result.certainty)
    return answer


def hit_json(hit: Hit, *, citations: bool, texts: bool = False) -> dict[str, Any]:
    """Return a hit; with citations, its snippet has a footer with the source, and with `texts` it has its `text`."""
    fields = json_of("Hit", hit, without=("text",) if citations else ("text", "citation"))
    if citations:
        fields["snippet"] = with_footer(hit.snippet, hit.citation)
    return {**fields, "text": hit.text} if texts else fields


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
    fields = json_of("Excerpt", excerpt, without=("hash",))
    return fields if excerpt.reason is None else {**fields, "reasons": [reason_json(excerpt.reason)]}


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


def sync_json(report: SyncReport) -> dict[str, Any]:
    """Return the report of an indexing run; times in seconds."""
    return json_of("IndexReport", report)


def watch_json(event: WatchEvent) -> dict[str, Any]:
    """Return an event of a watcher; the time is ISO 8601 in UTC, `report` and `reason` are optional."""
    return json_of("WatchEvent", event, without=() if event.folders else ("folders",))


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate of an indexing run; `dryRun` distinguishes it from a report."""
    return {"dryRun": True, **json_of("Estimate", estimate)}


def captures_json(captures: Iterable[object]) -> dict[str, Any]:
    """Return the records of conversations, from `memoriter.agent.find_captures`."""
    return {"captures": [json_of("Capture", each) for each in captures]}


def history_json(report: HistoryReport) -> dict[str, Any]:
    """Return changes of notes."""
    return json_of("History", report)


def origin_of_line_json(origin: LineOrigin | None) -> dict[str, Any]:
    """Return the change that a line is from."""
    changes = [] if origin is None else [json_of("NoteChange", origin.change)]
    return {"changes": changes, "replaced": list(origin.replaced) if origin else [], "damaged": 0, "dropped": 0}


def taken_back_json(plan: TakeBackPlan, *, dry_run: bool) -> dict[str, Any]:
    """Return what taking changes back did; `dryRun`: what it would do."""
    return {"dryRun": dry_run, **json_of("TakenBack", plan)}


def tidy_json(report: object) -> dict[str, Any]:
    """Return what `Memory.tidy` proposes."""
    return json_of("Tidy", report)


def compact_json(report: CompactReport) -> dict[str, Any]:
    """Return the report of a compaction of the index; `vectors` were removed, `unused` ones stayed."""
    return json_of("CompactReport", report)


def forget_plan_json(plan: ForgetPlan) -> dict[str, Any]:
    """Return a plan of what to forget; `dryRun` distinguishes it from a receipt."""
    return {"dryRun": True, **json_of("ForgetPlan", plan)}


def forgotten_json(receipt: Forgotten) -> dict[str, Any]:
    """Return a receipt of what was forgotten.

    `whole` is true if the file of a note itself was removed. `index` is null if the index was not reached; `left` has
    the steps that remain.
    """
    fields = json_of("ForgetPlan", receipt.plan) | json_of("Receipt", receipt)
    return {row.name: fields[row.name] for row, _ in _rows("Receipt")}


def why_not_json(report: WhyNot) -> dict[str, Any]:
    """Return the answer of `why-not`; `stage` is null if the passage is found, and `fix` is absent if none helps."""
    return json_of("WhyNot", report)
