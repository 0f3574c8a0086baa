"""Who hears of an event, in which order, and what becomes of those who fail or take too long."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memoriter.agent._events import event_name
from memoriter.errors import MemoriterError
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from memoriter.agent._events import AgentEnd, BeforeAgentStart, Event, EventName

MODIFYING_SECONDS = 5.0
"""How long the turn waits for a listener that may add to it."""
OBSERVING_SECONDS = 15.0
REMEDY = "The turn went on without it. Update the plugin, or remove its package."

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Addition:
    """What a listener of `before_agent_start` adds to the turn."""

    prepend_context: str = ""
    """Goes before the user's message."""


@dataclass(frozen=True, slots=True)
class Captured:
    """What a listener of `agent_end` has kept of a turn; of all listeners together, with what went wrong."""

    texts: tuple[str, ...] = ()
    """A line each, for people."""
    reasons: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Listener:
    """Something that hears of one kind of event."""

    name: str
    """Whose it is, for people."""
    event: EventName
    call: Callable[[Any], object]
    """Gets the event, in a thread of its own. Of `before_agent_start` the result is used (an `Addition` or None), of
    `agent_end` it is shown (a `Captured` or None)."""
    priority: int = 0
    """Higher comes first."""
    timeout: float | None = None
    """Seconds; None: 5 before a turn, 15 elsewhere."""


@dataclass(frozen=True, slots=True)
class HookResult:
    """What all listeners together add to a turn, and what went wrong with some of them."""

    prepend_context: str = ""
    reasons: tuple[Diagnostic, ...] = ()


@dataclass(slots=True)
class _ListenerThread:
    """One listener at work. A thread cannot be stopped, so one that is late is left behind and its result dropped."""

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
        except BaseException as error:  # noqa: BLE001 - whatever a stranger's code does, the turn goes on
            self.error = error

    def waited(self, seconds: float) -> Diagnostic | None:
        """Why there is no result after so many seconds; None: there is one."""
        self.thread.join(max(0.0, seconds))
        where = f"{self.listener.name!r} in {self.listener.event}"
        if self.thread.is_alive():
            message = f"{where} did not answer in time, so the turn went on without it."
            return Diagnostic("hook_timeout", message, "It may have finished by the next turn.")
        if isinstance(self.error, MemoriterError):
            return Diagnostic(self.error.code, self.error.message, self.error.remedy)
        if self.error is not None:
            log.warning("%s failed", where, exc_info=self.error)
            return Diagnostic("hook_failed", f"{where} failed: {type(self.error).__name__}: {self.error}", REMEDY)
        return None


class HookBus:
    """Tells listeners what happens. None of them can stop or fail a turn; a `Diagnostic` says what went wrong."""

    def __init__(self, listeners: Iterable[Listener] = (), *, monotonic: Callable[[], float]) -> None:
        self._listeners = list(listeners)
        self._monotonic = monotonic
        self._late: dict[int, threading.Thread] = {}

    def on(self, listener: Listener) -> None:
        """Add a listener, after those of the same priority."""
        self._listeners.append(listener)

    def listens(self, event: EventName) -> bool:
        """Whether anybody does."""
        return any(listener.event == event for listener in self._listeners)

    def ask(self, event: BeforeAgentStart) -> HookResult:
        """Let the listeners add to a turn, one after the other, the highest priority first."""
        texts, reasons = list[str](), list[Diagnostic]()
        for listener in self._hearing(event):
            if busy := self._busy(listener):
                reasons.append(busy)
                continue
            call = _ListenerThread(listener, event)
            limit = MODIFYING_SECONDS if listener.timeout is None else listener.timeout
            if trouble := self._settled(call, limit):
                reasons.append(trouble)
            elif isinstance(call.result, Addition):
                texts.append(call.result.prepend_context)
            elif call.result is not None:
                given = type(call.result).__name__
                message = f"{listener.name!r} in {listener.event} gave {given}, not an Addition."
                reasons.append(Diagnostic("hook_result", message, REMEDY))
        return HookResult("\n\n".join(text for text in texts if text.strip()), tuple(reasons))

    def tell(self, event: Event) -> tuple[Diagnostic, ...]:
        """Let the listeners hear of an event, all at once; returns when each is done or late."""
        return self.collect(self._hearing(event), event)[1]

    def capture(self, event: AgentEnd) -> Captured:
        """The same of a turn's end, with what the listeners say that they have kept."""
        results, reasons = self.collect(self._hearing(event), event)
        kept = [result for result in results if isinstance(result, Captured)]
        told = (reason for each in kept for reason in each.reasons)
        return Captured(tuple(text for each in kept for text in each.texts), (*reasons, *told))

    def collect(self, listeners: Iterable[Listener], event: Event) -> tuple[list[object], tuple[Diagnostic, ...]]:
        """What listeners, registered or not, give for an event, all asked at once; those that fail or are late miss."""
        results, reasons, calls = list[object](), list[Diagnostic](), list[_ListenerThread]()
        for listener in listeners:
            if busy := self._busy(listener):
                reasons.append(busy)
            else:
                calls.append(_ListenerThread(listener, event))
        began = self._monotonic()
        for call in calls:
            limit = OBSERVING_SECONDS if call.listener.timeout is None else call.listener.timeout
            if trouble := self._settled(call, began + limit - self._monotonic()):
                reasons.append(trouble)
            else:
                results.append(call.result)
        return results, tuple(reasons)

    def _hearing(self, event: Event) -> list[Listener]:
        name = event_name(event)
        return sorted((each for each in self._listeners if each.event == name), key=lambda each: -each.priority)

    def _settled(self, call: _ListenerThread, seconds: float) -> Diagnostic | None:
        trouble = call.waited(seconds)
        if call.thread.is_alive():
            self._late[id(call.listener)] = call.thread
        return trouble

    def _busy(self, listener: Listener) -> Diagnostic | None:
        """Is it still at an earlier event? Then calling it again would only pile up threads."""
        thread = self._late.get(id(listener))
        if thread is None or not thread.is_alive():
            return None
        return Diagnostic("hook_busy", f"{listener.name!r} is still busy with an earlier {listener.event}.", REMEDY)
