"""Times in a question on the command line: what is understood is shown, and days and recent notes are listed."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from memoriter.cli._search import local_day

if TYPE_CHECKING:
    from conftest import Program


@pytest.fixture
def dated(program: Program) -> Program:
    """Notes of today, of yesterday and of a month ago, besides those of 10 February 2026 and without a day."""
    for days in (0, 1, 31):
        day = local_day() - timedelta(days)
        text = f"# Log\n\n- Kim fixed the boiler, part {days}.\n\n## Later\n\nTea, cup {days}.\n"
        (program.workspace / f"memory/{day}.md").write_text(text, encoding="utf-8")
    return program


def test_an_answer_shows_the_time_that_was_understood_and_how_to_leave_it_unread(dated: Program) -> None:
    yesterday = local_day() - timedelta(1)
    answer = dated("search", "who", "fixed", "the", "boiler", "yesterday")
    assert answer.exit_code == 0
    assert answer.out.startswith(f"1. memory/{yesterday}.md#L1-L3")
    assert f"\nTime understood: yesterday = {yesterday}. Without it: --since any.\n" in answer.out
    assert f"  of {local_day()}\n" in answer.out.replace("  Log", "")
    assert answer.out.count(f"memory/{yesterday}.md#L1-L3  ") == 1
    unread = dated("search", "who fixed the boiler yesterday", "--since", "any")
    assert "Time understood" not in unread.out
    assert "memory/" in unread.out


def test_json_has_the_time_and_marks_the_hits_of_other_days(dated: Program) -> None:
    yesterday = local_day() - timedelta(1)
    answer = dated("search", "who fixed the boiler yesterday", "--json").json
    assert answer["understood"]["time"] == {"words": "yesterday", "since": f"{yesterday}", "until": f"{yesterday}"}
    outside = [hit.get("outsideTime", False) for hit in answer["results"]]
    assert outside == sorted(outside)
    assert {hit.get("date") for hit in answer["results"] if "outsideTime" not in hit} == {f"{yesterday}"}


def test_a_time_without_notes_is_said_with_the_hits_of_other_days(dated: Program) -> None:
    answer = dated("search", "who fixed the boiler in October 1999")
    assert "None of the passages is dated in the time of the question (in October 1999 = 1999-10-01 … 1999-10-31)." in (
        answer.out
    )
    assert "boiler, part" in answer.out


def test_a_day_shows_what_is_dated_then_in_the_order_of_its_notes(dated: Program) -> None:
    yesterday = local_day() - timedelta(1)
    answer = dated("day", "yesterday")
    assert answer.exit_code == 0
    first, second = (line for line in answer.out.splitlines() if line[:1].isdigit())
    assert first.startswith(f"1. memory/{yesterday}.md#L1-L3  {yesterday}")
    assert second.startswith(f"2. memory/{yesterday}.md#L5-L7  {yesterday}")
    assert "The newest passages; nothing else was asked." in answer.out
    assert [hit["path"] for hit in dated("day", "--json").json["results"]] == [f"memory/{local_day()}.md"] * 2
    assert dated("day", "10", "February", "2026", "--json").json["results"][0]["path"] == "memory/2026-02-10.md"
    both = dated("day", "last", "2", "days", "--json").json["results"]
    assert [hit["date"] for hit in both] == [f"{day}" for day in (local_day(), yesterday) for _ in range(2)]


def test_a_day_without_notes_says_so_and_names_what_changed_then(program: Program) -> None:
    answer = program("day")
    assert answer.exit_code == 0
    assert "The filters leave none of 3 chunks" in answer.out
    assert "Or add --changed: 2 chunks without a day changed then." in answer.out
    changed = program("day", "--changed", "--json").json["results"]
    assert {hit["path"] for hit in changed} == {"MEMORY.md", "memory/travel.md"}
    assert all("date" not in hit and "changed" in hit for hit in changed)


def test_the_most_recent_notes_come_newest_first_and_those_of_tomorrow_do_not(dated: Program) -> None:
    tomorrow = local_day() + timedelta(1)
    (dated.workspace / f"memory/{tomorrow}.md").write_text("# Plan\n\nPaint.\n", encoding="utf-8")
    answer = dated("recent", "-n", "3", "--json").json
    assert [hit["date"] for hit in answer["results"]] == [f"{local_day() - timedelta(days)}" for days in (0, 1, 31)]
    assert answer["understood"] == {"newest": True}
    assert {"MEMORY.md"} < {hit["path"] for hit in dated("recent", "--changed", "--json").json["results"]}


@pytest.mark.parametrize("words", [("day", "soon"), ("day", "any"), ("search", "x", "--on", "10/2/2026")])
def test_what_is_no_day_is_refused_with_what_is_allowed(program: Program, words: tuple[str, ...]) -> None:
    answer = program(*words)
    assert answer.exit_code == 2
    assert "is not a day. Write YYYY-MM-DD, today, yesterday, or 7d for seven days ago, or words such as" in answer.err


def test_a_search_without_words_needs_a_day(dated: Program) -> None:
    assert dated("search", "--since", "yesterday", "-n", "2", "--json").json["understood"] == {"newest": True}
    missing = dated("search", "--since", "any")
    assert (missing.exit_code, "Missing argument 'QUERY...'" in missing.err) == (2, True)
