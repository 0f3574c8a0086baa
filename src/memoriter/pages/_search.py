"""The page Search: hits as someone types, by note, with filters as chips, and why a passage is missing.

Each note has its best passages with the line that answers, and each number of a search has its name and meaning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.errors import MemoriterError
from memoriter.filters import ANY
from memoriter.pages._addresses import address_of
from memoriter.pages._markdown import rendered
from memoriter.pages._page import Page, PageRoute
from memoriter.pages._pane import name_of, pane_of
from memoriter.search import Marker, marker_of
from memoriter.types import STAGES
from memoriter.values import dataclass
from memoriter.web import problem_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from markupsafe import Markup
    from starlette.responses import Response

    from memoriter.pages._note_links import NoteNames
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

    `marker` matches the words of the question, none of which a faint hit has. Hits that are `listed` by their days have
    no scores.
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


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of an explanation."""

    key: str
    """Its member in the JSON form."""
    name: str
    meaning: str
    retriever: str = ""
    """The retriever that found it; empty: a stage after retrieval."""


SCORE = Figure("score", "Score", "From 0 to 1: how much the passage is about the question, whatever else was found.")
FIGURES = (
    Figure("cosine", "Cosine", "The similarity of the two vectors, as the model computes it.", "vector"),
    Figure("vector", "Meaning", "How far the cosine exceeds that of unrelated passages; 1 is the maximum.", "vector"),
    Figure("coverage", "Coverage", "The share of the question's words in it; rare words count more.", "keyword"),
    Figure("saturation", "Saturation", "How often the words occur, for the length of the passage.", "keyword"),
    Figure("neighbours", "Neighbours", "What the passages before and after it add.", "keyword"),
    Figure("keyword", "Words", "Coverage, saturation and neighbours together.", "keyword"),
    Figure("raw", "Blend", "The weighted sum of meaning and words."),
    Figure("calibrated", "Calibrated", "The blend, mapped to a score that means the same for every question."),
    Figure("decay", "Decay", "The share that is left because of the note's age; 1 if age does not count."),
    Figure("relevance", "Relevance", "The score of the reranker, on a scale of its own."),
)
"""The numbers in the order in which a search computes them."""


def figures_of(explanation: Mapping[str, Any]) -> Iterator[tuple[Figure, float | None]]:
    """Yield the numbers of a hit; None if its retriever did not find it. Others that are missing are left out."""
    for each in FIGURES:
        value: float | None = explanation.get(each.key)
        if value is not None or (each.retriever and each.key in explanation):
            yield each, value


SHOWN_PASSAGES = 2
"""Passages of one note that are shown."""
SHOWN_LINES = 6
"""Lines of a passage that are shown, around the one that answers."""
WEAKER_SHARE = 0.75
"""Hits with less than this share of the best score stand below a line."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A hit as the page shows it."""

    hit: Mapping[str, Any]
    address: str
    """The address of the line that answers, or else of the one with most words of the question."""
    preview: str
    html: Markup
    cut: bool
    """Whether lines are left out."""
    heading: str
    """The headings above it, without the title of the note."""
    figures: Sequence[tuple[Figure, float | None]]


@dataclass(frozen=True, slots=True)
class FoundNote:
    """A note with the passages of it that were found, the best first."""

    path: str
    title: str
    folders: Sequence[tuple[str, str]]
    """Names and paths of the folders that lead to it."""
    hit: Mapping[str, Any]
    """The best one."""
    passages: Sequence[Passage]
    more: int
    """Passages that are not shown."""
    begins_weaker: bool
    """Whether the line that says "weaker" stands above it."""


def found_notes(result: Mapping[str, Any], query: str, marker: Marker, names: NoteNames) -> list[FoundNote]:
    """Return the notes of an answer of the API, in the order of their best hits.

    The page of a note gets the `query`, whose words `marker` matches.
    """
    hits: list[Mapping[str, Any]] = result["results"]
    by_path: dict[str, list[Mapping[str, Any]]] = {}
    for hit in hits:
        by_path.setdefault(hit["path"], []).append(hit)
    weaker_from = _weaker_from(result, [each[0] for each in by_path.values()])
    return [
        FoundNote(
            path=path,
            title=_title(path, of_note[0]),
            folders=folders_of(path),
            hit=of_note[0],
            passages=[_passage(hit, query, marker, names) for hit in of_note[:SHOWN_PASSAGES]],
            more=max(0, len(of_note) - SHOWN_PASSAGES),
            begins_weaker=at == weaker_from,
        )
        for at, (path, of_note) in enumerate(by_path.items())
    ]


def _weaker_from(result: Mapping[str, Any], best: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the position of the first note that is clearly weaker than the first one; None: there is none."""
    if result["outcome"] != "match" or result.get("understood", {}).get("newest"):
        return None
    limit = best[0]["score"] * WEAKER_SHARE if best else 0.0
    weak = [each["score"] < limit or each.get("outsideTime", False) for each in best]
    # What comes after the last note that is not weaker: a reranker may put a lower score first.
    last_strong = max((at for at, is_weak in enumerate(weak) if not is_weak), default=-1)
    return last_strong + 1 if 0 <= last_strong < len(weak) - 1 else None


def _title(path: str, hit: Mapping[str, Any]) -> str:
    """Return the title of a note: its outermost heading below the names of the folders, or its name."""
    folders = {name for name, _ in folders_of(path)}
    return next((each for each in hit.get("heading", ()) if each not in folders), "") or name_of(path)


def folders_of(path: str) -> list[tuple[str, str]]:
    """Return names and paths of the folders that lead to a file.

    >>> folders_of("a/b/c.md")
    [('a', 'a/'), ('b', 'a/b/')]
    """
    names = path.split("/")[:-1]
    return [(name, "/".join(names[: at + 1]) + "/") for at, name in enumerate(names)]


def _passage(hit: Mapping[str, Any], query: str, marker: Marker, names: NoteNames) -> Passage:
    rows = [row.strip("\r") for row in str(hit["text"]).split("\n")]
    first: int = hit["startLine"]
    exact = len(rows) == hit["endLine"] - first + 1  # the passage of a transcript has only some of its lines
    best = best_row(rows, marker, hit.get("answerLines"), first if exact else None)
    start = max(0, min(best - 2, len(rows) - SHOWN_LINES))
    if start < best and rows[start].lstrip("# ").strip() == _title(hit["path"], hit):
        start += 1  # the title stands above the passages
    shown = rows[start : start + SHOWN_LINES]
    titles = [row.lstrip("# ").strip() for row in shown]
    heading = [each for each in hit.get("heading", ()) if each not in {name for name, _ in folders_of(hit["path"])}]
    line = str(first + best) if exact else ""
    is_known = bool(hit.get("answerLines")) or bool(marker.words_in(rows[best]))
    answer = (best - start + 1,) if is_known else ()
    return Passage(
        hit=hit,
        address=address_of("/notes", f"L{line}" if line else "", path=hit["path"], q=query),
        preview=address_of("/notes/preview", path=hit["path"], line=line, q=query),
        html=rendered("\n".join(shown), path=hit["path"], names=names, marker=marker, answer=answer),
        cut=len(shown) < len([row for row in rows if row.strip()]),
        heading=" › ".join(each for each in heading[1:] if each not in titles),
        figures=[*figures_of(hit.get("explain", {}))],
    )


def best_row(rows: Sequence[str], marker: Marker, answer: Sequence[int] | None, first: int | None) -> int:
    """Return the position of the line that answers: as the judge says, or else the one with most words."""
    if answer and first is not None and 0 <= answer[0] - first < len(rows):
        return answer[0] - first
    counts = [len(marker.words_in(row)) for row in rows]
    is_heading = [row.lstrip().startswith("#") for row in rows]
    return max(range(len(rows)), key=lambda at: (counts[at], bool(rows[at].strip()) and not is_heading[at], -at))


PAGE = Page(
    "Search",
    "Find what the memory knows, and see why it was found.",
    (PageRoute("/search", show), PageRoute("/search/why-not", why_not)),
    place=10,
)
