"""The last attempt to reach each provider, stored so that every process reports the same state."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from memoriter.codes import stored_code
from memoriter.errors import InputRejected, InputTooLarge, ProviderUnavailable, TransientFailure
from memoriter.types import Attempt, Diagnostic
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed import Choice, EmbeddingProvider
    from memoriter.errors import EmbeddingError
    from memoriter.index import Ledger
    from memoriter.types import ModelSpec, Role

KEPT = frozenset({"remote", "local", "onnx"})
"""Kinds of providers whose attempts the ledger stores. The bundled model needs nothing outside this process."""
FRESH_SECONDS = 60.0
"""A further success is stored only after this time, because most calls follow another success."""


@dataclass(slots=True)
class Attempts:
    """The last attempt for each provider. Attempts of providers outside this process are stored in the ledger."""

    ledger: Ledger
    wall: Callable[[], float]
    local_model: str = ""
    _in_process: dict[str, Attempt] = field(default_factory=dict[str, Attempt])

    def last(self, choice: Choice) -> Attempt | None:
        """Return the last attempt of any process; None if there was none with these settings."""
        name = self._name(choice)
        if choice.kind in KEPT:
            with suppress(ProviderUnavailable):  # without a ledger this process knows only its own attempts
                stored = _from_json(self.ledger.get(name))
                if stored is not None:
                    return stored
        return self._in_process.get(name)

    def note(self, choice: Choice, error: EmbeddingError | None) -> None:
        """Record an attempt that has just ended.

        Args:
            choice: the provider that was called.
            error: why it failed; None for a success.
        """
        now, last = self.wall(), self.last(choice)
        if error is None:
            if last is not None and last.ok and abs(now - last.at) < FRESH_SECONDS:
                return
            attempt = Attempt(now)
        elif not error.attempted and (last is not None or isinstance(error, TransientFailure)):
            return  # the call was never sent, so it is not evidence of a failure
        else:
            attempt = Attempt(now, Diagnostic(error.code, error.message, error.remedy))
        name = self._name(choice)
        self._in_process[name] = attempt
        if choice.kind in KEPT:
            with suppress(ProviderUnavailable):
                self.ledger.set(name, _to_json(attempt))

    def _name(self, choice: Choice) -> str:
        """Return the key in the ledger. A different address, model or API key of the service has its own record."""
        secrets = choice.remote.secrets if choice.remote is not None else ()
        parts = (choice.kind, choice.name, choice.vendor, choice.endpoint, choice.model, self.local_model, *secrets)
        return "attempt:" + hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


class Observed:
    """A provider whose outcomes are recorded. Safe to share between threads, as the provider itself is."""

    def __init__(self, inner: EmbeddingProvider, note: Callable[[EmbeddingError | None], None]) -> None:
        """Wrap a provider.

        Args:
            inner: the provider.
            note: receives the error of each call, or None for a success.
        """
        self.inner = inner
        self._note = note

    @property
    def spec(self) -> ModelSpec:
        return self.inner.spec

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """Return the provider's vectors and record the outcome.

        The refusal of one document is not recorded, because it is no sign of a failing provider.
        """
        from memoriter.errors import EmbeddingError

        try:
            vectors = self.inner.embed(texts, role=role)
        except EmbeddingError as error:
            if role == "query" or not isinstance(error, InputRejected | InputTooLarge):
                self._note(error)
            raise
        if texts:
            self._note(None)
        return vectors

    def count_tokens(self, text: str) -> int:
        return self.inner.count_tokens(text)

    def hint_batch_size(self, chunks: int) -> None:
        self.inner.hint_batch_size(chunks)

    def close(self) -> None:
        self.inner.close()


def reason_of(attempt: Attempt | None, name: str) -> Diagnostic | None:
    """Return why the last attempt failed, with its time; None if it succeeded or there was none."""
    if attempt is None or attempt.reason is None:
        return None
    at = datetime.fromtimestamp(attempt.at, tz=UTC).strftime("%Y-%m-%d %H:%M:%S")
    code, message, remedy = attempt.reason.code, attempt.reason.message, attempt.reason.remedy
    return Diagnostic(code, f"The last attempt to reach {name} failed at {at} UTC: {message}", remedy)


def _to_json(attempt: Attempt) -> str:
    reason = attempt.reason
    fields = None if reason is None else [reason.code, reason.message, reason.remedy]
    return json.dumps({"at": attempt.at, "reason": fields})


def _from_json(text: str | None) -> Attempt | None:
    """Return the stored attempt; None if the text is not one."""
    try:
        stored: Any = json.loads(text or "")
        at, reason = float(stored["at"]), stored["reason"]
        datetime.fromtimestamp(at, tz=UTC)
        if reason is None:
            return Attempt(at)
        code, message, remedy = map(str, reason)
        return Attempt(at, Diagnostic(stored_code(code), message, remedy))
    except (ValueError, TypeError, KeyError, OverflowError, OSError):
        return None
