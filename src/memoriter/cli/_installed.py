"""The entries of clients: which workspace each opens, what its owner has changed, and for which version it is."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from memoriter.errors import ConfigError
from memoriter.installation import CLIENT_TITLES, PINNED, shown
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoriter.cli._options import GlobalOptions
    from memoriter.environment import Environment
    from memoriter.installation import ClientName, Launch, Machine, Scope

PLUGIN_UPDATES = {
    "claude-plugin": "claude plugin update memoriter@memoriter",
    "codex-plugin": "codex plugin marketplace upgrade memoriter",
    "gemini-extension": "gemini extensions update memoriter",
}
"""The command that updates each plugin of memoriter."""


When = Literal["always", "elsewhere", "unless_named"]
"""When a client opens a workspace: always, outside folders that the owner trusts, or unless MEMORITER_WORKSPACE names
another one."""


@dataclass(frozen=True, slots=True)
class OpenedWorkspace:
    """The workspace that a client will open."""

    folder: Path
    when: When
    has_notes: bool
    notes_here: Path | None = None
    """The folder of notes around the current one, if the workspace is another one without notes."""

    def sentence(self, client: ClientName) -> str:
        """Return what a person should know about it."""
        title = CLIENT_TITLES[client]
        empty = ""
        if self.notes_here is not None:
            command = shlex.join(["memoriter", "-w", str(self.notes_here), "install", client])
            empty = f" It has no notes yet. To open the notes that are here instead: `{command}`."
        elif not self.has_notes:
            empty = " It has no notes yet; `-w DIR` names another folder."
        if self.when == "always":
            return f"{title} will always open {self.folder}.{empty}"
        if self.when == "unless_named":
            return f"{title} will open {self.folder}, unless MEMORITER_WORKSPACE names another folder.{empty}"
        return f"{title} will open the folder in which you work if you trust it, and otherwise {self.folder}.{empty}"


def workspace_of(client: ClientName, scope: Scope, options: GlobalOptions, env: Environment) -> OpenedWorkspace | None:
    """Return the workspace that the entry of a client opens; None if the settings do not say."""
    if scope == "project" and not options.workspace:
        return OpenedWorkspace(env.cwd.absolute(), "unless_named", has_notes=has_notes(env.cwd))
    where = env if client in PINNED else replace(env, cwd=env.home)  # what is opened in any other folder
    try:
        here, *_ = options.settle(env)
        place = here if here.everywhere else options.settle(where, by_person=False)[0]
    except ConfigError:
        return None  # the client and `doctor` report what is wrong
    folder = place.workspace.absolute()
    when: When = "always" if place.everywhere or client in PINNED else "elsewhere"
    if has_notes(folder) or here.workspace.absolute() == folder or not has_notes(here.workspace):
        return OpenedWorkspace(folder, when, has_notes(folder))
    return OpenedWorkspace(folder, when, has_notes=False, notes_here=here.workspace.absolute())


def has_notes(folder: Path) -> bool:
    """Return whether a folder has a Markdown file."""
    return next(folder.rglob("*.md"), None) is not None


def owners_values(
    client: ClientName, launch: Launch, machine: Machine, scope: Scope, env: Environment, *, remove: bool, refuse: bool
) -> list[str]:
    """Return a sentence for each file in which values under memoriter's name are not those that memoriter wrote.

    An installation changes them if `refuse` is false. A removal leaves an entry that does not start memoriter.

    Raises:
        ConfigError: an installation would change some, and it is to be refused; or a file is malformed.
        UsageError: the client has no configuration of that scope.
    """
    from memoriter.installation import edited_entries, foreign_entries, read_installed, written_entries

    if remove:
        return [
            f"{shown(file, env.user_home)}: The entry memoriter does not start this program, so it stays. "
            "Delete it yourself if it is to go."
            for file in foreign_entries(client, machine, scope)
        ]
    entries = written_entries(client, launch, machine, scope)
    edited = edited_entries(client, entries, read_installed(env.home))
    lines = [
        f"{shown(file, env.user_home)}: You have changed {', '.join(keys)} in the entry, or wrote it yourself."
        for file, keys in edited.items()
    ]
    if lines and refuse:
        remedy = (
            "Nothing was written. Repeat the command with --dry-run to see the change, or with --replace to make it."
        )
        raise ConfigError(" ".join(lines), remedy=remedy)
    return lines


def record(
    client: ClientName, launch: Launch, machine: Machine, scope: Scope, env: Environment, *, remove: bool
) -> None:
    """Record what was written or removed. Raises WriteError."""
    from memoriter.installation import record_installed, record_removed, server_files, written_entries

    if remove:
        record_removed(env.home, server_files(client, machine, scope))
        return
    entries = written_entries(client, launch, machine, scope)
    record_installed(env.home, entries, client=client, scope=scope, version=program_version())


def program_version() -> str:
    """Return the version of this program."""
    from importlib.metadata import version

    return version("memoriter")


def outdated_notice(options: GlobalOptions) -> str:
    """Return a sentence if the entry or plugin that started this program is for another version, else an empty text."""
    name, _, installed = (options.installed_for or "").rpartition("@")
    if not name or installed == (current := program_version()):
        return ""
    return outdated_sentence(name, "user", installed, current)


def outdated_sentence(client: str, scope: str, installed: str, current: str) -> str:
    """Return the sentence about an entry that was written by another version."""
    title = next((title for name, title in CLIENT_TITLES.items() if name == client), client)
    update = " ".join(("memoriter", "install", client, *(("--scope", scope) if scope == "project" else ())))
    command = PLUGIN_UPDATES.get(client, update)
    return f"{title}: Installed for memoriter {installed}, this is {current}. `{command}` updates it."


def empty_workspaces(env: Environment) -> Iterator[tuple[str, str]]:
    """Yield a sentence and a remedy for each entry of a client that names a workspace without notes."""
    from memoriter.installation import named_workspace, read_installed

    clients: dict[str, ClientName] = {name: name for name in CLIENT_TITLES}
    for row in read_installed(env.home).values():
        client = clients.get(row.client)
        folder = named_workspace(row.file, client) if client else None
        if client and folder is not None and not has_notes(folder):
            message = f"{CLIENT_TITLES[client]} always opens {str(folder)!r}, which has no notes."
            yield message, f"`memoriter -w DIR install {client}` names another folder."


def outdated_clients(env: Environment) -> Iterator[str]:
    """Yield a sentence for each entry of a client that another version has written and that is still there."""
    from memoriter.installation import read_installed

    current = program_version()
    for row in read_installed(env.home).values():
        if row.version != current and row.file.is_file():
            yield outdated_sentence(row.client, row.scope, row.version, current)
