"""What a session was given, kept from one process to the next: the frozen context, and what was recalled since."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from memoriter.agent._retry import retry_on_conflict
from memoriter.ids import bytes_hash, content_hash
from memoriter.permissions import PRIVATE_FILE, make_private_folder, owners_of
from memoriter.plain_file import read_plain
from memoriter.workspace import MAX_BYTES
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

    context: str | None = None
    """What it was given at its beginning; None: its beginning was not told."""
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
        with suppress(OSError):
            return self._load(self._file(session, audience))[0]
        return None

    def freeze(self, session: str, audience: Audience, context: str) -> str:
        """Keep the context, unless another process did so first: then that one counts. Raises WriteError, OSError."""

        def change(known: Snapshot) -> Snapshot:
            return known if known.context is not None else replace(known, context=context)

        return self._change(session, audience, change).context or ""

    def renew(self, session: str, audience: Audience, context: str | None) -> None:
        """Begin anew: the conversation has forgotten what it was given. Raises WriteError, OSError."""
        self._change(session, audience, lambda _: Snapshot(context))

    def recalled(self, session: str, audience: Audience, passages: tuple[str, ...]) -> None:
        """Remember passages that were put before a turn. Raises WriteError, OSError."""
        self._change(session, audience, lambda known: replace(known, recalled=(*known.recalled, *passages)))

    def begin_turn(self, session: str, audience: Audience, prompt: str) -> None:
        """Remember the message of the turn that begins; an empty one forgets it. Raises WriteError, OSError."""
        self._change(session, audience, lambda known: replace(known, prompt=prompt))

    def _change(self, session: str, audience: Audience, act: Callable[[Snapshot], Snapshot]) -> Snapshot:
        file = self._file(session, audience)

        def once() -> Snapshot:
            known, expected = self._load(file)
            fresh = act(known or Snapshot())
            if fresh == known:
                return fresh
            if expected is None:
                remove_old(self._folder, self._wall())
            make_private_folder(self._folder)
            write(file, _text(session, fresh), expected=expected, mode=PRIVATE_FILE)
            return fresh

        return retry_on_conflict(once)

    def _load(self, file: Path) -> tuple[Snapshot | None, str | None]:
        """What is in the file, and the hash that says so; None for what is not there or not a snapshot."""
        try:
            content = read_plain(file, MAX_BYTES)
        except FileNotFoundError:
            return None, None
        if owners_of({}, root=True).complaint(file):  # planted: what it says is not told to the model
            return None, bytes_hash(content)
        try:
            return _snapshot(json.loads(content)), bytes_hash(content)
        except (ValueError, RecursionError):
            return None, bytes_hash(content)

    def _file(self, session: str, audience: Audience) -> Path:
        return self._folder / f"{content_hash(f'{audience} {session}')[:32]}.json"


def remove_old(folder: Path, now: float) -> None:
    """Remove what was kept for sessions that are over."""
    try:
        files = list(folder.iterdir())
    except OSError:
        return
    for file in files:
        with suppress(OSError):
            if file.lstat().st_mtime < now - KEPT_SECONDS:
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
    if not isinstance(context, str | None) or not isinstance(recalled, list) or not isinstance(prompt, str):
        return None
    return Snapshot(context, tuple(str(each) for each in cast("list[object]", recalled)), prompt)
