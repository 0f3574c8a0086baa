"""A circuit breaker for services without quota or permission, where calls cost money in vain.

It checks before each call, records the outcome, and stores its state.
"""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from memoriter.embed.remote._wire import redact
from memoriter.errors import EmbeddingError, OutOfQuota, Unauthorised
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

HOUR = 3600.0
MOST_CALLS = 3
"""Maximum number of failed calls in any hour."""
_PAUSE = HOUR / MOST_CALLS + 1
"""Seconds between two probes, so that the calls allowed in an hour are never spent at once.

One second more than a third of an hour, because an hour may begin and end with a call.
"""
_REASONS = {error.code: error for error in (OutOfQuota, Unauthorised)}
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BreakerState:
    """The state of a breaker: closed while `reason` is empty, otherwise open.

    An open breaker allows occasional probes, and a successful one closes it. Times are seconds since 1970, so that they
    are valid in the next process.
    """

    owner: str = ""
    """Id of the service and key; another key starts with a closed breaker."""
    reason: str = ""
    """`out_of_quota` or `unauthorised`."""
    message: str = ""
    remedy: str = ""
    calls: tuple[float, ...] = ()
    """Times at which the calls of the last hour began or failed, ascending."""

    @property
    def is_open(self) -> bool:
        return bool(self.reason)

    def allows(self, now: float) -> bool:
        """Return whether a call is allowed."""
        return self.seconds_until_allowed(now) <= 0

    def seconds_until_allowed(self, now: float) -> float:
        """Return the seconds until a call is allowed, or 0."""
        recent = self._recent(now)
        if not self.is_open or not recent:
            return 0.0
        waits = [recent[-1] + _PAUSE - now]
        if len(recent) >= MOST_CALLS:
            waits.append(recent[-MOST_CALLS] + HOUR + 1 - now)
        return max(*waits, 0.0)

    def after_probe_start(self, now: float) -> BreakerState:
        """Return the state after a probe was allowed. Save it before the call, during which the process may end."""
        return replace(self, calls=(*self._recent(now), now)) if self.is_open else self

    def after(self, outcome: EmbeddingError | None, now: float, *, probe: bool = False) -> BreakerState:
        """Return the state after a call.

        Errors other than `OutOfQuota` and `Unauthorised` leave the state as it is.

        Args:
            outcome: the error, or None for a success.
            now: seconds since 1970.
            probe: whether `after_probe_start` has already counted the call.
        """
        if outcome is None:
            return BreakerState(self.owner)
        if not isinstance(outcome, OutOfQuota | Unauthorised):
            return self
        calls = self._recent(now) if probe else (*self._recent(now), now)
        return BreakerState(self.owner, outcome.code, outcome.message, outcome.remedy, calls)

    def refusal(self, now: float) -> EmbeddingError:
        """Return the error for a call that is not allowed."""
        kind = _REASONS.get(self.reason, OutOfQuota)
        minutes = max(1, round(self.seconds_until_allowed(now) / 60))
        error = kind(f"The service is not contacted again for {minutes} min. {self.message}", remedy=self.remedy)
        error.attempted = False
        return error

    def for_owner(self, owner: str) -> BreakerState:
        """Return this state if it belongs to `owner`, or else a closed one."""
        return self if self.owner == owner else BreakerState(owner)

    def to_json(self) -> str:
        """Return the state as JSON. It contains nothing secret."""
        return json.dumps(
            {
                "owner": self.owner,
                "reason": self.reason,
                "message": self.message,
                "remedy": self.remedy,
                "calls": self.calls,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> BreakerState:
        """Return the stored state, or a closed one if the text is invalid."""
        try:
            stored: Any = json.loads(text)
            calls = tuple(sorted(float(call) for call in stored["calls"]))
            reason = stored["reason"] if stored["reason"] in _REASONS else ""
            texts = {name: str(stored[name]) for name in ("owner", "message", "remedy")}
        except (ValueError, TypeError, KeyError):
            return cls()
        return cls(reason=reason, calls=calls, **texts)

    def _recent(self, now: float) -> tuple[float, ...]:
        """Return the calls of the last hour, and of the next hour in case the clock was set back."""
        return tuple(call for call in self.calls if abs(now - call) < HOUR + 1)


class BreakerStore(Protocol):
    """Storage for the breaker's state between calls and processes."""

    def load(self) -> BreakerState: ...
    def save(self, breaker: BreakerState) -> None: ...
    def swap(self, old: BreakerState, new: BreakerState) -> bool:
        """Save `new` if the stored state is still `old`; return whether it was."""
        ...


class _InMemoryStore:
    """Keeps the state for this process only."""

    def __init__(self) -> None:
        self._breaker = BreakerState()

    def load(self) -> BreakerState:
        return self._breaker

    def save(self, breaker: BreakerState) -> None:
        self._breaker = breaker

    def swap(self, old: BreakerState, new: BreakerState) -> bool:
        unchanged = self._breaker == old
        self._breaker = new
        return unchanged


def owner_of(identity: tuple[str, ...]) -> str:
    """Return an id for a service and a key: a hash of all parts, from which the key cannot be recovered."""
    return hashlib.sha256("\0".join(identity).encode()).hexdigest()[:12]


class CircuitBreaker:
    """Allows or refuses calls to one service. Threads may share it."""

    def __init__(
        self,
        identity: tuple[str, ...],
        secrets: tuple[str, ...],
        *,
        wall: Callable[[], float],
        store: BreakerStore | None = None,
    ) -> None:
        """Create the breaker for a service and its keys.

        Args:
            identity: service and address. Another service, address or key starts with a closed breaker.
            secrets: removed from the messages of all errors, in case the service repeats them.
            wall: returns seconds since 1970.
            store: holds the state; by default this process only.
        """
        self._owner = owner_of((*identity, *secrets))
        self._secrets = secrets
        self._wall = wall
        self._store = store or _InMemoryStore()
        self._lock = threading.RLock()

    def call(self, call: Callable[[], T]) -> T:
        """Run `call` unless the circuit is open; when it is half-open, allow one probe at a time.

        Raises:
            EmbeddingError: the error of the call, or `OutOfQuota` or `Unauthorised` if the call is not made.
        """
        with self._lock:
            breaker = self._store.load().for_owner(self._owner)
            now = self._wall()
            if not breaker.allows(now):
                raise breaker.refusal(now)
            if breaker.is_open:
                started = breaker.after_probe_start(now)
                if not self._store.swap(breaker, started):  # another process runs the probe
                    raise started.refusal(now)
                return self._run_and_record(call, probe=True)
        return self._run_and_record(call, probe=False)

    def refusal(self) -> EmbeddingError | None:
        """Return the error if no call is allowed now, or None."""
        breaker = self._store.load().for_owner(self._owner)
        now = self._wall()
        return None if breaker.allows(now) else breaker.refusal(now)

    def _run_and_record(self, call: Callable[[], T], *, probe: bool) -> T:
        try:
            result = call()
        except EmbeddingError as error:
            error.message = redact(error.message, self._secrets)
            error.args = (error.message,)
            self._record(error, probe=probe)
            raise
        self._record(None, probe=probe)
        return result

    def _record(self, outcome: EmbeddingError | None, *, probe: bool) -> None:
        with self._lock:
            previous = self._store.load()
            updated = previous.for_owner(self._owner).after(outcome, self._wall(), probe=probe)
            if updated != previous and (previous.is_open or updated.is_open):
                self._store.save(updated)
