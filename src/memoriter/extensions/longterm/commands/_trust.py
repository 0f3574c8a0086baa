"""`memoriter ltm trust`: see which memories are not put before a turn, and decide about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from memoriter.cli import Command, GlobalOptions, is_interactive, pluralize
from memoriter.errors import UsageError
from memoriter.extensions.longterm.commands._render import memory_line, open_long_term, restored_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.cli import Screen
    from memoriter.extensions.longterm.api import LongTermMemories, LongTermMemory


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
