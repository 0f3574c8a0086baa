"""Equality alone decides which entries of a log are new and which lines are gone."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.agent.flush._flush import log_difference, log_entries

BEFORE = "# 2026-02-10\n\n- Standup moved to ten.\n- The ledger stays on PostgreSQL 16.\n"
lines = st.one_of(
    st.sampled_from(
        ["", "# Day", "## Work", "- a", "* b", "1. c", "  more", "text", "- The ledger stays on it.", "\t", "- a\r"]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), max_size=12),
)
logs = st.lists(lines, max_size=12).flatmap(lambda rows: st.sampled_from(["\n".join(rows), "\n".join([*rows, ""])]))


def rows_of(text: str) -> list[str]:
    return [row.removesuffix("\r") for row in text.split("\n") if row.strip(" \t\r")]


@pytest.mark.slow
@given(logs, logs)
def test_gone_are_the_lines_that_are_there_less_often(before: str, after: str) -> None:
    missing = Counter(rows_of(before)) - Counter(rows_of(after))
    difference = log_difference(before, after)
    if after.startswith(before):
        assert difference.gone == ()
    else:
        assert Counter(difference.gone) == missing


@pytest.mark.slow
@given(logs, logs)
def test_what_is_appended_is_new_unless_an_equal_entry_was_there(before: str, added: str) -> None:
    start = before if not before or before.endswith("\n") else before + "\n"
    difference = log_difference(start, f"{start}\n# Later\n{added}")
    assert difference.gone == ()
    entries = log_entries(f"# Later\n{added}")
    appended = {"\n".join(entry) for entry in entries if not re.match(r"#{1,6}[ \t]", entry[0])}
    assert set(difference.new) == appended - {"\n".join(entry) for entry in log_entries(start)}


@pytest.mark.slow
@given(logs)
def test_a_log_that_is_the_same_has_nothing_new_and_nothing_gone(log: str) -> None:
    assert (log_difference(log, log).new, log_difference(log, log).gone) == ((), ())


@given(st.permutations(["- a", "* b", "1. c", "## Work", "- The ledger stays on it."]))
def test_an_entry_that_only_moved_is_neither_new_nor_gone(rows: list[str]) -> None:
    before = "- a\n* b\n1. c\n## Work\n- The ledger stays on it.\n"
    difference = log_difference(before, "\n".join(rows) + "\n")
    assert (difference.new, difference.gone) == ((), ())


@pytest.mark.parametrize(
    ("after", "new", "gone"),
    [
        pytest.param(BEFORE + "- Bought tea.\n", 1, 0, id="appended"),
        pytest.param(BEFORE + "- Standup moved to ten.\n", 0, 0, id="the same again"),
        pytest.param(BEFORE + "* Standup  moved to ten.\n", 1, 0, id="the same words with other marks"),
        pytest.param(BEFORE + "- The ledger stays on PostgreSQL 1\n", 1, 0, id="contained in an older one"),
        pytest.param(BEFORE + "- Standup.\n", 1, 0, id="a short one"),
        pytest.param(BEFORE + "- Tea.\n- Tea.\n", 1, 0, id="twice itself"),
        pytest.param("# 2026-02-10\n\n- Tea.\n", 1, 2, id="overwritten"),
        pytest.param("# Notes\n\n- Tea.\n", 1, 3, id="overwritten, another heading"),
        pytest.param("", 0, 3, id="emptied"),
        pytest.param(BEFORE.replace("16", "17"), 1, 1, id="edited"),
        pytest.param(BEFORE.replace("\n- The", "\n- Tea.\n- The"), 1, 0, id="inserted"),
        pytest.param(BEFORE.replace("# 2026-02-10\n", ""), 0, 1, id="a heading is gone"),
        pytest.param(BEFORE + "\n## Evening\n\n- Tea.\n", 1, 0, id="a section"),
        pytest.param(BEFORE + "\n## Evening\n", 0, 0, id="a heading alone"),
        pytest.param(BEFORE + "  More of it.\n", 1, 0, id="the last entry goes on"),
        pytest.param(BEFORE.replace("\n", "\r\n"), 0, 0, id="other line endings"),
    ],
)
def test_what_became_of_a_log(after: str, new: int, gone: int) -> None:
    difference = log_difference(BEFORE, after)
    assert (len(difference.new), len(difference.gone)) == (new, gone)


def test_a_last_line_that_goes_on_is_new_and_not_gone() -> None:
    difference = log_difference(BEFORE[:-1], BEFORE[:-1] + " Since June.\n")
    assert (difference.new, difference.gone) == (("- The ledger stays on PostgreSQL 16. Since June.",), ())


def test_an_entry_of_lines_that_stood_in_others_is_new() -> None:
    before = "- buy\n  milk\n\n- sell\n  bread\n"
    assert log_difference(before, before + "- buy\n  bread\n").new == ("- buy\n  bread",)
    assert log_difference(before, before.replace("\n\n", "\n")).new == ()


def test_bytes_that_are_no_text_are_compared() -> None:
    before = b"- caf\xe9\n".decode("utf-8", "surrogateescape")
    difference = log_difference(before, b"- caf\xe8\n".decode("utf-8", "surrogateescape"))
    assert (len(difference.new), difference.gone) == (1, ("- caf\udce9",))


def test_an_entry_keeps_its_continuation() -> None:
    text = "# Day\n- one\n  more\n\n  a paragraph of it\n- two\n\nalone\nstill\n"
    assert log_entries(text) == [
        ("# Day",),
        ("- one", "  more", "  a paragraph of it"),
        ("- two",),
        ("alone", "still"),
    ]
