"""The page Import: choose a file of another app, see what would come, import it, and take it back.

A file that was sent is kept in a private folder until it is imported.
"""

from __future__ import annotations

import re
import shutil
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memoriter.errors import UsageError, WriteError, sentence
from memoriter.extras import require
from memoriter.ids import content_hash
from memoriter.pages import Page, PageRoute, PageSet, workspace_of
from memoriter.permissions import make_private_folder, open_private

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from typing import IO

    from starlette.requests import Request
    from starlette.responses import Response

    from memoriter.environment import Environment
    from memoriter.extensions.importing.api import ImportReport
    from memoriter.memory import Memory
    from memoriter.pages import Visit
    from memoriter.workspace import Workspace

UPLOADS = "uploads"
"""The folder below the home."""
MOST_BYTES = 500_000_000
"""Bytes of an upload."""
MORE = 100_000
"""Bytes of its form besides the file."""
KEPT_SECONDS = 24 * 3_600
"""Seconds after which an upload that nobody imported is removed, with the next upload."""
LONGEST_NAME = 150
AGAIN = "Choose the file again."
FORMATS = {
    "chatgpt": "ChatGPT",
    "claude": "Claude",
    "gemini-takeout": "Gemini (Google Takeout)",
    "obsidian": "Markdown notes, such as those of Obsidian",
    "notion": "Notion",
    "mem0": "Mem0",
    "claude-mem": "claude-mem",
    "jsonl": "Lines of JSON",
    "memoriter": "an export of memoriter",
}
"""What a person can choose, by the names of the formats that are one file."""
SHOWN = 20
"""Notes that are listed by name."""
_T = TypeVar("_T")


@asynccontextmanager
async def received(request: Request) -> AsyncGenerator[tuple[str, IO[bytes], dict[str, str]]]:
    """Yield the name of the file in a form, the open file, and the other fields of the form. Raises UsageError."""
    from starlette.datastructures import UploadFile
    from starlette.exceptions import HTTPException
    from starlette.formparsers import MultiPartException

    length = request.headers.get("content-length", "")
    if not length.isdecimal() or int(length) > MOST_BYTES + MORE:
        message = f"The file has more than {MOST_BYTES // 1_000_000} MB."
        raise UsageError(message, remedy="Import it with `memoriter import`, which takes any size.")
    try:
        form = await request.form(max_files=1, max_fields=10, max_part_size=10_000)
    except (MultiPartException, HTTPException) as error:
        raise UsageError("The form cannot be read.", remedy=AGAIN) from error
    try:
        fields = {name: value for name, value in form.items() if isinstance(value, str)}
        file = form.get("file")
        if not isinstance(file, UploadFile) or not file.filename:
            raise UsageError("No file was chosen.", remedy="Choose the file that the other app has exported.")
        yield _plain_name(file.filename), file.file, fields
    finally:
        await form.close()


def keep(env: Environment, caller: str, name: str, content: IO[bytes]) -> str:
    """Keep a file until its owner decides, instead of their last one, and return its state. Raises WriteError."""
    folder = _folder(env, caller)
    try:
        make_private_folder(folder.parent)
        for each in folder.parent.iterdir():
            if each == folder or env.wall() - each.stat().st_mtime > KEPT_SECONDS:
                shutil.rmtree(each)
        make_private_folder(folder)
        with open(folder / name, "xb", opener=open_private) as file:
            shutil.copyfileobj(content, file)
    except OSError as error:
        message = f"The file cannot be kept in {str(folder)!r}: {sentence(error.strerror or error)}"
        raise WriteError(message, remedy="Free some space, and try again.") from error
    return _state_of(folder / name)


def kept(env: Environment, caller: str, name: str, state: str) -> Path:
    """Return the file that a caller sent and saw. Raises UsageError."""
    file = _folder(env, caller) / _plain_name(name)
    if not file.is_file() or _state_of(file) != state:
        raise UsageError("The file is not kept any more, or another one was chosen meanwhile.", remedy=AGAIN)
    return file


def drop(env: Environment, caller: str) -> None:
    """Remove what a caller sent."""
    shutil.rmtree(_folder(env, caller), ignore_errors=True)


def _folder(env: Environment, caller: str) -> Path:
    return env.home / UPLOADS / content_hash(caller)[:16]


def _state_of(file: Path) -> str:
    status = file.stat()
    return f"{status.st_mtime_ns}-{status.st_size}"


def _plain_name(name: str) -> str:
    """Return the name of a file without folders and without what a file system may not take."""
    last = re.sub(r"[\x00-\x1f\x7f]", "", re.split(r"[/\\]", name)[-1]).lstrip(".")
    stem, dot, suffix = last.rpartition(".")
    return f"{stem[:LONGEST_NAME] or 'export'}{dot}{suffix[:20]}" if dot else last[:LONGEST_NAME] or "export"


async def show(visit: Visit) -> Response:
    """Return the form that takes a file, and the imports that can be taken back."""

    def past(workspace: Workspace, records: Path) -> list[Any]:
        from memoriter.extensions.importing.api import past_imports

        return past_imports(workspace.root, records)

    return await visit.render(
        "importing/page.html",
        formats=FORMATS,
        past=await _with_notes(visit, past),
        most=MOST_BYTES // 1_000_000,
        done=visit.parameter("done"),
        count=visit.parameter("count"),
    )


async def preview(visit: Visit) -> Response:
    """Keep a file that was sent, and return what importing it would do. No note is written."""
    await visit.with_memory("admin", lambda _: None, quick=True)  # nobody else sends files
    visit.expect_upload()
    async with received(visit.request) as (name, content, fields):
        visit.check_workspace(fields)
        own = "own" in fields

        def act(memory: Memory) -> tuple[str, str, ImportReport]:
            env = memory.environment
            state = keep(env, _sender(visit, memory), name, content)
            file = kept(env, _sender(visit, memory), name, state)
            try:
                chosen = _format_of(file, fields.get("format", ""))
                return chosen, state, _run(memory, chosen, file, own=own, dry_run=True)
            except Exception:
                drop(env, _sender(visit, memory))
                raise

        chosen, state, report = await visit.with_memory("admin", act)
    values: dict[str, Any] = {"name": name, "format": chosen, "title": FORMATS[chosen], "own": own, "state": state}
    return await visit.render("importing/preview.html", report=report, shown=SHOWN, **values)


async def run(visit: Visit) -> Response:
    """Import a file that was previewed, and lead to what was done."""
    form = await visit.form()
    chosen = form.get("format", "")
    if chosen not in FORMATS:
        raise UsageError(f"There is no format {chosen!r}.", remedy="Choose one of the list.")

    def act(memory: Memory) -> ImportReport:
        env = memory.environment
        file = kept(env, _sender(visit, memory), form.get("file", ""), form.get("state", ""))
        report = _run(memory, chosen, file, own="own" in form, dry_run=False)
        drop(env, _sender(visit, memory))
        return report

    report = await visit.with_memory("admin", act)
    return visit.redirect("/import", done=report.id or "nothing", count=str(report.notes + report.updated))


async def cancel(visit: Visit) -> Response:
    """Remove the file that was sent, and lead back."""
    await visit.with_memory("admin", lambda memory: drop(memory.environment, _sender(visit, memory)))
    return visit.redirect("/import")


async def ask_undo(visit: Visit) -> Response:
    """Return what taking an import back would remove and restore."""
    identifier = visit.parameter("id")

    def plan(workspace: Workspace, records: Path) -> Any:
        from memoriter.extensions.importing.api import plan_undo

        return plan_undo(workspace.root, identifier, records)

    return await visit.render("importing/undo.html", plan=await _with_notes(visit, plan), shown=SHOWN)


async def undo(visit: Visit) -> Response:
    """Take an import back."""
    form = await visit.form()

    def act(workspace: Workspace, records: Path) -> int:
        from memoriter.extensions.importing.api import plan_undo
        from memoriter.extensions.importing.api import undo as take_back

        plan = plan_undo(workspace.root, form.get("id", ""), records)
        take_back(workspace, plan, records)
        return len(plan.notes) + len(plan.restored)

    count = await _with_notes(visit, act)
    return visit.redirect("/import", done="undone", count=str(count))


def _sender(visit: Visit, memory: Memory) -> str:
    """Return a text for who sends files to which notes."""
    return f"{visit.caller.key} {memory.place.workspace}"


def _format_of(file: Path, chosen: str) -> str:
    """Return the format that a person chose, or that the file has. Raises UsageError if it is not clear."""
    from memoriter.extensions.importing.api import FORMATS as FORMS
    from memoriter.extensions.importing.api import open_files, recognise

    if chosen in FORMATS:
        return chosen
    found = recognise(file, "")
    if found in FORMATS:
        return found
    with open_files(file, FORMS["obsidian"].inner) as files:
        if any(name.lower().endswith(".md") for name in files.names):
            return "obsidian"
    require("import", "Reading exports in JSON")  # without it, none of them is recognised
    message = f"{file.name!r} is not clearly the export of one of the apps."
    raise UsageError(message, remedy="Choose the app in the list, or the file that it has exported.")


def _run(memory: Memory, chosen: str, file: Path, *, own: bool, dry_run: bool) -> ImportReport:
    from memoriter.extensions.importing.api import FORMATS as FORMS
    from memoriter.extensions.importing.api import run_import

    form = FORMS[chosen]
    return run_import(
        workspace_of(memory),
        form,
        file,
        locks=_records_of(memory),
        zone=memory.configuration.settings.agents.defaults.user_timezone,
        own=own and form.owned,
        dry_run=dry_run,
    )


async def _with_notes(visit: Visit, act: Callable[[Workspace, Path], _T]) -> _T:
    """Return what a function makes of the folder of notes and the folder with the records of imports."""
    return await visit.with_memory("admin", lambda memory: act(workspace_of(memory), _records_of(memory)))


def _records_of(memory: Memory) -> Path:
    from memoriter.import_history import RECORDS

    return memory.environment.home / RECORDS


PAGES = PageSet(
    pages=(
        Page(
            "Import",
            "Bring conversations and notes from other apps.",
            (
                PageRoute("/import", show),
                PageRoute("/import/preview", preview, ("POST",)),
                PageRoute("/import/run", run, ("POST",)),
                PageRoute("/import/cancel", cancel, ("POST",)),
                PageRoute("/import/undo", ask_undo),
                PageRoute("/import/undone", undo, ("POST",)),
            ),
            in_navigation=False,
            brings=True,
        ),
    ),
    folder=Path(__file__).parent,
)
"""What the extension adds to the pages."""
