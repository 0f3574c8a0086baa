"""The page Notes: the tree of files, notes as Markdown or as text with line numbers, and entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.errors import MemoriterError, UsageError
from memoriter.pages._markdown import rendered
from memoriter.pages._note_edits import edit, send_edit
from memoriter.pages._page import Page, PageRoute
from memoriter.pages._tree import tree_of
from memoriter.web import problem_of

if TYPE_CHECKING:
    from starlette.responses import Response

    from memoriter.pages._page import Visit

MOST_FILES = 10_000
"""Files that the tree shows at most."""


async def show(visit: Visit) -> Response:
    """Return the page with the tree of files and, if the address names one, a note."""
    path = visit.parameter("path")
    listed = await visit.perform("files", limit=MOST_FILES)
    values: dict[str, Any] = {
        "tree": tree_of(listed["files"], path or visit.parameter("folder")),
        "total": listed["total"],
        "left_out": listed["total"] - len(listed["files"]),
        "path": path,
        "query": visit.parameter("q"),
        "done": visit.parameter("done"),
    }
    if not path:
        return await visit.render("notes/page.html", note=None, problem=None, **values)
    first = _number(visit.parameter("from")) or 1
    try:
        note = await visit.perform("get", path=path, start=first)
    except MemoriterError as error:
        problem = problem_of(error, "The note")
        return await visit.render("notes/page.html", problem.status, note=None, problem=problem, **values)
    text = str(note["text"])
    if any(reason["code"] == "no_such_note" for reason in note.get("reasons", ())):
        may_create = path.lower().endswith(".md") and visit.caller.allows("write")
        missing: dict[str, Any] = {"is_missing": True, "may_create": may_create}
        return await visit.render("notes/page.html", 404, note=note, problem=None, **missing, **values)
    is_markdown = note["hash"] is not None or path.lower().endswith(".md")
    as_text = not is_markdown or visit.parameter("view") == "text"
    # A long note takes long to render, and requests of other callers do not wait for it.
    paths = [each["path"] for each in listed["files"]]
    html = None if as_text else await visit.compute(lambda: rendered(text, first=first, path=path, notes=paths))
    lines = [*enumerate(text.removesuffix("\n").split("\n"), first)] if as_text and text else []
    after = first + text.count("\n") + (0 if text.endswith("\n") else 1) if note.get("truncated") else None
    more: dict[str, Any] = {"first": first, "after": after, "as_text": as_text, "is_markdown": is_markdown}
    more |= {"is_missing": False, "not_text": note["hash"] is None and path.lower().endswith(".md") and bool(text)}
    return await visit.render("notes/page.html", note=note, problem=None, html=html, lines=lines, **more, **values)


async def append(visit: Visit) -> Response:
    """Add an entry, and lead to it."""
    fields = await visit.form()
    text = fields.get("text", "").strip().replace("\r\n", "\n")
    to = fields.get("to", "daily")
    if not text:
        raise UsageError("The entry is empty.", remedy="Write at least one word.")
    written = await visit.perform("append", text=text, to=to)
    done = "existing" if written.get("existing") else "appended"
    return visit.redirect("/notes", f"L{written['startLine']}", path=written["path"], done=done)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


PAGE = Page(
    "Notes",
    "Read and correct the notes.",
    (
        PageRoute("/notes", show),
        PageRoute("/notes/edit", edit),
        PageRoute("/notes/change", send_edit, ("POST",)),
        PageRoute("/notes/append", append, ("POST",)),
    ),
    place=20,
)
