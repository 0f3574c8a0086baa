"""What a session was given, kept from one process to the next: the frozen context, and what was recalled since."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import WriteConflict
from memoriter.ids import bytes_hash, content_hash
from memoriter.workspace import replace as write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter.agent._events import Audience

KEPT_SECONDS = 30 * 86_400
"""A session that was silent for so long is over."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a session was given so far."""

    context: str
    recalled: tuple[str, ...] = ()
    """Identities of the passages that were put before its turns."""
    prompt: str = ""
    """The message of the turn that is going on, where a listener will want to hear of its end."""


class Snapshots:
    """One file a session, in a folder of the agent's. They can be deleted: the session's context is then made anew."""

    def __init__(self, folder: Path, wall: Callable[[], float]) -> None:
        self._folder = folder
        self._wall = wall

    def read(self, session: str, audience: Audience) -> Snapshot | None:
        """What the session was given; None where it is not known."""
        with suppress(OSError, ValueError):
            found = json.loads(self._file(session, audience).read_text(encoding="utf-8"))
            return _snapshot(found)
        return None

    def freeze(self, session: str, audience: Audience, context: str) -> Snapshot:
        """Keep the context, unless another process did so first: then that one counts. Raises WriteError."""
        file = self._file(session, audience)
        with suppress(WriteConflict):
            remove_old(self._folder, self._wall())
            write(file, _text(session, Snapshot(context)), expected=None)
            return Snapshot(context)
        known = self.read(session, audience)
        return known if known is not None else self.renew(session, audience, context)

    def renew(self, session: str, audience: Audience, context: str) -> Snapshot:
        """Begin anew with this context: the conversation has forgotten what it was given. Raises WriteError."""
        return self.keep(session, audience, Snapshot(context))

    def keep(self, session: str, audience: Audience, snapshot: Snapshot) -> Snapshot:
        """Put this in the place of what was known. Raises WriteError."""
        file = self._file(session, audience)
        while True:
            with suppress(WriteConflict):
                expected = bytes_hash(file.read_bytes()) if file.is_file() else None
                write(file, _text(session, snapshot), expected=expected)
                return snapshot

    def recalled(self, session: str, audience: Audience, passages: tuple[str, ...]) -> None:
        """Remember passages that were put before a turn. Raises WriteError."""
        known = self.read(session, audience) or Snapshot("")
        self.keep(session, audience, replace(known, recalled=(*known.recalled, *passages)))

    def _file(self, session: str, audience: Audience) -> Path:
        return self._folder / f"{content_hash(f'{audience} {session}')[:32]}.json"


def remove_old(folder: Path, now: float) -> None:
    """Remove what was kept for sessions that are over."""
    with suppress(OSError):
        for file in folder.iterdir():
            if file.stat().st_mtime < now - KEPT_SECONDS:
                file.unlink()


def _text(session: str, snapshot: Snapshot) -> str:
    known = {"session": session, "context": snapshot.context, "recalled": list(snapshot.recalled)}
    return json.dumps(known | ({"prompt": snapshot.prompt} if snapshot.prompt else {}))


def _snapshot(found: object) -> Snapshot | None:
    """What was read, if it is of the right shape."""
    if not isinstance(found, dict):
        return None
    known = cast("dict[str, Any]", found)
    context, recalled, prompt = known.get("context"), known.get("recalled"), known.get("prompt", "")
    if not isinstance(context, str) or not isinstance(recalled, list) or not isinstance(prompt, str):
        return None
    return Snapshot(context, tuple(str(each) for each in cast("list[object]", recalled)), prompt)
