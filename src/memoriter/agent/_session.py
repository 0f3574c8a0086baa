"""One conversation of an agent, with its memory around it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from memoriter.agent._bus import HookResult, Listener
from memoriter.agent._context import SMALLEST_BUDGET, parts_of, render
from memoriter.agent._events import AgentEnd, BeforeAgentStart, BeforeCompaction, Message, SessionEnd, SessionStart
from memoriter.agent._flushing import FlushAnswer, Flushing, FlushResult, reason_of
from memoriter.agent._passages import RecallPassage, quote
from memoriter.agent._snapshots import Snapshot, Snapshots
from memoriter.agent._store import SessionStore
from memoriter.errors import MemoriterError, UsageError
from memoriter.types import Diagnostic
from memoriter.workspace import local_time, without_injected, zone_is_known

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from pathlib import Path

    from memoriter.agent._bus import Captured, HookBus
    from memoriter.agent._events import Audience
    from memoriter.agent._passages import RecallSource
    from memoriter.config import Compaction
    from memoriter.workspace import Workspace

RECALL_MS = 2_000
"""How long a recall source may look, and index what is new."""
RECALL_SECONDS = 8.0
"""How long it is waited for: a machine may be slow, and a search that is nearly done is worth a moment."""


@dataclass(frozen=True, slots=True)
class Context:
    """What goes to the model when a session begins."""

    text: str
    """Empty: there is nothing to say."""
    reasons: tuple[Diagnostic, ...] = ()


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
    recalls: tuple[Listener, ...]
    """Where to look before a turn: `recall_listener` of each source."""
    context_chars: int
    recall_chars: int
    compaction: Compaction
    """`agents.defaults.compaction`."""
    window: int | None
    """`agents.defaults.contextTokens`."""
    writable: bool = True
    """Off where the host's sandbox does not let the agent write into the workspace."""
    reasons: tuple[Diagnostic, ...] = ()
    """What is wrong with the plugins, for a session's beginning."""
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
        self._flushing = Flushing(
            key,
            around.workspace,
            SessionStore(around.folder / "sessions" / "sessions.json", around.wall),
            around.folder / "flushes",
            around.wall,
            around.zone,
            around.compaction,
            around.window,
        )

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
        reasons = [*self._around.reasons, *self._around.bus.tell(SessionStart(self.key, self.audience))]
        if not self._around.active:
            return Context("", tuple(reasons))
        known = None if renew else self._snapshots.read(self.key, self.audience)
        if known is not None and known.context is not None:
            return Context(known.context, tuple(reasons))
        self._flushing.remove_old()
        now, zone = self.now, self._around.zone
        if zone and not zone_is_known(zone):
            message = f"The time zone {zone!r} is not known here, so days are those of this machine."
            reasons.append(
                Diagnostic("time_zone", message, "Correct agents.defaults.userTimezone, such as Asia/Seoul.")
            )
        parts, troubles = parts_of(self._around.workspace, now, self.audience, limit)
        text = render(parts, f"{now.date().isoformat()} (UTC{now:%z})", limit)
        try:
            if renew:
                self._snapshots.renew(self.key, self.audience, text)
            else:
                text = self._snapshots.freeze(self.key, self.audience, text)
        except (MemoriterError, OSError) as error:
            reasons.append(replace(reason_of(error), remedy="The context may change within this session."))
        return Context(text, (*reasons, *troubles))

    def recall(self, prompt: str, *, max_chars: int | None = None, conversation: str = "") -> HookResult:
        """What goes before the user's message: what plugins add, and what is remembered and sure to bear on it.

        It is empty where nothing matches, and it repeats nothing that the conversation was given since it began or was
        compacted last.

        Args:
            prompt: the user's message.
            max_chars: at most so many characters of recall; None: `memory.qmd.limits.maxInjectedChars`.
            conversation: what the model still sees of it, as `User: …` and `Assistant: …`, where its transcript may be
                searched while it goes on; that is not repeated either.
        """
        around = self._around
        event = BeforeAgentStart(self.key, without_injected(prompt), self.audience)
        added = around.bus.ask(event)
        if not around.active:
            return added
        results, troubles = around.bus.collect(around.recalls, event)
        passages = [passage for result in results for passage in cast("Sequence[RecallPassage]", result)]
        known = self._snapshots.read(self.key, self.audience) or Snapshot()
        budget = around.recall_chars if max_chars is None else max_chars
        there = f"{known.context or ''}\n{conversation}"
        quoted = quote(passages, budget, known=known.recalled, context=there)
        reasons = [*added.reasons, *troubles, *quoted.reasons]
        if quoted.identities:
            try:
                self._snapshots.recalled(self.key, self.audience, quoted.identities)
            except (MemoriterError, OSError) as error:
                reasons.append(replace(reason_of(error), remedy="The same passages may come again."))
        texts = [text for text in (added.prepend_context, quoted.text) if text]
        return HookResult("\n\n".join(texts), tuple(reasons))

    def begin_turn(self, prompt: str) -> None:
        """Remember the user's message until the turn ends, for hosts whose processes do not last a turn."""
        if self._around.bus.listens("agent_end"):
            with suppress(MemoriterError, OSError):
                self._snapshots.begin_turn(self.key, self.audience, without_injected(prompt))

    def turn_messages(self) -> tuple[Message, ...]:
        """The user's message of the turn that `begin_turn` was told of, once."""
        known = self._snapshots.read(self.key, self.audience)
        if known is None or not known.prompt:
            return ()
        with suppress(MemoriterError, OSError):
            self._snapshots.begin_turn(self.key, self.audience, "")
        return (Message("user", known.prompt),)

    def end_turn(self, messages: Sequence[Message], *, success: bool = True) -> tuple[Diagnostic, ...]:
        """Let listeners hear what was said in a turn, such as those that capture."""
        return self.capture(messages, success=success).reasons

    def capture(self, messages: Sequence[Message], *, success: bool = True) -> Captured:
        """The same as `end_turn`, with what the listeners say that they have kept."""
        return self._around.bus.capture(AgentEnd(self.key, tuple(messages), success, self.audience))

    def flush(
        self, tokens: int | None = None, *, window: int | None = None, reserve: int = 0, force: bool = False
    ) -> FlushAnswer:
        """The turn in which the model writes down what must last, when it is time for one: once before a compaction.

        The host runs that turn out of the user's sight, and calls `flushed` with the answer.

        Args:
            tokens: how full the conversation is; None: as its entry in `sessions.json` says.
            window: tokens that the model can hold; None: `agents.defaults.contextTokens`, else 200,000.
            reserve: tokens below the window at which the host compacts, if more than `reserveTokensFloor`.
            force: however full it is, because the conversation is about to be cut: it overflowed, or a new one begins.
        """
        if not self._around.active:
            return FlushAnswer()
        if not self._around.writable:
            return FlushAnswer(
                None,
                (
                    Diagnostic(
                        "flush_skipped", "The agent may not write into the workspace.", "Let it write, if it should."
                    ),
                ),
            )
        return self._flushing.ask(tokens, window=window, reserve=reserve, force=force)

    def late_flush(self) -> FlushAnswer:
        """The same after a compaction that came before anything was written down; once."""
        around = self._around
        return self._flushing.ask_late() if around.active and around.writable else FlushAnswer()

    def flushed(self, reply: str | None = None) -> FlushResult | None:
        """Look on the disk what became of the turn that `flush` asked for; None: it had not asked.

        The log is only read. `written` means that it has entries which it did not have at the request, whoever wrote
        them. If lines from before are gone or changed, a reason names the copy that has them.

        Args:
            reply: the model's answer; None: it is not known.
        """
        try:
            return self._flushing.finish(reply)
        except (MemoriterError, OSError) as error:
            return FlushResult("failed", "", 0, (reason_of(error),))

    def compact(self) -> tuple[Diagnostic, ...]:
        """Say that the conversation is being replaced by a summary: from here on, a flush may be due again."""
        if not self._around.active:
            return ()
        cycle, reasons = 0, tuple[Diagnostic, ...]()
        try:
            cycle, result = self._flushing.compacted()
            reasons = result.reasons if result else ()
            known = self._snapshots.read(self.key, self.audience)
            if known is not None:
                self._snapshots.renew(self.key, self.audience, known.context)
        except (MemoriterError, OSError) as error:
            reasons = (*reasons, reason_of(error))
        return (*reasons, *self._around.bus.tell(BeforeCompaction(self.key, cycle)))

    def end(self) -> tuple[Diagnostic, ...]:
        """Let listeners hear that the conversation is over."""
        return self._around.bus.tell(SessionEnd(self.key))


def recall_listener(source: RecallSource) -> Listener:
    """A recall source as something that hears of a turn."""

    def call(event: BeforeAgentStart) -> Sequence[RecallPassage]:
        found: list[object] = list(source.recall(event.prompt, audience=event.audience, deadline_ms=RECALL_MS))
        if wrong := [each for each in found if not isinstance(each, RecallPassage)]:
            raise TypeError(f"it gave {type(wrong[0]).__name__}, not RecallPassage")
        return cast("list[RecallPassage]", found)

    return Listener(source.name, "before_agent_start", call, timeout=RECALL_SECONDS)
