"""The embedding provider of a backend and its fallback: opened when needed, replaced when they fail."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import inf
from threading import Thread
from typing import TYPE_CHECKING

from memoriter.backends._endpoint import (
    OPEN,
    Calls,
    Fallback,
    PatientProvider,
    SharedEndpoint,
    Slot,
    choose_slot,
    egress_notice,
    within,
)
from memoriter.backends._service_records import (
    PATIENCE,
    Attempts,
    Batches,
    Budget,
    Observed,
    Remembered,
    UsageMeter,
    reason_of,
)
from memoriter.embed import open_choice, refusal_of, spec_at_hand
from memoriter.environment import Deadline
from memoriter.errors import (
    EmbeddingError,
    InputRejected,
    InputTooLarge,
    MemoriterError,
    ProviderUnavailable,
    TransientFailure,
)
from memoriter.service_guard import ServiceGuard
from memoriter.types import Diagnostic
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.backends._service_records import Ledger
    from memoriter.embed import BatchRules, Choice, EmbeddingProvider, ProviderContext, ProviderSettings
    from memoriter.store import Store
    from memoriter.types import Attempt, Role

    Downloading = Callable[[int, int | None], None]

QUERY_SECONDS = 5.0
"""The longest time that a search waits for its query vector; at most half of the search's own time."""
FALLBACK_SECONDS = 600.0
"""How long the fallback serves before the first provider is tried again."""
LOADED = frozenset({"bundled", "fake", "local", "onnx"})
"""Kinds of providers that load a model in this process."""


@dataclass(slots=True)
class Embedding:
    """The providers of a backend: the configured one, and the fallback that replaces it for a while if it fails."""

    settings: ProviderSettings
    outside: ProviderContext
    ledger: Ledger
    budget: Budget = field(default_factory=Budget)
    rules: BatchRules | None = None
    """How to use batch interfaces; None disables them."""
    attended: bool = True
    """Whether a person sees notices; if not, only services that one was informed about before are used."""
    calls: Calls = field(default_factory=Calls)
    """Calls to services. `abort` ends all waiting."""
    _slots: dict[bool, Slot] = field(default_factory=dict[bool, Slot])
    _loading: Thread | None = None
    _fallback: Fallback | None = None
    """None while the first provider serves."""
    _lock: threading.RLock = field(default_factory=threading.RLock)
    """Held briefly, never during a request."""
    _load_lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while a local model is loaded."""
    _close_count: int = 0
    _loader_thread: int = 0
    """The identifier of the thread that loads it; 0 if none does."""
    _query_vectors: Remembered[tuple[bool, str, str], NDArray[np.float32]] = field(
        default_factory=Remembered[tuple[bool, str, str], "NDArray[np.float32]"]
    )
    """By whether the fallback made it, role and text."""
    _attempts: Attempts = field(init=False)

    def __post_init__(self) -> None:
        self._attempts = Attempts(self.ledger, self.outside.wall, self.settings.local_model)

    @property
    def failed(self) -> Diagnostic | None:
        """Why the fallback serves now; None while the first provider serves."""
        fallback = self._fallback
        return fallback and fallback.reason

    def slot(self) -> Slot:
        """Return the provider that serves now, with its model as far as that is known without loading or asking it.

        The first call looks for the model; if that fails, the provider is disabled.
        """
        is_fallback = self._fallback is not None
        slot = self._slots.get(is_fallback) or self._slot_of(fallback=is_fallback)
        if not slot.spec_checked and slot.choice is not None:
            slot.spec_checked = True
            try:
                slot.spec = spec_at_hand(slot.choice, self.settings, self.outside)
            except MemoriterError as error:
                self._disable(slot, error)
        return slot

    @property
    def provider_name(self) -> str:
        """The configured name of the provider that serves now; for `auto`, the provider that was chosen."""
        choice = self.slot().choice
        return choice.name if choice else self.settings.name

    @property
    def first_name(self) -> str:
        """The name of the provider that has priority over the fallback."""
        choice = self._slot_of(fallback=False).choice
        return choice.name if choice else self.settings.name

    @property
    def configured(self) -> bool:
        """Whether passages should have vectors, even if the provider cannot be used."""
        choice = self.slot().choice
        return choice is None or choice.kind != "none"

    @property
    def last_attempt(self) -> Attempt | None:
        """The last attempt of any process to reach the provider that serves now."""
        choice = self.slot().choice
        return None if choice is None or choice.kind == "none" else self._attempts.last(choice)

    @property
    def trouble(self) -> Diagnostic | None:
        """The reason why the last attempt to reach the provider failed; None if it succeeded."""
        attempt = self.last_attempt
        if attempt is None or attempt.reason is None:
            return None
        return reason_of(attempt.at, attempt.reason, self.provider_name)

    @property
    def unknown(self) -> bool:
        """Whether the model is known only after a request to the provider."""
        slot = self.slot()
        return slot.spec is None and slot.problem is None and slot.choice is not None and slot.choice.kind != "none"

    def open(self, deadline: Deadline | None = None, on_download: Downloading | None = None) -> EmbeddingProvider:
        """Return the open provider, for one caller.

        Args:
            deadline: how long this caller waits for a service, here and for each vector; None waits without limit.
            on_download: receives the bytes of a model downloaded so far and their total (None if unknown).

        Raises:
            EmbeddingError: the provider cannot be used; `GivenUp` if a service did not answer in time.
        """
        opened = self._opened(deadline, on_download)
        endpoint = self._endpoint
        return opened if endpoint is None else PatientProvider(opened, endpoint, deadline)

    def _opened(self, deadline: Deadline | None, on_download: Downloading | None = None) -> Observed:
        slot = self.slot()
        endpoint = self._endpoint
        if slot.opened is not None:
            return slot.opened
        if slot.problem is not None:
            raise ProviderUnavailable(slot.problem.message, remedy=slot.problem.remedy)
        choice = slot.choice
        assert choice is not None
        if endpoint is None:
            return self._open_local(slot, choice, on_download)
        if slot.spec is not None:  # opening sends no request
            return self._open_slot(slot, choice, None)
        return endpoint.ask((OPEN,), lambda: self._open_slot(slot, choice, None), within(deadline, QUERY_SECONDS))

    def _open_local(self, slot: Slot, choice: Choice, on_download: Downloading | None) -> Observed:
        """Load a local model, in one thread at a time."""
        with self._load_lock:
            self._loader_thread = threading.get_ident()
            try:
                return slot.opened or self._open_slot(slot, choice, on_download)
            finally:
                self._loader_thread = 0

    def _open_slot(self, slot: Slot, choice: Choice, on_download: Downloading | None) -> Observed:
        close_count = self._close_count
        sends_request = choice.kind != "remote" or slot.spec is None
        try:
            opened = self._observed(choice, on_download)
            slot.spec = opened.spec
        except EmbeddingError as error:
            self._attempts.note(choice, error)
            if isinstance(error, ProviderUnavailable):
                self._disable(slot, error)
            raise
        except MemoriterError as error:
            self._disable(slot, error)
            unavailable = ProviderUnavailable(error.message, remedy=error.remedy)
            self._attempts.note(choice, unavailable)
            raise unavailable from error
        if sends_request:
            self._attempts.note(choice, None)
        if close_count == self._close_count:
            slot.opened = opened
        else:  # `close` was called while it was opened
            opened.close()
        return opened

    def _observed(
        self, choice: Choice, on_download: Downloading | None = None, *, ignore_stored: bool = False
    ) -> Observed:
        """Open a provider whose attempts are recorded. Raises the errors of `open_choice`."""
        env = replace(self.outside, downloading=on_download)
        opened = open_choice(choice, self.settings, env, self.account(choice), ignore_stored=ignore_stored)
        return Observed(opened, partial(self._attempts.note, choice))

    @property
    def _endpoint(self) -> SharedEndpoint | None:
        """The service that serves now; None if the provider is not remote."""
        slot = self.slot()
        choice = slot.choice
        if choice is None or choice.kind != "remote":
            return None
        place = f"pause:{choice.vendor}:{choice.endpoint}"
        guard = ServiceGuard(PATIENCE, self.outside.wall, store=self.ledger, name=place)
        name = f"{choice.name} at {choice.endpoint}"
        note = partial(self._attempts.note, choice)
        return SharedEndpoint(name, self.calls, guard, self.outside, slot.late, note)

    @property
    def paused(self) -> Diagnostic | None:
        """The reason why no requests are sent to the service for a while, or None."""
        return endpoint.paused if (endpoint := self._endpoint) else None

    def try_again(self) -> None:
        """End the pause of the service, because the user asked for a request now."""
        if (endpoint := self._endpoint) is not None:
            endpoint.try_again()

    def warm(self) -> None:
        """Start loading a local model in a thread of its own. Do nothing for a service."""
        slot = self.slot()
        if slot.choice is None or slot.choice.kind not in LOADED or self.warming or slot.opened is not None:
            return
        self._loading = Thread(target=self._load, name="memoriter-warm", daemon=True)
        self._loading.start()

    @property
    def warming(self) -> bool:
        """Whether another thread is loading the model. No other thread opens it meanwhile."""
        elsewhere = self._load_lock.locked() and self._loader_thread != threading.get_ident()
        return elsewhere or (self._loading is not None and self._loading.is_alive())

    def await_model(self, seconds: float) -> None:
        """Wait up to `seconds` for a model that is being loaded."""
        if self._loading is not None:
            self._loading.join(max(seconds, 0.0))

    def _load(self) -> None:
        with suppress(EmbeddingError):  # the next call of `open` raises it
            self.open()

    def renew(self) -> None:
        """Request the model of a service again, since it may have changed. No answer changes nothing."""
        slot = self.slot()
        if slot.choice is None or slot.choice.kind != "remote" or slot.problem is not None:
            return
        try:
            opened = self._observed(slot.choice, ignore_stored=True)
        except EmbeddingError as error:
            self._attempts.note(slot.choice, error)
            return
        except MemoriterError:
            return
        if slot.opened is not None:
            slot.opened.close()
        slot.opened = opened
        slot.spec = opened.spec
        slot.spec_checked = True
        self._query_vectors.clear()

    def query_vector(self, text: str, deadline: Deadline | None = None, role: Role = "query") -> NDArray[np.float32]:
        """Return the vector of a query (dims,). Wait for a service no longer than `QUERY_SECONDS`.

        A vector that arrives later is used when the same query is made again. A hypothetical answer has the role
        `document`.

        Raises:
            EmbeddingError: there is no vector; `GivenUp` if a service did not answer in time.
        """
        key = self._fallback is not None, role, text
        if (known := self._query_vectors.get(key)) is not None:
            return known
        endpoint = self._endpoint
        if endpoint is not None and (paused := endpoint.paused) is not None:
            raise TransientFailure(paused.message, remedy=paused.remedy)
        opened = self._opened(deadline)
        if endpoint is None:
            return self._query_vectors.put(key, opened.embed([text], role=role)[0])
        limit = deadline or Deadline(self.outside.monotonic, inf)
        patience = within(limit, min(limit.left / 2, QUERY_SECONDS))
        seconds = max(limit.left, 2 * QUERY_SECONDS)

        def fetch() -> NDArray[np.float32]:
            return self._query_vectors.put(key, opened.embed_within([text], role=role, seconds=seconds)[0])

        return endpoint.ask(("query", *map(str, key)), fetch, patience)

    def knows(self, text: str, role: Role = "query") -> bool:
        """Return whether the vector of a query is at hand."""
        return self._query_vectors.get((self._fallback is not None, role, text)) is not None

    def fall_back(self, error: EmbeddingError) -> bool:
        """Switch to the fallback for a while after an error. Return False if there is no fallback to switch to."""
        if self._fallback is not None or isinstance(error, InputTooLarge | InputRejected):
            return False
        slot = self._slot_of(fallback=True)
        if slot.choice is None:
            return False
        message = f"{self.first_name} does not work now; {slot.choice.name} replaces it. {error.message}"
        reason = Diagnostic("provider_fallback", message, error.remedy)
        self._fallback = Fallback(self.outside.monotonic(), reason)
        return True

    def select_provider(self) -> None:
        """Switch to the fallback if the first provider cannot start, or is not asked after a failure in any process.

        Try the first one again after a while.
        """
        now = self.outside.monotonic()
        fallback = self._fallback
        if fallback is not None and now - fallback.since >= FALLBACK_SECONDS:
            self._fallback = None
        for is_fallback, slot in list(self._slots.items()):
            if slot.problem is not None:
                if now - slot.problem_since >= FALLBACK_SECONDS or self._recently_worked(slot):
                    self._slots.pop(is_fallback, None)
            elif slot.spec is None and self._recently_worked(slot):  # another process may have learned the model
                slot.spec_checked = False
        slot = self.slot()
        is_service = slot.choice is not None and slot.choice.kind == "remote"
        problem = slot.problem or (self.paused if is_service else None)
        if problem is not None:
            self.fall_back(ProviderUnavailable(problem.message, remedy=problem.remedy))

    def _recently_worked(self, slot: Slot) -> bool:
        """Return whether the last attempt of any process to reach a provider succeeded."""
        if slot.choice is None or slot.opened is not None:
            return False
        attempt = self._attempts.last(slot.choice)
        return attempt is not None and attempt.ok

    def refusal(self, tokens: int) -> Diagnostic | None:
        """Return why a request of `tokens` tokens cannot be sent to the service now, or None. Nothing is sent."""
        slot = self.slot()
        choice = slot.choice
        if choice is None or choice.remote is None or slot.problem is not None:
            return None
        try:
            if tokens and (account := self.account(choice)) is not None:
                account.check(tokens)
            error = refusal_of(choice, self.outside)
        except EmbeddingError as refused:
            error = refused
        return Diagnostic.of(error) if error else self.paused

    def egress_notice(self) -> str | None:
        """Return where text may be sent from now on; None if nowhere, or if the user was informed before."""
        first, second = (self._slot_of(fallback=fallback).choice for fallback in (False, True))
        return egress_notice(first, second, self.ledger, self.settings, self.outside)

    def account(self, choice: Choice) -> UsageMeter | None:
        """Return the usage meter of a choice; None if it costs nothing."""
        if not choice.metered or choice.remote is None:
            return None
        return UsageMeter(self.ledger, self.budget, choice.vendor, choice.model, priced=choice.official_endpoint)

    def batches(self, provider: EmbeddingProvider, index: Store) -> Batches | None:
        """Return the batch interface of an open provider; None if it has none, or batches are disabled."""
        slot = self.slot()
        choice = slot.choice
        if self.rules is None or choice is None or choice.kind != "remote":
            return None
        from memoriter.embed import batch_vendors

        if choice.vendor not in batch_vendors():
            return None
        opened = slot.opened
        note = partial(self._attempts.note, choice)
        inner = provider if opened is None else opened.inner
        return Batches(index, inner, self.outside, self.rules, self.account(choice), note)

    def close(self) -> None:
        """Close models and connections."""
        self._close_count += 1
        for slot in self._slots.values():
            if slot.opened is not None:
                self.calls.when_idle(slot.opened.close)
                slot.opened = None
        self.ledger.close()

    def _slot_of(self, *, fallback: bool) -> Slot:
        with self._lock:
            if fallback in self._slots:
                return self._slots[fallback]
            now = self.outside.monotonic()
            consents = None if self.attended else self.ledger
            self._slots[fallback] = choose_slot(self.settings, fallback=fallback, now=now, consents=consents)
            return self._slots[fallback]

    def _disable(self, slot: Slot, error: MemoriterError) -> None:
        """Let no caller use the provider from now on."""
        slot.problem = Diagnostic.of(error)
        slot.problem_since = self.outside.monotonic()
