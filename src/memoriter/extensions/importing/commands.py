"""`memoriter import` and `memoriter export`: bring text from other programs, and take all notes elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memoriter.api_json import json_of
from memoriter.cli import DONE, FAILED, Command, GlobalOptions, check_trust, is_interactive, pluralize, writing
from memoriter.errors import UsageError, sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoriter.cli import Line, Screen
    from memoriter.extensions.importing.api import ImportReport, UndoPlan
    from memoriter.notes import Notes
    from memoriter.workspace import Workspace

FORMATS = (
    *("openclaw", "mem0", "basic-memory", "memsearch", "claude-mem", "chatgpt", "claude", "gemini-takeout"),
    *("obsidian", "notion", "jsonl", "memoriter"),
)
SHOWN_NOTES = 10
TABLES = """
ImportReport: What `import` did, or with `--dry-run` would do.
format | text | the format of the export
id | text | names the import for `--undo`; empty if it added and changed nothing, or restored an export of memoriter
workspace | text | the folder of notes
dryRun | boolean | whether nothing was written
notes | integer | notes that were added
records | integer | texts that were added: pages, and entries of the notes of a day
updated | integer | texts that changed since the last import
updatedOf | list of text | the earlier imports that added the changed notes
present | integer | texts that were there already
kept | list of text | notes that you edited and that differ from the export; they stay as they are
leftOut | integer | number of all that was not imported
notRestored | integer | of those, exported notes that could not be put back
reasons | list of [LeftOut] | the first 20 of them
samples | list of [Sample] | up to 5 of the notes

LeftOut: Something that was not imported.
name | text | what it is
reason | text | the cause

Sample: A note of an import.
path | text | the note
text | text | its beginning

Imports: The result of `import --list`.
imports | list of [PastImport] | the imports that can be undone

PastImport: One import.
id | text | names the import for `--undo`
format | text | the format of the export
notes | integer | notes of the import
records | integer | texts in these notes
edited | integer | notes that you edited since
changed | integer | notes of earlier imports that it changed, and that undoing it restores

ImportUndone: The result of `import --undo`.
id | text | the import
dryRun | boolean | whether nothing was removed
removed | list of text | the notes that were removed, or with `--dry-run` would be
restored | list of text | the notes of earlier imports that were restored, or with `--dry-run` would be
kept | list of text | notes that you edited since; they stay

Exported: The result of `export`.
file | text | the archive
notes | integer | notes in it
bytes | integer | size of these notes together
leftOut | list of text | notes that are outside of the folder, or changed or vanished meanwhile
"""
"""Every field of the JSON of these commands, in the form of `memoriter.answers.TABLES`."""


@click.command(cls=Command, name="import", section="Move")
@click.argument("source", required=False, metavar="[FORMAT]", type=click.Choice(FORMATS))
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Only show what would be imported, with samples.")
@click.option("--own", is_flag=True, help="You wrote all of it: it counts like your own notes, and gets no marks.")
@click.option("--source", "name", metavar="NAME", default="", help="Name the source, to tell it from another one.")
@click.option("--undo", "identifier", metavar="ID", help="Remove what an import added, restore what it changed.")
@click.option("--list", "listed", is_flag=True, help="List the imports.")
@click.option("--yes", is_flag=True, help="With --undo: do not ask for confirmation.")
def import_command(
    source: str | None,
    path: Path | None,
    *,
    dry_run: bool,
    own: bool,
    name: str,
    identifier: str | None,
    listed: bool,
    yes: bool,
) -> None:
    """Import conversations and memories of other programs.

        memoriter import chatgpt ~/Downloads/chatgpt.zip --dry-run
        memoriter import obsidian ~/Vault --own
        memoriter import --list
        memoriter import --undo 3f2a91bc

    FORMAT is openclaw, mem0, basic-memory, memsearch, claude-mem, chatgpt, claude, gemini-takeout, obsidian, notion,
    jsonl or memoriter. PATH is a file, a folder or a ZIP archive. The notes go into memory/imported/FORMAT/, with
    their dates and without secrets, and are marked as imported unless you say that they are your own. A repeated
    import adds what is new, changes what is different in the export, and leaves alone what you edited; an interrupted
    one continues. A broken or hostile file is refused, and nothing is written. Next: memoriter search.
    """
    options = GlobalOptions.current()
    screen = options.screen
    _check_words(source, path, identifier=identifier, listed=listed, own=own or bool(name))
    notes = _opened(options, screen, writes=not (listed or dry_run))
    if listed:
        _show_imports(notes, screen)
    elif identifier is not None:
        _undo(notes, identifier, screen, yes=yes, dry_run=dry_run)
    elif source is not None and path is not None:
        _import(notes, source, path, screen, own=own, name=name, dry_run=dry_run)


@click.command(cls=Command, name="export", section="Move")
@click.argument("file", type=click.Path())
@click.option("--force", is_flag=True, help="Replace a file of this name.")
def export_command(file: str, *, force: bool) -> None:
    """Write all notes into a ZIP archive.

        memoriter export ~/notes.zip
        memoriter export ~/notes.zip --force
        memoriter export - | ssh backup "cat > notes.zip"
        memoriter -w ~/elsewhere import memoriter ~/notes.zip --own

    The archive has every note, byte by byte, in notes/, and notes.jsonl, with one object for each: path, title, date,
    tags, text, the origin of text that is not yours, hash and time. Only you can read it. Transcripts, settings and
    the index are not in it. With - as FILE, it goes to the standard output. Next: memoriter import memoriter FILE
    --own.
    """
    from memoriter.environment import expand_home
    from memoriter.extensions.importing.api import export_notes, write_export

    options = GlobalOptions.current()
    screen = options.screen
    to_stdout = file == "-"
    if to_stdout and (screen.as_json or sys.stdout.isatty()):
        why = "the answer in JSON goes there" if screen.as_json else "it is a terminal"
        raise UsageError(f"The archive cannot go to the standard output: {why}.", remedy="Name a file.")
    workspace = _opened(options, screen, writes=False).trusted_workspace
    with screen.progress() as step:
        progress = _steps(step, "export")
        if to_stdout:
            with writing(sys.stdout):
                exported = write_export(workspace, sys.stdout.buffer, progress)
                sys.stdout.flush()
        else:
            exported = export_notes(workspace, expand_home(file), force=force, progress=progress)
    if screen.as_json:
        screen.json(json_of("Exported", exported, tables=TABLES))
        return
    if not to_stdout:
        screen.show([((f"{pluralize(exported.notes, 'note')} in ", ""), (str(exported.file), "bold"), (".", ""))])
    for name in exported.left_out[:SHOWN_NOTES]:
        screen.note((("! ", "yellow"), (f"Left out, because it is not in the folder of notes: {name}", "")))


def _check_words(source: str | None, path: Path | None, *, identifier: str | None, listed: bool, own: bool) -> None:
    """Raise a usage error unless exactly one thing is asked for."""
    asked = [source is not None, identifier is not None, listed]
    if sum(asked) != 1 or (source is None and own):
        raise click.UsageError("Give a FORMAT and a PATH, or --undo ID, or --list.")
    if source is not None and path is None:
        raise click.UsageError(f"Give the PATH of what {source} has exported.")


def _opened(options: GlobalOptions, screen: Screen, *, writes: bool) -> Notes:
    from memoriter.notes import open_notes

    notes = open_notes(options.workspace, config=options.config, agent=options.agent, by_person=True)
    if writes:
        check_trust(notes.place, screen)
    return notes


def _steps(step: Callable[[Any], None], stage: Any) -> Callable[[int, int], None]:
    from memoriter.sync import Progress

    return lambda done, total: step(Progress(stage, done, total))


def _import(notes: Notes, source: str, path: Path, screen: Screen, *, own: bool, name: str, dry_run: bool) -> None:
    from memoriter.environment import expand_home
    from memoriter.extensions.importing.api import FORMATS as FORMS
    from memoriter.extensions.importing.api import run_import

    workspace = notes.trusted_workspace
    with screen.progress() as step:
        report = run_import(
            workspace,
            FORMS[source],
            expand_home(path),
            locks=_records(notes),
            zone=notes.configuration.settings.agents.defaults.user_timezone,
            own=own,
            name=name,
            dry_run=dry_run,
            progress=_steps(step, "import"),
        )
    if screen.as_json:
        names = {"format": report.source, "id": report.id, "workspace": str(workspace.root)}
        screen.json({**names, **json_of("ImportReport", report, tables=TABLES)})
    else:
        screen.show(list(_report_lines(report, workspace)))
        screen.note(*_left_lines(report))
    if report.not_restored:
        click.get_current_context().exit(FAILED)


def _report_lines(report: ImportReport, workspace: Workspace) -> Iterator[Line]:
    would = "Would add" if report.dry_run else "Added"
    texts = f" with {pluralize(report.records, 'text')}" if report.records != report.notes else ""
    rest = [f"{report.updated:,} changed"] if report.updated else []
    rest += [f"{report.present:,} there already"] if report.present else []
    rest += [f"{report.left_out:,} left out"] if report.left_out else []
    yield (
        (f"{would} {pluralize(report.notes, 'note')}{texts}", "bold"),
        (f" to {workspace.root}", ""),
        (f"; {', '.join(rest)}." if rest else ".", ""),
    )
    for sample in report.samples if report.dry_run else ():
        yield ((f"  {sample.path}", "bold"),)
        yield ((f"    {sample.text}", "dim"),)
    if (report.notes or report.updated) and report.id and not report.dry_run:
        yield ((f"To undo it: memoriter import --undo {report.id}", "dim"),)


def _left_lines(report: ImportReport) -> Iterator[Line]:
    if report.not_restored:
        count = pluralize(report.not_restored, "note")
        yield ("! ", "yellow"), (f"The export has {count} that could not be put back; the reasons are below.", "")
        advice = 'Import into an empty folder, or set memory.layout to "notes" and memory.extraSuffixes as they were.'
        yield ((f"  {advice}", ""),)
    for path in report.kept[:SHOWN_NOTES]:
        yield ("! ", "yellow"), (f"{path} was edited here and differs from the export; it stays as it is.", "")
    if len(report.kept) > SHOWN_NOTES:
        yield ((f"  ... and {len(report.kept) - SHOWN_NOTES:,} more.", ""),)
    for each in report.reasons[:SHOWN_NOTES]:
        yield ("- ", "dim"), (f"Left out: {each.name}: {sentence(each.reason)}", "")
    if report.left_out > SHOWN_NOTES:
        yield ((f"  ... and {report.left_out - SHOWN_NOTES:,} more; --json lists the first 20.", ""),)


def _show_imports(notes: Notes, screen: Screen) -> None:
    from memoriter.extensions.importing.api import past_imports

    found = past_imports(notes.trusted_workspace.root, _records(notes))
    if screen.as_json:
        rows = [{"id": each.id, "format": each.source, **json_of("PastImport", each, tables=TABLES)} for each in found]
        screen.json({"imports": rows})
        return
    for each in found:
        edited = f", {each.edited:,} edited since" if each.edited else ""
        edited += f", changed {pluralize(each.changed, 'note')} of earlier imports" if each.changed else ""
        texts = f" with {pluralize(each.records, 'text')}" if each.records != each.notes else ""
        count = f"  {each.source}  {pluralize(each.notes, 'note')}{texts}{edited}"
        screen.show([((each.id, "bold"), (count, ""))])
    if not found:
        screen.note((("No note is imported.", ""),))


def _undo(notes: Notes, identifier: str, screen: Screen, *, yes: bool, dry_run: bool) -> None:
    from memoriter.extensions.importing.api import plan_undo, undo

    workspace = notes.trusted_workspace
    plan = plan_undo(workspace.root, identifier, _records(notes))
    if not dry_run:
        if not yes:
            _confirm(plan, screen)
        undo(workspace, plan, _records(notes))
    restored = [each.note for each in plan.restored]
    if screen.as_json:
        names = {"removed": list(plan.notes), "restored": restored, "kept": list(plan.kept)}
        screen.json({"id": plan.id, "dryRun": dry_run, **names})
        click.get_current_context().exit(DONE)
    if plan.notes or not restored:
        verb = "Would remove" if dry_run else "Removed"
        screen.show([((f"{verb} {pluralize(len(plan.notes), 'note')} of the import {plan.id}.", ""),)])
    if restored:
        verb = "Would restore" if dry_run else "Restored"
        screen.show([((f"{verb} {pluralize(len(restored), 'note')} as before the import {plan.id}.", ""),)])
    screen.note(*_kept_lines(plan))


def _records(notes: Notes) -> Path:
    """Return the private folder with the records of imports."""
    from memoriter.import_history import RECORDS

    return notes.env.home / RECORDS


def _confirm(plan: UndoPlan, screen: Screen) -> None:
    """Show what is removed and ask for confirmation. Raises UsageError if no person can be asked."""
    if not is_interactive(screen):
        why = "--json or --quiet is given" if screen.as_json or screen.quiet else "there is no terminal"
        remedy = "Add --yes to confirm, or --dry-run to look first."
        raise UsageError(f"Confirmation is needed, and {why}.", remedy=remedy)
    notes = [(path, "") for path in plan.notes] + [(each.note, ", as before the import") for each in plan.restored]
    lines: list[Line] = [((path, "bold"), (how, "")) for path, how in notes[:SHOWN_NOTES]]
    if len(notes) > SHOWN_NOTES:
        lines.append(((f"... and {len(notes) - SHOWN_NOTES:,} more notes", "dim"),))
    screen.note(*lines, *_kept_lines(plan))
    question = "Remove these notes for good?" if not plan.restored else "Remove and restore these notes for good?"
    click.confirm(question, abort=True, err=True)


def _kept_lines(plan: UndoPlan) -> Iterator[Line]:
    for path in plan.kept[:SHOWN_NOTES]:
        yield ("! ", "yellow"), (f"{path} was edited since the import, and stays. To delete it: memoriter forget.", "")
    if len(plan.kept) > SHOWN_NOTES:
        yield ((f"  ... and {len(plan.kept) - SHOWN_NOTES:,} more.", ""),)
