"""Calls to a service in threads of their own, so that nobody has to wait for one that hangs."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from memoriter.errors import TransientFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from memoriter.search import Deadline

_T = TypeVar("_T")

LOOK_SECONDS = 0.05
"""How often a waiting caller looks whether its deadline was moved."""
PATIENT_SECONDS = 3_600.0
"""The longest wait of a caller without a deadline: every call has a time limit of its own, which ends sooner."""


class GivenUp(TransientFailure):
    """A caller stopped waiting; the call itself may still be answered."""

    def __init__(self, message: str, *, waited: float) -> None:
        super().__init__(message, remedy="Ask again later; what it still sends is used then.")
        self.waited = waited
        """Seconds that all callers together have waited for this call."""


@dataclass(slots=True)
class _Call(Generic[_T]):
    """One call under way."""

    done: threading.Event = field(default_factory=threading.Event)
    waited: float = 0.0
    ended: bool = False
    result: _T | None = None
    error: BaseException | None = None


class Calls:
    """Runs calls in daemon threads. Several callers may wait for the same call, and each may stop waiting."""

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._running: dict[Hashable, _Call[Any]] = {}
        self._here = threading.local()
        self._afterwards: list[Callable[[], None]] = []
        self._aborted = False

    def run(
        self, key: Hashable, call: Callable[[], _T], *, who: str, deadline: Deadline | None = None, seconds: float = inf
    ) -> _T:
        """Return what the call returns, or raise what it raises.

        Args:
            key: names the call; one that is under way under the same name is joined and not made again.
            call: runs in a thread of its own, to its end, whether or not somebody still waits.
            who: is called, for the message.
            deadline: how long to wait; None: until the call ends.
            seconds: how long the call itself may take, see `seconds_left`.

        Raises:
            GivenUp: the deadline passed, or `abort` was called.
        """
        with self._gate:
            under_way = self._running.get(key)
            if under_way is None and not self._aborted:
                under_way = self._running[key] = _Call()
                arguments = (key, under_way, call, seconds)
                threading.Thread(target=self._work, args=arguments, name="memoriter-call", daemon=True).start()
        limit = "" if deadline is None or deadline.left == inf else f" within {deadline.left:.1f} s"
        if under_way is None or not self._ended(under_way, deadline):
            raise GivenUp(f"{who} did not answer{limit}", waited=under_way.waited if under_way else 0.0)
        if under_way.error is not None:
            raise under_way.error
        return cast("_T", under_way.result)

    def await_others(self, wanted: Callable[[Hashable], bool], deadline: Deadline | None) -> float | None:
        """Wait for the calls that are under way and whose keys are wanted.

        Returns:
            None where all of them have ended; else how many seconds the slowest one was waited for, by all callers.
        """
        with self._gate:
            others = [call for key, call in self._running.items() if wanted(key)]
        return max((call.waited for call in others if not self._ended(call, deadline)), default=None)

    def when_idle(self, act: Callable[[], None]) -> None:
        """Do something now, or as soon as no call is under way."""
        with self._gate:
            if self._running:
                self._afterwards.append(act)
                return
        act()

    def seconds_left(self) -> float:
        """Return how long the call that runs in this thread may take; infinite in any other thread."""
        return getattr(self._here, "seconds", inf)

    @property
    def aborted(self) -> bool:
        """Whether nobody waits any more."""
        return self._aborted

    def abort(self) -> None:
        """Let nobody wait any more, now or later. What is under way ends unheard."""
        with self._gate:
            self._aborted = True
            waiting = list(self._running.values())
        for each in waiting:
            each.done.set()

    def _work(self, key: Hashable, under_way: _Call[_T], call: Callable[[], _T], seconds: float) -> None:
        self._here.seconds = seconds
        try:
            under_way.result = call()
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            under_way.error = error
        finally:
            with self._gate:
                self._running.pop(key, None)
                acts, self._afterwards = ([], self._afterwards) if self._running else (self._afterwards, [])
            under_way.ended = True
            under_way.done.set()
            for act in acts:
                act()

    def _ended(self, under_way: _Call[Any], deadline: Deadline | None) -> bool:
        left = PATIENT_SECONDS if deadline is None else min(deadline.left, PATIENT_SECONDS)
        while not under_way.done.wait(min(left, LOOK_SECONDS)):
            under_way.waited += min(left, LOOK_SECONDS)
            left -= LOOK_SECONDS
            if left <= 0 or (deadline is not None and deadline.passed):
                break
        return under_way.ended
