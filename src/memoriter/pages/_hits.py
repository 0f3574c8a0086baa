"""Hits as the page Search shows them: grouped by note, rendered, with the line that answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.pages._addresses import address_of
from memoriter.pages._figures import figures_of
from memoriter.pages._markdown import rendered
from memoriter.pages._pane import name_of
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from markupsafe import Markup

    from memoriter.pages._figures import Figure
    from memoriter.pages._wiki import NoteNames
    from memoriter.search import Marker

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

    Args:
        result: the answer.
        query: the question, which the note's page gets.
        marker: matches the words of the question.
        names: the names of all notes.
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
