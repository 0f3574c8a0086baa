"""One conversation of an agent, with its memory."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from memoriter.agent._bus import (
    AgentEnd,
    BeforeAgentStart,
    BeforeCompaction,
    HookResult,
    Listener,
    Message,
    SessionEnd,
    SessionStart,
)
from memoriter.agent._context import SMALLEST_BUDGET, load_parts, render
from memoriter.agent._guard import source_label
from memoriter.agent._recall import MarkdownRecall, RecallAnswer, RecallPassage, joint_outcome, quote
from memoriter.agent._session_files import SessionStore, Snapshot, Snapshots
from memoriter.agent.capture import Capturing
from memoriter.agent.flush import FlushAnswer, Flushing, FlushResult
from memoriter.arguments import with_checked_arguments
from memoriter.environment import local_time, zone_is_known
from memoriter.errors import MemoriterError, UsageError
from memoriter.types import Diagnostic
from memoriter.values import dataclass
from memoriter.workspace import without_injected

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from pathlib import Path

    from memoriter.agent._bus import Audience, Captured, HookBus
    from memoriter.agent._recall import RecallSource
    from memoriter.agent._session_files import RecallRecord
    from memoriter.agent.capture import Conversation
    from memoriter.config import Compaction
    from memoriter.workspace import Standing, Workspace

RECALL_MS = 2_000
"""Time limit of a recall source, including the time to index changes."""
SPARE_SECONDS = 0.2
"""Time between the limit of a recall source and the moment when a hurried turn goes on without it."""
RECALL_SECONDS = 8.0
"""Time that the turn waits for a recall source. It exceeds `RECALL_MS`, because a search on a slow machine may be
nearly done."""


@dataclass(frozen=True, slots=True)
class Context:
    """Text for the model at the start of a session."""

    text: str
    """Empty: the model needs no context."""
    reasons: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionEnvironment:
    """The environment of a session."""

    workspace: Workspace
    bus: HookBus
    folder: Path
    """Folder of the agent's sessions, in memoriter's home."""
    wall: Callable[[], float]
    zone: str | None
    """The user's time zone; None: that of the process."""
    recalls: tuple[Listener, ...]
    """Listeners that search before a turn: `recall_listener` of each source."""
    context_chars: int
    recall_chars: int
    compaction: Compaction
    """`agents.defaults.compaction`."""
    window: int | None
    """`agents.defaults.contextTokens`."""
    cites: Callable[[str], bool]
    """Returns whether recalled passages have citations, for a session's key."""
    index_changes: Callable[[str], tuple[Diagnostic, ...]]
    """Indexes changed files when a session of a key starts, if `sync.onSessionStart` is on."""
    writable: bool = True
    """False if the host's sandbox does not let the agent write into the workspace."""
    reasons: tuple[Diagnostic, ...] = ()
    """Diagnostics of the plugins, reported when a session starts."""
    origin: str = ""
    """What the model must know about the author of the notes; empty if they are the owner's."""
    active: bool = True
    """False if the memory slot is `none`; then the session returns no text and stores nothing."""
    capture: bool = False
    """`memory.capture`: whether conversations are recorded in the day's note."""
    allowed: frozenset[Standing] = frozenset({"agent"})
    """Whose words are put before a turn besides those of the owner: `trust.agent`."""


class Session:
    """The calls that an agent's host makes around its turns.

    No method raises because of a plugin, a note or the disk.
    """

    def __init__(self, key: str, audience: Audience, env: SessionEnvironment) -> None:
        if not key.strip():
            raise UsageError("The session has no name.", remedy="Give the id that the host has for the conversation.")
        self.key = key
        self.audience: Audience = audience
        self._env = env
        self._snapshots = Snapshots(env.folder / "contexts", env.wall, env.workspace.root)
        self._flushing = Flushing(
            key,
            env.workspace,
            SessionStore(env.folder / "sessions" / "sessions.json", env.wall),
            env.folder / "flushes",
            env.wall,
            env.zone,
            env.compaction,
            env.window,
        )
        self._capturing = Capturing(
            key,
            env.workspace,
            SessionStore(env.folder / "captures.json", env.wall),
            self._flushing,
            env.wall,
            env.zone,
            enabled=env.capture and env.active and env.writable and audience == "private",
        )

    @property
    def monotonic(self) -> Callable[[], float]:
        """The clock of durations, in seconds."""
        return self._env.bus.monotonic

    @property
    def now(self) -> datetime:
        """The current time, in the user's time zone."""
        return local_time(self._env.wall(), self._env.zone)

    @with_checked_arguments
    def start(self, *, renew: bool = False, max_chars: int | None = None, index: bool = True) -> Context:
        """Return the context for the model; it keeps the same bytes as long as the session lasts.

        The first start of a session also indexes changed files, within a search's time budget, if
        `sync.onSessionStart` is on.

        Args:
            renew: read the notes as they are now, because the conversation was just compacted.
            max_chars: maximum number of characters (1,000 or more) if the notes are read now; None:
                `agents.defaults.bootstrapMaxChars`.
            index: False if the host indexes changed files itself, or later.

        Raises:
            UsageError: `max_chars` is out of range.
        """
        limit = self._env.context_chars if max_chars is None else max_chars
        if limit < SMALLEST_BUDGET:
            raise UsageError(
                f"The limit max_chars is {limit}, which is too small.", remedy=f"Give {SMALLEST_BUDGET} or more."
            )
        reasons = [*self._env.reasons, *self._env.bus.notify(SessionStart(self.key, self.audience))]
        if not self._env.active:
            return Context("", tuple(reasons))
        if index and not renew:
            reasons += self._index_changes()
        snapshot = None if renew else self._snapshots.read(self.key, self.audience)
        if snapshot is not None and snapshot.context is not None:
            return Context(snapshot.context, tuple(reasons))
        self._flushing.remove_old()
        now = self.now
        zone = self._env.zone
        if zone and not zone_is_known(zone):
            message = f"The time zone {zone!r} is not known here, so days are those of this machine."
            reasons.append(
                Diagnostic("time_zone", message, "Correct agents.defaults.userTimezone, such as Asia/Seoul.")
            )
        parts, unread = load_parts(
            self._env.workspace, now, self.audience, limit, allowed=self._env.allowed, owned=not self._env.origin
        )
        label = source_label(self._env.workspace.root, self._env.origin)
        text = render(parts, f"{now.date().isoformat()} (UTC{now:%z})", limit, label)
        try:
            if renew:
                self._snapshots.renew(self.key, self.audience, text)
            else:
                text = self._snapshots.freeze(self.key, self.audience, text)
        except (MemoriterError, OSError) as error:
            reasons.append(replace(Diagnostic.of(error), remedy="The context may change within this session."))
        return Context(text, (*reasons, *unread))

    def _index_changes(self) -> tuple[Diagnostic, ...]:
        try:
            return self._env.index_changes(self.key)
        except (MemoriterError, OSError) as error:
            return (Diagnostic.of(error),)

    @with_checked_arguments
    def recall(
        self, prompt: str, *, max_chars: int | None = None, conversation: str = "", seconds: float | None = None
    ) -> HookResult:
        """Return the text to insert before the user's message: additions of plugins, and relevant passages.

        The text is empty if nothing matches; `outcome` and `health` say why. It repeats nothing that the conversation
        received since its start or its last compaction.

        Args:
            prompt: the user's message.
            max_chars: maximum number of characters of recall; None: `memory.qmd.limits.maxInjectedChars`.
            conversation: the conversation that the model still sees, as `User: …` and `Assistant: …`. Pass it if its
                transcript may be searched while it goes on; recall does not repeat it.
            seconds: how long the turn waits at most. Notes are then recalled from the index as it is, apart from the
                words of small changes; None: each source has its own limit, and changes are indexed first.
        """
        env = self._env
        event = BeforeAgentStart(self.key, without_injected(prompt), self.audience, seconds)
        began = env.bus.monotonic()
        added = env.bus.ask(event)
        if not env.active:
            return replace(added, outcome="disabled")
        if seconds is not None:
            event = replace(event, seconds=max(0.0, began + seconds - env.bus.monotonic()))
        results, failures = env.bus.collect(env.recalls, event)
        answers = cast("list[RecallAnswer]", results)
        passages = [passage for answer in answers for passage in answer.passages]
        snapshot = self._snapshots.read(self.key, self.audience) or Snapshot()
        budget = env.recall_chars if max_chars is None else max_chars
        context = f"{snapshot.context or ''}\n{conversation}"
        quoted = quote(
            passages,
            budget,
            known=snapshot.recalled,
            context=context,
            label=source_label(env.workspace.root, env.origin),
            project=bool(env.origin),
            citations=env.cites(self.key),
            allowed=env.allowed,
        )
        reasons = [*added.reasons, *failures, *quoted.reasons]
        if quoted.identities:
            try:
                self._snapshots.add_recalled(self.key, self.audience, quoted.identities)
            except (MemoriterError, OSError) as error:
                reasons.append(replace(Diagnostic.of(error), remedy="The same passages may come again."))
        texts = [text for text in (added.prepend_context, quoted.text) if text]
        return HookResult(
            "\n\n".join(texts),
            tuple(reasons),
            joint_outcome(answers, failed=bool(failures)),
            quoted.citations,
            next((answer.health for answer in answers if answer.health is not None), None),
        )

    def unseen(self, reasons: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Return the diagnostics that this conversation has not shown to the person yet; they count as shown now."""
        codes = {reason.code for reason in reasons}
        try:
            new = self._snapshots.add_shown(self.key, self.audience, codes) if codes else codes
        except (MemoriterError, OSError):  # without a record they would be shown at every turn
            return ()
        return tuple(reason for reason in reasons if reason.code in new)

    def begin_turn(self, prompt: str) -> None:
        """Store the user's message until the turn ends, for hosts whose processes do not last for a turn."""
        if self._env.bus.listens("agent_end"):
            with suppress(MemoriterError, OSError):
                self._snapshots.begin_turn(self.key, self.audience, without_injected(prompt))

    def turn_messages(self) -> tuple[Message, ...]:
        """Return the user's message that `begin_turn` stored, once."""
        snapshot = self._snapshots.read(self.key, self.audience)
        if snapshot is None or not snapshot.prompt:
            return ()
        with suppress(MemoriterError, OSError):
            self._snapshots.begin_turn(self.key, self.audience, "")
        return (Message("user", snapshot.prompt),)

    @with_checked_arguments
    def end_turn(self, messages: Sequence[Message], *, success: bool = True) -> tuple[Diagnostic, ...]:
        """Deliver the messages of a turn to listeners, such as those that capture."""
        return self.capture(messages, success=success).reasons

    def capture(self, messages: Sequence[Message], *, success: bool = True) -> Captured:
        """Deliver the messages of a turn like `end_turn`, and return the texts that the listeners kept."""
        return self._env.bus.capture(AgentEnd(self.key, tuple(messages), success, self.audience))

    def flush(
        self, tokens: int | None = None, *, window: int | None = None, reserve: int = 0, force: bool = False
    ) -> FlushAnswer:
        """Return the turn in which the model writes down lasting facts, if one is due: once before each compaction.

        The host runs that turn out of the user's sight, and calls `flushed` with the answer.

        Args:
            tokens: context usage of the conversation; None: the value of its entry in `sessions.json`.
            window: tokens that the model can hold; None: `agents.defaults.contextTokens`, else 200,000.
            reserve: tokens below the window at which the host compacts, if more than `reserveTokensFloor`.
            force: ignore the context usage, because the conversation is about to be cut: it overflowed, or a new one
                starts.
        """
        if not self._env.active:
            return FlushAnswer()
        if not self._env.writable:
            return FlushAnswer(
                None,
                (
                    Diagnostic(
                        "flush_skipped", "The agent may not write into the workspace.", "Let it write, if it should."
                    ),
                ),
            )
        return self._flushing.request(tokens, window=window, reserve=reserve, force=force)

    def late_flush(self) -> FlushAnswer:
        """Return the flush turn after a compaction that no flush preceded, once."""
        env = self._env
        return self._flushing.request_late() if env.active and env.writable else FlushAnswer()

    def flushed(self, reply: str | None = None) -> FlushResult | None:
        """Check on disk what the turn of `flush` has written; return None if no flush was requested.

        The log is only read. `written` means that it has entries that it did not have at the request, whoever wrote
        them. If lines from before are gone or changed, a diagnostic names the snapshot that holds them.

        Args:
            reply: the model's answer; None: unknown.
        """
        try:
            return self._flushing.finish(reply)
        except (MemoriterError, OSError) as error:
            return FlushResult("failed", "", 0, (Diagnostic.of(error),))

    def compact(self) -> tuple[Diagnostic, ...]:
        """Record that a summary replaces the conversation; after it, a flush may be due again."""
        if not self._env.active:
            return ()
        cycle = 0
        reasons = tuple[Diagnostic, ...]()
        try:
            cycle, result = self._flushing.record_compaction()
            reasons = result.reasons if result else ()
            snapshot = self._snapshots.read(self.key, self.audience)
            if snapshot is not None:
                self._snapshots.renew(self.key, self.audience, snapshot.context)
        except (MemoriterError, OSError) as error:
            reasons = (*reasons, Diagnostic.of(error))
        return (*reasons, *self._env.bus.notify(BeforeCompaction(self.key, cycle)))

    @property
    def captures(self) -> bool:
        """Whether the conversation is recorded in the day's note when it was compacted or ends."""
        return self._capturing.enabled

    def compacted(self, conversation: Conversation, summary: str = "") -> tuple[Diagnostic, ...]:
        """Record the summary that has replaced the conversation, if the settings want that.

        Args:
            conversation: the end of the transcript, from `read_conversation`.
            summary: the summary; empty: the last one of the transcript.
        """
        return self._capturing.after_compaction(conversation, summary, self._received())

    def end(self, conversation: Conversation | None = None) -> tuple[Diagnostic, ...]:
        """Notify listeners that the conversation has ended, and record it, if the settings want that.

        Args:
            conversation: the end of the transcript; None: record nothing.
        """
        reasons = self._capturing.at_end(conversation, self._received()) if conversation is not None else ()
        return (*reasons, *self._env.bus.notify(SessionEnd(self.key)))

    def recall_records(self) -> list[RecallRecord]:
        """Return what each conversation received from the notes of this session, as far as it is stored."""
        return self._snapshots.records()

    def capture_news(self) -> str:
        """Return a message for the person about the first record of a conversation, once; empty: there is none."""
        return self._capturing.news()

    def _received(self) -> tuple[str, ...]:
        """Return the texts from memory that the conversation received, as far as they are stored."""
        snapshot = self._snapshots.read(self.key, self.audience) if self.captures else None
        return (snapshot.context,) if snapshot is not None and snapshot.context else ()


def recall_listener(source: RecallSource) -> Listener:
    """Return a recall source as a listener."""

    def call(event: BeforeAgentStart) -> RecallAnswer:
        chosen = source
        limit = RECALL_MS
        if event.seconds is not None:
            limit = max(1, int((event.seconds - SPARE_SECONDS) * 1000))
        if isinstance(source, MarkdownRecall):
            chosen = replace(source, update=event.seconds is None, session=event.session)
        result = chosen.recall(event.prompt, audience=event.audience, deadline_ms=limit)
        passages: list[object] = list(result.passages if isinstance(result, RecallAnswer) else result)
        if invalid := [each for each in passages if not isinstance(each, RecallPassage)]:
            raise TypeError(f"it gave {type(invalid[0]).__name__}, not RecallPassage")
        if isinstance(result, RecallAnswer):
            return result
        return RecallAnswer(cast("list[RecallPassage]", passages), "match" if passages else "none")

    return Listener(source.name, "before_agent_start", call, timeout=RECALL_SECONDS)
