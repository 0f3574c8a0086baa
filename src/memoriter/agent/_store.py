"""`sessions.json`: one entry a session, shared with OpenClaw, whose keys are left as they are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from memoriter.agent._retry import retry_on_conflict
from memoriter.errors import WriteError
from memoriter.ids import bytes_hash
from memoriter.permissions import PRIVATE_FILE, make_private_folder, owners_of
from memoriter.plain_file import read_plain
from memoriter.workspace import replace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OURS = "memoriter"
"""The key within an entry that is ours."""
KEPT_SECONDS = 30 * 86_400
LONGEST = 64 * 1024 * 1024
"""Bytes of a store; OpenClaw's holds the prompts of every session."""

Entry = dict[str, Any]


class SessionStore:
    """The entries of one agent's sessions. Several processes may change them at the same time."""

    def __init__(self, file: Path, wall: Callable[[], float]) -> None:
        self._file = file
        self._wall = wall

    def read(self, key: str) -> Entry:
        """The session's entry; empty where there is none. Raises WriteError: the file is not readable as JSON."""
        return dict(_table(self._load()[0].get(key)))

    def change(self, key: str, act: Callable[[Entry], Entry | None]) -> Entry:
        """Change the session's entry by a function of what it is, which may be called again.

        Args:
            key: the session.
            act: gets a copy of the entry; returns what takes its place, or None to leave it.

        Raises:
            WriteError: nothing was written.
        """

        def once() -> Entry:
            entries, expected = self._load()
            known = _table(entries.get(key))
            fresh = act(dict(known))
            if fresh is None:
                return known
            now = self._wall()
            entries = {name: entry for name, entry in entries.items() if not _is_old(entry, now)}
            entries[key] = {**fresh, "updatedAt": round(now * 1000)}
            make_private_folder(self._file.parent)
            replace(self._file, _text(entries), expected=expected, mode=PRIVATE_FILE)
            return fresh

        return retry_on_conflict(once)

    def _load(self) -> tuple[Entry, str | None]:
        if complaint := owners_of({}, root=True).complaint(self._file):
            raise self._unreadable(complaint)
        try:
            content = read_plain(self._file, LONGEST)
        except FileNotFoundError:
            return {}, None
        except OSError as error:
            raise self._unreadable(error.strerror or str(error)) from error
        try:
            found = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self._unreadable(str(error)) from error
        if not isinstance(found, dict):
            raise self._unreadable("it is not an object")
        return cast("Entry", found), bytes_hash(content)

    def _unreadable(self, why: str) -> WriteError:
        return WriteError(f"{str(self._file)!r} cannot be read: {why}.", remedy="Correct it, or move it away.")


def _table(value: object) -> Entry:
    return cast("Entry", value) if isinstance(value, dict) else {}


def _is_old(value: object, now: float) -> bool:
    """Is it an entry of ours alone that nobody has needed for long?"""
    entry = _table(value)
    updated = entry.get("updatedAt")
    ours_alone = OURS in entry and "sessionId" not in entry
    return ours_alone and isinstance(updated, (int, float)) and updated / 1000 < now - KEPT_SECONDS


def _text(entries: Entry) -> str:
    text = json.dumps(entries, ensure_ascii=False, indent=2)
    try:
        text.encode()
    except UnicodeEncodeError:  # half characters, which only escapes can keep
        text = json.dumps(entries, indent=2)
    return f"{text}\n"
