"""The commands about changes: `memoriter history`, `diff`, `review`, `tidy`, `undo` and `rollback`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from memoriter.api_json import history_json, json_of, origin_of_line_json, taken_back_json, tidy_json
from memoriter.cli._options import Command, GlobalOptions
from memoriter.cli._render import DONE, FAILED, is_interactive, pluralize
from memoriter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoriter.cli._render import Line, Screen
    from memoriter.journal import Change, HistoryReport, TakeBackPlan
    from memoriter.memory import Memory
    from memoriter.tidy import Proposal

SHOWN_CHANGES = 20
SHOWN_LINES = 6
"""Lines of a change that are shown in a list."""
STATES = {"unknown": "; it is not known whether it was completed", "failed": "; it failed"}


@click.command(cls=Command, name="history")
@click.argument("path", required=False, metavar="[PATH[#L4]]")
@click.option("--about", metavar="WORDS", help="Only what was said about this, in all notes.")
@click.option("--since", metavar="WHEN", help="No earlier changes: a day, 7d, 2h, or 2026-02-10T14:30.")
@click.option(
    "-n",
    "number",
    type=click.IntRange(1, 999),
    metavar="N",
    default=SHOWN_CHANGES,
    show_default=True,
    help="At most N changes.",
)
def history_command(path: str | None, about: str | None, since: str | None, number: int) -> None:
    """Show who changed what, the newest change first.

        memoriter history
        memoriter history MEMORY.md --since 7d
        memoriter history memory/2026-02-10.md#L4
        memoriter history --about "ferry budget"

    It has every change that memoriter made, and those of editors as it saw them. Of a line, it shows who wrote it and
    when, in which conversation, and what it replaced. In a Git repository, it shows the commits of a note, too.
    Next: memoriter undo ID.
    """
    from memoriter.workspace import split_citation

    options = GlobalOptions.current()
    screen = options.screen
    with options.open_memory() as memory:
        cited, line, _ = split_citation(options.note_path(memory, path)) if path else (None, None, None)
        if cited is not None and line is not None and about is None:
            origin = memory.line_origin(cited, line)
            if screen.as_json:
                screen.json(origin_of_line_json(origin))
                return
            if origin is None:
                screen.note((("The journal does not know where this line is from.", ""),))
                return
            screen.show(list(_change_lines(origin.change, every=True)))
            screen.show([((f"  instead of: {text}", "red"),) for text in origin.replaced])
            return
        report = memory.history(cited, about=about, since=since, max_results=number + 1)
    shown = report.changes[:number]
    if screen.as_json:
        screen.json({**history_json(report), "changes": [json_of("NoteChange", each) for each in shown]})
        return
    for change in shown:
        screen.show(list(_change_lines(change, every=about is not None)))
    if not shown:
        screen.note((("The journal has no changes.", ""),))
    elif len(report.changes) > number:
        screen.note((("There are earlier ones: show more with -n.", "dim"),))
    screen.note(*_unknown_lines(report))


@click.command(cls=Command, name="diff")
@click.option("--since", metavar="WHEN", required=True, help="The time before: a day, 7d, 2h, or 2026-02-10T14:30.")
def diff_command(since: str) -> None:
    """Show how the notes differ from what they were.

        memoriter diff --since 7d
        memoriter diff --since 2026-02-10T14:30

    Next: memoriter history.
    """
    options = GlobalOptions.current()
    screen = options.screen
    with options.open_memory() as memory:
        differences = memory.diff(since)
    if screen.as_json:
        screen.json([json_of("NoteDifference", each) for each in differences])
        return
    styles = {"+": "green", "-": "red", "@": "dim"}
    for difference in differences:
        screen.show([((text, styles.get(text[:1], "")),) for text in difference.lines], wrapped=False)
    if not differences:
        screen.note((("No note has changed since.", ""),))


@click.command(cls=Command, name="undo")
@click.argument("identifier", metavar="ID")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
def undo_command(identifier: str, *, dry_run: bool) -> None:
    """Take one change back.

        memoriter undo 3f2a91bc04 --dry-run
        memoriter undo 3f2a91bc04

    The lines that it added go, and those that it removed come back; everything else in the note stays. If its lines
    were changed since, it changes nothing and shows both versions. This is a change, too, which can be undone.
    Next: memoriter history.
    """
    from memoriter.journal import ChangedSince

    options = GlobalOptions.current()
    screen = options.screen
    with options.open_memory() as memory:
        try:
            plan = memory.undo(identifier, dry_run=dry_run)
        except ChangedSince as error:
            if not screen.as_json:
                screen.note(*_change_lines(error.conflict.change, every=True), (("The note now:", "yellow"),))
                screen.note(*(((f"  {text}", ""),) for text in error.conflict.now))
            raise
    _show_plan(plan, screen, dry_run=dry_run)


@click.command(cls=Command, name="rollback")
@click.option("--session", metavar="ID", help="All changes of this conversation, as in memoriter history.")
@click.option("--token", metavar="NAME", help="All changes that came with this token.")
@click.option("--since", metavar="WHEN", help="All changes since: a day, 7d, 2h, or 2026-02-10T14:30.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.pass_context
def rollback_command(
    context: click.Context, *, session: str | None, token: str | None, since: str | None, yes: bool, dry_run: bool
) -> None:
    """Take back what a conversation or a token changed.

        memoriter rollback --session mcp-3f2a91bc --dry-run
        memoriter rollback --token phone
        memoriter rollback --since 2h --yes

    It shows every line, and asks for confirmation. What others wrote since stays, also in the same notes; where they
    changed the same lines, those stay as they are now, and it says so. Each change that it makes can be undone.
    Next: memoriter history.
    """
    if [session, token, since].count(None) != 2:
        raise click.UsageError("Give exactly one of --session, --token and --since.")
    options = GlobalOptions.current()
    screen = options.screen
    with options.open_memory() as memory:
        plan = memory.plan_rollback(session=session, token=token, since=since)
        if not (dry_run or plan.empty):
            _confirm(plan, screen, yes=yes)
            memory.rollback(plan)
    _show_plan(plan, screen, dry_run=dry_run)
    context.exit(FAILED if plan.conflicts or plan.unknown else DONE)


@click.command(cls=Command, name="review")
@click.option("--tidy", is_flag=True, help="Go through the proposals of `memoriter tidy` instead.")
def review_command(*, tidy: bool) -> None:
    """Go through what agents wrote since the last review.

        memoriter review
        memoriter review --tidy
        memoriter review --json

    On a terminal, press k to keep a change, e to edit its lines, d to drop it, and q to go on later. Elsewhere, it
    prints the list. With --tidy, press a to accept a proposal, e to edit the text first, s to skip it, n to never see
    it again, and q to end. Next: memoriter undo ID.
    """
    options = GlobalOptions.current()
    screen = options.screen
    if tidy:
        show_proposals(options, review=True)
        return
    with options.open_memory() as memory:
        report = memory.unreviewed()
        if screen.as_json:
            screen.json(history_json(report))
            return
        if not report.changes:
            screen.note((("Agents have written nothing since the last review.", ""),))
        for change in reversed(report.changes):
            screen.show(list(_change_lines(change, every=True)))
            if is_interactive(screen) and not _review_change(memory, change, screen):
                break


def _review_change(memory: Memory, change: Change, screen: Screen) -> bool:
    """Ask what becomes of a change, and do it; return False if the review goes on later."""
    while True:
        key = _ask("keep, edit, drop or quit [k/e/d/q]? ")
        if key == "q":
            return False
        if key in "kd":
            if key == "d":
                _show_plan(memory.undo(change.id), screen, dry_run=False)
            memory.mark_reviewed(change)
            return True
        if key == "e":
            text = click.edit("\n".join(change.added), extension=".md")
            if text is not None:
                memory.amend(change, text)
                memory.mark_reviewed(change)
                return True


def _ask(question: str) -> str:
    """Return the key that is pressed after a question, in small letters."""
    click.echo(question, nl=False, err=True)
    key = click.getchar(echo=True).lower()
    click.echo(err=True)
    return key


def _confirm(plan: TakeBackPlan, screen: Screen, *, yes: bool) -> None:
    """Show every line of the plan, and ask for confirmation unless `yes`. Raises UsageError if nobody can be asked."""
    if yes:
        return
    if not is_interactive(screen):
        why = "--json or --quiet is given" if screen.as_json or screen.quiet else "there is no terminal"
        raise UsageError(
            f"Confirmation is needed, and {why}.", remedy="Add --yes to confirm, or --dry-run to look first."
        )
    screen.note(*_plan_lines(plan))
    click.confirm("Take this back?", abort=True, err=True)


def _show_plan(plan: TakeBackPlan, screen: Screen, *, dry_run: bool) -> None:
    if screen.as_json:
        screen.json(taken_back_json(plan, dry_run=dry_run))
        return
    screen.show(list(_plan_lines(plan)) or [(("There is nothing to take back.", ""),)])
    if plan.notes:
        done = "Would take back" if dry_run else "Taken back"
        count = sum(len(note.changes) for note in plan.notes)
        screen.note(((f"{done}: {pluralize(count, 'change')} in {pluralize(len(plan.notes), 'note')}.", ""),))


def _plan_lines(plan: TakeBackPlan) -> Iterator[Line]:
    for note in plan.notes:
        yield ((note.path, "bold"), ("" if note.content is not None else " (the whole file goes)", ""))
        for number, text in zip(note.numbers, note.removed, strict=True):
            yield ((f"  - {number:>4} {text}", "red"),)
        for text in note.restored:
            yield ((f"  +      {text}", "green"),)
    for conflict in plan.conflicts:
        text = (
            f"! {conflict.change.id} in {conflict.change.path}: its lines were changed since, and stay as they are now."
        )
        yield ((text, "yellow"),)
    for change in plan.unknown:
        text = f"! {change.id} in {change.path}: the journal does not know the note since; it stays."
        yield ((text, "yellow"),)


def _change_lines(change: Change, *, every: bool = False) -> Iterator[Line]:
    when = datetime.fromtimestamp(change.at).astimezone().strftime("%Y-%m-%d %H:%M")
    made = "first seen; it is older than the journal" if change.act == "found" else _made_by(change)
    session = f", {change.session}" if change.session else ""
    yield (
        (change.id, "bold"),
        (f"  {when}  {made}{session}  ", ""),
        (change.citation, "dim"),
        (STATES.get(change.state, "" if change.hunks is not None else "; what changed is not known"), "yellow"),
    )
    if change.act == "found" and not every:
        return
    lines = [
        *((f"    - {text}", "red") for text in change.removed),
        *((f"    + {text}", "green") for text in change.added),
    ]
    lines = [line for line in lines if line[0].strip(" +-")]
    shown = lines if every else lines[:SHOWN_LINES]
    yield from ((line,) for line in shown)
    if len(lines) > len(shown):
        yield ((f"    ... and {len(lines) - len(shown)} more lines", "dim"),)


def _made_by(change: Change) -> str:
    """Return what was done and who did it."""
    return f"{change.act} by {change.who}" if change.who else "seen, made by another program"


def _unknown_lines(report: HistoryReport) -> Sequence[Line]:
    lines: list[Line] = []
    if report.dropped:
        lines.append(
            ((f"{pluralize(report.dropped, 'older change')} were dropped; see memory.journal.maxDays.", "dim"),)
        )
    if report.damaged:
        lines.append(((f"{pluralize(report.damaged, 'line')} of the journal cannot be read.", "yellow"),))
    return lines


TITLES = {"merge": "Repeated", "move": "Lasting", "outdated": "Outdated"}


@click.command(cls=Command, name="tidy")
def tidy_command() -> None:
    """Propose what to merge, to move and to remove in the notes.

        memoriter tidy
        memoriter tidy --json

    It shows, with reasons, statements that are repeated, lasting ones in daily notes that belong in MEMORY.md, and
    those of which a later one says otherwise. Nothing changes. Next: memoriter review --tidy.
    """
    show_proposals(GlobalOptions.current(), review=False)


def show_proposals(options: GlobalOptions, *, review: bool) -> None:
    """Show the proposals, and ask what becomes of each in a review. Raises UsageError: there is no terminal for it."""
    screen = options.screen
    if review and not is_interactive(screen):
        raise UsageError("A review needs a terminal.", remedy="Run `memoriter tidy` to see the proposals.")
    with options.open_memory() as memory:
        if model := memory.configuration.settings.memory.tidy.model:
            options.show_egress_notice(memory, tidy=True)
            screen.note(((f"Asking {model} about statements in other words.", "dim"),))
        report = memory.tidy()
        proposals = report.proposals
        if screen.as_json:
            screen.json(tidy_json(report))
            return
        screen.show_diagnostics(report.reasons)
        for number, proposal in enumerate(proposals, 1):
            screen.show(list(_proposal_lines(proposal)))
            if review and not _review_proposal(memory, proposal, f"{number} of {len(proposals)}"):
                return
    if not proposals:
        screen.note((("There is nothing to tidy.", ""),))
    elif not review:
        count = pluralize(len(proposals), "proposal")
        screen.note(((f"{count}; nothing was changed. Decide with `memoriter review --tidy`.", "dim"),))


def _review_proposal(memory: Memory, proposal: Proposal, place: str) -> bool:
    """Ask what becomes of a proposal, and do it; return False if the review ends."""
    while True:
        key = _ask(f"{place}: accept, edit, skip, never again or quit [a/e/s/n/q]? ")
        if key == "q":
            return False
        if key == "s":
            return True
        if key == "n":
            memory.refuse_proposal(proposal)
            return True
        if key == "a":
            memory.accept_proposal(proposal)
            return True
        if key == "e":
            text = click.edit(proposal.text, extension=".md")
            if text is not None and text.strip():
                memory.accept_proposal(proposal, text)
                return True


def _proposal_lines(proposal: Proposal) -> Iterator[Line]:
    """Yield a proposal as a difference of notes, with its reason."""
    yield ((TITLES[proposal.kind], "bold"), (f"  {proposal.reason}", ""), (f"  {proposal.id}", "dim"))
    for each in proposal.removed:
        author = f"  ({each.author})" if each.author else ""
        yield ((f"  - {each.text}", "red"), (f"  {each.citation}{author}", "dim"))
    if proposal.added:
        yield ((f"  + {proposal.added}", "green"), ("  MEMORY.md", "dim"))
    elif proposal.kept:
        yield ((f"    {proposal.kept.text}", ""), (f"  {proposal.kept.citation}", "dim"))
