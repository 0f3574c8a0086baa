"""Session snapshots, shared by all processes: the frozen context, and the passages recalled since then."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from memoriter.agent._retry import retry_on_conflict
from memoriter.ids import bytes_hash, content_hash
from memoriter.permissions import PRIVATE_FILE, make_private_folder, owners_of
from memoriter.plain_file import read_plain
from memoriter.values import dataclass
from memoriter.workspace import MAX_BYTES
from memoriter.workspace import replace as write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter.agent._events import Audience

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


class Snapshots:
    """Stores one file for each session, in a folder of the agent.

    The files can be deleted; memoriter then builds the session's context again.
    """

    def __init__(self, folder: Path, wall: Callable[[], float]) -> None:
        self._folder = folder
        self._wall = wall

    def read(self, session: str, audience: Audience) -> Snapshot | None:
        """Return the snapshot of a session, or None if there is none."""
        with suppress(OSError):
            return self._load(self._file(session, audience))[0]
        return None

    def freeze(self, session: str, audience: Audience, context: str) -> str:
        """Store the context and return it, or return the context that another process stored first.

        Raises:
            WriteError: the snapshot could not be written.
            OSError: the folder or the file could not be read or created.
        """

        def change(stored: Snapshot) -> Snapshot:
            return stored if stored.context is not None else replace(stored, context=context)

        return self._update(session, audience, change).context or ""

    def renew(self, session: str, audience: Audience, context: str | None) -> None:
        """Replace the snapshot, because the conversation no longer holds what it received.

        Raises:
            WriteError: the snapshot could not be written.
            OSError: the folder or the file could not be read or created.
        """
        self._update(session, audience, lambda _: Snapshot(context))

    def add_recalled(self, session: str, audience: Audience, passages: tuple[str, ...]) -> None:
        """Add passages that were inserted before a turn.

        Raises:
            WriteError: the snapshot could not be written.
            OSError: the folder or the file could not be read or created.
        """
        self._update(session, audience, lambda stored: replace(stored, recalled=(*stored.recalled, *passages)))

    def begin_turn(self, session: str, audience: Audience, prompt: str) -> None:
        """Store the message of the turn that starts; an empty message removes it.

        Raises:
            WriteError: the snapshot could not be written.
            OSError: the folder or the file could not be read or created.
        """
        self._update(session, audience, lambda stored: replace(stored, prompt=prompt))

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
            write(file, _to_json(session, updated), expected=expected, mode=PRIVATE_FILE)
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
        return self._folder / f"{content_hash(f'{audience} {session}')[:32]}.json"


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


def _to_json(session: str, snapshot: Snapshot) -> str:
    fields = {"session": session, "context": snapshot.context, "recalled": list(snapshot.recalled)}
    return json.dumps(fields | ({"prompt": snapshot.prompt} if snapshot.prompt else {}))


def _parse_snapshot(value: object) -> Snapshot | None:
    """Return the snapshot of a JSON value, or None if it has the wrong shape."""
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, Any]", value)
    context, recalled, prompt = fields.get("context"), fields.get("recalled"), fields.get("prompt", "")
    if not isinstance(context, str | None) or not isinstance(recalled, list) or not isinstance(prompt, str):
        return None
    return Snapshot(context, tuple(str(each) for each in cast("list[object]", recalled)), prompt)
