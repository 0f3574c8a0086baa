"""Calls to a service in threads of their own, so that no caller has to wait for a call that hangs."""

from __future__ import annotations

import threading
from math import inf
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from memoriter.errors import TransientFailure
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from memoriter.environment import Deadline

_T = TypeVar("_T")

LOOK_SECONDS = 0.05
"""How often a waiting caller checks whether its deadline was moved."""
PATIENT_SECONDS = 3_600.0
"""The longest wait of a caller without a deadline. Each call has its own time limit, which ends it sooner."""


class GivenUp(TransientFailure):
    """A caller stopped waiting. The call itself may still return a response."""

    def __init__(self, message: str, *, waited: float) -> None:
        super().__init__(message, remedy="Try again later; a late response is used then.")
        self.waited = waited
        """Seconds that all callers together have waited for this call."""


@dataclass(slots=True)
class _Call(Generic[_T]):
    """One running call."""

    done: threading.Event = field(default_factory=threading.Event)
    waited: float = 0.0
    ended: bool = False
    result: _T | None = None
    error: BaseException | None = None


class Calls:
    """Runs calls in daemon threads. Several callers may wait for the same call, and each may stop waiting."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[Hashable, _Call[Any]] = {}
        self._when_idle: list[Callable[[], None]] = []
        self._aborted = False

    def run(self, key: Hashable, call: Callable[[], _T], *, service: str, deadline: Deadline | None = None) -> _T:
        """Return what the call returns, or raise what it raises.

        Args:
            key: the name of the call. A running call of the same name is joined instead of being repeated.
            call: runs in a thread of its own, to its end, even if no caller waits for it any more.
            service: the name of the service, for the message.
            deadline: how long to wait; None waits until the call ends.

        Raises:
            GivenUp: the deadline passed, or `abort` was called.
        """
        with self._lock:
            running = self._running.get(key)
            if running is None and not self._aborted:
                running = self._running[key] = _Call()
                arguments = (key, running, call)
                threading.Thread(target=self._work, args=arguments, name="memoriter-call", daemon=True).start()
        limit = "" if deadline is None or deadline.left == inf else f" within {deadline.left:.1f} s"
        if running is None or not self._ended(running, deadline):
            raise GivenUp(f"{service} did not answer{limit}", waited=running.waited if running else 0.0)
        if running.error is not None:
            raise running.error
        return cast("_T", running.result)

    def await_others(self, wanted: Callable[[Hashable], bool], deadline: Deadline | None) -> float | None:
        """Wait for the running calls whose keys match.

        Args:
            wanted: returns whether to wait for the call of a key.
            deadline: how long to wait; None waits until they end.

        Returns:
            None if all of them have ended; otherwise the longest wait for one of them, in seconds, summed over callers.
        """
        with self._lock:
            calls = [call for key, call in self._running.items() if wanted(key)]
        return max((call.waited for call in calls if not self._ended(call, deadline)), default=None)

    def when_idle(self, act: Callable[[], None]) -> None:
        """Run `act` now, or as soon as no call is running."""
        with self._lock:
            if self._running:
                self._when_idle.append(act)
                return
        act()

    @property
    def aborted(self) -> bool:
        """Whether `abort` was called."""
        return self._aborted

    def abort(self) -> None:
        """End all waiting, now and later. The results of running calls are discarded."""
        with self._lock:
            self._aborted = True
            waiting = list(self._running.values())
        for call in waiting:
            call.done.set()

    def _work(self, key: Hashable, running: _Call[_T], call: Callable[[], _T]) -> None:
        try:
            running.result = call()
        except BaseException as error:  # noqa: BLE001 - raised again in the waiting threads
            running.error = error
        finally:
            with self._lock:
                self._running.pop(key, None)
                acts, self._when_idle = ([], self._when_idle) if self._running else (self._when_idle, [])
            running.ended = True
            running.done.set()
            for act in acts:
                act()

    def _ended(self, running: _Call[Any], deadline: Deadline | None) -> bool:
        left = PATIENT_SECONDS if deadline is None else min(deadline.left, PATIENT_SECONDS)
        while not running.done.wait(min(left, LOOK_SECONDS)):
            running.waited += min(left, LOOK_SECONDS)
            left -= LOOK_SECONDS
            if left <= 0 or (deadline is not None and deadline.passed):
                break
        return running.ended
