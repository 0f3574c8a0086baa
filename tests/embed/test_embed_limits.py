"""Budgets and limits."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from memoriter.embed import group_by_budget, split_within
from memoriter.embed._provider import utf8_size


@given(st.lists(st.integers(0, 50)), st.integers(1, 60))
def test_groups_keep_the_order_and_hold_no_more_than_the_budget(sizes: list[int], budget: int) -> None:
    groups = group_by_budget(sizes, budget)
    assert [position for group in groups for position in group] == list(range(len(sizes)))
    assert all(len(group) == 1 or sum(sizes[position] for position in group) <= budget for group in groups)


@given(st.lists(st.integers(0, 50)), st.integers(1, 60))
def test_no_group_could_take_the_first_of_the_next(sizes: list[int], budget: int) -> None:
    groups = group_by_budget(sizes, budget)
    for group, following in itertools.pairwise(groups):
        assert sum(sizes[position] for position in group) + sizes[following[0]] > budget


@given(st.text(st.characters()), st.integers(1, 40))
def test_parts_join_to_the_text_and_fit_unless_one_character_does_not(text: str, limit: int) -> None:
    parts = list(split_within(text, limit))
    assert "".join(parts) == text
    assert all(utf8_size(part) <= limit or len(part) == 1 for part in parts)


@given(st.text(st.characters(), min_size=1), st.integers(1, 40))
def test_each_part_is_as_long_as_it_can_be(text: str, limit: int) -> None:
    parts = list(split_within(text, limit))
    for part, following in itertools.pairwise(parts):
        assert utf8_size(part + following[0]) > limit


def test_the_limit_can_be_measured_in_anything_that_grows() -> None:
    words = list(split_within("one two three four", 2, size=lambda text: len(text.split())))
    assert all(len(part.split()) <= 2 for part in words)
    assert "".join(words) == "one two three four"


def test_the_first_parts_of_a_huge_text_do_not_wait_for_the_rest() -> None:
    measured = 0

    def size(text: str) -> int:
        nonlocal measured
        measured += len(text)
        return len(text)

    assert next(split_within("x" * 1_000_000, 500, size=size)) == "x" * 500
    assert measured < 1_020_000
