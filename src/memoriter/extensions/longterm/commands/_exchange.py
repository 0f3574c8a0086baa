"""`memoriter ltm export` and `import`: take long-term memories to another place, and bring them back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from memoriter.cli import Command, GlobalOptions, check_trust
from memoriter.errors import UsageError, sentence
from memoriter.extensions.longterm.commands._render import count_memories, open_long_term

OPENCLAW_FOLDER = "~/.openclaw/memory/lancedb"
LONGEST = 256 << 20
"""Maximum bytes of an export that is imported."""


@click.command(cls=Command, name="export")
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "markdown"]),
    default="jsonl",
    show_default=True,
    help="One JSON object for each memory, or Markdown as in memory/long-term.md.",
)
def export(form: Literal["jsonl", "markdown"]) -> None:
    """Print all long-term memories, without their vectors.

        memoriter ltm export > memories.jsonl
        memoriter ltm export --format markdown > memories.md
        memoriter ltm export | jq -r .text

    Both formats have everything that memoriter ltm import --own needs to restore the memories in another folder of
    notes. Next: memoriter ltm import.
    """
    from memoriter.extensions.longterm.api import export_markdown, export_rows

    options = GlobalOptions.current()
    screen = options.screen
    with open_long_term(options) as memory:
        memories = memory.long_term.memories()
    if form == "markdown":
        screen.text(export_markdown(memories))
        return
    for row in export_rows(memories):
        screen.json_line(row)


@click.command(cls=Command, name="import")
@click.argument("source", default=OPENCLAW_FOLDER, metavar="[DIR|FILE|-]")
@click.option("--own", is_flag=True, help="The file is your own export: believe it about who wrote and approved what.")
def import_(source: str, *, own: bool) -> None:
    """Copy the memories of an export, or of OpenClaw's plugin.

        memoriter ltm import memories.jsonl --own
        memoriter ltm import memories.md
        memoriter ltm import ~/.openclaw/memory/lancedb

    A file has JSON Lines or Markdown, as memoriter ltm export prints them; - is stdin. A folder has the database of
    OpenClaw, which is only read. Memories keep their ids, times and links; those that are there already are left out,
    so it can be repeated. Without --own, and from OpenClaw, which does not record who wrote a memory, the copies are
    not put before a turn until you approve them. If a line is wrong, nothing is imported. Next: memoriter ltm trust
    review.
    """
    from memoriter.extensions.longterm.api import import_openclaw, import_text

    options = GlobalOptions.current()
    screen = options.screen
    path = Path(source).expanduser()
    is_folder = source != "-" and not path.is_file() and (path.is_dir() or source == OPENCLAW_FOLDER)
    if is_folder and own:
        raise click.UsageError("The option --own is for an export: OpenClaw does not record who wrote a memory.")
    text = "" if is_folder else _read(source, path)
    with open_long_term(options) as memory:
        check_trust(memory.place, screen)
        memories = options.show_egress_notice(memory).long_term
        result = import_openclaw(memories, path) if is_folder else import_text(memories, text, own=own)
    if screen.as_json:
        screen.json({"added": result.added, "present": result.present, "skipped": result.skipped})
        return
    rest = f"{result.present} were there already, {result.skipped} have no text"
    screen.show([((f"{count_memories(result.added)} copied; {rest}.", ""),)])


def _read(source: str, path: Path) -> str:
    """Return the text of a file or of stdin. Raises UsageError."""
    remedy = "Name a file that `memoriter ltm export` has written, - for stdin, or a folder of OpenClaw."
    try:
        if source == "-":
            content = sys.stdin.buffer.read(LONGEST + 1)
        else:
            with path.open("rb") as opened:
                content = opened.read(LONGEST + 1)
    except OSError as error:
        why = sentence(error.strerror or error)
        raise UsageError(f"The export {source!r} cannot be read: {why}", remedy=remedy) from error
    if len(content) > LONGEST:
        raise UsageError(f"The export {source!r} has more than {LONGEST >> 20} MiB.", remedy="Import it in parts.")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"The export {source!r} is not UTF-8: {sentence(error)}", remedy=remedy) from error
