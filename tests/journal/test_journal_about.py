"""What changed about something: its statements in order of time, with what each of them replaced."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from memoriter import Memory, UsageError

if TYPE_CHECKING:
    from pathlib import Path

SUBJECTS = ["ferry budget", "garden fence", "choir room", "ledger server", "photo archive"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home without a model."""
    folder = tmp_path / "home"
    folder.mkdir()
    settings = '{agents: {defaults: {memorySearch: {provider: "none"}}}}'
    (folder / "memoriter.json5").write_text(settings, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_each_statement_about_a_subject_is_listed_and_nothing_about_the_others(tmp_path: Path, home: Path) -> None:
    notes = tmp_path / "notes"
    (notes / "memory").mkdir(parents=True)
    first = date(2026, 1, 1)
    for number in range(60):
        day = first + timedelta(days=3 * number)
        subject = SUBJECTS[number % len(SUBJECTS)]
        text = f"# {day}\n\n- The {subject} has the number {number}.\n- Lunch with soup.\n"
        (notes / "memory" / f"{day}.md").write_text(text, encoding="utf-8")
    with Memory.open(notes, home=home) as memory:
        for at, subject in enumerate(SUBJECTS):
            report = memory.history(about=subject)
            days = [f"memory/{first + timedelta(days=3 * number)}.md#L3" for number in range(at, 60, len(SUBJECTS))]
            assert [change.citation for change in report.changes] == days[::-1]
            assert {change.act for change in report.changes} == {"found"}
        assert len(memory.history(about="ferry budget", since="2026-04-01").changes) == 6
        assert memory.history(about="zeppelin").changes == ()


def test_what_a_statement_replaced_is_known_although_no_note_has_it_any_more(tmp_path: Path, home: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    values = [f"{number}00 euros" for number in range(3, 9)]
    with Memory.open(notes, home=home) as memory:
        memory.remember("The choir meets in the school.", to="long-term")
        memory.remember(f"The ferry budget is {values[0]}.", to="long-term")
        for before, after in pairwise(values):
            excerpt = memory.read("MEMORY.md")
            memory.replace("MEMORY.md", excerpt.text.replace(before, after), expected=excerpt.hash)
        report = memory.history(about="ferry budget", max_results=5)

        assert [change.added for change in report.changes] == [
            (f"- The ferry budget is {value}.",) for value in values[:0:-1]
        ]
        assert report.changes[0].removed == (f"- The ferry budget is {values[-2]}.",)
        assert {change.citation for change in report.changes} == {"MEMORY.md#L2"}
        memory.undo(report.changes[0].id)
        memory.replace(
            "memory/plans.md",
            "# Plans\n\n" + "- The choir sings.\n" * 10 + "- The ferry budget is settled.\n",
            expected=None,
        )
        (newest, *_) = memory.history(about="ferry budget").changes
        assert (newest.citation, newest.added) == ("memory/plans.md#L13", ("- The ferry budget is settled.",))
        assert "700 euros" in memory.read("MEMORY.md").text


def test_a_subject_and_a_note_exclude_each_other(tmp_path: Path, home: Path) -> None:
    (tmp_path / "notes").mkdir()
    with Memory.open(tmp_path / "notes", home=home) as memory, pytest.raises(UsageError):
        memory.history("MEMORY.md", about="ferry")
