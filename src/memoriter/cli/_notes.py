"""The commands about single notes: `memoriter get`, `remember`, `forget` and `capture`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from memoriter.api_json import (
    appended_json,
    captures_json,
    excerpt_json,
    forget_plan_json,
    forgotten_json,
    refusal_json,
)
from memoriter.cli._options import Command, CommandGroup, GlobalOptions, option_of
from memoriter.cli._render import DONE, FAILED, USAGE, is_interactive, pluralize, read_stdin
from memoriter.cli._trust import check_trust
from memoriter.errors import PathRefused, UsageError
from memoriter.types import REMEMBER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memoriter.agent import CapturedEntry
    from memoriter.backends import ForgetPlan, Forgotten
    from memoriter.cli._render import Line, Screen
    from memoriter.memory import Memory
    from memoriter.types import Diagnostic

HOLDING = {"copies", "other_indexes", "other_sessions", "transcript", "write_unfinished"}
"""Codes of places that hold the text, although `forget` removes nothing there."""
NOTHING_HERE = "There is nothing to delete here; the text is only in the places below."
SHOWN_LINES = 6
"""Maximum lines that the list of records shows of each."""


@click.command(cls=Command, name="get")
@click.argument("path")
@click.option("--from", "start", type=click.IntRange(1), metavar="N", help="The first line, counted from 1.")
@click.option("--lines", type=click.IntRange(1), metavar="N", help="The number of lines. Default: to the end.")
def get_command(path: str, start: int | None, lines: int | None) -> None:
    """Print a note, or some lines of it.

        memoriter get MEMORY.md
        memoriter get memory/2026-02-10.md --from 12 --lines 20

    PATH can be a citation, such as MEMORY.md#L4-L6 or MEMORY.md:4. It reads only the notes of this memory, at
    most 100,000 characters at once. If the note does not exist, the exit code is 1. Next: memoriter search.
    """
    options = GlobalOptions.current()
    screen = options.screen
    with options.open_notes() as notes:
        try:
            excerpt = notes.read(options.note_path(notes, path), start=start, lines=lines)
        except PathRefused as error:
            if not screen.as_json:
                raise
            screen.json(refusal_json(path, error.message, error.remedy, code=error.code))
            click.get_current_context().exit(USAGE)
    is_missing = excerpt.reason is not None and excerpt.reason.code == "no_such_note"
    if screen.as_json:
        screen.json(excerpt_json(excerpt))
        click.get_current_context().exit(FAILED if is_missing else DONE)
    screen.text(excerpt.text)
    if excerpt.reason is not None:
        screen.show_diagnostics([excerpt.reason])
    if excerpt.truncated:
        screen.note((("There is more: go on with --from and --lines.", "yellow"),))
    if is_missing:
        click.get_current_context().exit(FAILED)


def _remember_options(function: Callable[..., None]) -> Callable[..., None]:
    for argument in reversed(REMEMBER):
        if not argument.required:  # the text is no option
            function = option_of(argument)(function)
    return function


@click.command(cls=Command, name="remember")
@click.argument("text", nargs=-1, required=True)
@_remember_options
def remember_command(
    text: tuple[str, ...], to: Literal["daily", "long-term"], *, section: str | None, again: bool
) -> None:
    """Add an entry to today's note, or to the long-term memory.

        memoriter remember "We chose PostgreSQL for the ledger."
        memoriter remember --to long-term "Prefers tea to coffee."
        memoriter remember --section Groceries "Two litres of milk."
        git log -1 --format=%B | memoriter remember -

    An entry of today's note begins with the time, as in "- 14:05 We chose PostgreSQL.", unless the last entries have
    none. If the note, or for today's note MEMORY.md, has the same text already, nothing is added. Several programs
    can write at once, and the next search finds the entry. A Git repository around the current folder must be trusted
    first. Next: memoriter search, or memoriter trust --help.
    """
    options = GlobalOptions.current()
    screen = options.screen
    entry = read_stdin() if text == ("-",) else " ".join(text)
    with options.open_notes() as notes:
        if notes.place.trust == "untrusted":
            check_trust(notes.place, screen)
        remembered = notes.remember(entry, to=to, again=again, section=section)
    workspace = notes.place.workspace
    entry_json = appended_json(remembered, workspace=workspace)
    if screen.as_json:
        screen.json(entry_json)
        return
    begin, end = ("Already there: ", "; nothing was added.") if remembered.existing else ("Kept in ", "")
    place = (begin, ""), (entry_json["citation"], "bold"), (f" of {workspace}", "dim"), (end, "")
    screen.show([place])
    if remembered.existing:
        screen.show([(("To add it again, repeat the command with --again.", "dim"),)])
    screen.show_diagnostics(remembered.reasons)


@click.command(cls=Command, name="forget")
@click.argument("path", required=False, metavar="[PATH[#L10-L12]]")
@click.option("--match", metavar="TEXT", help="Every paragraph and list item that contains this text.")
@click.option("--session", metavar="ID", help="A transcript: the name of its file, without .jsonl.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Only show what would be deleted.")
@click.pass_context
def forget_command(
    context: click.Context,
    *,
    path: str | None,
    match: str | None,
    session: str | None,
    yes: bool,
    dry_run: bool,
) -> None:
    """Delete text permanently, from the notes and the index.

        memoriter forget memory/2026-02-10.md#L10-L12
        memoriter forget --match "the code of the door" --dry-run
        memoriter forget --session 4f1c2a --yes

    It shows what it will delete, and asks for confirmation. Afterwards it lists what it deleted, and where the text may
    still be: in the git history, copies, services. It does not change a note that another program edits meanwhile.
    Next: memoriter status.
    """
    if [path, match, session].count(None) != 2:
        raise click.UsageError("Give exactly one of PATH, --match and --session.")
    options = GlobalOptions.current()
    screen = options.screen
    with options.open_memory() as memory:
        plan = memory.plan_forget(path and options.note_path(memory, path), match=match, session=session)
        if dry_run or plan.empty:
            _show_plan(plan, screen)
            return
        _confirm(plan, screen, yes=yes)
        left = _forget(memory, plan, screen)
    context.exit(FAILED if left else DONE)


@click.group(cls=CommandGroup, name="capture", invoke_without_command=True)
@click.pass_context
def capture_command(context: click.Context) -> None:
    """Show the records of conversations, or remove one.

        memoriter capture list
        memoriter capture undo 3f2a91bc

    If memory.capture is true, the hooks of Claude Code and Codex write a record into the day's note when a conversation
    was compacted or ends. To turn that on: memoriter install claude-code --capture.
    """
    if context.invoked_subcommand is None:
        GlobalOptions.current().screen.text(context.get_help())


@capture_command.command(cls=Command, name="list")
def list_() -> None:
    """List the records of conversations, in the order of the notes.

        memoriter capture list
        memoriter capture list --json

    It finds them by their marks in the notes. Next: memoriter capture undo ID.
    """
    from memoriter.agent import find_captures

    options = GlobalOptions.current()
    screen = options.screen
    with options.open_memory() as memory:
        captures = tuple(find_captures(memory))
        enabled = memory.configuration.settings.memory.capture
    if screen.as_json:
        screen.json(captures_json(captures))
        return
    for capture in captures:
        screen.show(list(_capture_lines(capture)))
    if not captures:
        state = "" if enabled else " Recording is off: `memoriter config set memory.capture true` turns it on."
        screen.note(((f"The notes hold no records of conversations.{state}", ""),))


@capture_command.command(cls=Command, name="undo")
@click.argument("identifier", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Only show what would be deleted.")
@click.pass_context
def undo(context: click.Context, identifier: str, *, yes: bool, dry_run: bool) -> None:
    """Remove a record of a conversation from its note and the index.

        memoriter capture undo 3f2a91bc
        memoriter capture undo 3f2a91bc --dry-run

    It does the same as memoriter forget with the lines of the record. The conversation is not recorded again.
    Next: memoriter capture list.
    """
    from memoriter.agent import find_captures, plan_removal

    options = GlobalOptions.current()
    screen = options.screen
    with options.open_memory() as memory:
        captures = [capture for capture in find_captures(memory) if capture.id == identifier.strip().lower()]
        if not captures:
            message = f"No note holds a record {identifier!r}."
            raise UsageError(message, remedy="See the records and their identifiers with `memoriter capture list`.")
        left = False
        for capture in reversed(captures):  # a copied note has the record too; the lines above stay where they are
            plan = plan_removal(memory.plan_forget, capture)
            if dry_run:
                _show_plan(plan, screen)
                continue
            _confirm(plan, screen, yes=yes)
            left = _forget(memory, plan, screen) or left
    context.exit(FAILED if left else DONE)


def _capture_lines(capture: CapturedEntry) -> Iterator[Line]:
    yield (capture.id, "bold"), (f"  {capture.day}  {capture.client} {capture.kind}  ", ""), (capture.citation, "dim")
    lines = capture.text.split("\n")[1:]
    yield from (((f"    {line.strip()}", ""),) for line in lines[:SHOWN_LINES])
    if len(lines) > SHOWN_LINES:
        yield ((f"    ... and {len(lines) - SHOWN_LINES} more lines", "dim"),)


def _forget(memory: Memory, plan: ForgetPlan, screen: Screen) -> bool:
    """Remove what the plan names, show the receipt, and return whether something is left."""
    receipt = memory.forget(plan)
    if screen.as_json:
        screen.json(forgotten_json(receipt))
    else:
        screen.show(list(_receipt_lines(receipt)))
    return bool(receipt.left)


def _show_plan(plan: ForgetPlan, screen: Screen) -> None:
    if screen.as_json:
        screen.json(forget_plan_json(plan))
        return
    lines = list(_plan_lines(plan))
    if not lines:
        elsewhere = any(reason.code in HOLDING for reason in plan.unreached)
        answer = (
            NOTHING_HERE if elsewhere else "Nothing contains it: no note, no transcript and no index of this memory."
        )
        lines = [((answer, ""),)]
    screen.show(list(_diagnostic_lines("Finished first:", plan.recovered)))
    screen.show(lines)
    screen.show(list(_diagnostic_lines("Not reached:", plan.unreached)))


def _confirm(plan: ForgetPlan, screen: Screen, *, yes: bool) -> None:
    """Show every line of the plan, and ask for confirmation unless `yes`. Raises UsageError if nobody can be asked."""
    if yes:
        if not screen.as_json:  # the receipt in JSON has all lines
            screen.show(list(_plan_lines(plan)))
        return
    if not is_interactive(screen):
        why = "--json or --quiet is given" if screen.as_json or screen.quiet else "there is no terminal"
        remedy = "Add --yes to confirm, or --dry-run to look first."
        raise UsageError(f"Confirmation is needed, and {why}.", remedy=remedy)
    screen.note(*_diagnostic_lines("Finished first:", plan.recovered), *_plan_lines(plan))
    click.confirm("Remove this for good?", abort=True, err=True)


def _plan_lines(plan: ForgetPlan) -> Iterator[Line]:
    for removal in plan.notes:
        if removal.whole:
            yield ((removal.path, "bold"), (" (the whole file)", ""))
        for passage in removal.passages:
            if not removal.whole:
                end = f"-L{passage.end_line}" if passage.end_line > passage.start_line else ""
                yield ((f"{removal.path}#L{passage.start_line}{end}", "bold"),)
            yield from (((f"  {line}", "red"),) for line in passage.text.split("\n"))
    for file in plan.transcripts:
        yield ((str(file), "bold"), (" (the whole transcript)", ""))
    if plan.indexed:
        yield ((f"Only in the index: {', '.join(plan.indexed)}", ""),)
    if plan.kept:
        yield ((f"In copies: {', '.join(str(file) for file in plan.kept)}", ""),)
    if plan.journaled:
        yield ((f"In the journal: {pluralize(plan.journaled, 'change')}", ""),)
    if plan.unfinished:
        yield (("An earlier `memoriter forget` was interrupted; this run finishes it too.", ""),)


def _receipt_lines(receipt: Forgotten) -> Iterator[Line]:
    yield from _diagnostic_lines("Finished first:", receipt.plan.recovered)
    for removal in receipt.notes:
        count = sum(passage.end_line - passage.start_line + 1 for passage in removal.passages)
        target = "the file" if removal.whole else f"{count} {'line' if count == 1 else 'lines'}"
        yield (("Gone: ", "green"), (f"{target} of {removal.path}", ""))
    for file in receipt.transcripts:
        yield (("Gone: ", "green"), (f"the transcript {file.name}", ""))
    if receipt.plan.kept:
        yield (("Gone: ", "green"), (f"the text in {pluralize(len(receipt.plan.kept), 'file')} with copies", ""))
    if receipt.journaled:
        yield (("Gone: ", "green"), (f"the text in {pluralize(receipt.journaled, 'change')} of the journal", ""))
    if receipt.index is not None:
        yield (("Gone: ", "green"), ("its words, vectors and free space in the index", ""))
        if receipt.index.vectors:
            yield ((f"      {pluralize(receipt.index.vectors, 'vector')} of text that no note holds", "dim"),)
        if receipt.index.damaged:
            yield ((f"      damaged indexes that were set aside: {len(receipt.index.damaged)} files", "dim"),)
    yield from _diagnostic_lines("Left:", receipt.left)
    yield from _diagnostic_lines("Not reached:", receipt.plan.unreached)


def _diagnostic_lines(title: str, reasons: Sequence[Diagnostic]) -> Iterator[Line]:
    if reasons:
        yield ((title, "yellow"),)
    for reason in reasons:
        yield ((f"- {reason.message} {reason.remedy}", ""),)
