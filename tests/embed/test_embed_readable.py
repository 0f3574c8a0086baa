"""Text as a model of the user's sees it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.embed._provider import extrapolate_tokens
from memoriter.embed.local._local import most_characters, prepare_text


@pytest.mark.parametrize(
    ("text", "nfc", "nfkc"),
    [
        ("a\0b", "a b", "a b"),
        ("\ud800x", "\ufffdx", "\ufffdx"),
        ("cafe\u0301", "café", "café"),
        ("ＡＢＣ", "ＡＢＣ", "ABC"),
        ("def f():\n\treturn  1", "def f():\n\treturn  1", "def f(): return 1"),
    ],
)
def test_text_is_normalised_as_the_model_was_trained(text: str, nfc: str, nfkc: str) -> None:
    assert (prepare_text(text, "NFC", 512), prepare_text(text, "NFKC", 512)) == (nfc, nfkc)


@given(st.text(st.characters()), st.sampled_from(["NFC", "NFKC"]))
def test_any_text_can_be_encoded_and_stays_as_it_is_when_cleaned_again(text: str, form: str) -> None:
    once = prepare_text(text, form, 512)
    once.encode()
    assert "\0" not in once
    assert prepare_text(once, form, 512) == once


def test_a_huge_text_is_looked_at_only_as_far_as_a_model_could_read() -> None:
    assert len(prepare_text("a" * 10_000_000, "NFC", 100)) == most_characters(100)


def test_tokens_beyond_what_is_looked_at_are_counted_at_the_same_rate() -> None:
    assert extrapolate_tokens(40, "a" * 160, 160) == 40
    assert extrapolate_tokens(40, "a" * 480, 160) == 120
