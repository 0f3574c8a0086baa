"""`memoriter get`."""

from __future__ import annotations

import click

from memoriter.cli._failure import DONE, FAILED, USAGE
from memoriter.cli._options import Command, GlobalOptions
from memoriter.errors import PathRefused
from memoriter.tools import excerpt_json, refusal_json


@click.command(cls=Command, name="get")
@click.argument("path")
@click.option("--from", "start", type=click.IntRange(1), metavar="N", help="The first line, counted from 1.")
@click.option("--lines", type=click.IntRange(1), metavar="N", help="How many lines; default: to the end.")
def command(path: str, start: int | None, lines: int | None) -> None:
    """Read a note, or some lines of it, as a search cites them.

        memoriter get MEMORY.md
        memoriter get memory/2026-02-10.md --from 12 --lines 20

    PATH may be a citation, such as MEMORY.md#L4-L6 or MEMORY.md:4. Only the memory's Markdown files can be read, at
    most 100,000 characters at once. If there is no such note, the exit code is 1. Next: memoriter search.
    """
    options, screen = GlobalOptions.current(), GlobalOptions.current().screen
    with options.open_memory() as memory:
        try:
            excerpt = memory.read(path, start=start, lines=lines)
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
