"""`sessions.json`: one entry for each session. OpenClaw shares the file, and its keys stay as they are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from memoriter.agent._retry import retry_on_conflict
from memoriter.errors import WriteError, sentence
from memoriter.ids import bytes_hash
from memoriter.permissions import PRIVATE_FILE, make_private_folder, owners_of
from memoriter.plain_file import read_plain
from memoriter.workspace import replace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OWN_KEY = "memoriter"
"""The key of memoriter's fields within an entry."""
KEPT_SECONDS = 30 * 86_400
LONGEST_STORE = 64 * 1024 * 1024
"""Bytes of a store; OpenClaw's contains the prompts of every session."""

Entry = dict[str, Any]


class SessionStore:
    """The session entries of one agent. Several processes may change them at the same time."""

    def __init__(self, file: Path, wall: Callable[[], float]) -> None:
        self._file = file
        self._wall = wall

    def read(self, key: str) -> Entry:
        """Return the session's entry; empty if there is none.

        Raises:
            WriteError: the file is not readable as JSON.
        """
        return dict(_table(self._load()[0].get(key)))

    def change(self, key: str, act: Callable[[Entry], Entry | None]) -> Entry:
        """Apply a function to the session's entry and store the result. A write conflict repeats the call.

        Args:
            key: the session.
            act: receives a copy of the entry; returns its replacement, or None to leave it unchanged.

        Returns:
            The entry after the change.

        Raises:
            WriteError: nothing was written.
        """

        def attempt() -> Entry:
            entries, expected = self._load()
            stored = _table(entries.get(key))
            updated = act(dict(stored))
            if updated is None:
                return stored
            now = self._wall()
            entries = {name: entry for name, entry in entries.items() if not _is_expired(entry, now)}
            entries[key] = {**updated, "updatedAt": round(now * 1000)}
            make_private_folder(self._file.parent)
            replace(self._file, _to_json(entries), expected=expected, mode=PRIVATE_FILE)
            return updated

        return retry_on_conflict(attempt)

    def _load(self) -> tuple[Entry, str | None]:
        if complaint := owners_of({}, root=True).complaint(self._file):
            raise self._read_error(complaint)
        try:
            content = read_plain(self._file, LONGEST_STORE)
        except FileNotFoundError:
            return {}, None
        except OSError as error:
            raise self._read_error(error.strerror or str(error)) from error
        try:
            value = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self._read_error(str(error)) from error
        if not isinstance(value, dict):
            raise self._read_error("it is not an object")
        return cast("Entry", value), bytes_hash(content)

    def _read_error(self, why: str) -> WriteError:
        return WriteError(f"{str(self._file)!r} cannot be read: {sentence(why)}", remedy="Correct it, or move it away.")


def _table(value: object) -> Entry:
    return cast("Entry", value) if isinstance(value, dict) else {}


def _is_expired(value: object, now: float) -> bool:
    """Return whether only memoriter uses an entry and its session has ended."""
    entry = _table(value)
    updated = entry.get("updatedAt")
    ours_alone = OWN_KEY in entry and "sessionId" not in entry
    return ours_alone and isinstance(updated, (int, float)) and updated / 1000 < now - KEPT_SECONDS


def _to_json(entries: Entry) -> str:
    """Return the entries as the text of the store."""
    text = json.dumps(entries, ensure_ascii=False, indent=2)
    try:
        text.encode()
    except UnicodeEncodeError:  # lone surrogates need escapes
        text = json.dumps(entries, indent=2)
    return f"{text}\n"
