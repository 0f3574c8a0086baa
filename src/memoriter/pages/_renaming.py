"""Renaming a note: which links of all notes follow its new name, doing it as a whole, and taking it back."""

from __future__ import annotations

import os
import posixpath
from contextlib import suppress
from typing import TYPE_CHECKING

from memoriter.errors import MemoriterError, UsageError, WriteConflict
from memoriter.ids import bytes_hash
from memoriter.pages._note_links import links_in, new_name, with_moved_files, with_names
from memoriter.pages._undoable import ChangedNote, RenamePlan
from memoriter.pages._wiki import NoteNames, plain_name
from memoriter.workspace import is_client_memory, remove, replace

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.memory import Memory
    from memoriter.pages._library import Library
    from memoriter.pages._note_links import Link


def plan_rename(memory: Memory, library: Library, file: Path, old: str, new: str) -> RenamePlan:
    """Return which links follow a note to its new path.

    Raises UsageError if the note, or a new link, cannot be written, and WriteConflict if the path is taken.

    A link is changed only if it would lead elsewhere otherwise; in the note, that includes links to pictures and files.

    Args:
        memory: the memory with the note.
        library: what is known of its notes.
        file: the file of the note.
        old: its path.
        new: the path that it is to have.
    """
    before = library.listing(memory).names
    paths = {source.path for source in library.listing(memory).sources}
    after = NoteNames((paths - {old}) | {new})
    if new in paths:
        raise WriteConflict(f"There is a note {new!r} already.", remedy="Choose another name.")
    stems = frozenset(plain_name(each).rpartition("/")[2] for each in (old, new))

    def change(path: str, file: Path, new_path: str) -> ChangedNote:
        content = file.read_bytes()
        text = content.decode()

        def name_of(link: Link) -> str | None:
            target = _target_of(link, path, before)
            wanted = new if target == old else target
            if wanted is None or _target_of(link, new_path, after) == wanted:
                return None
            from_root = target != before.find(link.path_from(path), "")
            name = new_name(link, wanted, new_path, after, from_root=from_root)
            if name is None:
                message = f"Links such as [[{link.written}]] cannot name {wanted!r}."
                raise UsageError(message, remedy="Choose a name without # ^ | [ ] and \\.")
            return name

        changed, numbers = with_names(text, links_in(text), name_of)
        if posixpath.dirname(path) != posixpath.dirname(new_path):
            changed, more = with_moved_files(changed, file, path, new_path)
            numbers = sorted({*numbers, *more})
        rows = (text.split("\n"), changed.split("\n"))
        lines = tuple((number, rows[0][number - 1], rows[1][number - 1]) for number in numbers)
        return ChangedNote(new_path, file, content, changed.encode(), lines)

    changes: list[ChangedNote] = []
    left: list[str] = []
    for path in library.notes_with_links(memory, stems):
        other = memory.file_of(path)
        if path == old or other is None:
            continue
        try:
            found = change(path, other, path)
        except UnicodeDecodeError:
            left.append(path)
            continue
        if found.lines and is_client_memory(path):
            left.append(path)
        elif found.lines:
            changes.append(found)
    try:
        own = change(old, file, new)
    except UnicodeDecodeError as error:
        message = f"The note {old!r} is not text in UTF-8."
        raise UsageError(message, remedy="Rename it in a file manager.") from error
    return RenamePlan(old, new, tuple(changes), own, tuple(left))


def rename(memory: Memory, plan: RenamePlan) -> None:
    """Give a note its new path, and change the links; if anything fails, all is as before, and the error is raised.

    A note that is there is never replaced. Raises PathRefused, WriteConflict and WriteError.
    """
    old = plan.own.file
    memory.replace(plan.new, plan.own.after.decode(), expected=None)
    created = memory.file_of(plan.new)
    assert created is not None
    written = created.read_bytes()
    done: list[ChangedNote] = []
    try:
        changed_ns = old.stat().st_mtime_ns
        for each in plan.changes:
            replace(each.file, each.after, expected=bytes_hash(each.before))
            done.append(each)
        remove(old, expected=bytes_hash(plan.own.before))
    except (MemoriterError, OSError):
        for each in done:
            with suppress(MemoriterError, OSError):  # whoever wrote meanwhile keeps their text
                replace(each.file, each.before, expected=bytes_hash(each.after))
        remove(created, expected=bytes_hash(written))
        raise
    with suppress(OSError):
        os.utime(created, ns=(changed_ns, changed_ns))  # it is as old as before


def take_back(memory: Memory, plan: RenamePlan) -> tuple[str, ...]:
    """Give a note its old path and all links their old names, and return the notes whose links could not be changed.

    What was written into the notes meanwhile stays. Raises WriteConflict if a note has the old path now.
    """
    current = memory.file_of(plan.new)
    if current is None:
        raise UsageError(f"The note {plan.new!r} is not there any more.", remedy="Look where it is now.")
    content = current.read_bytes()
    changed_ns = current.stat().st_mtime_ns
    own = _without(plan.own, content)
    replace(plan.own.file, content if own is None else own, expected=None)
    remove(current, expected=bytes_hash(content))
    with suppress(OSError):
        os.utime(plan.own.file, ns=(changed_ns, changed_ns))
    left = [plan.old] if own is None else []
    for each in plan.changes:
        try:
            present = each.file.read_bytes()
            earlier = _without(each, present)
            if earlier is None:
                left.append(each.path)
            else:
                replace(each.file, earlier, expected=bytes_hash(present))
        except (WriteConflict, OSError):
            left.append(each.path)
    return tuple(left)


def _target_of(link: Link, path: str, names: NoteNames) -> str | None:
    """Return the note that a link leads to; that of a Markdown link stands exactly at its path, also from the root."""
    target = names.find(link.name, path)
    if link.form == "wiki" or target is None:
        return target
    return target if plain_name(target) in {plain_name(link.path_from(path)), plain_name(link.name)} else None


def _without(change: ChangedNote, present: bytes) -> bytes | None:
    """Return the present content of a note with its earlier links; None: some of the changed lines are not there."""
    if present == change.after:
        return change.before
    earlier = {after.encode(): before.encode() for _, before, after in change.lines}
    lines = present.split(b"\n")
    if not earlier.keys() <= {*lines}:
        return None
    return b"\n".join(earlier.get(line, line) for line in lines)
