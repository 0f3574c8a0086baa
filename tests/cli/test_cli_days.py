"""Days as people write them."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.filters import parse_day

TODAY = date(2026, 3, 1)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-02-10", date(2026, 2, 10)),
        (" Today ", TODAY),
        ("yesterday", date(2026, 2, 28)),
        ("0d", TODAY),
        ("7d", date(2026, 2, 22)),
        ("2026-02-30", None),
        ("20260210", None),
        ("2026-W07-2", None),
        ("-7d", None),
        ("7", None),
        ("99999d", date(1752, 5, 17)),
        ("", None),
    ],
)
def test_a_day_is_read_as_it_is_meant(text: str, day: date | None) -> None:
    assert parse_day(text, TODAY) == day


@given(st.text(max_size=12) | st.integers(0, 10**6).map("{}d".format), st.dates())
def test_any_text_is_a_day_or_none(text: str, today: date) -> None:
    assert isinstance(parse_day(text, today), date | None)


@given(st.dates(), st.dates())
def test_every_iso_date_is_itself(day: date, today: date) -> None:
    assert parse_day(day.isoformat(), today) == day
