"""The commands of `memoriter ltm` for decisions: about captured statements, and about memories of others."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import click

from memoriter.cli import Command, GlobalOptions, check_trust, is_interactive, pluralize
from memoriter.errors import UsageError
from memoriter.extensions.longterm._render import SHORT_ID, memory_line, open_long_term, restored_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.cli import Line, Screen
    from memoriter.extensions.longterm.api import Candidate, Category, LongTermMemories, LongTermMemory

CATEGORY = click.Choice(["preference", "fact", "decision", "entity", "other"])
IDS = click.argument("ids", nargs=-1, metavar="[ID]...")
EVERY = click.option("--all", "everything", is_flag=True, help="All candidates.")


@click.command(cls=Command, name="inbox")
def inbox() -> None:
    """List the statements that wait for your decision, the oldest first.

        memoriter ltm inbox
        memoriter ltm inbox --json

    Statements come here if autoCapture is "inbox". They are lines of memory/inbox.md, which you may edit, and are
    dropped after 30 days (inboxDays). Next: memoriter ltm accept, reject or edit.
    """
    from memoriter.extensions.longterm.api import inbox_of

    options = GlobalOptions.current()
    with open_long_term(options) as memory:
        found = inbox_of(memory.long_term)
        waiting = found.read().candidates
    _show(waiting, found.days, options.screen)


@click.command(cls=Command, name="accept")
@IDS
@EVERY
def accept(ids: tuple[str, ...], *, everything: bool) -> None:
    """Store statements of the inbox as long-term memories.

        memoriter ltm accept 3f2a91c0
        memoriter ltm accept --all

    The beginning of an id is enough. If a statement replaces an older memory, that one is kept and marked.
    Next: memoriter ltm list.
    """
    from memoriter.extensions.longterm.api import candidate_json, inbox_of, stored_json

    options = GlobalOptions.current()
    screen = options.screen
    wanted = _wanted(ids, everything=everything)
    with open_long_term(options) as memory:
        check_trust(memory.place, screen)
        memories = options.show_egress_notice(memory).long_term
        found = inbox_of(memories)
        done = found.accept(wanted, memories)
        days = found.days
    if screen.as_json:
        screen.json(
            [{"candidate": candidate_json(each.candidate, days), **stored_json(each.stored)} for each in done.accepted]
        )
        return
    for each in done.accepted:
        state = "Already there: " if each.stored.existing else "Stored: "
        screen.show([((state, ""), *memory_line(each.stored.memory))])
    if not done.accepted:
        screen.note((("The inbox is empty.", ""),))
    screen.show_diagnostics(done.reasons)


@click.command(cls=Command, name="reject")
@IDS
@EVERY
def reject(ids: tuple[str, ...], *, everything: bool) -> None:
    """Drop statements of the inbox; the same words are not proposed again.

        memoriter ltm reject 3f2a91c0
        memoriter ltm reject --all

    The beginning of an id is enough. Next: memoriter ltm inbox.
    """
    from memoriter.extensions.longterm.api import inbox_of

    options = GlobalOptions.current()
    wanted = _wanted(ids, everything=everything)
    with open_long_term(options) as memory:
        check_trust(memory.place, options.screen)
        found = inbox_of(memory.long_term)
        dropped = found.reject(wanted)
    _show(dropped, found.days, options.screen, before="Dropped: ")


@click.command(cls=Command, name="edit")
@click.argument("identifier", metavar="ID")
@click.argument("text", nargs=-1)
@click.option("--category", type=CATEGORY, help="What it is about.")
def edit(identifier: str, text: tuple[str, ...], *, category: Category | None) -> None:
    """Change the words or the category of a statement in the inbox.

        memoriter ltm edit 3f2a91c0 "I prefer TypeScript to Python."
        memoriter ltm edit 3f2a91c0 --category decision

    Next: memoriter ltm accept.
    """
    from memoriter.extensions.longterm.api import candidate_json, inbox_of

    options = GlobalOptions.current()
    screen = options.screen
    if not text and category is None:
        raise click.UsageError("Give the new words, or --category.")
    with open_long_term(options) as memory:
        check_trust(memory.place, screen)
        words = " ".join(text) if text else None
        found = inbox_of(memory.long_term)
        changed = found.edit(identifier, text=words, category=category)
        days = found.days
    if screen.as_json:
        screen.json(candidate_json(changed, days))
        return
    screen.show([(("Changed: ", ""), *_line(changed, days))])


def _wanted(ids: Sequence[str], *, everything: bool) -> Sequence[str]:
    if bool(ids) == everything:
        raise click.UsageError("Give ids as `memoriter ltm inbox` prints them, or --all.")
    return ["all"] if everything else ids


def _show(candidates: Sequence[Candidate], days: float, screen: Screen, *, before: str = "") -> None:
    """Print candidates that are dropped after so many days, each with a word before it."""
    from memoriter.extensions.longterm.api import candidate_json

    if screen.as_json:
        screen.json([candidate_json(each, days) for each in candidates])
        return
    for each in candidates:
        screen.show([((before, ""), *_line(each, days))])
    if not candidates:
        screen.note((("The inbox is empty.", ""),))


def _line(candidate: Candidate, days: float) -> Line:
    until = datetime.fromtimestamp(candidate.expires_at(days), tz=UTC).date().isoformat()
    marks = [f"until {until}", f"score {candidate.score:.2f}"]
    marks += [candidate.origin] * (candidate.origin != "owner")
    marks += [f"replaces {candidate.supersedes[:SHORT_ID]}"] * bool(candidate.supersedes)
    text = " ".join(candidate.text.split())
    return (
        (f"[{candidate.category}] ", "bold"),
        (text, ""),
        (f"  ({', '.join(marks)})  ", "dim"),
        (candidate.id[:SHORT_ID], "dim"),
    )


@click.command(cls=Command, name="trust")
@click.argument("action", type=click.Choice(["review", "approve", "reject"]))
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation before rejected memories are deleted.")
def trust(action: Literal["review", "approve", "reject"], ids: tuple[str, ...], *, yes: bool) -> None:
    """Show the memories that are not put before a turn, and approve or delete them.

        memoriter ltm trust review
        memoriter ltm trust approve 0b4e9c1e-6f1c-4f0e-9d0e-3c1b7f6f2a11
        memoriter ltm trust reject 0b4e9c1e-6f1c-4f0e-9d0e-3c1b7f6f2a11 --yes

    They are withheld because neither you nor one of your agents wrote them; with the setting trust.agent "ask", also
    what your agents wrote. Agents find all of them when they search. An approval holds for the words of a memory on
    this machine. Rejected memories are deleted for good, as with memoriter ltm forget. Next: memoriter ltm list.
    """
    from memoriter.extensions.longterm.api import inbox_of, memory_json, withheld_memories

    options = GlobalOptions.current()
    screen = options.screen
    if bool(ids) != (action != "review"):
        raise click.UsageError("Give the ids of memories to approve or to reject, and none to review.")
    with open_long_term(options) as memory:
        memories = memory.long_term
        if action == "reject":
            _reject(memories, ids, screen, yes=yes)
            return
        if action == "approve":
            _approve([memories.approve(each) for each in ids], screen)
            return
        withheld = withheld_memories(memories)
        waiting = len(inbox_of(memories).read().candidates)
    if screen.as_json:
        screen.json([memory_json(each) for each in withheld])
        return
    for each in withheld:
        screen.show([memory_line(each)])
    if not withheld:
        screen.note((("No memory is withheld from automatic recall.", ""),))
    if waiting:
        screen.note(((f"{pluralize(waiting, 'candidate')} in the inbox: memoriter ltm inbox.", ""),))


def _approve(approved: Sequence[LongTermMemory], screen: Screen) -> None:
    from memoriter.extensions.longterm.api import memory_json

    if screen.as_json:
        screen.json([memory_json(each) for each in approved])
        return
    for each in approved:
        screen.show([(("Approved: ", ""), *memory_line(each))])


def _reject(memories: LongTermMemories, ids: Sequence[str], screen: Screen, *, yes: bool) -> None:
    """Delete memories after a confirmation. Raises UsageError if an id is unknown; then nothing is deleted."""
    from memoriter.extensions.longterm.api import forgotten_memories_json

    chosen = [memories.named(each) for each in ids]
    if not yes:
        if not is_interactive(screen):
            raise UsageError("Confirmation is needed, and nobody can be asked here.", remedy="Add --yes to confirm.")
        screen.note(*(memory_line(each) for each in chosen))
        click.confirm("Delete this for good?", abort=True, err=True)
    receipts = [memories.forget_id(each.id) for each in chosen]
    if screen.as_json:
        screen.json([forgotten_memories_json(each) for each in receipts])
        return
    for receipt in receipts:
        for each in receipt.forgotten:
            screen.show([(("Gone: ", "green"), *memory_line(each))])
        screen.show([*restored_lines(receipt)])
        screen.show_diagnostics(receipt.left)
