"""The page Search: hits as someone types, by note, with filters as chips, and why a passage is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.errors import MemoriterError
from memoriter.filters import ANY
from memoriter.pages._addresses import address_of
from memoriter.pages._figures import SCORE, figures_of
from memoriter.pages._hits import found_notes
from memoriter.pages._page import Page, PageRoute
from memoriter.pages._pane import pane_of
from memoriter.search import Marker, marker_of
from memoriter.types import STAGES
from memoriter.values import dataclass
from memoriter.web import problem_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.responses import Response

    from memoriter.pages._page import Visit

FILTERS = ("path", "since", "until")
"""Filters with one value, which are passed on as they are."""
SOURCES = {"memory": "notes", "sessions": "conversations"}
PAGES_OF_HITS = (10, 30, 100)
"""Hits that are asked for at first, and after each "More"."""
MARKS = {"passed": ("good", "ok"), "warned": ("warn", "note"), "lost": ("bad", "lost"), "not_reached": ("quiet", "-")}
"""The class and the word for each state of a stage."""
NO_WORD = Marker(frozenset())
"""Matches nothing: what is listed by its day answers no words."""
FAINT_BELOW = 0.45
"""Without a match, hits are folded if the best one has a lower score: what is not in the notes at all scores so."""
UNCERTAIN = "Nothing here answers this for certain; these passages are the closest."
NOTHING = "Nothing in your notes answers this."


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter in force, with the address of the same search without it."""

    text: str
    address: str


async def show(visit: Visit) -> Response:
    """Return the page with the hits for the question in the address."""
    query = visit.parameter("q")
    explain = bool(visit.parameter("explain"))
    most = int(visit.parameter("most")) if visit.parameter("most") in {str(each) for each in PAGES_OF_HITS} else 10
    values: dict[str, Any] = {"query": query, "explain": explain, "problem": None, "result": None, "notes": []}
    status = 200
    if query or visit.parameter("since") not in {"", ANY} or visit.parameter("until"):
        try:
            result = await visit.perform("search", query=query, explain=explain, max_results=most, **limits_of(visit))
        except MemoriterError as error:
            problem = problem_of(error, "The search")
            status = problem.status
            values["problem"] = problem
        else:
            values |= await _shown(visit, result, query, most)
    filters = {name: visit.parameter(name) for name in (*FILTERS, "source", "tag")}
    constants: dict[str, Any] = {"any_day": ANY, "score": SCORE, "stages": STAGES, "sources": SOURCES}
    if visit.fragment == "results":
        pane: dict[str, Any] = {}
    else:
        pane = await pane_of(visit)
        values["searches"] = query != "" or values["result"] is not None
    return await visit.render(
        "search/_results.html" if visit.fragment == "results" else "search/page.html",
        status,
        filters=filters,
        **constants,
        **await _beginning(visit, values),
        **values,
        **pane,
    )


async def _beginning(visit: Visit, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page shows while nothing is asked: the state of the notes, for the first steps."""
    if values["result"] is not None or values["problem"] is not None:
        return {"total": 1, "may_write": False}
    total = await visit.with_memory("read", lambda memory: visit.library.listing(memory).tree.files, quick=True)
    return {"total": total, "may_write": visit.caller.allows("write")}


async def _shown(visit: Visit, result: Mapping[str, Any], query: str, most: int) -> dict[str, Any]:
    understood: Mapping[str, Any] = result.get("understood", {})
    listed = bool(understood.get("newest"))
    marker = (None if listed else marker_of(str(understood.get("text") or query))) or NO_WORD
    notes = await visit.with_memory(
        "read", lambda memory: found_notes(result, query, marker, visit.library.listing(memory).names)
    )
    faint = is_faint(result, marker, listed=listed)
    count = len(result["results"])
    next_most = next((each for each in PAGES_OF_HITS if each > most), None)
    return {
        "result": result,
        "notes": notes,
        "listed": listed,
        "sentence": sentence_of(result, len(notes), listed=listed, faint=faint),
        "faint": faint,
        "chips": chips_of(visit, result),
        "more": _address(visit, most=str(next_most)) if count >= most and next_most else "",
    }


def is_faint(result: Mapping[str, Any], marker: Marker, *, listed: bool) -> bool:
    """Return whether the hits are so weak that a page shows them on request alone.

    Args:
        result: the answer of the API.
        marker: matches the words of the question, none of which a faint hit has.
        listed: whether the hits are listed by their days, without scores.
    """
    hits: Sequence[Mapping[str, Any]] = result["results"]
    if listed or result["outcome"] == "match" or max((hit["score"] for hit in hits), default=0.0) >= FAINT_BELOW:
        return False
    return not any(marker.words_in(" ".join([*hit.get("heading", ()), hit["text"]])) for hit in hits)


def sentence_of(result: Mapping[str, Any], notes: int, *, listed: bool, faint: bool) -> str:
    """Return how much was found, and how certain it is that it answers, as a sentence."""
    if faint or not result["results"]:
        return NOTHING
    if listed:
        return "The newest passages."
    if result["outcome"] != "match":
        return UNCERTAIN
    return f"Found in {notes:,} {'note' if notes == 1 else 'notes'}."


def chips_of(visit: Visit, result: Mapping[str, Any]) -> list[Chip]:
    """Return the filters in force."""
    chips: list[Chip] = []
    time: Mapping[str, str] | None = result.get("understood", {}).get("time")
    if time:
        same = time.get("since") == time.get("until")
        days = time.get("since", "") if same else f"{time.get('since', '…')} to {time.get('until', '…')}"
        chips.append(Chip(f"{time['words']}: {days}", _address(visit, since=ANY)))
    texts = {
        "path": "in {}",
        "since": "from {}",
        "until": "to {}",
        "tag": "#{}",
        "source": "only {}",
    }
    for name, text in texts.items():
        value = visit.parameter(name)
        if not value:
            continue
        shown = "any day" if (name, value) == ("since", ANY) else text.format(SOURCES.get(value, value))
        chips.append(Chip(shown, _address(visit, **{name: ""})))
    return chips


def _address(visit: Visit, **changed: str) -> str:
    """Return the address of this search with other parameters."""
    names = ("q", *FILTERS, "source", "tag", "most", "explain")
    return address_of("/search", **{name: changed.get(name, visit.parameter(name)) for name in names})


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
    limits: dict[str, Any] = {name: value for name in FILTERS if name != but and (value := visit.parameter(name))}
    lists: Sequence[tuple[str, str]] = (("sources", visit.parameter("source")), ("tags", visit.parameter("tag")))
    return limits | {name: (value,) for name, value in lists if value}


PAGE = Page(
    "Search",
    "Find what the memory knows, and see why it was found.",
    (PageRoute("/search", show), PageRoute("/search/why-not", why_not)),
    place=10,
)
