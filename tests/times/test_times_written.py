"""The day of a note is read as people write it, and a number that may be something else is none."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.layout import daily_day, daily_note_fault
from memoriter.times import path_date, written_day

MARCH = date(2024, 3, 5)
VALUES = [
    "2024-03-05", "2024/3/5", "2024.03.05", "2024_03_05", "20240305", "20240305T1011", "202403051011", "[[2024-03-05]]",
    "2024-03-05T10:11:12Z", "5 March 2024", "5 Mar 2024", "March 5, 2024", "Tuesday, March 5th 2024, 10:11:12 am",
    "05.03.2024", "5. März 2024", "5 mars 2024", "5 de marzo de 2024", "2024年3月5日", "2024년 3월 5일",
    "05-Mar-2024", "5th of March 2024", "Tue, 05 Mar 2024 10:11:12 GMT",
]  # fmt: skip
PATHS = [
    "2024-03-05.md", "2024_03_05.md", "2024.03.05.md", "20240305.md", "journals/2024_03_05.md", "2024/03/05.md",
    "2024/3/5.md", "2024-03/05.md", "2024/03-March/05 Tuesday.md", "Daily/2024/2024-03/05.md", "2024/03/05/plan.md",
    "memory/20240305-meeting.md", "202403051011 Plan.md", "20240305101112.md", "Meeting 2024-03-05.md",
    "plan-20240305.md", "plan_2024-03-05_v2.md", "Plan (2024-03-05).md", "5 March 2024.md", "March 5th, 2024.md",
    "05.03.2024.md", "5. März 2024.md", "2024年3月5日.md", "2024-03-05T10.md", "2024-03-05회의2.md", "2024-03-05.MD",
    "2024 03 05.md", "2024/March/5.md", "Daily/2024/März/05.md",
]  # fmt: skip
NEITHER = [
    "2024.md", "2024-03.md", "March 2024.md", "2024-W10.md", "10000000.md", "v1.2024.03.md", "05-03-2024.md",
    "2024-02-30.md", "20241301.md", "order 20240305991.md", "1234-20-99.md", "2024/plans/05.md", "MEMORY.md",
    "2024/March/32.md",
    "chapter/3/5.md", "yesterday.md", "+49 2024 0305 11.md",
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES)
def test_the_value_of_a_property_is_a_day_in_any_of_the_common_forms(value: str) -> None:
    assert written_day(value) == MARCH


@pytest.mark.parametrize(
    "value", ["05/03/2024", "2024", "March 2024", "yesterday", "2024-02-30", "1709596800", "v2024.1", "", "12 of 2024"]
)
def test_what_may_be_another_day_or_none_is_no_day(value: str) -> None:
    assert written_day(value) is None


@pytest.mark.parametrize("path", PATHS)
def test_the_path_of_a_note_has_its_day(path: str) -> None:
    assert path_date(path) == MARCH


@pytest.mark.parametrize("path", NEITHER)
def test_a_path_with_other_numbers_has_no_day(path: str) -> None:
    assert path_date(path) is None


def test_the_file_name_counts_before_the_folders_and_inner_folders_before_outer_ones() -> None:
    assert path_date("2024-01-01/2024-02-02/2024-03-05.md") == MARCH
    assert path_date("2024-01-01/2024-03-05/plan.md") == MARCH
    assert path_date("2024-03-05 to 2024-03-09.md") == MARCH


@pytest.mark.parametrize(
    "pattern",
    ["Daily/%Y/%m/%Y-%m-%d.md", "%Y/%m/%d.md", "%d.%m.%y.md", "%y%m%d.md", "%Y-%j.md", "%G-W%V-%u.md",
     "%Y/%m-%B/%d %A.md", "%b %e, %Y.md", "100%% %Y%m%d.md", "(x+) %Y-%m-%d.md"],
)  # fmt: skip
@given(day=st.dates(date(1970, 1, 1), date(2060, 12, 31)))
def test_the_pattern_of_daily_notes_gives_back_the_day_of_each_of_its_notes(pattern: str, day: date) -> None:
    assert daily_note_fault(pattern) is None
    assert daily_day(pattern, day.strftime(pattern)) == day
    assert daily_day(pattern, "plans/garden.md") is None
