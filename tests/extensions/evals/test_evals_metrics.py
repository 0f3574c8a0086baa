"""The metrics are what their formulas say, for every ranking."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.extensions.evals._metrics import (
    auc,
    estimate,
    estimate_auc,
    mean,
    ndcg,
    quality,
    recall,
    reciprocal_rank,
)

ITEMS = "abcdefghijklmno"
rankings = st.permutations(ITEMS).flatmap(lambda order: st.integers(0, len(order)).map(lambda n: order[:n]))
relevant = st.sets(st.sampled_from(ITEMS + "xyz"))
scores = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


@pytest.mark.slow
@given(rankings, relevant, st.integers(1, 20))
def test_every_share_is_between_nothing_and_everything(ranking, wanted, at):
    for value in (ndcg(ranking, wanted, at=at), recall(ranking, wanted, at=at), reciprocal_rank(ranking, wanted)):
        assert 0 <= value <= 1


@pytest.mark.slow
@given(st.sets(st.sampled_from(ITEMS), min_size=1), st.permutations(ITEMS))
def test_a_ranking_that_begins_with_all_that_is_relevant_is_perfect(wanted, others):
    ranking = [*sorted(wanted), *(item for item in others if item not in wanted)]
    assert ndcg(ranking, wanted) == pytest.approx(1)
    assert recall(ranking, wanted, at=len(wanted)) == 1
    assert reciprocal_rank(ranking, wanted) == 1


@pytest.mark.slow
@given(rankings, relevant)
def test_moving_a_relevant_item_up_never_lowers_a_metric(ranking, wanted):
    for place in range(1, len(ranking)):
        if ranking[place] in wanted and ranking[place - 1] not in wanted:
            better = [*ranking[: place - 1], ranking[place], ranking[place - 1], *ranking[place + 1 :]]
            assert ndcg(better, wanted) >= ndcg(ranking, wanted)
            assert recall(better, wanted, at=5) >= recall(ranking, wanted, at=5)
            assert reciprocal_rank(better, wanted) >= reciprocal_rank(ranking, wanted)


@pytest.mark.slow
@given(rankings, relevant, st.integers(1, 15))
def test_recall_never_falls_as_more_is_looked_at(ranking, wanted, at):
    assert recall(ranking, wanted, at=at) <= recall(ranking, wanted, at=at + 1)


@pytest.mark.slow
@given(rankings, relevant)
def test_naming_an_item_twice_earns_nothing(ranking, wanted):
    twice = [item for item in ranking for _ in range(2)]
    assert ndcg(twice, wanted) == ndcg(ranking, wanted)
    assert recall(twice, wanted, at=10) == recall(ranking, wanted, at=10)
    assert reciprocal_rank(twice, wanted) == reciprocal_rank(ranking, wanted)


def test_ndcg_of_a_worked_example():
    # Relevant at places 1 and 3 of three: (1 + 1/2) / (1 + 1/log2 3 + 1/2).
    assert ndcg(["a", "x", "b"], {"a", "b", "c"}) == pytest.approx(1.5 / 2.1309297535714578)


def test_the_best_order_of_all_has_the_highest_ndcg():
    values = {order: ndcg(order, {"a", "b"}) for order in permutations("abcd")}
    assert max(values, key=values.__getitem__) in {("a", "b", "c", "d"), ("b", "a", "c", "d")}


def test_nothing_relevant_is_worth_nothing():
    assert (ndcg("abc", ()), recall("abc", (), at=3), reciprocal_rank("abc", ())) == (0, 0, 0)


@given(scores)
def test_the_auc_of_a_distribution_against_itself_is_a_half(values):
    assert auc(values, values) == pytest.approx(0.5)


@pytest.mark.slow
@given(scores, scores)
def test_the_auc_is_the_share_of_pairs_in_order_with_ties_counting_half(high, low):
    pairs = [(one > other) + 0.5 * (one == other) for one in high for other in low]
    assert auc(high, low) == pytest.approx(sum(pairs) / len(pairs))


@pytest.mark.slow
@given(scores, scores)
def test_the_auc_the_other_way_round_is_what_is_left_of_one(high, low):
    forth = auc(high, low)
    back = auc(low, high)
    assert forth is not None
    assert back is not None
    assert forth + back == pytest.approx(1)


def test_a_threshold_that_tells_all_apart_gives_an_auc_of_one():
    assert auc([0.7, 0.8], [0.1, 0.2, 0.3]) == 1


def test_there_is_no_auc_against_nothing():
    assert auc([], [0.5]) is None
    assert auc([0.5], []) is None


def test_quality_is_the_mean_over_the_questions():
    found = quality([(["a", "b"], {"a"}), (["a", "b"], {"c"})])
    assert (found.questions, found.ndcg_10, found.recall_5, found.recall_10, found.mrr) == (2, 0.5, 0.5, 0.5, 0.5)


def test_the_mean_reciprocal_rank_looks_at_the_first_ten():
    assert quality([(list("abcdefghijk"), {"k"})]).mrr == 0


def test_the_mean_of_nothing_is_zero():
    assert mean([]) == 0


@pytest.mark.slow
@given(st.lists(st.floats(0, 1), min_size=2, max_size=40))
def test_the_interval_of_a_mean_contains_it_and_is_the_same_each_time(values):
    found = estimate(values)
    assert found is not None
    assert found.low - 1e-9 <= found.value <= found.high + 1e-9
    assert found.value == pytest.approx(mean(values))
    assert found == estimate(values)


def test_an_interval_becomes_narrower_with_more_questions():
    few = estimate([0.0, 1.0] * 5)
    many = estimate([0.0, 1.0] * 500)
    assert few is not None
    assert many is not None
    assert (many.low, many.high) == (pytest.approx(0.469, abs=0.01), pytest.approx(0.531, abs=0.01))
    assert few.high - few.low > 5 * (many.high - many.low)


def test_a_ratio_counts_only_what_it_is_among():
    found = estimate([1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0])
    assert found is not None
    assert (found.value, found.n) == (0.5, 2)
    assert estimate([0.0], [0.0]) is None
    assert estimate([]) is None


def test_an_auc_has_an_interval():
    found = estimate_auc([0.9] * 30, [*([0.1] * 20), *([0.95] * 10)])
    assert found is not None
    assert found.value == pytest.approx(2 / 3)
    assert 0.4 < found.low < found.value < found.high < 0.9
    assert estimate_auc([], [0.1]) is None
