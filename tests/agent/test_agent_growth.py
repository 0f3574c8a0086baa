"""Whatever a model makes of a log, nothing of it is lost and nothing is written twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.agent._growth import _words, entries_of, growth

BEFORE = "# 2026-02-10\n\n- Standup moved to ten.\n- The ledger stays on PostgreSQL 16.\n"
lines = st.one_of(
    st.sampled_from(
        ["", "# Day", "## Work", "- a", "* b", "1. c", "  more", "text", "- The ledger stays on it.", "\t"]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), max_size=12),
)
logs = st.lists(lines, max_size=12).flatmap(lambda rows: st.sampled_from(["\n".join(rows), "\n".join([*rows, ""])]))


def rows_of(text: str) -> list[str]:
    return [row for row in text.split("\n") if row.strip()]


@given(logs, logs)
def test_every_line_that_was_there_is_there_and_every_new_word(before: str, after: str) -> None:
    result = growth(before, after)
    there = iter(result.text.splitlines())
    assert all(any(row == other for other in there) for row in before.splitlines() if row.strip())
    everything = " ".join(result.text.split())
    assert all(_words(row) in everything for row in rows_of(after) if not row.startswith("#"))


@given(logs, logs)
def test_what_was_mended_needs_no_mending(before: str, after: str) -> None:
    mended = growth(before, after).text
    again = growth(before, mended)
    assert (again.text, again.lost) == (mended, False)


@given(logs)
def test_an_untouched_log_has_nothing_new(before: str) -> None:
    result = growth(before, before)
    assert (result.text, result.new, result.lost) == (before, (), False)


@pytest.mark.parametrize(
    ("after", "text", "new", "lost"),
    [
        pytest.param(BEFORE + "- Bought tea.\n", BEFORE + "- Bought tea.\n", 1, False, id="appended"),
        pytest.param(BEFORE + "- Standup moved to ten.\n", BEFORE, 0, False, id="the same again"),
        pytest.param(
            BEFORE + "* Standup  moved to ten.\n- Tea.\n", BEFORE + "- Tea.\n", 1, False, id="one of two again"
        ),
        pytest.param(BEFORE + "- ledger stays on PostgreSQL 16\n", BEFORE, 0, False, id="contained"),
        pytest.param(
            BEFORE + "- Standup.\n", BEFORE + "- Standup.\n", 1, False, id="a short one only if it is the same"
        ),
        pytest.param(BEFORE + "- Tea.\n- Tea.\n", BEFORE + "- Tea.\n", 1, False, id="twice itself"),
        pytest.param("# 2026-02-10\n\n- Tea.\n", BEFORE + "- Tea.\n", 1, True, id="overwritten"),
        pytest.param("# Notes\n\n- Tea.\n", BEFORE + "# Notes\n- Tea.\n", 1, True, id="overwritten, another heading"),
        pytest.param("", BEFORE, 0, True, id="emptied"),
        pytest.param(
            BEFORE.replace("16", "17"), BEFORE + "- The ledger stays on PostgreSQL 17.\n", 1, True, id="edited"
        ),
        pytest.param(
            BEFORE.replace("\n- The", "\n- Tea.\n- The"),
            BEFORE.replace("\n- The", "\n- Tea.\n- The"),
            1,
            False,
            id="inserted",
        ),
        pytest.param(
            BEFORE + "\n## Evening\n\n- Tea.\n", BEFORE + "\n## Evening\n\n- Tea.\n", 1, False, id="a section"
        ),
        pytest.param(BEFORE + "\n## Evening\n", BEFORE + "\n## Evening\n", 0, False, id="a heading alone"),
        pytest.param(
            BEFORE[:-1] + " Since June.\n", BEFORE[:-1] + " Since June.\n", 1, False, id="the last line goes on"
        ),
    ],
)
def test_what_becomes_of_a_log(after: str, text: str, new: int, *, lost: bool) -> None:
    before = BEFORE[:-1] if after.startswith(BEFORE[:-1] + " ") else BEFORE
    result = growth(before, after)
    assert (result.text, len(result.new), result.lost) == (text, new, lost)


def test_bytes_that_are_no_text_survive() -> None:
    before = b"- caf\xe9\n".decode("utf-8", "surrogateescape")
    assert growth(before, "- new\n").text.encode("utf-8", "surrogateescape") == b"- caf\xe9\n- new\n"


def test_an_entry_keeps_its_continuation() -> None:
    text = "# Day\n- one\n  more\n\n  a paragraph of it\n- two\n\nalone\nstill\n"
    assert entries_of(text) == ["# Day\n", "- one\n  more\n\n  a paragraph of it\n", "- two\n", "alone\nstill\n"]
