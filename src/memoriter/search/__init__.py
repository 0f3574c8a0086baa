"""Ranking: pure functions from a query and an index to hits."""

from typing import TYPE_CHECKING, Any

from memoriter.search._answering import judged
from memoriter.search._candidates import Candidates, RankedLine, ids_with_words
from memoriter.search._cosine_baseline import CosineBaseline, measure, script_of
from memoriter.search._dates import path_date, terms_of_day
from memoriter.search._inputs import EmbeddedLine, Reader, Scoring, SearchSettings, TypedQuery
from memoriter.search._pipeline import Trace, clean_query, newest, outcome_of, rank
from memoriter.search._rerank import JUDGE_WEIGHT, PassageParts, Relevance, Rescorer
from memoriter.search._score import MATCH, WEAK
from memoriter.search._terms import analyse, classic_terms, link_terms, pack, query_terms, words_pattern

if TYPE_CHECKING:
    from memoriter.search._calibration import FEWEST_CHUNKS, OWN_QUESTIONS, OwnQuestion, calibrate, question_from
    from memoriter.search._certainty import Calibration, pack_vectors, unpack_vectors
    from memoriter.search._empty_result import diagnose_empty, search_without_limits
    from memoriter.search._foreign_questions import FOREIGN_QUESTIONS
    from memoriter.search._foreign_tasks import FOREIGN_TASKS
    from memoriter.search._message_certainty import MOST_TEXTS, NEAREST, EmbeddedTexts, message_margin
    from memoriter.search._named_time import deciding, in_order_of_time, nothing_then, of_time
    from memoriter.search._projection import Drawing, draw
    from memoriter.search._smallest_change import RankedQuery
    from memoriter.search._typed import understand
    from memoriter.search._typed_ranking import rank_lines
    from memoriter.search._why_not import Examination, examine

__all__ = [
    "FEWEST_CHUNKS",
    "FOREIGN_QUESTIONS",
    "FOREIGN_TASKS",
    "JUDGE_WEIGHT",
    "MATCH",
    "MOST_TEXTS",
    "NEAREST",
    "OWN_QUESTIONS",
    "WEAK",
    "Calibration",
    "Candidates",
    "CosineBaseline",
    "Drawing",
    "EmbeddedLine",
    "EmbeddedTexts",
    "Examination",
    "OwnQuestion",
    "PassageParts",
    "RankedLine",
    "RankedQuery",
    "Reader",
    "Relevance",
    "Rescorer",
    "Scoring",
    "SearchSettings",
    "Trace",
    "TypedQuery",
    "analyse",
    "calibrate",
    "classic_terms",
    "clean_query",
    "deciding",
    "diagnose_empty",
    "draw",
    "examine",
    "ids_with_words",
    "in_order_of_time",
    "judged",
    "link_terms",
    "measure",
    "message_margin",
    "newest",
    "nothing_then",
    "of_time",
    "outcome_of",
    "pack",
    "pack_vectors",
    "path_date",
    "query_terms",
    "question_from",
    "rank",
    "rank_lines",
    "script_of",
    "search_without_limits",
    "terms_of_day",
    "understand",
    "unpack_vectors",
    "words_pattern",
]


def __getattr__(name: str) -> Any:
    """Load diagnostics, calibrations and the operators of queries on first use."""
    if name == "understand":
        from memoriter.search import _typed

        return _typed.understand
    if name in {"deciding", "in_order_of_time", "nothing_then", "of_time"}:
        from memoriter.search import _named_time

        return getattr(_named_time, name)
    if name in {"search_without_limits", "diagnose_empty"}:
        from memoriter.search import _empty_result

        return getattr(_empty_result, name)
    if name in {"Examination", "RankedQuery", "examine"}:
        from memoriter.search import _why_not

        return getattr(_why_not, name)
    if name in {"FEWEST_CHUNKS", "OWN_QUESTIONS", "OwnQuestion", "calibrate", "question_from"}:
        from memoriter.search import _calibration

        return getattr(_calibration, name)
    if name in {"Calibration", "pack_vectors", "unpack_vectors"}:
        from memoriter.search import _certainty

        return getattr(_certainty, name)
    if name in {"Drawing", "draw"}:
        from memoriter.search import _projection

        return getattr(_projection, name)
    if name == "rank_lines":
        from memoriter.search import _typed_ranking

        return _typed_ranking.rank_lines
    if name == "FOREIGN_QUESTIONS":
        from memoriter.search import _foreign_questions

        return _foreign_questions.FOREIGN_QUESTIONS
    if name == "FOREIGN_TASKS":
        from memoriter.search import _foreign_tasks

        return _foreign_tasks.FOREIGN_TASKS
    if name in {"MOST_TEXTS", "NEAREST", "EmbeddedTexts", "message_margin"}:
        from memoriter.search import _message_certainty

        return getattr(_message_certainty, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
