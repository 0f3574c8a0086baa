"""`memoriter ltm inbox`, `accept`, `reject` and `edit`: decide which captured statements become memories."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import click

from memoriter.cli import Command, GlobalOptions, check_trust
from memoriter.extensions.longterm.commands._render import memory_line, open_long_term

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.cli import Line
    from memoriter.extensions.longterm.api import Candidate

CATEGORY = click.Choice(["preference", "fact", "decision", "entity", "other"])
SHORT_ID = 8
"""Characters of an id that are printed; the beginning is enough to name a candidate."""
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
    from memoriter.extensions.longterm.api import candidate_json, inbox_of

    options = GlobalOptions.current()
    screen = options.screen
    with open_long_term(options) as memory:
        found = inbox_of(memory.long_term)
        waiting = found.read().candidates
        days = found.days
    if screen.as_json:
        screen.json([candidate_json(each, days) for each in waiting])
        return
    for each in waiting:
        screen.show([_line(each, days)])
    if not waiting:
        screen.note((("The inbox is empty.", ""),))


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
    from memoriter.extensions.longterm.api import candidate_json, inbox_of

    options = GlobalOptions.current()
    screen = options.screen
    wanted = _wanted(ids, everything=everything)
    with open_long_term(options) as memory:
        check_trust(memory.place, screen)
        found = inbox_of(memory.long_term)
        dropped = found.reject(wanted)
        days = found.days
    if screen.as_json:
        screen.json([candidate_json(each, days) for each in dropped])
        return
    for each in dropped:
        screen.show([(("Dropped: ", ""), *_line(each, days))])
    if not dropped:
        screen.note((("The inbox is empty.", ""),))


@click.command(cls=Command, name="edit")
@click.argument("identifier", metavar="ID")
@click.argument("text", nargs=-1)
@click.option("--category", type=CATEGORY, help="What it is about.")
def edit(
    identifier: str,
    text: tuple[str, ...],
    *,
    category: Literal["preference", "fact", "decision", "entity", "other"] | None,
) -> None:
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
