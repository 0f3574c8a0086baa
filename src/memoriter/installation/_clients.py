"""The edits of a client's files when memoriter is installed or removed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memoriter.coding_hooks import CAPTURING
from memoriter.errors import ConfigError
from memoriter.installation._entries import server_entry, superseded_keys
from memoriter.installation._hooks import HOOKS_OF, edit_hooks, hook
from memoriter.installation._opencode import plugin_text, put_plugin, remove_plugin
from memoriter.installation._places import hooks_file, server_files
from memoriter.installation._read import read_text
from memoriter.installation._record import edited_keys
from memoriter.installation._servers import (
    WITH_COMMENTS,
    current_entry,
    edit_server,
    holds_foreign_entry,
    with_owners_variables,
    without_owners_keys,
)
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memoriter.installation._entries import Launch
    from memoriter.installation._places import ClientName, Machine, Scope
    from memoriter.installation._record import Installed


@dataclass(frozen=True, slots=True)
class FileEdit:
    """The edit of one file when memoriter is installed or removed."""

    file: Path
    edit: Callable[[str], str]
    """Returns the new text; raises ConfigError if the old one is malformed. A missing file has the text ""."""
    remove: Callable[[str], str]
    """Returns the text without anything of memoriter's. The same function as `edit` if memoriter is removed."""
    holds_token: bool = False
    """True if the new text holds the token of a server, so only the owner may read the file."""


def changes(
    client: ClientName,
    launch: Launch,
    machine: Machine,
    *,
    scope: Scope,
    install: bool,
    hooks: bool,
    capture: bool = False,
) -> list[FileEdit]:
    """Return the edits of a client's files.

    Args:
        client: the client's name.
        launch: how the client starts memoriter.
        machine: the environment that locates the files.
        scope: `user`: all projects of this person; `project`: the current folder.
        install: False: remove.
        hooks: whether the client also runs memoriter at its events, if it has any.
        capture: whether these include the events that only record conversations.

    Raises:
        UsageError: the client has no configuration of that scope, or cannot connect to a running server.
    """
    entry = server_entry(client, launch, scope) if install else None
    holds_token = install and launch.remote is not None and scope == "user"
    edits: list[FileEdit] = []
    for file in server_files(client, machine, scope):
        remove = partial(edit_server, name=str(file), entry=None, client=client)
        add = partial(edit_server, name=str(file), entry=entry, client=client)
        edits.append(FileEdit(file, add if install else remove, remove, holds_token))
    file = edits[0].file
    add = edits[0].edit
    remove = edits[0].remove
    if client == "opencode" and (hooks or not install):
        plugin = plugin_text((*launch.program, *launch.options), launch.environ or {})
        folder = file.parent
        place = (folder / ".opencode" if scope == "project" else folder) / "plugins" / "memoriter.js"
        put = partial(put_plugin, name=str(place), plugin=plugin)
        edits.append(FileEdit(place, put if install else remove_plugin, remove_plugin))
    settings = hooks_file(client, machine, scope)
    if settings is None or (install and not hooks):
        return edits
    events = HOOKS_OF[client]
    installed = [event for event, word in events.items() if install and (capture or word not in CAPTURING)]
    wanted = {event: hook(client, launch, machine, event) for event in installed}
    add_hooks = partial(
        edit_hooks, name=str(settings), comments=client in WITH_COMMENTS, events=tuple(events), wanted=wanted
    )
    remove_hooks = partial(
        edit_hooks, name=str(settings), comments=client in WITH_COMMENTS, events=tuple(events), wanted={}
    )
    if settings == file:  # one file holds both
        both = FileEdit(file, lambda text: add_hooks(add(text)), lambda text: remove_hooks(remove(text)), holds_token)
        return [both if install else replace(both, edit=both.remove)]
    return [*edits, FileEdit(settings, add_hooks if install else remove_hooks, remove_hooks)]


def written_entries(client: ClientName, launch: Launch, machine: Machine, scope: Scope) -> dict[Path, dict[str, Any]]:
    """Return the entry that an installation writes, by file. Raises UsageError."""
    return dict.fromkeys(server_files(client, machine, scope), server_entry(client, launch, scope))


def edited_entries(
    client: ClientName, entries: Mapping[Path, Mapping[str, Any]], recorded: Mapping[Path, Installed]
) -> dict[Path, list[str]]:
    """Return the keys that the owner has set and an installation would change, by file.

    Raises:
        ConfigError: a file is malformed or cannot be read.
    """
    edited: dict[Path, list[str]] = {}
    for file, entry in entries.items():
        current = current_entry(read_text(file)[1], str(file), client)
        if current is not None:
            wanted = with_owners_variables(without_owners_keys(entry, current), current)
            edited[file] = edited_keys(current, wanted, superseded_keys(wanted, current), recorded.get(file))
    return {file: keys for file, keys in edited.items() if keys}


def foreign_entries(client: ClientName, machine: Machine, scope: Scope) -> list[Path]:
    """Return the files in which an entry of another origin has memoriter's name, so a removal leaves it there.

    Raises:
        ConfigError: a file is malformed or cannot be read.
        UsageError: the client has no configuration of that scope.
    """
    files = server_files(client, machine, scope)
    return [file for file in files if holds_foreign_entry(read_text(file)[1], str(file), client)]


def named_workspace(file: Path, client: ClientName) -> Path | None:
    """Return the workspace that the entry in a client's file names; None if it names none or cannot be read."""
    try:
        entry = current_entry(read_text(file)[1], str(file), client) or {}
    except ConfigError:
        return None
    value: Any = entry.get("args", entry.get("command"))  # opencode's command holds the arguments, too
    words = [str(word) for word in cast("list[Any]", value)] if isinstance(value, list) else []
    return next((Path(after) for word, after in pairwise(words) if word == "--workspace"), None)
