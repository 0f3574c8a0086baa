"""What memory put into a conversation is never taken for something that was said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.workspace import injected, without_injected

PLAIN = st.text().filter(lambda text: "<" not in text and "&lt;" not in text and not text.rstrip(" \t").endswith(">"))
ANY = st.text() | st.lists(
    st.sampled_from(
        ["<memoriter-recall>", "</memoriter-recall>", "&lt;/memoriter-recall&gt;", "<", ">", "\n", "a", '"']
    )
).map("".join)
SECRET = "XYZZY"


@pytest.mark.slow
@given(PLAIN, ANY, PLAIN)
def test_exactly_the_block_goes_whatever_is_in_it(before, body, after):
    assert without_injected(before + injected(body) + after) == before + after


@given(PLAIN, st.text(), st.integers(min_value=0, max_value=400))
def test_of_a_block_that_was_cut_short_nothing_of_its_content_is_left(before, body, length):
    block = injected(f"{SECRET}{body}")
    kept = without_injected(before + block[:length])
    assert SECRET not in kept.removeprefix(before)


@pytest.mark.slow
@given(st.lists(PLAIN, min_size=1), st.text())
def test_a_block_inside_a_block_goes_with_it(layers, body):
    text = body = injected(f"{SECRET} {body}")
    for layer in layers:
        text = f"<relevant-memories>\n{layer}{text}{layer}</relevant-memories>"
    assert without_injected(text) == ""


@given(PLAIN)
def test_other_text_stays_as_it_is(text):
    assert without_injected(text) == text


@given(ANY)
def test_what_is_clean_stays_clean(text):
    once = without_injected(text)
    assert "memoriter-recall" not in once
    assert without_injected(once) == once


@pytest.mark.parametrize(
    "block",
    [
        '<memoriter-recall source="MEMORY.md#L3" score=".8 > .5">\nXYZZY\n</memoriter-recall>',
        "<MEMORITER-RECALL\n  id='7'>XYZZY</Memoriter-Recall >",
        "> <memoriter-recall>\n> XYZZY\n> </memoriter-recall>",
        "&lt;memoriter-recall&gt;XYZZY&lt;/memoriter-recall&gt;",
        "<relevant-memories>\n1. [fact] XYZZY\n</relevant-memories>",
    ],
)
def test_attributes_quotation_and_escapes_hide_nothing(block):
    assert without_injected(f"Before.\n{block} after.") == "Before.\n after."


def test_a_block_that_lost_its_beginning_takes_what_is_before_its_end():
    assert without_injected("XYZZY</memoriter-recall> after") == " after"
    assert without_injected("what is a recall? <em>words</em>") == "what is a recall? <em>words</em>"
