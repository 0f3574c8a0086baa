"""One conversation of an agent, with its memory around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoriter.agent._context import SMALLEST_BUDGET, parts_of, render
from memoriter.agent._events import AgentEnd, SessionEnd, SessionStart
from memoriter.agent._snapshots import Snapshots
from memoriter.errors import UsageError, WriteError
from memoriter.types import Reason
from memoriter.workspace import local_time, zone_is_known

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from pathlib import Path

    from memoriter.agent._bus import HookBus
    from memoriter.agent._events import Audience, Message
    from memoriter.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Context:
    """What goes to the model when a session begins."""

    text: str
    """Empty: there is nothing to say."""
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class Surrounds:
    """What a session needs around it."""

    workspace: Workspace
    bus: HookBus
    folder: Path
    """Where the agent's sessions are kept, in memoriter's home."""
    wall: Callable[[], float]
    zone: str | None
    """The user's time zone; None: the process' own."""
    context_chars: int
    active: bool = True
    """Off where the memory slot is `none`: then the session says nothing and keeps nothing."""


class Session:
    """What an agent's host calls around its turns. Nothing here raises because of a plugin, a note or the disk."""

    def __init__(self, key: str, audience: Audience, around: Surrounds) -> None:
        if not key.strip():
            raise UsageError("The session has no name.", remedy="Give the id that the host has for the conversation.")
        self.key = key
        self.audience: Audience = audience
        self._around = around
        self._snapshots = Snapshots(around.folder / "contexts", around.wall)

    @property
    def now(self) -> datetime:
        """The moment in the user's time zone."""
        return local_time(self._around.wall(), self._around.zone)

    def start(self, *, renew: bool = False, max_chars: int | None = None) -> Context:
        """What the model should know from the beginning; the same bytes for as long as the session lasts.

        Args:
            renew: take the notes as they are now, because the conversation was just compacted.
            max_chars: at most so many characters (1,000 or more), where notes are read now; None:
                `agents.defaults.bootstrapMaxChars`.

        Raises:
            UsageError: `max_chars` is out of range.
        """
        limit = self._around.context_chars if max_chars is None else max_chars
        if limit < SMALLEST_BUDGET:
            raise UsageError(f"max_chars is {limit}.", remedy=f"Give {SMALLEST_BUDGET} or more.")
        reasons = list(self._around.bus.tell(SessionStart(self.key, self.audience)))
        if not self._around.active:
            return Context("", tuple(reasons))
        known = None if renew else self._snapshots.read(self.key, self.audience)
        if known is not None:
            return Context(known.context, tuple(reasons))
        now, zone = self.now, self._around.zone
        if zone and not zone_is_known(zone):
            message = f"The time zone {zone!r} is not known here, so days are those of this machine."
            reasons.append(Reason("time_zone", message, "Correct agents.defaults.userTimezone, such as Asia/Seoul."))
        parts, troubles = parts_of(self._around.workspace, now, self.audience)
        text = render(parts, f"{now.date().isoformat()} (UTC{now:%z})", limit)
        freeze = self._snapshots.renew if renew else self._snapshots.freeze
        try:
            text = freeze(self.key, self.audience, text).context
        except WriteError as error:
            reasons.append(Reason(error.code, error.message, "The context may change within this session."))
        return Context(text, (*reasons, *troubles))

    def end_turn(self, messages: Sequence[Message], *, success: bool = True) -> tuple[Reason, ...]:
        """Let listeners hear what was said in a turn, such as those that capture."""
        return self._around.bus.tell(AgentEnd(self.key, tuple(messages), success, self.audience))

    def end(self) -> tuple[Reason, ...]:
        """Let listeners hear that the conversation is over."""
        return self._around.bus.tell(SessionEnd(self.key))
