"""The hits of QMD as those of a search, and their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.times import path_date
from memoriter.types import Health, Hit, SearchResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.extensions.qmd._values import QmdAnswer, QmdHit
    from memoriter.types import Mode, Query, SourceKind

MODES: dict[str, Mode] = {"search": "keyword", "vsearch": "vector", "query": "hybrid", "typed": "hybrid"}


def to_result(answer: QmdAnswer, query: Query, *, limit: int, snippet_chars: int) -> SearchResult:
    """Return QMD's answer as the result of a search of up to `limit` hits, each with so many characters of its text.

    Its scores do not tell whether a passage answers the query, so that hits are never called a match.
    """
    allowed = query.filters.sources
    lowest = query.min_score or 0.0
    found = [hit for hit in answer.hits if hit.score >= lowest and (allowed is None or hit.source in allowed)]
    hits = interleaved([_to_hit(hit, snippet_chars) for hit in found], limit)
    mode = MODES.get(answer.mode, "keyword")
    legs = {"keyword": mode != "vector", "vector": mode != "keyword"}
    health = Health(legs, reasons=tuple(dict.fromkeys(answer.notices)))
    return SearchResult(hits, "weak" if hits else "none", "qmd", answer.mode, mode, health)


def _to_hit(hit: QmdHit, snippet_chars: int) -> Hit:
    heading = (hit.title,) if hit.title else ()
    return Hit(
        hit.path,
        hit.start_line,
        hit.end_line,
        hit.score,
        hit.snippet[:snippet_chars].rstrip(),
        hit.source,
        heading,
        date=path_date(hit.path),
        text=hit.snippet,
    )


def interleaved(hits: Sequence[Hit], limit: int) -> tuple[Hit, ...]:
    """Return the best hits of each kind of source in turn, so that neither hides the other.

    The kind with the best hit begins. Where one kind has no more hits, the other fills the rest.

    >>> interleaved([], 6)
    ()
    """
    queues: dict[SourceKind, list[Hit]] = {}
    for hit in sorted(hits, key=lambda hit: -hit.score):
        queues.setdefault(hit.source, []).append(hit)
    order = [queue[::-1] for queue in queues.values()]
    chosen: list[Hit] = []
    while len(chosen) < limit and any(order):
        chosen += [queue.pop() for queue in order if queue]
    return tuple(chosen[: max(limit, 0)])
