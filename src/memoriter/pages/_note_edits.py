"""Editing a note: the text, its changes, and a conflict with somebody who wrote meanwhile. Nothing is overwritten."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from memoriter.errors import PathRefused, UsageError
from memoriter.ids import bytes_hash
from memoriter.pages._editing import difference, with_endings
from memoriter.values import dataclass
from memoriter.web import NoteConflict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from memoriter.pages._editing import DiffRow
    from memoriter.pages._page import Visit

LONGEST_NOTE = 4_000_000
"""Characters of a note that can be edited, as of a request of the API."""
EDITOR = "editor"
"""The id of the element that a script replaces."""


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
    changes: Sequence[DiffRow] | None = None
    """From the note to the text; None: they were not asked for."""
    present: str | None = None
    """After a conflict, the text of the note as it is now; None: there is no note."""
    state: Literal["expected", "changed", "created", "deleted"] = "expected"
    """What others have done to the note since it was opened."""

    @property
    def reviewed(self) -> str:
        """The hash of the text whose changes are shown; only this text can be saved."""
        return "" if self.changes is None else _hash(self.text)

    @property
    def rows(self) -> int:
        """The height of the text field in lines."""
        return min(32, max(12, self.text.count("\n") + 3))


async def edit(visit: Visit) -> Response:
    """Return the page with the text of a note to edit, or of a new note."""
    path = visit.parameter("path")
    note = await whole_note(visit, path)
    return await _page(visit, EditedNote(path, note.text, note.hash or ""))


async def send_edit(visit: Visit) -> Response:
    """Show the changes of an edited text or, if they were shown, save it, unless the note has changed."""
    fields = await visit.form()
    path = fields.get("path", "")
    expected = fields.get("expected", "")
    note = await whole_note(visit, path)
    text = await visit.compute(lambda: with_endings(note.text, fields.get("text", "")))
    edited = EditedNote(path, text, expected)
    if (note.hash or "") != expected:
        return await _conflict(visit, edited, note)
    if fields.get("act") == "save" and fields.get("reviewed") == _hash(text):
        try:
            await visit.perform("replace", path=path, text=text, expected=expected or None)
        except NoteConflict:
            return await _conflict(visit, edited, await whole_note(visit, path))
        return visit.redirect("/notes", path=path, done="saved")
    changes = await visit.compute(lambda: difference(note.text, text))
    return await _page(visit, replace(edited, changes=changes))


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
    return await _page(visit, replace(edited, expected=note.hash or "", changes=changes, **conflict), 409)


async def _page(visit: Visit, edited: EditedNote, status: int = 200) -> Response:
    template = "notes/_edit.html" if visit.fragment == EDITOR else "notes/edit.html"
    return await visit.render(template, status, edited=edited)


def _hash(text: str) -> str:
    return bytes_hash(text.encode("utf-8", "replace"))
