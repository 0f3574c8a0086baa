"""One embedding provider: its slot, and the calls to its service, which is paused after it did not answer.

Calls have threads of their own, so that no caller has to wait for a call that hangs.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from memoriter.embed import SendsTexts, choose, choose_fallback, spec_at_hand
from memoriter.environment import Deadline
from memoriter.errors import EmbeddingError, MemoriterError, ProviderUnavailable, TransientFailure, sentence
from memoriter.providers import AUTO
from memoriter.types import Diagnostic
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.backends._service_records import Ledger, Observed
    from memoriter.embed import Choice, EmbeddingProvider, ProviderContext, ProviderSettings
    from memoriter.service_guard import ServiceGuard
    from memoriter.types import ModelSpec, Role

    Key = tuple[str, ...]


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
        self.aborted = False
        """Whether `abort` was called."""

    def run(self, key: Hashable, call: Callable[[], _T], *, service: str, deadline: Deadline | None = None) -> _T:
        """Return what the call returns, or raise what it raises.

        Raises:
            GivenUp: the deadline passed, or `abort` was called.
        """
        with self._lock:
            running = self._running.get(key)
            if running is None and not self.aborted:
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

    def abort(self) -> None:
        """End all waiting, now and later. The results of running calls are discarded."""
        with self._lock:
            self.aborted = True
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


BATCH = "document"
OPEN = "open"
"""The purpose of a call, as the first part of its key."""
BATCH_SECONDS = 10.0
"""How long indexing with a deadline waits for one batch.

The request itself goes on, and its vectors are used when they arrive.
"""
FAIR_SECONDS = 3.0
"""A service that had less time than this may just be slow. It is paused only if that happens twice in a row."""
SLOW_SECONDS = 1.0
"""A faster failure delays no caller, so it does not pause the service."""
MOST_LATE = 4_096
"""The most texts whose late vectors are kept until they are requested again."""


class LateVectors:
    """Vectors by text that arrived after their caller had stopped waiting."""

    def __init__(self) -> None:
        self._vectors: dict[str, NDArray[np.float32]] = {}

    def keep(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Store the vectors of a batch. Only the newest `MOST_LATE` of all batches are kept."""
        if len(vectors) == len(texts):
            self._vectors.update(zip(texts, vectors, strict=True))
        for text in list(self._vectors)[:-MOST_LATE]:
            self._vectors.pop(text, None)

    def pop(self, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Return and remove the stored vectors of these texts."""
        vectors = {text: self._vectors.pop(text, None) for text in set(texts)}
        return {text: vector for text, vector in vectors.items() if vector is not None}


@dataclass(frozen=True, slots=True)
class SharedEndpoint:
    """One service, shared by all callers in this process."""

    name: str
    """The name of the service in messages."""
    calls: Calls
    guard: ServiceGuard
    env: ProviderContext
    late: LateVectors
    note: Callable[[EmbeddingError], None]
    """Records a call that all callers stopped waiting for. It counts as failed until a response arrives."""

    @property
    def paused(self) -> Diagnostic | None:
        """The reason why no requests are sent to the service now, or None."""
        pause = self.guard.pause()
        if pause is None:
            return None
        reason, seconds = pause
        message = f"{sentence(reason.message)} Only keyword search works until the service is contacted again."
        remedy = f"Check the service; it is contacted again in {max(1, round(seconds))} s."
        return Diagnostic(reason.code, message, remedy)

    def ask(self, key: Key, call: Callable[[], _T], deadline: Deadline | None) -> _T:
        """Return what the call returns.

        Args:
            key: the name of the call; its first part is its purpose. A running call of the same name is joined.
            call: runs in a thread of its own.
            deadline: how long to wait; None waits until the call ends.

        Raises:
            EmbeddingError: the call raised it; `GivenUp` if the deadline passed.
        """
        named = (key[0], self.name, *key[1:])
        try:
            return self.calls.run(named, lambda: self._recorded(key[0], call), service=self.name, deadline=deadline)
        except GivenUp as error:
            if key[0] != BATCH or error.waited >= BATCH_SECONDS:
                self._pause(error, hasty=key[0] != OPEN and error.waited < FAIR_SECONDS)
            raise

    def await_batches(self, deadline: Deadline | None) -> None:
        """Wait for the batch requests that are running. Raises GivenUp."""
        waited = self.calls.await_others(self._is_batch, deadline)
        if waited is None:
            return
        error = GivenUp(f"{self.name} has not answered for {waited:.0f} s", waited=waited)
        if waited >= BATCH_SECONDS:
            self._pause(error)
        raise error

    def _is_batch(self, key: object) -> bool:
        return isinstance(key, tuple) and key[:2] == (BATCH, self.name)

    def try_again(self) -> None:
        """End the pause, because the user asked for a request now."""
        if self.guard.pause() is not None:
            self.guard.succeeded()

    def _recorded(self, kind: str, call: Callable[[], _T]) -> _T:
        started = self.env.monotonic()
        try:
            result = call()
        except TransientFailure as error:
            if self.env.monotonic() - started >= SLOW_SECONDS:
                self._pause(error)
            raise
        if kind != OPEN:  # opening a known model sends no request
            self.guard.succeeded()
        return result

    def _pause(self, error: TransientFailure, *, hasty: bool = False) -> None:
        if self.calls.aborted:
            return
        if isinstance(error, GivenUp) and (not hasty or self.guard.was_hasty):
            self.note(error)  # a single short wait is not evidence of a failure
        self.guard.failed(Diagnostic.of(error), hasty=hasty)


class PatientProvider:
    """A provider of a service for one caller, who stops waiting at a deadline of their own."""

    def __init__(self, provider: EmbeddingProvider, endpoint: SharedEndpoint, deadline: Deadline | None) -> None:
        """Wrap an open provider. Without a deadline, wait for each call until it ends."""
        self._provider = provider
        self._endpoint = endpoint
        self._deadline = deadline

    @property
    def spec(self) -> ModelSpec:
        return self._provider.spec

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """Return vectors (texts, dimensions). Wait for a batch that is running before sending another.

        Raises:
            EmbeddingError: the provider failed; `GivenUp` if the deadline passed.
        """
        deadline = within(self._deadline, BATCH_SECONDS)
        if role == "query":
            return self._endpoint.ask((role, *texts), lambda: self._provider.embed(texts, role=role), deadline)
        return self._documents(list(texts), deadline)

    def _documents(self, texts: list[str], deadline: Deadline | None) -> NDArray[np.float32]:
        import numpy as np

        late = self._endpoint.late
        self._endpoint.await_batches(deadline)
        vectors_by_text = late.pop(texts)
        rest = [text for text in texts if text not in vectors_by_text]

        def fetch() -> NDArray[np.float32]:
            vectors = self._provider.embed(rest, role="document")
            late.keep(rest, vectors)
            return vectors

        if rest:
            fetched = self._endpoint.ask((BATCH, *rest), fetch, deadline)
            late.pop(rest)
            if not vectors_by_text:
                return fetched
            vectors_by_text.update(zip(rest, fetched, strict=True))
        return np.array([vectors_by_text[text] for text in texts])

    def count_tokens(self, text: str) -> int:
        return self._provider.count_tokens(text)

    def outgoing(self, text: str) -> str:
        """Return the text as it leaves this process."""
        return self._provider.outgoing(text) if isinstance(self._provider, SendsTexts) else text

    def hint_batch_size(self, chunks: int) -> None:
        self._provider.hint_batch_size(chunks)

    def close(self) -> None:
        """Do nothing: the provider is shared."""


def within(deadline: Deadline | None, seconds: float) -> Deadline | None:
    """Return the earlier of the deadline and the moment in `seconds`. None stays None."""
    if deadline is None:
        return None
    return Deadline(deadline.clock, min(deadline.at, deadline.clock() + seconds))


UNKNOWN = "provider_unknown"
ANY_KEY = "yes"
"""Stands for every source of a key, in the records of the services that a person was informed about."""


@dataclass(frozen=True, slots=True)
class Fallback:
    """The time in which the fallback serves."""

    since: float
    """Monotonic seconds."""
    reason: Diagnostic


@dataclass(slots=True)
class Slot:
    """One provider: chosen, and perhaps opened or failed."""

    choice: Choice | None
    problem: Diagnostic | None = None
    """Why no caller can use it."""
    problem_since: float = 0.0
    """When the problem was found, in monotonic seconds."""
    spec: ModelSpec | None = None
    spec_checked: bool = False
    opened: Observed | None = None
    late: LateVectors = field(default_factory=LateVectors)


def choose_slot(settings: ProviderSettings, *, fallback: bool, now: float, consents: Ledger | None) -> Slot:
    """Return the slot of the provider that the settings name; if it cannot be used, a slot with a problem.

    With `consents`, only services that a person was informed about are used.
    """
    try:
        choice = choose_fallback(settings) if fallback else choose(settings)
        if consents is None or choice is None or is_consented(choice, consents):
            return Slot(choice)
        name = settings.fallback if fallback else settings.name
        if name.strip() in {"", AUTO}:  # nobody has named a service: one that stays on this machine serves
            return choose_slot(
                replace(settings, remote=replace(settings.remote, api_key="")),
                fallback=fallback,
                now=now,
                consents=consents,
            )
        key = f", with the key from {choice.key_source}" if choice.key_source else ""
        destination = f"{choice.name} at {choice.endpoint}{key}"
        message = f"Nothing is sent to {destination}: you have not seen the notice about this service yet."
        remedy = "Run `memoriter index` in a terminal to use it, or set memorySearch.provider to bundled."
        return Slot(None, Diagnostic("not_sent", message, remedy), now, spec_checked=True)
    except MemoriterError as error:
        code = error.code if isinstance(error, EmbeddingError) else UNKNOWN
        return Slot(None, Diagnostic(code, error.message, error.remedy), now, spec_checked=True)


def egress_notice(
    first: Choice | None, other: Choice | None, ledger: Ledger, settings: ProviderSettings, env: ProviderContext
) -> str | None:
    """Return where text may be sent from now on; None if nowhere, or if it was reported before.

    `first` is the provider that has priority, `other` its fallback; the ledger records what was reported.
    """
    remote = [place for place in (first, other) if place and place.leaves_machine]
    places = [place for place in remote if _can_start(place, settings, env) and is_news(place, ledger)]
    names = [destination_of(place) for place in places]
    if other in places and first is not None:
        names[-1] += f" whenever {first.name} fails"
    return " and to ".join(names) or None


def _can_start(choice: Choice, settings: ProviderSettings, env: ProviderContext) -> bool:
    """Return whether a provider has what it needs to send text, such as a key."""
    with suppress(MemoriterError):
        spec_at_hand(choice, settings, env)
        return True
    return False


def destination_of(choice: Choice) -> str:
    """Return the name of a service, its address and the source of the key, for the notice."""
    return f"{choice.name} at {choice.endpoint}" + (f" ({choice.key_source})" if choice.key_source else "")


def is_news(choice: Choice, ledger: Ledger) -> bool:
    """Return whether a person was not informed about the service yet, and record that one is being informed."""
    try:
        if is_consented(choice, ledger):
            return False
        known = ledger.get(_record_name(choice)) or ""
        ledger.set(_record_name(choice), "\n".join([*known.splitlines(), choice.key_source or ANY_KEY]))
    except ProviderUnavailable:  # without a ledger nothing is sent
        return False
    return True


def is_consented(choice: Choice, ledger: Ledger) -> bool:
    """Return whether text stays on this machine, or a person was informed about the service and the source of the key.

    Raises ProviderUnavailable.
    """
    if not choice.leaves_machine:
        return True
    sources = (ledger.get(_record_name(choice)) or "").splitlines()
    return ANY_KEY in sources or (bool(choice.key_source) and choice.key_source in sources)


def _record_name(choice: Choice) -> str:
    return f"announced:{choice.vendor}:{choice.endpoint}"
