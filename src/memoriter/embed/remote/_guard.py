"""A circuit breaker around calls. It checks before each call, records the outcome, and stores its state."""

from __future__ import annotations

import hashlib
import threading
from typing import TYPE_CHECKING, Protocol, TypeVar

from memoriter.embed.remote._breaker import BreakerState
from memoriter.embed.remote._wire import redact
from memoriter.errors import EmbeddingError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


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
        unchanged, self._breaker = self._breaker == old, new
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
        breaker, now = self._store.load().for_owner(self._owner), self._wall()
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
