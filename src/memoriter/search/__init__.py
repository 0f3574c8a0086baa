"""Ranking: pure functions from a query and an index to hits."""

from typing import TYPE_CHECKING, Any

from memoriter.search._candidates import Candidates, RankedLine, ids_with_words
from memoriter.search._cosine_baseline import CosineBaseline, measure, script_of
from memoriter.search._dates import terms_of_day
from memoriter.search._forms import languages_of, terms_and_forms
from memoriter.search._hits import deciding, in_order_of_time, nothing_then, of_time, with_time
from memoriter.search._pipeline import Trace, certainty_of, clean_query, newest, outcome_of, rank
from memoriter.search._rerank import JUDGE_WEIGHT, PassageParts, Relevance, Rescorer
from memoriter.search._score import MATCH, WEAK, EmbeddedLine, Scoring, SearchSettings, TypedQuery
from memoriter.search._terms import ANALYSIS, analyse, classic_terms, link_terms, pack, query_terms

if TYPE_CHECKING:
    from memoriter.search._empty_result import diagnose_empty, search_without_limits
    from memoriter.search._marking import Marker, marker_of
    from memoriter.search._projection import Drawing, draw
    from memoriter.search._smallest_change import RankedQuery
    from memoriter.search._typed import understand
    from memoriter.search._typed_ranking import rank_lines
    from memoriter.search._why_not import Examination, examine

__all__ = [
    "ANALYSIS",
    "JUDGE_WEIGHT",
    "MATCH",
    "WEAK",
    "Candidates",
    "CosineBaseline",
    "Drawing",
    "EmbeddedLine",
    "Examination",
    "Marker",
    "PassageParts",
    "RankedLine",
    "RankedQuery",
    "Relevance",
    "Rescorer",
    "Scoring",
    "SearchSettings",
    "Trace",
    "TypedQuery",
    "analyse",
    "certainty_of",
    "classic_terms",
    "clean_query",
    "deciding",
    "diagnose_empty",
    "draw",
    "examine",
    "ids_with_words",
    "in_order_of_time",
    "languages_of",
    "link_terms",
    "marker_of",
    "measure",
    "newest",
    "nothing_then",
    "of_time",
    "outcome_of",
    "pack",
    "query_terms",
    "rank",
    "rank_lines",
    "script_of",
    "search_without_limits",
    "terms_and_forms",
    "terms_of_day",
    "understand",
    "with_time",
]


def __getattr__(name: str) -> Any:
    """Load diagnostics and the operators of queries on first use."""
    if name == "understand":
        from memoriter.search import _typed

        return _typed.understand
    if name in {"search_without_limits", "diagnose_empty"}:
        from memoriter.search import _empty_result

        return getattr(_empty_result, name)
    if name in {"Examination", "RankedQuery", "examine"}:
        from memoriter.search import _why_not

        return getattr(_why_not, name)
    if name in {"Marker", "marker_of"}:
        from memoriter.search import _marking

        return getattr(_marking, name)
    if name in {"Drawing", "draw"}:
        from memoriter.search import _projection

        return getattr(_projection, name)
    if name == "rank_lines":
        from memoriter.search import _typed_ranking

        return _typed_ranking.rank_lines
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
