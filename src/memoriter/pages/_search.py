"""The page Search: hits as someone types, with filters, how each score was computed, and why a passage is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.errors import MemoriterError
from memoriter.filters import ANY
from memoriter.pages._addresses import address_of
from memoriter.pages._figures import SCORE, figures_of
from memoriter.pages._page import Page, PageRoute
from memoriter.search import marker_of
from memoriter.types import STAGES
from memoriter.values import dataclass
from memoriter.web import problem_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.responses import Response

    from memoriter.pages._figures import Figure
    from memoriter.pages._page import Visit
    from memoriter.search import Marker

FILTERS = ("path", "since", "until")
"""Filters with one value, which are passed on as they are."""
SOURCES = {"memory": "notes", "sessions": "transcripts"}
SHOWN_LINES = 8
"""Lines of a hit that are shown at once; the others open on demand."""
OUTCOMES = {
    "match": ("good", "Match", "The first hit probably answers the question."),
    "weak": ("warn", "Possibly related", "There is no clear match. Try other words, a name or a date."),
    "none": ("quiet", "No match", "Nothing in your notes answers this."),
}
"""The class, name and meaning of each outcome of the API."""
MARKS = {"passed": ("good", "ok"), "warned": ("warn", "note"), "lost": ("bad", "lost"), "not_reached": ("quiet", "-")}
"""The class and the word for each state of a stage."""

Parts = tuple[tuple[str, bool], ...]
"""Text in parts, each with whether it is a word of the question."""


@dataclass(frozen=True, slots=True)
class ShownHit:
    """A hit as the page shows it."""

    hit: Mapping[str, Any]
    title: str
    address: str
    """The address of the line with most words of the question."""
    lines: Sequence[tuple[int | None, Parts]]
    """The first lines with their numbers; None: the lines of a transcript have none."""
    more: Sequence[tuple[int | None, Parts]]
    figures: Sequence[tuple[Figure, float | None]]


async def show(visit: Visit) -> Response:
    """Return the page with the hits for the question in the address."""
    query = visit.parameter("q")
    explain = bool(visit.parameter("explain"))
    values: dict[str, Any] = {"query": query, "explain": explain, "problem": None, "result": None, "hits": []}
    status = 200
    if query or visit.parameter("since") not in {"", ANY} or visit.parameter("until"):
        try:
            result = await visit.perform("search", query=query, explain=explain, **limits_of(visit))
        except MemoriterError as error:
            problem = problem_of(error, "The search")
            status = problem.status
            values["problem"] = problem
        else:
            marker = marker_of(str(result.get("understood", {}).get("text") or query))
            values |= {"result": result, "hits": [shown_hit(hit, query, marker) for hit in result["results"]]}
    template = "search/_results.html" if visit.fragment == "results" else "search/page.html"
    filters = {name: visit.parameter(name) for name in (*FILTERS, "source")}
    constants: dict[str, Any] = {
        "any_day": ANY,
        "outcomes": OUTCOMES,
        "score": SCORE,
        "stages": STAGES,
        "sources": SOURCES,
    }
    return await visit.render(template, status, filters=filters, **constants, **values)


async def why_not(visit: Visit) -> Response:
    """Return the page that explains why a question does not find a passage."""
    query = visit.parameter("q")
    path = visit.parameter("path")
    line = visit.parameter("line")
    citation = f"{path}#L{line}" if line else path
    report = None
    if query and path:
        report = await visit.perform("whyNot", query=query, citation=citation, **limits_of(visit, but="path"))
    figures = [*figures_of(report["explain"])] if report and report.get("explain") else []
    asked: dict[str, Any] = {"query": query, "path": path, "line": line, "report": report}
    return await visit.render("search/why_not.html", marks=MARKS, figures=figures, score=SCORE, **asked)


def limits_of(visit: Visit, *, but: str = "") -> dict[str, Any]:
    """Return the filters in the address, except one, as parameters of an operation."""
    source = visit.parameter("source")
    limits: dict[str, Any] = {name: value for name in FILTERS if name != but and (value := visit.parameter(name))}
    return limits | ({"sources": (source,)} if source else {})


def shown_hit(hit: Mapping[str, Any], query: str, marker: Marker | None) -> ShownHit:
    """Return a hit as the page shows it.

    Args:
        hit: the hit in the JSON form of the API.
        query: the question, which the note's page gets.
        marker: marks the words of the question.
    """
    rows = [row.strip("\r") for row in str(hit["text"]).split("\n")]
    first: int = hit["startLine"]
    exact = len(rows) == hit["endLine"] - first + 1  # the passage of a transcript has only some of its lines
    lines = [
        (first + at if exact else None, tuple(marker.parts(row)) if marker else ((row, False),))
        for at, row in enumerate(rows)
    ]
    best = max(range(len(rows)), key=lambda at: len(marker.words_in(rows[at])) if marker else 0)
    start = max(0, min(best - 1, len(lines) - SHOWN_LINES))
    address = address_of("/notes", f"L{first + best}" if exact else "", path=hit["path"], q=query)
    title = " › ".join(hit.get("heading", ())) or str(hit["path"])
    before = lines[:start]
    shown = lines[start : start + SHOWN_LINES]
    after = lines[start + SHOWN_LINES :]
    return ShownHit(hit, title, address, shown, [*before, *after], [*figures_of(hit.get("explain", {}))])


PAGE = Page(
    "Search",
    "Find what the memory knows, and see why it was found.",
    (PageRoute("/search", show), PageRoute("/search/why-not", why_not)),
    place=10,
)
