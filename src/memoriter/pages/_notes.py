"""The page Notes: the tree of files, notes as Markdown with pictures or as text with line numbers, and entries."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.responses import Response

from memoriter.errors import MemoriterError, UsageError
from memoriter.pages._addresses import KINDS, PICTURES, is_picture
from memoriter.pages._library import folder_at
from memoriter.pages._markdown import rendered
from memoriter.pages._note_edits import edit, new, send_edit
from memoriter.pages._note_files import ask_forget, ask_name, delete, forget, rename, take_rename_back
from memoriter.pages._page import Page, PageRoute
from memoriter.pages._pane import branch, name_of, pane_of, tags
from memoriter.web import problem_of
from memoriter.workspace import read_front_matter, tags_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memoriter.memory import Memory
    from memoriter.pages._page import Visit

PREVIEW_BEFORE = 12
"""Lines before the line of a hit that the preview shows."""
PREVIEW_LINES = 90
MOST_BACKLINKS = 50
"""Lines that link to the note and are shown."""
DONE = {
    "saved": "Saved.",
    "merged": "Saved, together with a change that was made elsewhere meanwhile.",
    "copied": "Your text is saved as this copy. The other note is as it was.",
    "appended": "Added.",
    "existing": "The entry was already there, and nothing was added.",
    "taken-back": "The note has its earlier name again, and so have the links.",
    "restored": "The note is back.",
}
"""What was done, by the parameter of the address."""


async def show(visit: Visit) -> Response:
    """Return the page with the tree of files and, if the address names one, a note."""
    path = visit.parameter("path")
    folder = visit.parameter("folder")
    if visit.fragment == "found":
        return await visit.render("pane/_found.html", **await pane_of(visit, path, folder))
    pane = await pane_of(visit, path, folder)
    values: dict[str, Any] = {
        "query": visit.parameter("q"),
        "done": DONE.get(visit.parameter("done"), ""),
        "deleted": visit.parameter("deleted"),
        "back": visit.parameter("back"),
        "renamed": visit.parameter("renamed"),
        "was": visit.parameter("was"),
        "followed": visit.parameter("followed"),
        "folder": folder_at(pane["tree"], folder) if folder else None,
        **pane,
    }
    if not path:
        return await visit.render("notes/page.html", note=None, problem=None, **values)
    first = visit.number("from") or 1
    try:
        note = await visit.perform("get", path=path, start=first)
    except MemoriterError as error:
        problem = problem_of(error, "The note")
        return await visit.render("notes/page.html", problem.status, note=None, problem=problem, **values)
    if any(reason["code"] == "no_such_note" for reason in note.get("reasons", ())):
        may_create = path.lower().endswith(".md") and visit.caller.allows("write")
        missing: dict[str, Any] = {"is_missing": True, "may_create": may_create}
        return await visit.render("notes/page.html", 404, note=note, problem=None, **missing, **values)
    return await visit.render("notes/page.html", problem=None, **await shown_note(visit, note, first), **values)


async def shown_note(visit: Visit, note: Mapping[str, Any], first: int) -> dict[str, Any]:
    """Return what the templates of a note need, from the answer of the operation `get`."""
    path = str(note["path"])
    text = str(note["text"])
    is_markdown = note["hash"] is not None or path.lower().endswith(".md")
    as_text = not is_markdown or visit.parameter("view") == "text"

    def about(memory: Memory) -> dict[str, Any]:
        names = visit.library.listing(memory).names
        # A long note takes long to render, and requests of other callers do not wait for it.
        html = None if as_text else rendered(text, first=first, path=path, names=names)
        has_history = note["hash"] is not None and memory.configuration.settings.memory.journal.enabled
        named = {**_about_text(path, text, first), **_addresses(memory, visit, path)}
        return {"html": html, "has_history": has_history, **named}

    lines = [*enumerate(text.removesuffix("\n").split("\n"), first)] if as_text and text else []
    after = first + text.count("\n") + (0 if text.endswith("\n") else 1) if note.get("truncated") else None
    return {
        "note": note,
        "lines": lines,
        "first": first,
        "after": after,
        "as_text": as_text,
        "is_markdown": is_markdown,
        "is_missing": False,
        "not_text": note["hash"] is None and path.lower().endswith(".md") and bool(text),
        **await visit.with_memory("read", about),
    }


def _about_text(path: str, text: str, first: int) -> dict[str, Any]:
    """Return the title, the tags and the day of a note, and whether its text begins with its title."""
    front = read_front_matter(text) if first == 1 else None
    body = [line for at, line in enumerate(text.split("\n")) if front is None or at not in front.lines]
    heading = next((line for line in body if line.strip()), "")
    has_title = heading.startswith("# ")
    title = (front.title if front else "") or (heading[2:].strip() if has_title else "") or name_of(path)
    tags = list(dict.fromkeys([*(front.tags if front else ()), *tags_in(body)]))
    day = front.day.isoformat() if front and front.day else ""
    return {"title": title, "has_title": has_title and (heading[2:].strip() == title), "tags": tags[:12], "day": day}


def _addresses(memory: Memory, visit: Visit, path: str) -> dict[str, str]:
    """Return the addresses that open a note in programs of this machine; only its owner gets them."""
    file = memory.file_of(path) if visit.caller.is_owner else None
    if file is None:
        return {"obsidian": "", "editor": ""}
    root = memory.place.workspace
    in_vault = any((folder / ".obsidian").is_dir() for folder in (root, *root.parents))
    obsidian = f"obsidian://open?path={quote(str(file), safe='')}" if in_vault else ""
    return {"obsidian": obsidian, "editor": f"vscode://file{quote(file.as_posix())}"}


async def preview(visit: Visit) -> Response:
    """Return the part of a note around a line, for the pane beside the hits."""
    path = visit.parameter("path")
    line = visit.number("line") or 1
    first = max(1, line - PREVIEW_BEFORE)
    note = await visit.perform("get", path=path, start=first, lines=PREVIEW_LINES)
    is_markdown = path.lower().endswith(".md")
    html = None
    if is_markdown:
        html = await visit.with_memory(
            "read",
            lambda memory: rendered(
                str(note["text"]),
                first=first,
                path=path,
                names=visit.library.listing(memory).names,
                answer=(line,) if visit.parameter("line") else (),
            ),
        )
    lines = [*enumerate(str(note["text"]).split("\n"), first)] if html is None else []
    values: dict[str, Any] = {"path": path, "name": name_of(path), "line": visit.parameter("line"), "html": html}
    values["has_title"] = is_markdown and first == 1 and _about_text(path, str(note["text"]), first)["has_title"]
    return await visit.render("notes/_preview.html", note=note, lines=lines, query=visit.parameter("q"), **values)


async def links(visit: Visit) -> Response:
    """Return the lines that link to a note."""
    path = visit.parameter("path")
    found = await visit.with_memory("read", lambda memory: visit.library.links_to(memory, path))
    template = "notes/_links.html" if visit.fragment else "notes/links.html"
    named = [(each, name_of(each.path)) for each in found[:MOST_BACKLINKS]]
    return await visit.render(template, path=path, name=name_of(path), links=named, left_out=len(found) - len(named))


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


LARGEST = 20_000_000
"""Bytes of a picture at most."""
MOST_LOOKED_AT = 20_000
"""Files that are looked at for a picture that a link names without its folder."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, max-age=60",
}
"""A picture loads and runs nothing, also if it is opened on its own."""


async def picture(visit: Visit) -> Response:
    """Return a picture of the folder of notes. Raises UsageError if there is none of that name."""
    name = visit.parameter("name")
    beside = visit.parameter("from")

    def read(root: Path) -> tuple[bytes, str] | None:
        for file in _places_of(root, name, beside):
            if (content := _content_of(root, file)) is not None:
                return content, KINDS[file.suffix.lower()]
        return None

    found = None
    if is_picture(name):
        found = await visit.with_memory("read", lambda memory: read(memory.place.workspace))
    if found is None:
        raise UsageError(f"The notes have no picture {name!r}.", remedy="Check the link in the note.")
    return Response(found[0], media_type=found[1], headers=HEADERS)


def _places_of(root: Path, name: str, beside: str) -> Iterator[Path]:
    """Yield where a picture may be: beside the note, below the root, or anywhere if the link has only its name."""
    yield root / Path(beside).parent / name
    yield root / name.lstrip("/")
    if "/" in name:
        return
    left = MOST_LOOKED_AT
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        if name in files:
            yield Path(folder, name)
        left -= len(files)
        if left < 0:
            return


def _content_of(root: Path, file: Path) -> bytes | None:
    """Return a picture inside the root, of which no part of the path is hidden; None: it is no such file."""
    try:
        real = file.resolve(strict=True)
        inside = real.relative_to(root.resolve())
        is_open = real.is_file() and not any(part.startswith(".") for part in inside.parts)
        if not is_open or real.suffix.lower() not in KINDS or real.stat().st_size > LARGEST:
            return None
        return real.read_bytes()
    except (OSError, ValueError):
        return None


PAGE = Page(
    "Notes",
    "Read and correct the notes.",
    (
        PageRoute("/notes", show),
        PageRoute("/notes/preview", preview),
        PageRoute("/notes/branch", branch),
        PageRoute("/notes/tags", tags),
        PageRoute("/notes/links", links),
        PageRoute(PICTURES, picture),
        PageRoute("/notes/edit", edit),
        PageRoute("/notes/new", new),
        PageRoute("/notes/change", send_edit, ("POST",)),
        PageRoute("/notes/append", append, ("POST",)),
        PageRoute("/notes/rename", ask_name),
        PageRoute("/notes/renamed", rename, ("POST",)),
        PageRoute("/notes/renamed-back", take_rename_back, ("POST",)),
        PageRoute("/notes/delete", delete, ("POST",)),
        PageRoute("/notes/forget", ask_forget),
        PageRoute("/notes/forgotten", forget, ("POST",)),
    ),
    place=20,
)
