"""What is done with a whole note: forget lines of it, rename it, and delete it."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any

from memoriter.api_json import forgotten_json
from memoriter.errors import PathRefused, UsageError, WriteConflict, WriteError
from memoriter.ids import bytes_hash
from memoriter.journal import acting
from memoriter.pages._changes import newest_id
from memoriter.pages._renaming import RenamePlan, plan_rename, take_back
from memoriter.pages._renaming import rename as rename_note
from memoriter.pages._workspace import workspace_of
from memoriter.workspace import is_client_memory

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.responses import Response

    from memoriter.backends import ForgetPlan
    from memoriter.memory import Memory
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
