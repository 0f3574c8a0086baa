"""The command `memoriter tidy`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memoriter.api_json import tidy_json
from memoriter.cli._options import Command, GlobalOptions
from memoriter.cli._render import is_interactive, pluralize
from memoriter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.cli._render import Line
    from memoriter.memory import Memory
    from memoriter.tidy import Proposal

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
            if review and not _reviewed(memory, proposal, f"{number} of {len(proposals)}"):
                return
    if not proposals:
        screen.note((("There is nothing to tidy.", ""),))
    elif not review:
        count = pluralize(len(proposals), "proposal")
        screen.note(((f"{count}; nothing was changed. Decide with `memoriter review --tidy`.", "dim"),))


def _reviewed(memory: Memory, proposal: Proposal, place: str) -> bool:
    """Ask what becomes of a proposal, and do it; return False if the review ends."""
    while True:
        click.echo(f"{place}: accept, edit, skip, never again or quit [a/e/s/n/q]? ", nl=False, err=True)
        key = click.getchar(echo=True).lower()
        click.echo(err=True)
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
