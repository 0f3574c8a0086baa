"""The page Import: choose a file of another app, see what would come, import it, and take it back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memoriter.errors import UsageError
from memoriter.extensions.importing.pages._uploads import MOST_BYTES, drop, keep, kept, received
from memoriter.extras import require
from memoriter.pages import Page, PageRoute, PageSet, workspace_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response

    from memoriter.extensions.importing.api import ImportReport
    from memoriter.memory import Memory
    from memoriter.pages import Visit
    from memoriter.workspace import Workspace

_T = TypeVar("_T")

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
