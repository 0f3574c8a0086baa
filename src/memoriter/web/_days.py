"""What the operations on single days do: which notes a day has, and what was written, captured and recalled."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from typing import TYPE_CHECKING, Any

from memoriter.api_json import captures_json, iso_time
from memoriter.environment import local_time
from memoriter.errors import MemoriterError, PathRefused, UsageError
from memoriter.layout import daily_day
from memoriter.times import path_date
from memoriter.web import _requests as requests
from memoriter.web._operation import operation, operation_sets

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.memory import Memory
    from memoriter.types import Excerpt, Source
    from memoriter.web._work import Work


@operation("GET", "/days", "Days", requests.DaysRequest, quick=True)
def days(work: Work[requests.DaysRequest]) -> dict[str, Any]:
    """List the days of a year that have notes, with how much was written."""
    from memoriter.agent import captures_in
    from memoriter.workspace import marked_entries

    memory = work.memory
    today = work.memory.now().date()
    dated = _dated_notes(memory)
    year = work.request.year or today.year
    rows: dict[date, dict[str, Any]] = {}
    for source, at in dated:
        if at.year != year:
            continue
        row = rows.setdefault(at, {"day": at.isoformat(), "paths": [], "lines": 0, "captures": 0, "others": 0})
        lines = _read(memory, source.path).text.split("\n")
        row["paths"].append(source.path)
        row["lines"] += _written(lines)
        row["captures"] += len(list(captures_in(source.path, lines)))
        row["others"] += len(list(marked_entries(lines)))
    years = sorted({at.year for _, at in dated} | {today.year, year})
    return {"year": year, "years": years, "today": today.isoformat(), "days": [rows[at] for at in sorted(rows)]}


@operation("GET", "/day", "Day", requests.DayRequest)
def day(work: Work[requests.DayRequest]) -> dict[str, Any]:
    """Show what was written, captured and recalled on a day. Raises UsageError if there is no such day."""
    from memoriter.agent import captures_in
    from memoriter.workspace import marked_entries

    memory = work.memory
    wanted = _day_of(work.request.day) or memory.now().date()
    notes = list[dict[str, Any]]()
    captures = list[object]()
    dated = {source.path: at for source, at in _dated_notes(memory)}
    for path in [path for path, at in dated.items() if at == wanted]:
        excerpt = _read(memory, path)
        lines = excerpt.text.split("\n")
        entries = [
            {"origin": each.origin, "startLine": each.start_line, "endLine": each.end_line}
            for each in marked_entries(lines)
        ]
        shown = {"path": path, "text": excerpt.text, "lines": _written(lines), "truncated": excerpt.truncated}
        notes.append({**shown, "others": entries})
        captures += captures_in(path, lines)
    local = _local(memory)

    def is_of_day(at: float) -> bool:
        return local(at) == wanted

    changed = [
        source.path
        for source in memory.sources()
        if source.kind == "memory" and source.path not in dated and is_of_day(source.mtime_ns / 1e9)
    ]
    answer = {
        "day": wanted.isoformat(),
        "notes": notes,
        "changed": changed,
        **captures_json(captures),
        "recalled": _recalled(memory, wanted),
    }
    for added in operation_sets():
        answer |= added.of_day(memory, is_of_day) if added.of_day else {}
    return answer


def day_of_note(path: str, pattern: str) -> date | None:
    """Return the day of a note, by the pattern of daily notes or else by its path; None: it has none."""
    return daily_day(pattern, path) or path_date(path)


def _dated_notes(memory: Memory) -> list[tuple[Source, date]]:
    """Return the notes of single days, by their paths."""
    pattern = memory.configuration.settings.memory.daily_note
    found = [(source, day_of_note(source.path, pattern)) for source in memory.sources() if source.kind == "memory"]
    return [(source, at) for source, at in found if at is not None]


def _read(memory: Memory, path: str) -> Excerpt:
    """Return the beginning of a note; a note that cannot be read is empty, and the health of the memory says why."""
    from memoriter.types import Excerpt

    with suppress(PathRefused):
        return memory.read(path)
    return Excerpt(path, "")


def _written(lines: list[str]) -> int:
    return sum(bool(line.strip()) for line in lines)


def _local(memory: Memory) -> Callable[[float], date]:
    """Return what gives the day of a moment in seconds since 1970, in the owner's time zone."""
    zone = memory.configuration.settings.agents.defaults.user_timezone
    return lambda at: local_time(at, zone).date()


def _day_of(text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"There is no day {text!r}.", remedy="Give a day as YYYY-MM-DD.") from error


def _recalled(memory: Memory, wanted: date) -> list[dict[str, Any]]:
    """Return the conversations whose record of recall was last changed on a day."""
    local = _local(memory)
    try:
        records = memory.session("web").recall_records()
    except MemoriterError:  # the memory slot names a plugin that is missing, which the health reports
        return []
    return [
        {
            "session": each.session,
            "audience": each.audience,
            "context": each.context,
            "passages": each.passages,
            "at": iso_time(each.at),
        }
        for each in records
        if local(each.at) == wanted
    ]
