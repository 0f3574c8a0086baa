"""`memoriter remember`."""

from __future__ import annotations

import sys
from typing import Literal

import click

from memoriter.cli._options import Command, GlobalOptions
from memoriter.tools import appended_json


@click.command(cls=Command, name="remember")
@click.argument("text", nargs=-1, required=True)
@click.option(
    "--to",
    type=click.Choice(["daily", "long-term"]),
    default="daily",
    show_default=True,
    help="Today's note (memory/YYYY-MM-DD.md unless memory.dailyNote names another), or MEMORY.md.",
)
def command(text: tuple[str, ...], to: Literal["daily", "long-term"]) -> None:
    """Add an entry to today's note, or to the long-term memory.

        memoriter remember "We chose PostgreSQL for the ledger."
        memoriter remember --to long-term "Prefers tea to coffee."
        git log -1 --format=%B | memoriter remember -

    Nothing that is there is changed, and several programs may write at once. The next search finds it.
    Next: memoriter search.
    """
    options, screen = GlobalOptions.current(), GlobalOptions.current().screen
    entry = sys.stdin.read() if text == ("-",) else " ".join(text)
    with options.open_memory() as memory:
        remembered = memory.remember(entry, to=to)
        entry_json = appended_json(remembered, workspace=memory.place.workspace)
    if screen.as_json:
        screen.json(entry_json)
        return
    screen.show([(("Kept in ", ""), (entry_json["citation"], "bold"), (f" of {memory.place.workspace}", "dim"))])
    screen.show_diagnostics(remembered.reasons)
