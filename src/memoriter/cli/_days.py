"""Parsing of days on the command line: 2026-02-10, today, yesterday, 7d."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

import click

from memoriter.filters import DAY_FORMS

_AGO = re.compile(r"(\d{1,5})d")


def parse_day(text: str, today: date) -> date | None:
    """Return the day that a text names, or None if it cannot be parsed.

    >>> parse_day("7d", date(2026, 2, 10))
    datetime.date(2026, 2, 3)
    """
    word = text.strip().lower()
    if word in {"today", "yesterday"}:
        return today - timedelta(days=1 if word == "yesterday" else 0)
    if ago := _AGO.fullmatch(word):
        days = int(ago[1])
        return today - timedelta(days=days) if days < today.toordinal() else None
    try:
        return date.fromisoformat(word) if re.fullmatch(r"\d{4}-\d\d-\d\d", word) else None
    except ValueError:
        return None


def read_day(context: click.Context, parameter: click.Parameter, value: str | None) -> date | None:
    """Parse a day from the command line, relative to the local day. Raises click's usage error."""
    if value is None:
        return None
    day = parse_day(value, local_day())
    if day is None:
        raise click.BadParameter(f"{value!r} is no day. Write {DAY_FORMS}.", context, parameter)
    return day


def local_day() -> date:
    """Return the current day in the local time zone."""
    from memoriter.environment import read_environment

    return datetime.fromtimestamp(read_environment().wall(), tz=UTC).astimezone().date()
