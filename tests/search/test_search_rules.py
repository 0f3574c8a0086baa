"""The rules of ranking, each on its own."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.environment import Deadline
from memoriter.search import MATCH, WEAK, CosineBaseline, analyse, measure, pack
from memoriter.search._candidates import _nearest
from memoriter.search._hits import snippet
from memoriter.search._score import (
    FULL_SCORE_DEVIATIONS,
    KEYWORDS_ONLY,
    WITH_VECTORS,
    KeywordScore,
    WeightedTerms,
    blend,
    cap_below_match,
    keyword_score,
    saturations,
    weigh,
)
from memoriter.search._terms import members, needle, occurrences, term_hash
from memoriter.types import Filters

words = st.text(alphabet="abcdefgh가나다数据", min_size=1, max_size=4)


@given(st.lists(words, max_size=300), st.lists(words, max_size=10))
def test_term_counts_are_those_of_the_text(terms, query):
    query = list(dict.fromkeys(query))
    packed = [pack([]), pack(terms), pack(terms[::2])]
    found = occurrences(packed, [needle(term) for term in query])
    for position, held in enumerate(([], terms, terms[::2])):
        counts = {place: min(held.count(term), 255) for place, term in enumerate(query) if term in held}
        assert found.get(position, {}) == counts
    assert members(pack(terms)) == {term_hash(term) for term in terms}


@given(st.lists(words, min_size=1, max_size=30), st.lists(words, min_size=1, max_size=8), st.integers(0, 10**6))
def test_a_keyword_score_lies_between_none_and_all(terms, query_terms, chunks):
    query_terms = list(dict.fromkeys(query_terms))
    query = weigh(query_terms, {term: min(chunks, 3) for term in query_terms}, chunks=chunks, mean_length=10.0)
    score = scored(pack(terms), len(terms), query)
    assert 0 <= score.saturation <= score.coverage <= 1 + 1e-9
    assert (score.value > 0) == bool(set(terms) & set(query_terms))


@pytest.mark.slow
@given(st.lists(words, min_size=1, max_size=20), st.lists(words, min_size=2, max_size=6, unique=True))
def test_holding_one_more_term_of_the_question_never_lowers_the_score(terms, query_terms):
    query = weigh(query_terms, dict.fromkeys(query_terms, 1), chunks=50, mean_length=len(terms))
    missing = [term for term in query_terms if term not in terms]
    before = scored(pack(terms), len(terms), query).value
    for term in missing:
        after = scored(pack([*terms, term]), len(terms), query).value
        assert after > before


def test_an_unknown_term_counts_against_a_passage():
    known = weigh(["ledger"], {"ledger": 3}, chunks=100, mean_length=5.0)
    unknown = weigh(["ledger", "qwxyz"], {"ledger": 3, "qwxyz": 0}, chunks=100, mean_length=5.0)
    term_counts = pack(analyse("ledger entry"))
    assert scored(term_counts, 5, unknown).coverage < 0.5 < scored(term_counts, 5, known).coverage == 1


def test_an_identifier_that_no_note_holds_is_left_to_its_parts():
    query = weigh(["ledg-999", "ledg", "999"], {"ledg": 2}, chunks=10, mean_length=5.0)
    assert query.terms == ("ledg", "999")


@given(st.floats(-2, 2), st.floats(-2, 2))
def test_the_scale_of_scores_is_monotone_and_bounded(left, right):
    low, high = sorted((left, right))
    assert 0 < WITH_VECTORS.calibrate(low) <= WITH_VECTORS.calibrate(high) < 1
    assert 0 < KEYWORDS_ONLY.calibrate(low) <= KEYWORDS_ONLY.calibrate(high) < 1


@given(st.floats(0, 1.8), st.floats(0, 1.8), st.floats(-1, 1))
def test_more_words_never_lower_the_blend(left, right, vector):
    low, high = sorted((left, right))
    assert blend(vector, low, 0.35) <= blend(vector, high, 0.35)
    assert blend(None, low, 0.35) <= blend(None, high, 0.35)


def scored(term_counts: bytes, length: int, query: WeightedTerms) -> KeywordScore:
    return keyword_score(saturations([(term_counts, length)], query).get(0, {}), {}, {}, query)


def test_a_neighbour_lends_what_a_passage_lacks_and_little_else():
    query = weigh(["ledger", "outag"], {"ledger": 3, "outag": 3}, chunks=50, mean_length=3.0)
    texts = ("one ledger", "two ledger", "an outag")
    own, same, other = saturations([(pack(analyse(text)), 3) for text in texts], query).values()
    alone, echoed, lent = (keyword_score(own, before, {}, query) for before in ({}, same, other))
    assert alone.value < echoed.value < lent.value < 1
    assert keyword_score(own, {}, other, query) == lent
    assert keyword_score(own, other, other, query) == lent


def _unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def _corpus(n, seed, shift):
    draw = np.random.default_rng(seed)
    return _unit(draw.normal(size=(n, 32)) + shift)


def test_the_background_levels_a_script_that_the_model_puts_close_to_the_question():
    english = _corpus(200, 1, 2.0)
    korean = _corpus(200, 2, np.linspace(0, 3, 32))
    texts = ["a note"] * 200 + ["메모 하나"] * 200
    vectors = np.concatenate([english, korean])
    background = measure(texts, vectors, (0.5, 0.1))
    question = english[0]
    scripts = ["latin"] * 199 + ["hangul"] * 200
    scores = background.vector_scores("a question", question, scripts, vectors[1:])
    raw = vectors[1:] @ question
    assert raw[:199].mean() - raw[199:].mean() > 0.1
    levelled = abs(scores[:199].mean() - scores[199:].mean()) * background.spread * FULL_SCORE_DEVIATIONS
    assert levelled < 0.25 * (raw[:199].mean() - raw[199:].mean())


def test_a_chunk_that_is_near_to_any_question_ranks_lower_where_general_questions_are_known():
    vectors = _corpus(200, 6, 1.0)
    background = measure(["a note"] * 200, vectors, (0.5, 0.1))
    draw = np.random.default_rng(7)
    general = draw.normal(size=32)
    usual, answer = _unit(np.stack([vectors[0] + 0.2 * general, vectors[1]]))
    question = _unit((answer + 0.15 * general)[None])[0]
    chunks = np.stack([usual, answer])

    def scores(script, known):
        centres = {script: _unit(general[None])[0]}
        return replace(background, questions=centres if known else {}).vector_scores(
            "a question", question, ["latin"] * 2, chunks
        )

    usual_before, answer_before = scores("latin", known=False)
    usual_after, answer_after = scores("latin", known=True)
    assert answer_after - usual_after > answer_before - usual_before
    assert (scores("hangul", known=True) == scores("latin", known=False)).all()


def test_a_perfect_match_of_meaning_stands_far_out():
    vectors = _corpus(300, 3, 1.0)
    background = measure(["note"] * 300, vectors, (0.5, 0.1))
    scores = background.vector_scores("note", vectors[7], ["latin"] * 300, vectors)
    assert scores.argmax() == 7
    assert scores[7] > 1.3 * np.delete(scores, 7).max()


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_a_handful_of_notes_is_judged_by_the_models_own_figures(count):
    vectors = _corpus(max(count, 1), 4, 1.0)[:count]
    background = measure(["note"] * count, vectors, (0.5, 0.1))
    near = _unit(_corpus(1, 4, 1.0) + 0.01)[0]
    scores = background.vector_scores("note", near, ["latin"] * len(vectors), vectors)
    assert np.isfinite(scores).all()
    if count:
        assert scores[0] > 0.3


def test_the_background_comes_back_from_its_text():
    background = measure(["note", "메모"] * 40, _corpus(80, 5, 1.0), (0.5, 0.1))
    again = CosineBaseline.loads(background.dumps())
    assert json.loads(again.dumps()) == json.loads(background.dumps())


@given(st.text(max_size=1500), st.integers(1, 800))
def test_a_snippet_is_a_bounded_beginning(text, limit):
    cut = snippet(text, limit)
    assert text.startswith(cut)
    assert len(cut.encode("utf-16-le", "surrogatepass")) <= 2 * max(limit, 1) or len(cut) <= 1


def test_a_snippet_never_cuts_a_character_that_people_see_as_one():
    family = "👨‍👩‍👧‍👦"
    assert snippet("x" * 695 + family) == "x" * 695
    assert snippet("가" * 699 + "e\u0301") == "가" * 699


def test_a_deadline_passes_when_its_clock_says_so():
    now = [10.0]
    deadline = Deadline.within(500, lambda: now[0])
    assert (deadline.passed, math.isclose(deadline.left, 0.5)) == (False, True)
    now[0] = 10.6
    assert (deadline.passed, deadline.left) == (True, 0.0)


class Shelf:
    """A reader with chunks of two common scripts and one chunk of a script that no sample has seen."""

    def __init__(self, vectors, scripts, missed):
        self.vectors = vectors
        self.scripts = scripts
        self.missed = missed

    def corpus(self):
        return SimpleNamespace(chunks=len(self.vectors), mean_length=10.0)

    def vector_search(self, query, *, limit, filters, levels):
        def standing_out(pair):
            unrelated, deviation = levels.get(self.scripts[pair[0]], levels[""])
            return (unrelated - pair[1]) / deviation

        return sorted(enumerate((self.vectors @ query).tolist()), key=standing_out)[:limit]


def test_a_chunk_of_a_script_that_the_sample_missed_is_proposed_all_the_same():
    vectors = _corpus(61, 6, 1.0)
    scripts = ["latin"] * 30 + ["hangul"] * 30 + ["thai"]
    texts = ["note"] * 30 + ["메모"] * 30
    background = measure(texts, vectors[:60], (0.5, 0.1))
    near = _nearest(Shelf(vectors, scripts, 60), vectors[60], background, limit=5, filters=Filters())
    assert near[0] == 60


def test_a_question_that_names_what_no_note_holds_is_answered_by_related_notes_at_most():
    query_terms = ["klp-2267", "klp", "2267"]
    assert weigh(query_terms, {"klp": 5}, chunks=50, mean_length=5.0).has_unknown_name
    assert not weigh(query_terms, {"klp": 5, "klp-2267": 1, "2267": 1}, chunks=50, mean_length=5.0).has_unknown_name
    assert not weigh(["wi-fi", "wi", "fi"], {}, chunks=50, mean_length=5.0).has_unknown_name
    assert not weigh(["2026-02-10", "2026"], {"2026": 1}, chunks=50, mean_length=5.0).has_unknown_name


@given(st.floats(0, 1), st.floats(0, 1))
def test_drawing_scores_below_a_match_keeps_their_order(left, right):
    low, high = sorted((left, right))
    assert cap_below_match(low) <= cap_below_match(high) < MATCH
    assert (cap_below_match(low) >= WEAK) == (low >= WEAK)
