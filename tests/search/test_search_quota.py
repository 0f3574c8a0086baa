"""Transcripts never drown notes, and never vanish behind them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.search._hits import SHARE, interleave

KINDS = st.lists(st.sampled_from(["memory", "sessions"]), max_size=30)


def chosen(kinds: list[str], limit: int) -> list[int]:
    return interleave(range(len(kinds)), kinds, limit)


@given(KINDS, st.integers(-2, 40))
def test_there_are_as_many_hits_as_asked_for_in_their_order_with_the_best_first(kinds, limit):
    found = chosen(kinds, limit)
    assert len(found) == min(len(kinds), max(limit, 0))
    assert found == sorted(set(found))
    assert found[:1] == ([0] if kinds and limit > 0 else [])


@pytest.mark.slow
@given(KINDS, st.integers(2, 40))
def test_each_kind_has_its_share_filled_from_its_best(kinds, limit):
    found = chosen(kinds, limit)
    for kind in set(kinds):
        places = [at for at, each in enumerate(kinds) if each == kind]
        mine = [at for at in found if kinds[at] == kind]
        assert mine == places[: len(mine)]
        assert len(mine) >= min(len(places), max(1, limit // SHARE))


@given(st.integers(0, 30), st.integers(0, 40))
def test_a_kind_that_is_alone_takes_all(count, limit):
    assert chosen(["sessions"] * count, limit) == list(range(min(count, limit)))


@pytest.mark.slow
@given(KINDS, st.integers(1, 40))
def test_nothing_changes_where_each_kind_has_its_share_anyway(kinds, limit):
    first = kinds[:limit]
    if all(first.count(kind) >= min(kinds.count(kind), max(1, limit // SHARE)) for kind in set(kinds)):
        assert chosen(kinds, limit) == list(range(len(first)))
