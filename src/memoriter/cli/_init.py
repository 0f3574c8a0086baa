"""`memoriter init`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memoriter.cli._options import Command, GlobalOptions
from memoriter.errors import UsageError

if TYPE_CHECKING:
    from typing import Any


@click.command(cls=Command, name="init")
@click.option(
    "--layout",
    type=click.Choice(["auto", "notes", "openclaw"]),
    help="Which Markdown files are memory: notes: all; openclaw: MEMORY.md and memory/; auto: what is there decides.",
)
def command(layout: str | None) -> None:
    """Give a folder of notes its own settings: .memoriter.json5.

        memoriter init
        memoriter init -w ~/notes --layout notes

    The file has a comment for each setting. The folder is -w DIR or the current one, and nothing else in it is
    changed. If it has settings already, only --layout changes them. Next: memoriter config set --help.
    """
    from memoriter.config import PROJECT_FILE, in_home
    from memoriter.environment import read_environment
    from memoriter.settings_file import TEMPLATE, write_settings

    options, env = GlobalOptions.current(), read_environment()
    folder = env.cwd / in_home(options.workspace, env.user_home) if options.workspace else env.cwd
    if not folder.is_dir():
        raise UsageError(f"The path {str(folder)!r} is not a folder.", remedy="Create it, or give another with -w DIR.")
    file = Path(os.path.normpath(folder)) / PROJECT_FILE
    existed = os.path.lexists(file)
    if existed and layout is None:
        raise UsageError(
            f"The file {str(file)!r} exists already, and nothing was changed.",
            remedy="Edit it, or change single settings with `memoriter config set KEY VALUE --here`.",
        )
    values: dict[tuple[str, ...], Any] = {("memory", "layout"): layout} if layout else {}
    changed = write_settings(file, values, workspace=folder, text=TEMPLATE)
    state = "changed" if changed and existed else "written" if changed else "unchanged"
    if options.json:
        options.screen.json({"file": str(file), "state": state})
        return
    options.screen.show([((str(file), "bold"), (f" is {state}.", ""))])
