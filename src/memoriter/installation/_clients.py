"""The edits of a client's files when memoriter is installed or removed, and the record of what was installed.

The record is one file in memoriter's home: for which version, and with which values. It distinguishes a value that the
owner has changed since from one that memoriter wrote, and an entry for an older version from a current one. It holds
hashes, because an entry may hold a token.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memoriter.coding_hooks import CAPTURING
from memoriter.errors import ConfigError, WriteError, sentence
from memoriter.installation._contents import read_text
from memoriter.installation._entries import (
    ENVIRONMENT_KEYS,
    WITH_COMMENTS,
    current_entry,
    edit_server,
    holds_foreign_entry,
    own_variables,
    server_entry,
    superseded_keys,
    with_owners_variables,
    without_owners_keys,
)
from memoriter.installation._hooks import HOOKS_OF, edit_hooks, hook, plugin_text, put_plugin, remove_plugin
from memoriter.installation._places import hooks_file, server_files
from memoriter.permissions import make_private_folder, replace_private
from memoriter.plain_file import read_plain
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from memoriter.installation._entries import Launch
    from memoriter.installation._places import ClientName, Machine, Scope

FILE = "clients.json"
LONGEST = 1 << 20
"""Bytes of the record."""


@dataclass(frozen=True, slots=True)
class Installed:
    """One file that has an entry of memoriter."""

    file: Path
    client: str
    scope: str
    version: str
    """The version of memoriter that wrote the entry."""
    hashes: Mapping[str, str]
    """The hash of each value of the entry."""


def read_installed(home: Path) -> dict[Path, Installed]:
    """Return what was installed, by file; a record that cannot be read is empty."""
    try:
        content: Any = json.loads(read_plain(home / FILE, LONGEST))
        rows = cast("dict[str, dict[str, Any]]", content["files"]).items()
        return {Path(file): Installed(Path(file), **row) for file, row in rows}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def record_installed(
    home: Path, entries: Mapping[Path, Mapping[str, Any]], *, client: str, scope: str, version: str
) -> None:
    """Record the entries that were written. Raises WriteError."""
    added = {
        file: Installed(file, client, scope, version, {key: _hash(_own(key, value)) for key, value in entry.items()})
        for file, entry in entries.items()
    }
    _write(home, read_installed(home) | added)


def record_removed(home: Path, files: Iterable[Path]) -> None:
    """Forget the entries of files. Raises WriteError."""
    before = read_installed(home)
    after = {file: row for file, row in before.items() if file not in set(files)}
    if after != before:
        _write(home, after)


def edited_keys(
    current: Mapping[str, Any], wanted: Mapping[str, Any], superseded: Iterable[str], recorded: Installed | None
) -> list[str]:
    """Return the keys of an entry that the owner has set and an installation would change or, if `superseded`, remove.

    `recorded` is what memoriter wrote last; None: it wrote nothing, so the entry is the owner's.
    """
    changed = {key for key in wanted if key in current and _own(key, current[key]) != _own(key, wanted[key])}
    changed |= set(superseded) & current.keys()
    if recorded is None:
        return sorted(changed)
    lost = {key for key in wanted if key not in current and key in recorded.hashes}
    return sorted(lost | {key for key in changed if _hash(_own(key, current[key])) != recorded.hashes.get(key)})


def _own(key: str, value: Any) -> Any:
    """Return the part of a value that is memoriter's: of headers the authorization, of variables those that it sets."""
    if key in ENVIRONMENT_KEYS and isinstance(value, dict):
        return own_variables(value)
    if key == "headers" and isinstance(value, dict):
        return cast("dict[str, Any]", value).get("Authorization")
    return value


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _write(home: Path, rows: Mapping[Path, Installed]) -> None:
    files = {
        str(row.file): {"client": row.client, "scope": row.scope, "version": row.version, "hashes": dict(row.hashes)}
        for row in rows.values()
    }
    try:
        make_private_folder(home)
        replace_private(home / FILE, (json.dumps({"files": files}, indent=2) + "\n").encode())
    except OSError as error:
        message = f"{home / FILE} could not be written: {sentence(error.strerror)}"
        raise WriteError(message, remedy="The configuration of the client is complete.") from error


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

    They are for all projects of this person, or for the current folder. If `hooks`, the client also runs memoriter at
    its events, and if `capture`, at those that only record conversations, too.

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
