"""When a service or a program that failed is called again, for all threads and processes that share a store."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Protocol

from memoriter.codes import stored_code
from memoriter.errors import ProviderUnavailable
from memoriter.types import Diagnostic
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

HOUR = 3600.0
MOST_CALLS = 3
"""Maximum number of failed calls in any hour to a service that costs money."""
KEPT_TIMES = 16
"""The failures whose times are kept."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How long a service is left alone after it failed."""

    next_call: Callable[[tuple[float, ...]], float]
    """Returns the time of the next call. Its argument has the times of the failures in a row, in ascending order."""
    longest: float
    """Seconds. A longer pause is the work of a clock that was set back, and ends at once."""
    counts_all: bool = False
    """Whether failures of calls that were running already when the pause began count too."""


def doubling(first: float, longest: float) -> Rule:
    """Return the rule of a pause that each further failure doubles, up to `longest` (seconds)."""

    def next_call(times: tuple[float, ...]) -> float:
        return times[-1] + min(first * 2 ** (len(times) - 1), longest)

    return Rule(next_call, longest)


def _few_calls(times: tuple[float, ...]) -> float:
    # One second more than a third of an hour, because an hour may begin and end with a call.
    soonest = times[-1] + HOUR / MOST_CALLS + 1
    return max(soonest, times[-MOST_CALLS] + HOUR + 1) if len(times) >= MOST_CALLS else soonest


FEW_AN_HOUR = Rule(_few_calls, HOUR + 1, counts_all=True)
"""`MOST_CALLS` calls in any hour at most, and never all of them at once."""


@dataclass(frozen=True, slots=True)
class Failures:
    """The failures of a service in a row. Times are seconds of the guard's clock."""

    owner: str = ""
    """Id of the service and key; another key starts without a failure."""
    code: str = ""
    """The code of the last failure; empty: there is none."""
    message: str = ""
    remedy: str = ""
    times: tuple[float, ...] = ()
    hasty: int = 0
    """Failures of callers with little time, which may have been the caller's fault."""

    @classmethod
    def from_json(cls, text: str) -> Failures:
        """Return what was stored; no failure if the text is invalid."""
        try:
            stored: Any = json.loads(text)
            times = tuple(sorted(float(time) for time in stored["times"]))
            failures = cls(
                owner=str(stored["owner"]),
                code=str(stored["code"]),
                message=str(stored["message"]),
                remedy=str(stored["remedy"]),
                times=times,
                hasty=int(stored["hasty"]),
            )
        except (ValueError, TypeError, KeyError, OverflowError):
            return cls()
        return failures if times or not failures.code else cls()

    def to_json(self) -> str:
        """Return the failures as JSON. It contains nothing secret."""
        return json.dumps(asdict(self))


class KeyValueStore(Protocol):
    """Storage for what a next process must know about a service."""

    def get(self, name: str) -> str | None: ...
    def set(self, name: str, value: str) -> None: ...
    def swap(self, name: str, old: str, new: str) -> bool:
        """Store `new` if `old` is stored; return whether it was."""
        ...


class ServiceGuard:
    """Lets everyone call a service until it fails, and then nobody for a pause. Threads may share it."""

    def __init__(
        self,
        rule: Rule,
        clock: Callable[[], float],
        *,
        store: KeyValueStore | None = None,
        name: str = "",
        owner: str = "",
    ) -> None:
        """Guard a service.

        `clock` returns seconds; since 1970 if other processes share the store. `store` holds the failures by `name`;
        None, or while it cannot be used: for this process only. `owner` is an id for the service and its key.
        """
        self._rule = rule
        self._clock = clock
        self._store = store
        self._name = name
        self._owner = owner
        self._text = ""
        self._lock = threading.RLock()
        self._before_trial: Failures | None = None

    @property
    def reason(self) -> Diagnostic | None:
        """Why the last call failed; None if it succeeded, or if there was none."""
        return _reason(self._load()[1])

    @property
    def was_hasty(self) -> bool:
        """Whether a caller with little time has failed since the last success or pause."""
        return self._load()[1].hasty > 0

    def pause(self) -> tuple[Diagnostic, float] | None:
        """Return why nobody may call the service now, and for how many seconds; None if one may."""
        failures = self._load()[1]
        reason = _reason(failures)
        seconds = self._seconds_left(failures)
        return (reason, seconds) if reason is not None and seconds else None

    @property
    def seconds_left(self) -> float:
        """Seconds until somebody may call the service again, at least 0."""
        return self._seconds_left(self._load()[1])

    def admit(self) -> bool:
        """Return whether the caller may call the service.

        After a failure, only one caller may at a time. The call counts as failed from its beginning, so that a process
        that ends meanwhile has used it up.
        """
        with self._lock:
            text, failures = self._load()
            if not failures.code:
                return True
            if self._seconds_left(failures):
                return False
            started = replace(failures, times=_with(failures.times, self._clock()))
            if self._store is None:
                self._text = started.to_json()
            elif not self._store.swap(self._name, text, started.to_json()):
                return False  # another process was faster
            self._before_trial = failures
            return True

    def succeeded(self) -> None:
        """Let everyone call the service again."""
        with self._lock:
            self._before_trial = None
            if self._load()[1] != Failures(self._owner):
                self._save(Failures(self._owner))

    def failed(self, reason: Diagnostic, *, hasty: bool = False) -> None:
        """Begin a pause.

        The first failure in a row of a `hasty` caller, who had little time, begins none.
        """
        with self._lock:
            failures = self._load()[1]
            times = failures.times
            if self._before_trial is not None:
                times = times[:-1]  # `admit` has counted the call
            elif self._seconds_left(failures) and not self._rule.counts_all:
                return
            self._before_trial = None
            if hasty and not failures.hasty:
                self._save(replace(failures, hasty=1))
                return
            times = _with(times, self._clock())
            self._save(Failures(self._owner, reason.code, reason.message, reason.remedy, times))

    def abandoned(self) -> None:
        """Forget a call after a failure that ended without a result, so that the next caller may try."""
        with self._lock:
            if self._before_trial is not None:
                self._save(self._before_trial)
            self._before_trial = None

    def _load(self) -> tuple[str, Failures]:
        """Return what is stored, as text and as the failures of this owner."""
        if self._store is not None:
            with suppress(ProviderUnavailable):
                self._text = self._store.get(self._name) or ""
        failures = Failures.from_json(self._text)
        return self._text, failures if failures.owner == self._owner else Failures(self._owner)

    def _save(self, failures: Failures) -> None:
        self._text = failures.to_json()
        if self._store is not None:
            with suppress(ProviderUnavailable):
                self._store.set(self._name, self._text)

    def _seconds_left(self, failures: Failures) -> float:
        if not failures.code:
            return 0.0
        seconds = self._rule.next_call(failures.times) - self._clock()
        return seconds if 0 < seconds <= self._rule.longest else 0.0


def _with(times: tuple[float, ...], now: float) -> tuple[float, ...]:
    return (*times, now)[-KEPT_TIMES:]


def _reason(failures: Failures) -> Diagnostic | None:
    if not failures.code:
        return None
    return Diagnostic(stored_code(failures.code), failures.message, failures.remedy)
