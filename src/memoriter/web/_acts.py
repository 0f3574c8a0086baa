"""What the operations on notes and the index do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.api_json import (
    appended_json,
    captures_json,
    estimate_json,
    excerpt_json,
    forgotten_json,
    iso_time,
    reason_json,
    status_json,
    sync_json,
    why_not_json,
)
from memoriter.errors import UsageError, WriteConflict
from memoriter.ids import bytes_hash, note_bytes
from memoriter.journal import acting
from memoriter.tools import citations_on, found_json, origin_json
from memoriter.web import _requests as requests
from memoriter.web._operation import operation

if TYPE_CHECKING:
    from memoriter.types import Diagnostic, Excerpt
    from memoriter.web._requests import Request
    from memoriter.web._work import Work


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
        "health": _found_json(replaced.reasons),
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


def _found_json(reasons: tuple[Diagnostic, ...]) -> dict[str, Any]:
    return {"ok": not reasons, "reasons": [reason_json(reason) for reason in reasons]}
