"""The measurement of a `Calibration`: searches for foreign questions, and for questions made from passages."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.search._candidates import ParsedQuery, gather_by_kind
from memoriter.search._certainty import Calibration, ForeignQuestions
from memoriter.search._cosine_baseline import script_of
from memoriter.search._pipeline import calibrated, clean_query, rank
from memoriter.search._terms import query_terms
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.search._candidates import Candidates
    from memoriter.search._inputs import Reader, SearchSettings
    from memoriter.search._pipeline import Trace
    from memoriter.types import Filters

FEWEST_CHUNKS = 5
"""Chunks below which nothing is measured: too few passages compete for a question."""
OWN_QUESTIONS = 24
"""Most questions that are made from passages."""
TOP = 3
"""Hits among which the passage of an own question must be, so that the question counts."""
FEWEST_WORDS, MOST_WORDS = 4, 8
"""Words of a passage from which a question is made, before every third is dropped."""
RUN_LENGTH = 14
"""Characters of a question in a script that is written without spaces."""
_MARKUP = re.compile(r"[#*_`>|\[\]()]+|^\s*[-+]\s+", re.MULTILINE)


@dataclass(frozen=True, slots=True, eq=False)
class OwnQuestion:
    """A question made from a passage."""

    text: str
    passage: str
    """The text of the passage."""
    vector: NDArray[np.float32]
    """(dims,), unit length."""


def question_from(passage: str) -> str | None:
    r"""Return a question by keywords that a passage answers, or None if the passage has too few words.

    It has words of the passage's longest line, without every third of them, so that words alone do not find it.

    >>> question_from("# Boat\n- The ferry leaves the old harbour pier at seven every Sunday")
    'ferry leaves harbour pier every Sunday'
    """
    lines = [_MARKUP.sub(" ", line).split() for line in passage.splitlines()] or [[]]
    longest = max(lines, key=lambda words: sum(map(len, words)))
    if len(longest) < FEWEST_WORDS:
        run = "".join(longest)
        return run[:RUN_LENGTH] if not run.isascii() and len(run) >= RUN_LENGTH // 2 else None
    content = set(query_terms(" ".join(longest)))
    words = [word for word in longest if len(word) > 2 and not content.isdisjoint(query_terms(word))][:MOST_WORDS]
    kept = [word for at, word in enumerate(words) if at % 3 != 2]
    return " ".join(kept) if len(words) >= FEWEST_WORDS else None


def calibrate(
    reader: Reader,
    settings: SearchSettings,
    *,
    filters: Filters,
    foreign: Sequence[tuple[str, NDArray[np.float32]]],
    own: Sequence[OwnQuestion],
    sample: tuple[Sequence[str], NDArray[np.float32]],
) -> Calibration:
    """Measure how certain the answers to questions are that no passage answers.

    Args:
        reader: the index.
        settings: how to rank, with the baseline of the index.
        filters: the chunks that searches without filters of their own find.
        foreign: foreign questions with their vectors (dims,), unit length.
        own: questions made from passages.
        sample: texts and vectors (m, dims) of passages.
    """
    import numpy as np

    texts, vectors = sample
    baseline = settings.background
    scripts, asked = tuple(script_of(text) for text, _ in foreign), np.array([vector for _, vector in foreign])
    scores = baseline.score_matrix(scripts, asked, [script_of(text) for text in texts], vectors)
    questions = ForeignQuestions(scripts, asked, float(scores.var(axis=0).mean()))
    certainties: list[float] = []
    best: list[float] = []
    for at, (text, vector) in enumerate(foreign):
        query = ParsedQuery(text, (), vector)
        found = gather_by_kind(reader, query, settings, filters=filters, use_keywords=False)
        certainty = questions.certainty(found, reader, baseline, skip=at)
        certainties.append(-1e9 if certainty is None else certainty)
        best.append(round(max(calibrated(found, settings).values(), default=0.0), 6))
    made = tuple(_measure_own(reader, settings, filters, questions, own))
    chunks = reader.corpus().chunks
    return Calibration(foreign=questions, certainties=tuple(certainties), scores=tuple(best), chunks=chunks, own=made)


def _measure_own(
    reader: Reader,
    settings: SearchSettings,
    filters: Filters,
    questions: ForeignQuestions,
    own: Sequence[OwnQuestion],
) -> Iterator[tuple[str, float, float | None]]:
    """Yield script and certainties, with and without the passage, of each question whose passage is found."""
    settings = replace(settings, min_score=float("-inf"))
    for question in own:
        traces: list[Trace] = []
        hits = rank(
            reader,
            clean_query(question.text),
            question.vector,
            settings,
            filters=filters,
            now=0.0,
            explain=False,
            trace=traces.append,
        )
        candidates = traces[-1].candidates
        if candidates is None or all(hit.text != question.passage for hit in hits[:TOP]):
            continue
        certainty = questions.certainty(candidates, reader, settings.background)
        if certainty is not None:
            rest = _without(candidates, question.passage, reader)
            yield script_of(question.text), certainty, questions.certainty(rest, reader, settings.background)


def _without(candidates: Candidates, passage: str, reader: Reader) -> Candidates:
    """Return the candidates without those that have the text of a passage."""
    texts = {row: stored.chunk.text for row, stored in reader.rows(candidates.vector_ranking).items()}
    return replace(candidates, vector_ranking=[row for row in candidates.vector_ranking if texts.get(row) != passage])
