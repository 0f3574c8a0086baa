"""Events around an agent's turns, as immutable values, and their delivery from a host to listeners.

Listeners are called in order of priority; one that fails or exceeds its time limit is contained.
"""

from __future__ import annotations

import logging
import threading
from math import inf
from typing import TYPE_CHECKING, Any, Literal, assert_never

from memoriter.errors import MemoriterError, sentence
from memoriter.types import Diagnostic
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from memoriter.types import Health

Audience = Literal["private", "shared"]
"""Readers of the conversation: only the owner, or others too. Treat an unknown audience as shared."""
Role = Literal["user", "assistant"]
RecallOutcome = Literal["match", "weak", "none", "skipped", "unavailable", "disabled"]
"""What a recall found.

`match`: passages that bear on the message; they are in the text, unless the conversation already has them or they were
withheld. `weak`: only passages that may not answer; none is in the text. `none`: nothing. `skipped`: nothing was
searched, as for a message of a few characters. `unavailable`: nothing was found, and a source failed. `disabled`: the
memory is turned off.
"""
EventName = Literal["session_start", "before_agent_start", "agent_end", "before_compaction", "session_end"]


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the user or the agent."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class SessionStart:
    """A conversation starts, or continues after a pause or a compaction."""

    session: str
    audience: Audience = "shared"


@dataclass(frozen=True, slots=True)
class BeforeAgentStart:
    """The host is about to send the user's message to the model."""

    session: str
    prompt: str
    audience: Audience = "shared"
    seconds: float | None = None
    """The time that the turn waits for all listeners together; None: each has its own limit."""


@dataclass(frozen=True, slots=True)
class AgentEnd:
    """The agent has answered."""

    session: str
    messages: tuple[Message, ...] = ()
    """The messages of this turn, in order."""
    success: bool = True
    audience: Audience = "shared"


@dataclass(frozen=True, slots=True)
class BeforeCompaction:
    """The host is about to replace the conversation by a summary."""

    session: str
    cycle: int = 0
    """Number of earlier compactions."""


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """The conversation has ended."""

    session: str


Event = SessionStart | BeforeAgentStart | AgentEnd | BeforeCompaction | SessionEnd


def event_name(event: Event) -> EventName:
    """Return the name under which listeners register for an event."""
    match event:
        case SessionStart():
            return "session_start"
        case BeforeAgentStart():
            return "before_agent_start"
        case AgentEnd():
            return "agent_end"
        case BeforeCompaction():
            return "before_compaction"
        case SessionEnd():
            return "session_end"
        case _:
            assert_never(event)


MODIFYING_SECONDS = 5.0
"""Default time limit of a listener that can add to the turn."""
OBSERVING_SECONDS = 15.0
"""Default time limit of every other listener."""
PLUGIN_REMEDY = "The turn continued without it. Update the plugin, or remove its package."

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Addition:
    """Text that a listener of `before_agent_start` adds to the turn."""

    prepend_context: str = ""
    """Inserted before the user's message."""


@dataclass(frozen=True, slots=True)
class Captured:
    """Texts that listeners of `agent_end` kept from a turn, with the diagnostics of the listeners that failed.

    One listener returns its own texts; `HookBus.capture` returns those of all listeners together.
    """

    texts: tuple[str, ...] = ()
    """One line for each text, for people."""
    reasons: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Listener:
    """A callback for one kind of event."""

    name: str
    """The owner of the listener, for people."""
    event: EventName
    call: Callable[[Any], object]
    """Receives the event, in a thread of its own. The bus uses the result for `before_agent_start` (an `Addition` or
    None) and reports it for `agent_end` (a `Captured` or None)."""
    priority: int = 0
    """Listeners with a higher priority run first."""
    timeout: float | None = None
    """Seconds; None: 5 for `before_agent_start`, 15 for other events."""


@dataclass(frozen=True, slots=True)
class HookResult:
    """Text that all listeners together add to a turn, with the diagnostics of those that failed."""

    prepend_context: str = ""
    reasons: tuple[Diagnostic, ...] = ()
    outcome: RecallOutcome = "skipped"
    citations: tuple[str, ...] = ()
    """Locations of the passages in the text, if the conversation may see citations."""
    health: Health | None = None
    """State of the memory that was searched; None: no search ended."""


@dataclass(slots=True)
class _ListenerThread:
    """One running call of a listener.

    A thread cannot be stopped, so the bus abandons a call that is late and drops its result.
    """

    listener: Listener
    event: Event
    result: object = None
    error: BaseException | None = None
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._run, name=f"memoriter {self.listener.name}", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.result = self.listener.call(self.event)
        except BaseException as error:  # noqa: BLE001 - third-party code; the turn continues
            self.error = error

    def wait(self, seconds: float) -> Diagnostic | None:
        """Wait up to `seconds` for the result, and return a diagnostic if there is none."""
        self.thread.join(max(0.0, seconds))
        where = f"{self.listener.name!r} in {self.listener.event}"
        if self.thread.is_alive():
            message = f"{where} did not answer in time, so the turn continued without it."
            return Diagnostic("hook_timeout", message, "It may have finished by the next turn.")
        if isinstance(self.error, MemoriterError):
            return Diagnostic.of(self.error)
        if self.error is not None:
            log.warning("%s failed", where, exc_info=self.error)
            return Diagnostic(
                "hook_failed", f"{where} failed: {type(self.error).__name__}: {sentence(self.error)}", PLUGIN_REMEDY
            )
        return None


class HookBus:
    """Delivers events to listeners.

    No listener can stop or fail a turn; failures become `Diagnostic` values.
    """

    def __init__(self, listeners: Iterable[Listener] = (), *, monotonic: Callable[[], float]) -> None:
        self._listeners = list(listeners)
        self.monotonic = monotonic
        self._running: dict[int, threading.Thread] = {}

    def on(self, listener: Listener) -> None:
        """Add a listener, after those of the same priority."""
        self._listeners.append(listener)

    def listens(self, event: EventName) -> bool:
        """Return whether any listener is registered for the event."""
        return any(listener.event == event for listener in self._listeners)

    def ask(self, event: BeforeAgentStart) -> HookResult:
        """Call the listeners of `before_agent_start` one after the other, and return what they add to the turn.

        Listeners with a higher priority come first.
        """
        texts = list[str]()
        reasons = list[Diagnostic]()
        ends = self.monotonic() + (inf if event.seconds is None else event.seconds)
        for listener in self._listeners_for(event):
            if busy := self._busy_diagnostic(listener):
                reasons.append(busy)
                continue
            call = _ListenerThread(listener, event)
            limit = MODIFYING_SECONDS if listener.timeout is None else listener.timeout
            if diagnostic := self._wait_for(call, min(limit, ends - self.monotonic())):
                reasons.append(diagnostic)
            elif isinstance(call.result, Addition):
                texts.append(call.result.prepend_context)
            elif call.result is not None:
                type_name = type(call.result).__name__
                message = f"{listener.name!r} in {listener.event} gave {type_name}, not an Addition."
                reasons.append(Diagnostic("hook_result", message, PLUGIN_REMEDY))
        return HookResult("\n\n".join(text for text in texts if text.strip()), tuple(reasons))

    def notify(self, event: Event) -> tuple[Diagnostic, ...]:
        """Call all listeners of an event at once, and return when each has finished or timed out."""
        return self.collect(self._listeners_for(event), event)[1]

    def capture(self, event: AgentEnd) -> Captured:
        """Call all listeners of `agent_end` at once, and return the texts that they kept."""
        results, reasons = self.collect(self._listeners_for(event), event)
        kept = [result for result in results if isinstance(result, Captured)]
        listener_reasons = (reason for each in kept for reason in each.reasons)
        return Captured(tuple(text for each in kept for text in each.texts), (*reasons, *listener_reasons))

    def collect(self, listeners: Iterable[Listener], event: Event) -> tuple[list[object], tuple[Diagnostic, ...]]:
        """Call the given listeners at once, registered or not, and return their results.

        Listeners that fail or time out have no result, only a diagnostic.
        """
        results = list[object]()
        reasons = list[Diagnostic]()
        calls = list[_ListenerThread]()
        for listener in listeners:
            if busy := self._busy_diagnostic(listener):
                reasons.append(busy)
            else:
                calls.append(_ListenerThread(listener, event))
        began = self.monotonic()
        turn_seconds = event.seconds if isinstance(event, BeforeAgentStart) else None
        for call in calls:
            limit = OBSERVING_SECONDS if call.listener.timeout is None else call.listener.timeout
            if turn_seconds is not None:  # whoever grants a turn more time than a listener usually has means it
                limit = turn_seconds
            if diagnostic := self._wait_for(call, began + limit - self.monotonic()):
                reasons.append(diagnostic)
            else:
                results.append(call.result)
        return results, tuple(reasons)

    def _listeners_for(self, event: Event) -> list[Listener]:
        """Return the listeners of an event, the highest priority first."""
        name = event_name(event)
        return sorted((each for each in self._listeners if each.event == name), key=lambda each: -each.priority)

    def _wait_for(self, call: _ListenerThread, seconds: float) -> Diagnostic | None:
        """Wait for a call, and remember its thread if it is late."""
        diagnostic = call.wait(seconds)
        if call.thread.is_alive():
            self._running[id(call.listener)] = call.thread
        return diagnostic

    def _busy_diagnostic(self, listener: Listener) -> Diagnostic | None:
        """Return a diagnostic if the listener is still busy with an earlier event.

        Calling it again would only pile up threads.
        """
        thread = self._running.get(id(listener))
        if thread is None or not thread.is_alive():
            return None
        return Diagnostic(
            "hook_busy", f"{listener.name!r} is still busy with an earlier {listener.event}.", PLUGIN_REMEDY
        )
