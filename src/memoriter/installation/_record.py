"""The record of what was installed: for which version, and with which values.

It is one file in memoriter's home. It distinguishes a value that the owner has changed since from one that memoriter
wrote, and an entry for an older version from a current one. It holds hashes, because an entry may hold a token.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import WriteError, sentence
from memoriter.installation._entries import ENVIRONMENT_KEYS, own_variables
from memoriter.permissions import make_private_folder, replace_private
from memoriter.plain_file import read_plain
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
