"""Editing a note in a browser, which replaces all ends of lines: what was not changed stays byte for byte."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memoriter.pages._markdown import rendered
from memoriter.pages._note_edits import difference, merged, with_endings

TEXTS = st.text(st.sampled_from("ab \n\r#-"), max_size=60)


def sent(text: str) -> str:
    """A text as the field of a form sends it."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")


@given(TEXTS)
def test_a_text_that_nobody_changed_comes_back_as_it_was(text: str) -> None:
    assert with_endings(text, sent(text)) == text


@given(TEXTS, TEXTS)
@example("a\r\n\rb", "a\n\nb")
@example("\r\n\r", "\n\n\n")
def test_a_changed_text_has_the_words_of_the_form(original: str, edited: str) -> None:
    assert sent(with_endings(original, sent(edited))) == sent(edited)


@given(TEXTS, TEXTS)
def test_a_difference_shows_every_line_that_is_new_or_gone(before: str, after: str) -> None:
    rows = difference(before, after)
    assert bool(rows) == (before != after)
    first = before.split("\n")
    second = after.split("\n")
    for row in rows:
        assert row.before is None or first[row.before - 1] == row.text
        assert row.after is None or second[row.after - 1] == row.text
    removed = {row.before for row in rows if row.kind == "removed"}
    added = {row.after for row in rows if row.kind == "added"}
    kept = [line for at, line in enumerate(first, 1) if at not in removed]
    assert kept == [line for at, line in enumerate(second, 1) if at not in added]


def test_an_edit_keeps_mixed_ends_of_lines() -> None:
    assert with_endings("a\r\nb\nc\r\n", "a\r\nb\r\nnew\r\nc\r\n") == "a\r\nb\nnew\r\nc\r\n"


@given(TEXTS, st.integers(1, 50))
def test_each_line_of_a_note_has_exactly_one_anchor(text: str, first: int) -> None:
    html = rendered(text, first=first, path="memory/a.md")
    lines = text.replace("\r\n", "\n").count("\n") + 1
    assert [html.count(f'id="L{number}"') for number in range(first, first + lines)] == [1] * lines


@pytest.mark.parametrize(
    ("link", "address"),
    [
        ("[x](b.md)", 'href="/notes?path=memory/b.md"'),
        ("[x](../MEMORY.md#L3)", 'href="/notes?path=MEMORY.md#L3"'),
        ("[x](b%20c.md)", 'href="/notes?path=memory/b%20c.md"'),
        ("[x](https://example.org/a.md)", 'href="https://example.org/a.md"'),
    ],
)
def test_a_link_to_a_note_leads_to_its_page(link: str, address: str) -> None:
    assert address in rendered(link, path="memory/a.md")


@pytest.mark.parametrize("link", ["[x](/etc/passwd)", "[x](../../b.md)", "[x](//example.org/b.md)", "[x](a.pdf)"])
def test_a_link_to_anything_else_on_the_machine_leads_nowhere(link: str) -> None:
    assert "href" not in rendered(link, path="memory/a.md")


@given(TEXTS, TEXTS)
def test_merging_with_a_side_that_changed_nothing_returns_the_other(base: str, other: str) -> None:
    assert merged(base, base, other) == other
    assert merged(base, other, base) == other
    assert merged(base, other, other) == other


@given(TEXTS, TEXTS, TEXTS)
def test_both_sides_of_a_merge_are_equal_and_no_new_line_is_lost(base: str, mine: str, theirs: str) -> None:
    both = merged(base, mine, theirs)
    assert both == merged(base, theirs, mine)
    if both is not None:
        kept = Counter(both.split("\n"))
        for side in (mine, theirs):
            added = Counter(side.split("\n")) - Counter(base.split("\n"))
            assert set(added) <= set(kept)


@pytest.mark.parametrize(
    ("base", "mine", "theirs"),
    [
        ("one\ntwo\nthree", "ONE\ntwo\nthree", "one\nTWO\nthree"),
        ("one\ntwo", "one\nmine\ntwo", "one\ntheirs\ntwo"),
        ("one", "one\nmine", "one\ntheirs"),
        ("one\ntwo", "two", "ONE\ntwo"),
    ],
)
def test_changes_to_the_same_lines_or_lines_side_by_side_are_not_merged(base: str, mine: str, theirs: str) -> None:
    assert merged(base, mine, theirs) is None
    assert merged(base, theirs, mine) is None
