"""Parsing of days on the command line: 2026-02-10, today, yesterday, 7d."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from memoriter.filters import DAY_FORMS, parse_day

if TYPE_CHECKING:
    from datetime import date


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
