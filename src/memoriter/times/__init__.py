"""The days that words such as "last week" or "3일 전" name, in nine languages, and the days of notes. Pure."""

from memoriter.times._reading import (
    ANY_DAY,
    FIRST_YEAR,
    Days,
    asks_for_all,
    begins_with_day,
    days_named,
    path_date,
    read_time,
    time_in,
    written_day,
)

__all__ = [
    "ANY_DAY",
    "FIRST_YEAR",
    "Days",
    "asks_for_all",
    "begins_with_day",
    "days_named",
    "path_date",
    "read_time",
    "time_in",
    "written_day",
]
