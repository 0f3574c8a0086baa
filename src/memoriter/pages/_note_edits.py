"""Editing a note: its text, a change that somebody else saved meanwhile, and merging both. Nothing is overwritten."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from memoriter.errors import PathRefused, UsageError
from memoriter.pages._editing import difference, merged, with_endings
from memoriter.pages._note_files import path_for
from memoriter.pages._pane import name_of
from memoriter.values import dataclass
from memoriter.web import NoteConflict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from memoriter.pages._editing import DiffRow
    from memoriter.pages._page import Visit

LONGEST_NOTE = 4_000_000
"""Characters of a note that can be edited, as of a request of the API."""
EDITOR = "article"
"""The id of the element that a script replaces."""
MOST_COPIES = 100
"""Names that are tried for a copy."""
TRIES = 5
"""Attempts to save a text while others save, too."""


@dataclass(frozen=True, slots=True)
class NoteText:
    """The whole text of a note, with its hash; None: the note does not exist yet."""

    text: str
    hash: str | None


@dataclass(frozen=True, slots=True)
class EditedNote:
    """An edited note as the page shows it."""

    path: str
    text: str
    """The text in the field, which is the owner's."""
    expected: str
    """The hash of the note that this text is to replace; empty: the note must not exist."""
    line: str = ""
    """The line at which the field opens."""
    changes: Sequence[DiffRow] = ()
    """After a conflict, from the present text to the text in the field."""
    present: str | None = None
    """After a conflict, the text of the note as it is now; None: there is no note."""
    state: Literal["expected", "changed", "created", "deleted"] = "expected"
    """What others have done to the note since it was opened."""

    @property
    def name(self) -> str:
        return name_of(self.path)

    @property
    def rows(self) -> int:
        """The height of the text field in lines."""
        return min(32, max(12, self.text.count("\n") + 3))


async def edit(visit: Visit) -> Response:
    """Return the page with the text of a note to edit, or of a new note."""
    path = visit.parameter("path")
    note = await whole_note(visit, path)
    await _keep(visit, path, note)
    return await _page(visit, EditedNote(path, note.text, note.hash or "", visit.parameter("line")))


async def new(visit: Visit) -> Response:
    """Lead to the editor of a new note, by its name or its path."""
    path = path_for(visit.parameter("name"), visit.parameter("folder"))
    return visit.redirect("/notes/edit", path=path)


async def send_edit(visit: Visit) -> Response:
    """Save an edited text; a change that somebody else saved meanwhile is merged, unless it touches the same lines."""
    fields = await visit.form()
    path = fields.get("path", "")
    line = fields.get("line", "")
    anchor = f"L{line}" if line.isascii() and line.isdigit() else ""
    if fields.get("act") == "copy":
        return await _save_copy(visit, path, fields.get("text", ""))
    expected = fields.get("expected", "")
    text = fields.get("text", "")
    done = "saved"
    for _ in range(TRIES):
        note = await whole_note(visit, path)
        text = await visit.compute(lambda note=note: with_endings(note.text, fields.get("text", "")))
        if (note.hash or "") != expected:
            both = await _merged(visit, path, expected, note, fields.get("text", ""))
            if both is None:
                return await _conflict(visit, EditedNote(path, text, expected), note)
            text = both
            done = "merged"
        try:
            await visit.perform("replace", path=path, text=text, expected=note.hash)
        except NoteConflict:
            continue
        return visit.redirect("/notes", anchor, path=path, done=done)
    return await _conflict(visit, EditedNote(path, text, expected), await whole_note(visit, path))


async def _merged(visit: Visit, path: str, expected: str, note: NoteText, typed: str) -> str | None:
    """Return the present text with the changes of the edited one; None: they cannot be merged."""
    root = await visit.with_memory("read", lambda memory: memory.place.workspace, quick=True)
    base = visit.library.opened_text(root, path, expected)
    if base is None or note.hash is None:
        return None
    return await visit.compute(lambda: merged(base, with_endings(base, typed), note.text))


async def _save_copy(visit: Visit, path: str, typed: str) -> Response:
    """Save a text as a new note beside the one that somebody else has changed."""
    stem = path.removesuffix(".md")
    for number in range(1, MOST_COPIES):
        copy = f"{stem} (my version{f' {number}' if number > 1 else ''}).md"
        try:
            await visit.perform("replace", path=copy, text=typed.replace("\r\n", "\n"), expected=None)
        except NoteConflict:
            continue
        return visit.redirect("/notes", path=copy, done="copied")
    raise UsageError("There are too many copies of this note.", remedy="Delete some of them.")


async def _keep(visit: Visit, path: str, note: NoteText) -> None:
    if note.hash is not None:
        digest = note.hash
        await visit.with_memory(
            "read",
            lambda memory: visit.library.keep_opened(memory.place.workspace, path, digest, note.text),
            quick=True,
        )


async def whole_note(visit: Visit, path: str) -> NoteText:
    """Return the whole text of a note, which the API returns in parts.

    Raises:
        PathRefused: the path is no memory.
        UsageError: the note is too long, or it is not text in UTF-8.
    """
    if not path.lower().endswith(".md"):
        raise PathRefused(f"The file {path!r} cannot be edited here.", remedy="Name a Markdown file of the memory.")
    parts: list[str] = []
    start = 1
    size = 0
    while True:
        part = await visit.perform("get", path=path, start=start)
        text = str(part["text"])
        parts.append(text)
        size += len(text)
        if not part.get("truncated"):
            break
        if size > LONGEST_NOTE or "\n" not in text:
            raise UsageError(f"The note {path!r} is too long to edit here.", remedy="Open it in an editor.")
        # A part ends with a whole line, and without its end if other lines follow.
        start += text.count("\n") + (0 if text.endswith("\n") else 1)
        if not text.endswith("\n"):
            parts.append("\n")
    whole = "".join(parts)
    if part["hash"] is None and whole:
        raise UsageError(f"The note {path!r} is not text in UTF-8.", remedy="Open it in an editor.")
    return NoteText(whole, part["hash"])


async def _conflict(visit: Visit, edited: EditedNote, note: NoteText) -> Response:
    """Return the page that shows both texts. What is saved next replaces the present text, with its changes shown."""
    changes = await visit.compute(lambda: difference(note.text, edited.text))
    conflict: dict[str, Any] = {"state": "changed" if edited.expected else "created", "present": note.text}
    if note.hash is None:
        conflict = {"state": "deleted"}
    await _keep(visit, edited.path, note)
    return await _page(visit, replace(edited, expected=note.hash or "", changes=changes, **conflict), 409)


async def _page(visit: Visit, edited: EditedNote, status: int = 200) -> Response:
    template = "notes/_edit.html" if visit.fragment == EDITOR else "notes/edit.html"
    return await visit.render(template, status, edited=edited)
