"""`memoriter install --capture`: whether conversations are recorded, and the settings for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from memoriter.cli._render import is_interactive
from memoriter.errors import ConfigError, UsageError
from memoriter.installation import CLIENT_TITLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.cli._options import GlobalOptions
    from memoriter.environment import Environment
    from memoriter.installation import ClientName, Scope

CAPTURE_NOTICE = (
    (
        "Conversations can be recorded in the day's note: the summary when {client} compacts one, and what you asked "
        "in one that ends. `memoriter capture list` shows the records, and `memoriter capture undo ID` removes "
        "one."
    ),
    "Searches then also find passages of past conversations. With an embedding service, it receives their text.",
)
CAPTURE_QUESTION = "Record conversations, and search past ones?"
SEARCH = ("agents", "defaults", "memorySearch")


def decide_capture(
    options: GlobalOptions, env: Environment, client: ClientName, wanted: bool | None, *, dry_run: bool
) -> tuple[bool, bool]:
    """Return whether a client with hooks is to record conversations, and whether the settings must be changed for it.

    Args:
        options: the global options.
        env: the environment.
        client: the client.
        wanted: the answer, from the command line; None: the settings decide, or the person at the terminal.
        dry_run: whether to ask nothing.

    Raises:
        ConfigError: an answer was given, and the settings cannot be read.
        UsageError: an answer was given, and the settings are those of OpenClaw.
    """
    screen = options.screen
    try:
        _, configuration, _ = options.settle(env, by_person=False)
    except ConfigError:
        if wanted is None:
            return False, False  # the hooks report what is wrong
        raise
    current = configuration.settings.memory.capture
    if configuration.state and wanted:
        message = "The settings in use are those of OpenClaw, which knows no memory.capture."
        raise UsageError(message, remedy="Leave out --capture, or use a configuration of memoriter's own.")
    if wanted is None and not (current or dry_run or configuration.state) and is_interactive(screen):
        screen.note(*(((line.format(client=CLIENT_TITLES[client]), ""),) for line in CAPTURE_NOTICE))
        wanted = click.confirm(CAPTURE_QUESTION, default=False, err=True)
    if wanted is None:
        return current, False
    return wanted, wanted or current


def write_capture(options: GlobalOptions, env: Environment, client: ClientName, scope: Scope, *, wanted: bool) -> None:
    """Write into the settings whether conversations are recorded; if so, searches find the client's transcripts, too.

    Raises:
        ConfigError: the settings cannot be read.
        WriteError: the settings cannot be written.
    """
    from memoriter.settings_file import write_settings

    screen = options.screen
    _, configuration, _ = options.settle(env, by_person=False)
    search = configuration.settings.agents.defaults.memory_search
    values: dict[tuple[str, ...], Any] = {("memory", "capture"): wanted}
    if wanted:
        keyword = client if scope == "project" else f"{client}:all"
        values |= {
            (*SEARCH, "sources"): list(dict.fromkeys(("memory", *search.sources, "sessions"))),
            (*SEARCH, "experimental", "sessionMemory"): True,
            (*SEARCH, "sessionPaths"): _with_transcripts(search.session_paths, client, keyword),
        }
    file = configuration.path or env.home / "memoriter.json5"
    if not write_settings(file, values):
        return
    if wanted:
        message = f"Conversations are recorded in the day's note, and searches find past ones: {file} was changed."
        screen.note(((message, ""),))
        return
    screen.note(((f"Conversations are not recorded any more: {file} was changed.", ""),))
    if "sessions" in search.sources:
        remedy = "`memoriter config unset memorySearch.sources` ends that."
        screen.note(((f"Searches still find passages of past conversations. {remedy}", ""),))


def _with_transcripts(paths: Sequence[str], client: ClientName, keyword: str) -> list[str]:
    """Return the paths of transcripts with those of a client; the transcripts of all folders include the others."""
    if f"{client}:all" in paths:
        return list(paths)
    return [*(path for path in paths if path != client), keyword]
