"""What is done with a whole note: forget lines of it, rename it together with the links to it, and delete it."""

from __future__ import annotations

import os
import posixpath
import secrets
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memoriter.api_json import forgotten_json
from memoriter.errors import MemoriterError, PathRefused, UsageError, WriteConflict, WriteError
from memoriter.ids import bytes_hash, content_hash
from memoriter.journal import acting
from memoriter.pages._changes import newest_id, take_back_together
from memoriter.pages._note_links import NoteNames, links_in, new_name, plain_name, with_moved_files, with_names
from memoriter.pages._page import workspace_of
from memoriter.values import dataclass
from memoriter.workspace import is_client_memory

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.responses import Response

    from memoriter.backends import ForgetPlan
    from memoriter.memory import Memory
    from memoriter.pages._library import Library
    from memoriter.pages._note_links import Link
    from memoriter.pages._page import Visit


async def delete(visit: Visit) -> Response:
    """Delete a note that has not changed since it was shown, and lead to the button that puts it back."""
    form = await visit.form()
    path = form.get("path", "")

    def act(memory: Memory) -> str:
        cited, _, content = _file_of(memory, path)
        workspace = workspace_of(memory)
        if workspace.journal is None:
            message = "The history of changes is turned off, so nobody could put a deleted note back."
            raise UsageError(message, remedy="Choose “Forget…” to delete the note for good.")
        earlier = newest_id(memory, cited, "delete")
        with acting(act="delete"):
            workspace.remove(cited, expected=form.get("expected", "") or bytes_hash(content))
        change = newest_id(memory, cited, "delete")
        if change in {"", earlier}:
            workspace.replace(cited, content, expected=None)
            raise WriteError("The history of changes cannot be written, so the note was not deleted.")
        return change

    change = await visit.with_memory("admin", act)
    return visit.redirect("/notes", folder=_folder(path), deleted=path, back=change)


async def ask_name(visit: Visit) -> Response:
    """Return the question for the new name of a note, with the links to it."""
    path = visit.parameter("path")
    links = await visit.with_memory("admin", lambda memory: visit.library.links_to(memory, path))
    notes = len({each.path for each in links})
    return await visit.render("notes/rename.html", path=path, name=path, notes=notes, plan=None, planned="")


async def rename(visit: Visit) -> Response:
    """Give a note another path, once the person has seen which links follow it. A note that is there stays."""
    form = await visit.form()
    path = form.get("path", "")
    new = path_for(form.get("name", ""), _folder(path))
    seen = form.get("planned", "")
    if new == path:
        return visit.redirect("/notes", path=path)

    def act(memory: Memory) -> tuple[RenamePlan, str]:
        _, file, _ = _file_of(memory, path)
        plan = plan_rename(memory, visit.library, file, path, new)
        if (plan.shown or plan.left) and plan.digest != seen:
            return plan, ""
        return plan, rename_note(memory, plan)

    plan, done = await visit.with_memory("admin", act)
    if done:
        return visit.redirect("/notes", path=new, renamed=done, was=path, followed=str(len(plan.shown)))
    return await visit.render("notes/rename.html", path=path, name=new, notes=0, plan=plan, planned=seen)


async def take_rename_back(visit: Visit) -> Response:
    """Give a note its earlier path again, and the links their earlier names."""
    form = await visit.form()
    old = form.get("was", "")

    def act(memory: Memory) -> None:
        _, _, _ = _file_of(memory, form.get("path", ""))
        take_back(memory, visit.library, form.get("renamed", ""), old, form.get("path", ""))

    await visit.with_memory("admin", act)
    return visit.redirect("/notes", path=old, done="taken-back")


async def ask_forget(visit: Visit) -> Response:
    """Return the plan of forgetting lines of a note: what would be removed from where. Nothing is changed."""
    citation = citation_of(visit.parameter("path"), visit.parameter("line"), visit.parameter("end"))
    plan = await visit.with_memory("admin", lambda memory: memory.plan_forget(citation))
    return await visit.render(
        "notes/forget.html",
        path=visit.parameter("path"),
        line=visit.parameter("line"),
        end=visit.parameter("end") or visit.parameter("line"),
        plan=plan,
        shown=shown_plan(plan),
    )


async def forget(visit: Visit) -> Response:
    """Forget what the plan showed, unless the note has changed since, and return the receipt."""
    form = await visit.form()
    citation = citation_of(form.get("path", ""), form.get("line", ""), form.get("end", ""))

    def act(memory: Memory) -> dict[str, Any]:
        plan = memory.plan_forget(citation)
        if [each.hash for each in plan.notes] != [form.get("expected", "")]:
            raise WriteConflict("The note has changed since the plan was shown, so nothing was forgotten.")
        receipt = forgotten_json(memory.forget(plan))
        visit.library.drop_texts(form.get("path", ""))
        return receipt

    receipt = await visit.with_memory("admin", act)
    whole = not form.get("line")
    return await visit.render("notes/forgotten.html", path=form.get("path", ""), receipt=receipt, whole=whole)


def shown_plan(plan: ForgetPlan) -> list[tuple[int, str]]:
    """Return the lines that a plan removes, with their numbers."""
    rows: list[tuple[int, str]] = []
    for note in plan.notes:
        for passage in note.passages:
            rows += enumerate(passage.text.rstrip("\n").split("\n"), passage.start_line)
    return rows


def citation_of(path: str, line: str, end: str) -> str:
    """Return a path with lines, as cited. Raises UsageError if the lines are no numbers."""
    if not line:
        return path
    if not all(each.isascii() and each.isdigit() and len(each) < 10 for each in filter(None, (line, end))):
        raise UsageError("The lines are no numbers.", remedy="Give the first and the last line.")
    return f"{path}#L{line}-L{end or line}"


def path_for(name: str, folder: str) -> str:
    """Return the path of a new note. Raises UsageError if the name is empty.

    >>> path_for("A plan", "memory/work/"), path_for("people/Ada.md", "memory/")
    ('memory/work/A plan.md', 'people/Ada.md')
    """
    plain = name.strip().strip("/")
    if not plain:
        raise UsageError("The name is empty.", remedy="Write at least one letter.")
    path = plain if "/" in plain or plain.endswith(".md") else f"{folder}{plain}"
    return posixpath.normpath(path if path.endswith(".md") else f"{path}.md")


def _folder(path: str) -> str:
    folder, slash, _ = path.rpartition("/")
    return folder + slash


def _file_of(memory: Memory, path: str) -> tuple[str, Path, bytes]:
    """Return the path of a note as cited, its file and its content. Raises PathRefused."""
    cited = memory.read(path, lines=1).path
    if is_client_memory(cited):
        raise PathRefused(
            f"Another program keeps {path!r}, and memoriter does not write there.", remedy="Change it there."
        )
    file = memory.file_of(path) if path.lower().endswith(".md") else None
    if file is None:
        raise PathRefused(f"There is no note {path!r}.", remedy="Name a Markdown file of the memory.")
    return cited, file, file.read_bytes()


@dataclass(frozen=True, slots=True)
class ChangedNote:
    """A note whose links follow the new name of another one."""

    path: str
    file: Path
    before: bytes
    after: bytes
    lines: tuple[tuple[int, str, str], ...]
    """The number of each line that changes, and its text before and afterwards."""


@dataclass(frozen=True, slots=True)
class RenamePlan:
    """What renaming a note would do."""

    old: str
    new: str
    changes: tuple[ChangedNote, ...]
    """The other notes whose links change."""
    own: ChangedNote
    """The renamed note itself, whose relative links change if it comes into another folder."""
    left: tuple[str, ...]
    """Notes with links that stay as they are, because their files are not written here."""

    @property
    def shown(self) -> list[ChangedNote]:
        """The notes whose links change."""
        return [*([self.own] if self.own.lines else []), *self.changes]

    @property
    def digest(self) -> str:
        """Stands for all that was planned: it differs if any of the notes has changed since."""
        parts = [each for note in (self.own, *self.changes) for each in (note.path, bytes_hash(note.before))]
        return content_hash("\n".join([self.old, self.new, *parts, *self.left]))


def plan_rename(memory: Memory, library: Library, file: Path, old: str, new: str) -> RenamePlan:
    """Return which links follow a note to its new path.

    Raises UsageError if the note, or a new link, cannot be written, and WriteConflict if the path is taken.

    A link is changed only if it would lead elsewhere otherwise; in the note, that includes links to pictures and files.
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


def rename_note(memory: Memory, plan: RenamePlan) -> str:
    """Give a note its new path, change the links, and return the name of these changes in the history.

    If anything fails, all is as before, and the error is raised. A note that is there is never replaced. Raises
    PathRefused, WriteConflict and WriteError.
    """
    name = f"rename-{secrets.token_hex(4)}"
    with acting(act="rename", session=name):
        _rename(memory, plan)
    return name


def _rename(memory: Memory, plan: RenamePlan) -> None:
    workspace = workspace_of(memory)
    workspace.cited(plan.new)
    workspace.replace(plan.new, plan.own.after, expected=None, moved=plan.old)
    created = memory.file_of(plan.new)
    assert created is not None
    written = created.read_bytes()
    done: list[ChangedNote] = []
    try:
        changed_ns = plan.own.file.stat().st_mtime_ns
        for each in plan.changes:
            workspace.replace(each.path, each.after, expected=bytes_hash(each.before))
            done.append(each)
        workspace.remove(plan.old, expected=bytes_hash(plan.own.before), moved=plan.new)
    except (MemoriterError, OSError):
        for each in done:
            with suppress(MemoriterError, OSError):  # whoever wrote meanwhile keeps their text
                workspace.replace(each.path, each.before, expected=bytes_hash(each.after))
        workspace.remove(plan.new, expected=bytes_hash(written))
        raise
    with suppress(OSError):
        os.utime(created, ns=(changed_ns, changed_ns))  # it is as old as before


def take_back(memory: Memory, library: Library, name: str, old: str, new: str) -> None:
    """Give a note its old path and all links their old names; what was written into the notes meanwhile stays.

    `name` is what `rename_note` returned, `old` the path that the note had, and `new` its present one.

    Raises WriteConflict if a note has the old path now.
    """
    file = memory.file_of(new)
    if file is None:
        raise UsageError(f"The note {new!r} is not there any more.", remedy="Look where it is now.")
    if memory.file_of(old) is not None:
        raise WriteConflict(f"There is a note {old!r} already.", remedy="Choose another name.")
    plan = memory.plan_rollback(session=name)
    leaves_nothing = any(note.path == new and note.content is None for note in plan.notes)
    if not leaves_nothing or plan.conflicts or plan.unknown:
        # Without that change, what was written into the note since would stay under the new name.
        others = tuple(note for note in plan.notes if note.path not in {old, new})
        take_back_together(memory, replace(plan, notes=others))
        rename_note(memory, plan_rename(memory, library, file, new, old))
        return
    changed_ns = file.stat().st_mtime_ns
    take_back_together(memory, plan)
    restored = memory.file_of(old)
    assert restored is not None
    with suppress(OSError):
        os.utime(restored, ns=(changed_ns, changed_ns))


def _target_of(link: Link, path: str, names: NoteNames) -> str | None:
    """Return the note that a link leads to; that of a Markdown link stands exactly at its path, also from the root."""
    target = names.find(link.name, path)
    if link.form == "wiki" or target is None:
        return target
    return target if plain_name(target) in {plain_name(link.path_from(path)), plain_name(link.name)} else None
