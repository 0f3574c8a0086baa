"""Text output of a search result."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoriter.filters import all_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from memoriter.cli._render import Line, Span
    from memoriter.types import Explanation, Hit, SearchResult

SNIPPET_LINES = 6
INDENT = "   "
STAGES = (
    ("changes", "look for changes"),
    ("index", "index"),
    ("embed", "embed the query"),
    ("keyword", "keyword retrieval"),
    ("vector", "vector retrieval"),
    ("rank", "rank"),
    ("verify", "verify"),
    ("total", "total"),
)
TRY = "Try other words, a name or a date; `memoriter status` says what is indexed."


def answer_lines(result: SearchResult, query: str, *, marked: bool, narrowed: bool) -> list[Line]:
    """Return the lines for the hits with their citations, and for the confidence of the result.

    Args:
        result: the result of the search.
        query: the text of the query.
        marked: whether to highlight the query's words in the text.
        narrowed: whether options restricted the search.
    """
    terms = _marker(query)
    lines = [
        line for number, hit in enumerate(result.hits, 1) for line in _hit_lines(number, hit, terms, marked=marked)
    ]
    timings = [] if result.timings is None else [((timing_row(result.timings), "cyan"),)]
    return [*lines, *_outcome_lines(result, narrowed=narrowed), *understood_lines(result), *timings]


def understood_lines(result: SearchResult) -> list[Line]:
    """Return the line that shows which operators the query has, if the result explains itself."""
    if result.timings is None or result.understood is None:
        return []
    parts = [f"{name} {value!r}" for name, value in result.understood.items()]
    return [((f"understood: {'; '.join(parts)}", "cyan"),)]


def timing_row(timings: Mapping[str, float]) -> str:
    """Return the line with the milliseconds of each stage, in the order of a search.

    >>> timing_row({"changes": 1.26, "rank": 2.0, "total": 3.5})
    'milliseconds: look for changes 1.3, rank 2.0, total 3.5'
    """
    return "milliseconds: " + ", ".join(f"{title} {timings[stage]:.1f}" for stage, title in STAGES if stage in timings)


def _hit_lines(number: int, hit: Hit, terms: re.Pattern[str] | None, *, marked: bool) -> Iterator[Line]:
    title: list[Span] = [(f"{number}. ", "dim"), (hit.citation, "bold"), (f"  {hit.score:.2f}", "green")]
    if hit.heading:
        title.append((f"  {' › '.join(hit.heading)}", "dim"))
    yield tuple(title)
    for row in snippet_window([row.rstrip() for row in hit.snippet.splitlines() if row.strip()], terms):
        yield ((f"{INDENT}…", "dim"),) if row is None else ((INDENT, ""), *_highlight(row, terms if marked else None))
    if hit.explanation is not None:
        for text in explanation_rows(hit.explanation):
            yield ((f"{INDENT}{text}", "cyan"),)
    yield ()


def snippet_window(rows: Sequence[str], terms: re.Pattern[str] | None) -> list[str | None]:
    """Return the rows of a passage to show: those with most words of the query, the first ones if none has any.

    Args:
        rows: the lines of the passage, without blank ones.
        terms: matches the words of the query.

    Returns:
        At most `SNIPPET_LINES` rows, with None for each part that is left out. If the rows begin inside a table, its
        header is shown above them.
    """
    if len(rows) <= SNIPPET_LINES:
        return list(rows)
    found = [len({match[0].lower() for match in terms.finditer(row)}) if terms else 0 for row in rows]
    starts = range(len(rows) - SNIPPET_LINES + 1)
    best = max(starts, key=lambda start: sum(found[start : start + SNIPPET_LINES]))
    if any(found):  # one row of context above the first match
        first = next(at for at in range(best, len(rows)) if found[at])
        best = min(max(best, first - 1), starts[-1])
    header = _table_header(rows, best)
    count = SNIPPET_LINES - len(header)
    best = max(range(best, best + len(header) + 1), key=lambda start: sum(found[start : start + count]))
    window: list[str | None] = list(rows[best : best + count])
    before = [*header, None] if header else [None] if best > 0 else []
    return [*before, *window, *([None] if best + count < len(rows) else [])]


def _table_header(rows: Sequence[str], start: int) -> list[str]:
    """Return the header of the table in which the row at `start` is, or nothing outside of a table or at its top."""
    top = start
    while top > 0 and rows[top - 1].lstrip().startswith("|"):
        top -= 1
    is_table = rows[start].lstrip().startswith("|") and set(rows[top + 1].strip()) <= set("|-: ")
    return list(rows[top : top + 2]) if is_table and start > top + 1 else []


def explanation_rows(explanation: Explanation) -> list[str]:
    """Return the lines that explain the score of a hit."""
    cosine = "no vector" if explanation.cosine is None else f"cosine {explanation.cosine:.3f}"
    vector = "-" if explanation.vector is None else f"{explanation.vector:.3f}"
    meaning = f"meaning {vector} ({cosine})"
    words = (
        f"words {explanation.keyword:.3f} (coverage {explanation.coverage:.3f}, "
        f"saturation {explanation.saturation:.3f}, neighbours {explanation.neighbours:.3f})"
    )
    score = f"blend {explanation.raw:.3f}, calibrated {explanation.calibrated:.3f}, decay {explanation.decay:.3f}"
    retrievers = " and ".join(explanation.legs) or "no leg"
    terms = ", ".join(explanation.terms) or "none"
    return [f"{meaning}; {words}", f"{score}; found by {retrievers}; terms: {terms}"]


def _outcome_lines(result: SearchResult, *, narrowed: bool) -> list[Line]:
    lines: list[Line]
    match result.outcome:
        case "match" if result.hits:
            lines = [((f"Best match: 1. {result.hits[0].citation}", "green"),)]
        case "weak":
            lines = [(("Possibly related; there is no clear match.", "yellow"),), ((TRY, ""),)]
        case "match" | "none":
            nearest = " These passages are the nearest." if result.hits else ""
            lines = [((f"Nothing in your notes answers this.{nearest}", "yellow"),), *_empty_result_lines(result)]
    if result.outcome != "match" and narrowed and not result.reasons:
        options = ", ".join([*all_options(), "--min-score"])
        lines.append(((f"Or search everywhere: leave out {options}.", ""),))
    if result.truncated_by is not None:
        lines.append(((f"Cut short by the {result.truncated_by}: this is the best so far.", "yellow"),))
    return lines


def _empty_result_lines(result: SearchResult) -> Iterator[Line]:
    """Yield the lines that explain an empty result, with remedies."""
    for reason in result.reasons:
        yield ((f"{reason.message} {reason.remedy}", ""),)
    if not result.reasons:
        yield ((TRY, ""),)


def _marker(query: str) -> re.Pattern[str] | None:
    """Return a pattern for words that begin with a term of the query, and for terms of scripts without spaces.

    The result is None if the query has no term of more than one character.
    """
    from memoriter.search import query_terms

    terms = sorted({term for term in query_terms(query) if len(term) > 1}, key=len, reverse=True)
    if not terms:
        return None
    patterns = [rf"\b{re.escape(term)}\w*" if term.isascii() else re.escape(term) for term in terms]
    return re.compile("|".join(patterns), re.IGNORECASE)


def _highlight(row: str, mark: re.Pattern[str] | None) -> Iterator[Span]:
    position = 0
    for match in mark.finditer(row) if mark else ():
        yield row[position : match.start()], ""
        yield match[0], "bold yellow"
        position = match.end()
    yield row[position:], ""
