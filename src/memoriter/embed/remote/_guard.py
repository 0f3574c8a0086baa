"""A breaker at work: asked before every call, told after it, kept where the next process finds it."""

from __future__ import annotations

import hashlib
import threading
from typing import TYPE_CHECKING, Protocol, TypeVar

from memoriter.embed.remote._breaker import Breaker
from memoriter.errors import EmbeddingError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class BreakerStore(Protocol):
    """Where a breaker is kept between calls and processes."""

    def load(self) -> Breaker: ...
    def save(self, breaker: Breaker) -> None: ...


class _Memory:
    """A breaker for this process alone."""

    def __init__(self) -> None:
        self._breaker = Breaker()

    def load(self) -> Breaker:
        return self._breaker

    def save(self, breaker: Breaker) -> None:
        self._breaker = breaker


class Guard:
    """Lets calls through while that makes sense. Threads may share it."""

    def __init__(
        self, identity: tuple[str, ...], *, wall: Callable[[], float], store: BreakerStore | None = None
    ) -> None:
        """`identity` is service, address and key: another one starts anew. `wall` is seconds since 1970."""
        # Kept and shown as a hash of all of it, from which no key can be found.
        self._owner = hashlib.sha256("\0".join(identity).encode()).hexdigest()[:12]
        self._wall = wall
        self._store = store or _Memory()
        self._gate = threading.RLock()

    def call(self, call: Callable[[], T]) -> T:
        """What the call gives; one trial at a time while the breaker is open.

        Raises:
            EmbeddingError: that of the call, or `OutOfQuota` or `Unauthorised` in its stead.
        """
        with self._gate:
            breaker = self._store.load().of(self._owner)
            now = self._wall()
            if not breaker.allows(now):
                raise breaker.refusal(now)
            if breaker.is_open:
                self._store.save(breaker.begun(now))
                return self._noted(call, trial=True)
        return self._noted(call, trial=False)

    def _noted(self, call: Callable[[], T], *, trial: bool) -> T:
        try:
            answer = call()
        except EmbeddingError as error:
            self._note(error, trial=trial)
            raise
        self._note(None, trial=trial)
        return answer

    def _note(self, outcome: EmbeddingError | None, *, trial: bool) -> None:
        with self._gate:
            before = self._store.load()
            after = before.of(self._owner).after(outcome, self._wall(), trial=trial)
            if after != before and (before.is_open or after.is_open):
                self._store.save(after)
