"""What each operation does, and the table of all. Routes and the OpenAPI document follow it."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Any

from memoriter.api_json import (
    appended_json,
    captures_json,
    cost_json,
    estimate_json,
    excerpt_json,
    forgotten_json,
    iso_time,
    json_of,
    reason_json,
    status_json,
    sync_json,
    why_not_json,
)
from memoriter.embedding_setup import ledger_of
from memoriter.environment import local_time
from memoriter.errors import MemoriterError, PathRefused, UsageError, WriteConflict
from memoriter.ids import bytes_hash, note_bytes
from memoriter.journal import acting
from memoriter.layout import daily_day
from memoriter.startup import part_json, try_parts
from memoriter.times import path_date
from memoriter.tools import citations_on, found_json, origin_json
from memoriter.web import _requests as requests
from memoriter.web._operation import Operation, operation, operation_sets

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.memory import Memory
    from memoriter.types import Excerpt, PassageMap, Source
    from memoriter.web._operation import Work
    from memoriter.web._requests import Request


class NoteConflict(WriteConflict):
    """A note that is not the one that the client has read, with its present text."""

    def __init__(self, error: WriteConflict, present: Excerpt) -> None:
        super().__init__(error.message, remedy="Apply your change to `text`, and send it with `hash` as `expected`.")
        self.present = present


@operation("POST", "/search", "SearchResult", requests.SearchRequest, problems=(409,))
def search(work: Work[requests.Search]) -> dict[str, Any]:
    """Find the passages that answer a question. Raises MemoriterError."""
    return _search(work)


@operation("POST", "/explain", "SearchResult", requests.ExplainRequest, problems=(409,))
def explain(work: Work[requests.Search]) -> dict[str, Any]:
    """Search, with how each score was computed and how long each stage took. Raises MemoriterError."""
    return _search(work, explain=True)


def _search(work: Work[requests.Search], **more: Any) -> dict[str, Any]:
    memory = work.memory
    arguments = {**work.request.arguments, **more}
    with work.events.working() as progress:
        result = memory.search(work.request.query, operators=True, progress=progress, **arguments)
    citations = citations_on(memory.configuration.settings.memory.citations)
    return found_json(memory, result, citations=citations, texts=True)


@operation("POST", "/why-not", "WhyNot", requests.WhyNotRequest, problems=(409,))
def why_not(work: Work[requests.WhyNot]) -> dict[str, Any]:
    """Tell which stage of a search loses a passage, and what brings it back. Raises MemoriterError."""
    memory = work.memory
    request = work.request
    if memory.settings.enabled and memory.settings.sync.on_search:
        with work.events.working() as progress:
            memory.backend.refresh(progress=progress)
    return why_not_json(memory.why_not(request.query, request.citation, operators=True, **request.arguments))


@operation("GET", "/files", "Files", requests.FilesRequest, quick=True)
def files(work: Work[requests.FilesRequest]) -> dict[str, Any]:
    """List the files that are memory."""
    sources = work.memory.sources()
    request = work.request
    rest = [source for source in sources if source.path > request.after]
    shown = rest[: request.limit]
    rows = [
        {
            "path": source.path,
            "source": source.kind,
            "bytes": source.size,
            "changedAt": iso_time(source.mtime_ns / 1e9),
        }
        for source in shown
    ]
    more = {"next": shown[-1].path} if len(rest) > len(shown) else {}
    return {"files": rows, "total": len(sources), **more}


@operation("GET", "/get", "Excerpt", requests.GetRequest, quick=True)
def get(work: Work[requests.GetRequest]) -> dict[str, Any]:
    """Read a note, or some lines of it. Raises PathRefused."""
    request = work.request
    excerpt = work.memory.read(request.path, start=request.start, lines=request.lines)
    return {**excerpt_json(excerpt), "hash": excerpt.hash, **origin_json(work.memory)}


@operation("POST", "/append", "Appended", requests.AppendRequest, scope="write", quick=True)
def append(work: Work[requests.Append]) -> dict[str, Any]:
    """Add an entry to today's note or to MEMORY.md. Raises WriteError.

    It is marked with the caller unless that is the owner.
    """
    memory = work.memory
    written = memory.remember(**work.request.arguments, origin=work.caller.author)
    return appended_json(written, workspace=memory.place.workspace)


@operation("POST", "/replace", "Replaced", requests.ReplaceRequest, scope="write", quick=True, problems=(409,))
def replace(work: Work[requests.ReplaceRequest]) -> dict[str, Any]:
    """Replace a note that has not changed since you read it. Raises NoteConflict and WriteError.

    What the caller has changed is marked, unless the caller is the owner.
    """
    memory = work.memory
    request = work.request
    try:
        with acting(act="edit"):
            replaced = memory.replace(request.path, request.text, expected=request.expected, origin=work.caller.author)
    except WriteConflict as error:
        raise NoteConflict(error, memory.read(request.path)) from error
    return {
        "path": memory.read(request.path, lines=1).path,
        # Of what was written, and not of what is there now: others may have written meanwhile.
        "hash": bytes_hash(note_bytes(replaced.text)),
        "marked": replaced.text != request.text,
        "health": {"ok": not replaced.reasons, "reasons": [reason_json(reason) for reason in replaced.reasons]},
    }


@operation("GET", "/captures", "Captures")
def captures(work: Work[Request]) -> dict[str, Any]:
    """List the records of conversations in the notes."""
    from memoriter.agent import find_captures

    return captures_json(find_captures(work.memory))


@operation("POST", "/captures/undo", "UndoneCaptures", requests.CaptureRequest, scope="write")
def undo_capture(work: Work[requests.CaptureRequest]) -> dict[str, Any]:
    """Remove a record of a conversation from its note and the index. Raises UsageError and WriteError."""
    from memoriter.agent import find_captures, plan_removal

    memory = work.memory
    identifier = work.request.id
    found = [each for each in find_captures(memory) if each.id == identifier]
    if not found:
        raise UsageError(f"No note holds a record {identifier!r}.", remedy="See the records with `GET /captures`.")
    receipts = [memory.forget(plan_removal(memory.plan_forget, each)) for each in reversed(found)]
    return {**captures_json(found), "receipts": [forgotten_json(each) for each in receipts]}


@operation("GET", "/status", "Status", requests.StatusRequest)
def status(work: Work[requests.StatusRequest]) -> dict[str, Any]:
    """Show the state of the memory and its health."""
    return status_json(work.memory.status(deep=work.request.deep))


@operation("POST", "/index", "IndexReport or Estimate", requests.IndexRequest, scope="write")
def index(work: Work[requests.IndexRequest]) -> dict[str, Any]:
    """Bring the index up to date. Raises IndexUnavailable and EmbeddingError."""
    request = work.request
    if request.force or request.vectors:
        work.require("admin")
    if request.dry_run:
        return estimate_json(work.memory.estimate())
    with work.events.working() as progress:
        answer = sync_json(work.memory.sync(force=request.force, vectors=request.vectors, progress=progress))
        work.events.publish("indexed", answer)
    return answer


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


@operation("GET", "/parts", "list of Part")
def parts(work: Work[requests.Request]) -> list[dict[str, Any]]:
    """Try each part that the settings name, as when the server starts."""
    return [part_json(part) for part in try_parts(work.memory)]


@operation("GET", "/cost", "Cost", requests.CostRequest, quick=True)
def cost(work: Work[requests.CostRequest]) -> dict[str, Any]:
    """Return what services cost, by day and model. Raises ProviderUnavailable if the ledger cannot be read."""
    ledger = ledger_of(work.memory.environment)
    try:
        return cost_json(ledger.rows(days=work.request.days), ledger.today(), work.memory.settings.remote.budget)
    finally:
        ledger.close()


@operation("GET", "/map", "Map", requests.MapRequest, name="map")
def draw_map(work: Work[requests.MapRequest]) -> dict[str, Any]:
    """Return the passages in two dimensions, in groups and with near duplicates."""
    return _map_json(work.memory.backend.draw_map(similarity=work.request.similarity))


def _map_json(picture: PassageMap) -> dict[str, Any]:
    """Return a map, with figures of four digits; points are named by their positions in `points`."""
    return {
        **json_of("Map", picture),
        "points": [
            {**json_of("MapPoint", each), "x": round(each.x, 4), "y": round(each.y, 4)} for each in picture.points
        ],
        "duplicates": [
            {"points": list(each.points), "similarity": round(each.similarity, 4)} for each in picture.duplicates
        ],
        "variance": [round(share, 4) for share in picture.variance],
    }


OPERATIONS: tuple[Operation, ...] = (
    search,
    explain,
    why_not,
    files,
    get,
    append,
    replace,
    status,
    parts,
    cost,
    draw_map,
    index,
    days,
    day,
    captures,
    undo_capture,
)
"""The operations of memoriter itself, except `events`, which is a stream."""


@cache
def all_operations() -> dict[str, Operation]:
    """Return all operations by their names, except `events`; a package cannot take the name of another operation."""
    found = {each.name: each for each in OPERATIONS}
    for added in operation_sets():
        for each in added.operations:
            found.setdefault(each.name, each)
    return found
