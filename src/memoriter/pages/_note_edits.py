"""Editing a note: its text, a change that somebody else saved meanwhile, and merging both. Nothing is overwritten.

An edited text keeps what the text field of a browser cannot hold.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Literal

from memoriter.errors import PathRefused, UsageError
from memoriter.journal import same_ends
from memoriter.pages._note_files import path_for
from memoriter.pages._pane import name_of
from memoriter.values import dataclass
from memoriter.web import NoteConflict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from starlette.responses import Response

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


CONTEXT = 3
"""Unchanged lines that are shown around each change."""
MOST_COMPARED = 4_000_000
"""Pairs of lines that are compared at most; a larger change is shown as the removal of all and the addition of all."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$")

Opcode = tuple[str, int, int, int, int]


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One line of the difference between two texts."""

    kind: Literal["same", "removed", "added", "gap"]
    """`gap` stands for unchanged lines that are left out."""
    before: int | None
    """Its number in the first text, from 1."""
    after: int | None
    text: str


def difference(before: str, after: str) -> list[DiffRow]:
    """Return the lines that differ between two texts, with unchanged ones around them; empty if they are equal."""
    first = before.split("\n")
    second = after.split("\n")
    rows: list[DiffRow] = []
    shown = 0
    for group in _grouped(_opcodes(first, second)):
        if group[0][1] > shown:
            rows.append(DiffRow("gap", None, None, ""))
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                rows += [DiffRow("same", at + 1, new_start + at - start + 1, first[at]) for at in range(start, end)]
            else:
                rows += [DiffRow("removed", at + 1, None, first[at]) for at in range(start, end)]
                rows += [DiffRow("added", None, at + 1, second[at]) for at in range(new_start, new_end)]
            shown = end
    if rows and shown < len(first):
        rows.append(DiffRow("gap", None, None, ""))
    return [] if before == after else rows


def with_endings(original: str, edited: str) -> str:
    """Return an edited text with the ends of lines that the original has, because browsers replace them.

    The lines of `edited`, the text of a form, end with CRLF. Those that were not changed get the end that they had, and
    others the most common one.
    """
    lines = _LINE.findall(original)
    ends = [line[len(line.rstrip("\r\n")) :] for line in lines]
    common = Counter(end for end in ends if end).most_common(1)
    usual = common[0][0] if common else "\n"
    texts = edited.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if set(ends) <= {usual, ""}:
        return usual.join(texts)
    bare = [line.rstrip("\r\n") for line in lines]
    kept = [usual] * len(texts)
    for tag, start, end, new_start, _ in _opcodes(bare, texts):
        if tag == "equal":
            kept[new_start : new_start + end - start] = [each or usual for each in ends[start:end]]
    for at in range(len(texts) - 2, 0, -1):  # CR before an empty line with LF would become one end, CRLF
        if (kept[at - 1], texts[at], kept[at]) == ("\r", "", "\n"):
            kept[at - 1] = "\n"
    return "".join(text + end for text, end in zip(texts[:-1], kept, strict=False)) + texts[-1]


def merged(base: str, mine: str, theirs: str) -> str | None:
    r"""Return a text with the changes of both, or None if they touch the same lines or lines side by side.

    >>> merged("one\ntwo\nthree", "ONE\ntwo\nthree", "one\ntwo\nTHREE")
    'ONE\ntwo\nTHREE'
    >>> merged("one", "mine", "theirs") is None
    True
    """
    old = base.split("\n")
    changes = sorted([*_changes(old, mine.split("\n")), *_changes(old, theirs.split("\n"))])
    result: list[str] = []
    done = 0
    previous: tuple[int, int, list[str]] | None = None
    for change in changes:
        if change == previous:
            continue
        start, end, new = change
        if previous is not None and start <= previous[1]:
            return None
        result += [*old[done:start], *new]
        done = end
        previous = change
    return "\n".join([*result, *old[done:]])


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, list[str]]]:
    """Yield which lines are replaced, and by which."""
    for tag, start, end, new_start, new_end in _opcodes(old, new):
        if tag != "equal":
            yield start, end, [*new[new_start:new_end]]


def _opcodes(first: Sequence[str], second: Sequence[str]) -> list[Opcode]:
    """Return the steps from one list of lines to another, as `difflib` does, in bounded time."""
    head, tail = same_ends(first, second)
    old = first[head : len(first) - tail]
    new = second[head : len(second) - tail]
    if len(old) * len(new) > MOST_COMPARED:
        middle: list[Opcode] = [("replace", 0, len(old), 0, len(new))]
    else:
        # Lines that are frequent in a long text, such as blank ones, are left out of the search for what is common.
        middle = [*SequenceMatcher(None, old, new).get_opcodes()]
    moved: list[Opcode] = [(tag, a + head, b + head, c + head, d + head) for tag, a, b, c, d in middle]
    start: list[Opcode] = [("equal", 0, head, 0, head)] if head else []
    after: list[Opcode] = [("equal", len(first) - tail, len(first), len(second) - tail, len(second))] if tail else []
    return [*start, *moved, *after]


def _grouped(opcodes: Sequence[Opcode]) -> Iterator[list[Opcode]]:
    """Yield the changes with at most `CONTEXT` unchanged lines around each."""
    group: list[Opcode] = []
    for at, (tag, a, b, c, d) in enumerate(opcodes):
        if tag != "equal":
            group.append((tag, a, b, c, d))
            continue
        is_last = at == len(opcodes) - 1
        if group and not is_last and b - a <= 2 * CONTEXT:
            group.append((tag, a, b, c, d))
            continue
        if group:
            size = min(CONTEXT, b - a)
            yield [*group, (tag, a, a + size, c, c + size)]
            group = []
        if not is_last:
            size = min(CONTEXT, b - a)
            group = [(tag, b - size, b, d - size, d)]
    if group:
        yield group
