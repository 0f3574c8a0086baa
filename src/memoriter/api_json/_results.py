"""JSON form of what a search, a read, a write or a failure returns."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any, Protocol

from memoriter.api_json._form import Field, apply_form, object_of, plain
from memoriter.api_json._state import REASON, health_json, reason_json
from memoriter.errors import MemoriterError, PathRefused, sentence

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.types import Diagnostic, Excerpt, Hit, SearchResult

EXPLANATION = {
    "legs": Field(list),
    "terms": Field(list),
    **plain("cosine", "vector", "keyword", "coverage", "saturation", "neighbours", "raw", "calibrated", "decay"),
}
HIT = plain("path", "start_line", "end_line", "score", "snippet", "source")
HIT_DETAILS = {
    "heading": Field(list, omit="empty"),
    "date": Field(date.isoformat, omit="none"),
    "explanation": Field(object_of(EXPLANATION), omit="none", key="explain"),
}
EXCERPT = {
    **plain("path", "text"),
    "truncated": Field(omit="empty"),
    "reason": Field(lambda reason: [apply_form(reason, REASON)], omit="none", key="reasons"),
}


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
    return answer


def hit_json(hit: Hit, *, citations: bool) -> dict[str, Any]:
    """Return a hit; with citations, its snippet has a footer with the source."""
    fields = apply_form(hit, HIT)
    if citations:
        fields |= {"snippet": with_footer(hit.snippet, hit.citation), "citation": hit.citation}
    return fields | apply_form(hit, HIT_DETAILS)


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
        "warning": "The memory was not searched, so say that rather than that nothing is known.",
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
