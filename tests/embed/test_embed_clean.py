"""What is taken out of a text before the bundled model sees it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.embed.bundled._native import MOST_CHARACTERS, clean


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("", ""),
        ("plain", "plain"),
        (" two\n\n  spaces\t", "two spaces"),
        ("before\0after", "before after"),
        ("\x01\x1f\x7f", ""),
        ("zero\u200bwidth\ufeff", "zero width"),
        ("ＡＢＣ１２３ ﬁne™", "ABC123 fineTM"),
        ("lone \ud800 half", "lone half"),
        ("pair \ud83d\ude00", "pair 😀"),
        ("▁piece", "piece"),
    ],
)
def test_what_the_model_cannot_use_is_gone(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


def test_decomposed_and_composed_text_are_one() -> None:
    assert clean(unicodedata.normalize("NFD", "매운 음식, Café")) == clean("매운 음식, Café")


@given(st.text(st.characters()))
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(st.text(st.characters()))
def test_clean_text_can_be_handed_to_c(text: str) -> None:
    assert b"\0" not in clean(text).encode()


@pytest.mark.parametrize("text", ["a" * 1_000_000, "﷽" * 300_000, " " * 1_000_000, "가 " * 300_000])
def test_a_huge_text_costs_no_more_than_a_large_one(text: str) -> None:
    assert len(clean(text)) <= MOST_CHARACTERS
    assert clean(text) == clean(text[: 4 * MOST_CHARACTERS])
