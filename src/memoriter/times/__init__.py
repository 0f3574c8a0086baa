"""The days that words such as "last week" or "3일 전" name, in nine languages, and the days of notes. Pure."""

from memoriter.times._days import ANY_DAY, Days
from memoriter.times._reading import asks_for_all, days_named, read_time, time_in
from memoriter.times._written import FIRST_YEAR, begins_with_day, path_date, written_day

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
