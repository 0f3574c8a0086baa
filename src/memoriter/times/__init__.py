"""The days that words such as "last week", "im Oktober" or "3일 전" name, in nine languages. Pure."""

from memoriter.times._days import ANY_DAY, Days
from memoriter.times._reading import NamedTime, asks_for_all, days_named, read_time, time_in

__all__ = ["ANY_DAY", "Days", "NamedTime", "asks_for_all", "days_named", "read_time", "time_in"]
