"""Ranking: pure functions from a query and an index to hits."""

from typing import TYPE_CHECKING

from memoriter.lazy import lazy_names
from memoriter.search._candidates import Candidates, RankedLine, ids_with_words
from memoriter.search._forms import Marker, languages_of, marker_of, terms_and_forms
from memoriter.search._hits import deciding, in_order_of_time, nothing_then, of_time, with_time
from memoriter.search._pipeline import (
    JUDGE_WEIGHT,
    PassageParts,
    Relevance,
    Trace,
    certainty_of,
    clean_query,
    newest,
    outcome_of,
    rank,
)
from memoriter.search._score import (
    MATCH,
    WEAK,
    CosineBaseline,
    EmbeddedLine,
    SearchSettings,
    TypedQuery,
    measure,
    script_of,
)
from memoriter.search._terms import ANALYSIS, analyse, classic_terms, link_terms, pack, query_terms, terms_of_day

if TYPE_CHECKING:
    from memoriter.search._empty_result import diagnose_empty, search_without_limits
    from memoriter.search._language import understand
    from memoriter.search._projection import Drawing, draw
    from memoriter.search._typed_ranking import rank_lines
    from memoriter.search._why_not import Examination, RankedQuery, examine

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


# Load diagnostics and the operators of queries on first use.
__getattr__ = lazy_names(
    __name__,
    {
        "_language": "understand",
        "_empty_result": "search_without_limits diagnose_empty",
        "_why_not": "Examination RankedQuery examine",
        "_projection": "Drawing draw",
        "_typed_ranking": "rank_lines",
    },
)
