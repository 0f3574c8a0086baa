"""A circuit breaker for services without quota or permission, where calls cost money in vain."""

from __future__ import annotations

import hashlib
import threading
from typing import TYPE_CHECKING, TypeVar

from memoriter.embed.remote._wire import redact
from memoriter.errors import EmbeddingError, OutOfQuota, Unauthorised
from memoriter.service_guard import FEW_AN_HOUR, ServiceGuard
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.service_guard import KeyValueStore

_REASONS = {error.code: error for error in (OutOfQuota, Unauthorised)}
T = TypeVar("T")


def _owner_of(identity: tuple[str, ...]) -> str:
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
        store: KeyValueStore | None = None,
    ) -> None:
        """Create the breaker for a service and its keys. Another service, address or key starts with a closed one.

        The secrets are removed from the messages of all errors, in case the service repeats them. `wall` returns
        seconds since 1970; `store` holds the failures, by default for this process only.
        """
        self._secrets = secrets
        owner = _owner_of((*identity, *secrets))
        name = ":".join(("breaker", *identity, owner))
        self._guard = ServiceGuard(FEW_AN_HOUR, wall, store=store, name=name, owner=owner)
        self._lock = threading.RLock()

    def call(self, call: Callable[[], T]) -> T:
        """Run `call` unless the circuit is open; when it is half-open, allow one probe at a time.

        Raises EmbeddingError: the error of the call, or `OutOfQuota` or `Unauthorised` if the call is not made.
        """
        with self._lock:
            reason = self._guard.reason
            if reason is not None:
                if not self._guard.admit():
                    raise _refusal(reason, self._guard.seconds_left)
                return self._run_and_record(call)
        return self._run_and_record(call)

    def refusal(self) -> EmbeddingError | None:
        """Return the error if no call is allowed now, or None."""
        pause = self._guard.pause()
        return None if pause is None else _refusal(*pause)

    def _run_and_record(self, call: Callable[[], T]) -> T:
        """Return what the call returns. Errors other than `OutOfQuota` and `Unauthorised` are not recorded."""
        try:
            result = call()
        except EmbeddingError as error:
            error.message = redact(error.message, self._secrets)
            error.args = (error.message,)
            if isinstance(error, OutOfQuota | Unauthorised):
                self._guard.failed(Diagnostic.of(error))
            raise
        self._guard.succeeded()
        return result


def _refusal(reason: Diagnostic, seconds: float) -> EmbeddingError:
    """Return the error for a call that is not allowed for some seconds."""
    kind = _REASONS.get(reason.code, OutOfQuota)
    minutes = max(1, round(seconds / 60))
    error = kind(f"The service is not contacted again for {minutes} min. {reason.message}", remedy=reason.remedy)
    error.attempted = False
    return error
