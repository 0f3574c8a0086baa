"""The files in which all processes share sessions: `sessions.json`, and a snapshot of each session.

A snapshot holds the frozen context, and the passages recalled since then. `sessions.json` has one entry for each
session; OpenClaw shares the file, and its keys stay as they are.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from memoriter.errors import WriteConflict, WriteError, sentence
from memoriter.ids import bytes_hash, content_hash
from memoriter.permissions import PRIVATE_FILE, make_private_folder, owners_of
from memoriter.plain_file import read_plain
from memoriter.values import dataclass
from memoriter.workspace import MAX_BYTES
from memoriter.workspace import replace as write

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from memoriter.agent._bus import Audience

KEPT_SECONDS = 30 * 86_400
"""A session without activity for this long has ended."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The text that a session has received so far."""

    context: str | None = None
    """The context at its start; None: the start was not reported."""
    recalled: tuple[str, ...] = ()
    """Identities of the passages inserted before its turns."""
    prompt: str = ""
    """The message of the current turn, if a listener needs it at the end of the turn."""
    shown: tuple[str, ...] = ()
    """Codes of the diagnostics that the person has seen."""


@dataclass(frozen=True, slots=True)
class RecallRecord:
    """What a conversation received from the notes, as far as it is stored. The passages themselves are not."""

    session: str
    """The host's id of the conversation."""
    audience: Audience
    context: bool
    """Whether it began with the context of the notes."""
    passages: int
    """Passages that were put before its turns since its start or its last compaction."""
    at: float
    """Seconds since 1970 of the last change of this record."""


class Snapshots:
    """Stores one file for each session, in a folder of the agent.

    The files can be deleted; memoriter then builds the session's context again. What changes a snapshot raises
    WriteError if it could not be written, and OSError if the folder or the file could not be read or created.
    """

    def __init__(self, folder: Path, wall: Callable[[], float], workspace: Path) -> None:
        """Use a folder.

        A session that goes on with other notes than those of the workspace, because its agent works in another folder
        or that folder is not trusted any more, gets nothing of the earlier ones.
        """
        self._folder = folder
        self._wall = wall
        self._workspace = workspace

    def read(self, session: str, audience: Audience) -> Snapshot | None:
        """Return the snapshot of a session, or None if there is none."""
        with suppress(OSError):
            return self._load(self._file(session, audience))[0]
        return None

    def freeze(self, session: str, audience: Audience, context: str) -> str:
        """Store the context and return it, or return the context that another process stored first."""

        def change(stored: Snapshot) -> Snapshot:
            return stored if stored.context is not None else replace(stored, context=context)

        return self._update(session, audience, change).context or ""

    def renew(self, session: str, audience: Audience, context: str | None) -> None:
        """Replace the snapshot, because the conversation no longer holds what it received."""
        self._update(session, audience, lambda stored: Snapshot(context, shown=stored.shown))

    def add_recalled(self, session: str, audience: Audience, passages: tuple[str, ...]) -> None:
        """Add passages that were inserted before a turn."""
        self._update(session, audience, lambda stored: replace(stored, recalled=(*stored.recalled, *passages)))

    def add_shown(self, session: str, audience: Audience, codes: Collection[str]) -> frozenset[str]:
        """Add codes of diagnostics that are about to be shown, and return those that were not shown before."""
        new = frozenset[str]()

        def change(stored: Snapshot) -> Snapshot:
            nonlocal new
            new = frozenset(codes).difference(stored.shown)
            return replace(stored, shown=(*stored.shown, *sorted(new)))

        self._update(session, audience, change)
        return new

    def begin_turn(self, session: str, audience: Audience, prompt: str) -> None:
        """Store the message of the turn that starts; an empty message removes it."""
        self._update(session, audience, lambda stored: replace(stored, prompt=prompt))

    def records(self) -> list[RecallRecord]:
        """Return the conversations that received text from these notes, the latest last."""
        records: list[RecallRecord] = []
        for file in sorted(self._folder.glob("*.json")) if self._folder.is_dir() else ():
            with suppress(OSError, ValueError, RecursionError):
                if owners_of({}, root=True).complaint(file):  # another user may have planted it
                    continue
                value = json.loads(read_plain(file, MAX_BYTES))
                snapshot = _parse_snapshot(value)
                session = str(table_of(value).get("session", ""))
                audience = self._audience_of(file, session)
                if snapshot is not None and audience is not None and (snapshot.context or snapshot.recalled):
                    at = file.stat().st_mtime
                    received = len(snapshot.recalled)
                    records.append(RecallRecord(session, audience, bool(snapshot.context), received, at))
        return sorted(records, key=lambda record: record.at)

    def _audience_of(self, file: Path, session: str) -> Audience | None:
        """Return the audience of a session that uses these notes, or None: its name has a hash of the folder."""
        audiences: tuple[Audience, ...] = ("private", "shared")
        return next((each for each in audiences if self._file(session, each).name == file.name), None)

    def _update(self, session: str, audience: Audience, act: Callable[[Snapshot], Snapshot]) -> Snapshot:
        file = self._file(session, audience)

        def attempt() -> Snapshot:
            stored, expected = self._load(file)
            updated = act(stored or Snapshot())
            if updated == stored:
                return updated
            if expected is None:
                remove_old(self._folder, self._wall())
            make_private_folder(self._folder)
            write(file, _snapshot_json(session, updated), expected=expected, mode=PRIVATE_FILE)
            return updated

        return retry_on_conflict(attempt)

    def _load(self, file: Path) -> tuple[Snapshot | None, str | None]:
        """Return the snapshot in a file and the hash of its bytes; None for a missing file or an invalid snapshot."""
        try:
            content = read_plain(file, MAX_BYTES)
        except FileNotFoundError:
            return None, None
        if owners_of({}, root=True).complaint(file):  # another user may have planted it
            return None, bytes_hash(content)
        try:
            return _parse_snapshot(json.loads(content)), bytes_hash(content)
        except (ValueError, RecursionError):
            return None, bytes_hash(content)

    def _file(self, session: str, audience: Audience) -> Path:
        return self._folder / f"{content_hash(f'{audience} {self._workspace} {session}')[:32]}.json"


def remove_old(folder: Path, now: float) -> None:
    """Remove the files of sessions that have ended."""
    try:
        files = list(folder.iterdir())
    except OSError:
        return
    for file in files:
        with suppress(OSError):
            if file.lstat().st_mtime < now - KEPT_SECONDS:
                file.unlink()


def _snapshot_json(session: str, snapshot: Snapshot) -> str:
    fields = {"session": session, "context": snapshot.context, "recalled": list(snapshot.recalled)}
    prompt = {"prompt": snapshot.prompt} if snapshot.prompt else {}
    return json.dumps(fields | prompt | ({"shown": list(snapshot.shown)} if snapshot.shown else {}))


def _parse_snapshot(value: object) -> Snapshot | None:
    """Return the snapshot of a JSON value, or None if it has the wrong shape."""
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, Any]", value)
    context = fields.get("context")
    recalled = fields.get("recalled")
    prompt = fields.get("prompt", "")
    shown = fields.get("shown", [])
    if not isinstance(context, str | None) or not isinstance(recalled, list) or not isinstance(prompt, str):
        return None
    passages = cast("list[object]", recalled)
    codes = cast("list[object]", shown) if isinstance(shown, list) else []
    return Snapshot(context, tuple(map(str, passages)), prompt, tuple(map(str, codes)))


OWN_KEY = "memoriter"
"""The key of memoriter's fields within an entry."""
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
        return dict(table_of(self._load()[0].get(key)))

    def change(self, key: str, act: Callable[[Entry], Entry | None]) -> Entry:
        """Apply a function to the session's entry, store the result and return it. A write conflict repeats the call.

        `act` receives a copy of the entry, and returns its replacement, or None to leave it unchanged.

        Raises:
            WriteError: nothing was written.
        """

        def attempt() -> Entry:
            entries, expected = self._load()
            stored = table_of(entries.get(key))
            updated = act(dict(stored))
            if updated is None:
                return stored
            now = self._wall()
            entries = {name: entry for name, entry in entries.items() if not _is_expired(entry, now)}
            entries[key] = {**updated, "updatedAt": round(now * 1000)}
            make_private_folder(self._file.parent)
            write(self._file, _store_json(entries), expected=expected, mode=PRIVATE_FILE)
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


def table_of(value: object) -> Entry:
    """Return a JSON value as an object; empty if it is another kind."""
    return cast("Entry", value) if isinstance(value, dict) else {}


def _is_expired(value: object, now: float) -> bool:
    """Return whether only memoriter uses an entry and its session has ended."""
    entry = table_of(value)
    updated = entry.get("updatedAt")
    ours_alone = OWN_KEY in entry and "sessionId" not in entry
    return ours_alone and isinstance(updated, (int, float)) and updated / 1000 < now - KEPT_SECONDS


def _store_json(entries: Entry) -> str:
    """Return the entries as the text of the store."""
    text = json.dumps(entries, ensure_ascii=False, indent=2)
    try:
        text.encode()
    except UnicodeEncodeError:  # lone surrogates need escapes
        text = json.dumps(entries, indent=2)
    return f"{text}\n"


MAX_ATTEMPTS = 100
"""A conflict that lasts longer is not caused by another process."""
_T = TypeVar("_T")


def retry_on_conflict(act: Callable[[], _T]) -> _T:
    """Run `act`, and repeat it on a write conflict, up to 100 times.

    Raises:
        WriteConflict: every attempt was in conflict.
    """
    for _ in range(MAX_ATTEMPTS - 1):
        try:
            return act()
        except WriteConflict:
            continue
    return act()
