"""The provider of a backend and the one that stands in for it: opened when needed, and honest when they cannot be."""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from threading import Thread
from typing import TYPE_CHECKING

from memoriter.backends._account import Budget, UsageMeter
from memoriter.backends._attempts import Attempts, Observed, reason_of
from memoriter.backends._calls import Calls
from memoriter.backends._endpoint import OPEN, PatientProvider, SharedEndpoint, within
from memoriter.backends._pause import Pauses
from memoriter.backends._slot import Slot, egress_notice, picked
from memoriter.embed import choose, choose_fallback, open_choice, refusal_of, spec_at_hand
from memoriter.errors import (
    EmbeddingError,
    InputRejected,
    InputTooLarge,
    MemoriterError,
    ProviderUnavailable,
    TransientFailure,
)
from memoriter.search import Deadline
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.backends._jobs import Batches
    from memoriter.embed import BatchRules, Choice, EmbeddingProvider, ProviderContext, ProviderSettings
    from memoriter.index import Index, Ledger
    from memoriter.types import Attempt, ModelSpec

    Downloading = Callable[[int, int | None], None]

QUERY_SECONDS = 5.0
"""How long a search waits for the vector of its question, half of its own time at most."""
REMEMBERED_QUERIES = 256
STANDING_IN_SECONDS = 600.0
"""How long the fallback serves before the first provider is tried again."""
LOADED = frozenset({"bundled", "fake", "local", "onnx"})
"""Kinds of providers that have a model to load."""


@dataclass(slots=True)
class Embedding:
    """The provider that serves; `spec` is None where there is none, or its model is not known yet."""

    settings: ProviderSettings
    outside: ProviderContext
    ledger: Ledger
    budget: Budget = field(default_factory=Budget)
    rules: BatchRules | None = None
    """How to use batch interfaces; None: not at all."""
    failed: Diagnostic | None = None
    """Why the fallback serves."""
    calls: Calls = field(default_factory=Calls)
    """To services; `abort` it to let nobody wait any more."""
    _slots: dict[bool, Slot] = field(default_factory=dict[bool, Slot])
    _loading: Thread | None = None
    _standing_in: bool = False
    _since: float = 0.0
    _gate: threading.RLock = field(default_factory=threading.RLock)
    """Held for moments, never while somebody is asked."""
    _loads: threading.Lock = field(default_factory=threading.Lock)
    """Held while a model of this machine is loaded."""
    _closings: int = 0
    _loader: int = 0
    """The thread that loads it."""
    _queries: OrderedDict[tuple[bool, str], NDArray[np.float32]] = field(
        default_factory=OrderedDict["tuple[bool, str]", "NDArray[np.float32]"]
    )
    _attempts: Attempts = field(init=False)

    def __post_init__(self) -> None:
        self._attempts = Attempts(self.ledger, self.outside.wall, self.settings.local_model)

    @property
    def choice(self) -> Choice | None:
        """The provider that serves now; None where the configuration names none that there is."""
        return self._slot.choice

    @property
    def provider_name(self) -> str:
        """The provider that serves now, as it is configured; what `auto` has become."""
        return self.choice.name if self.choice else self.settings.name

    @property
    def first_name(self) -> str:
        """The provider that is to serve before any other."""
        choice = self._slot_of(standing_in=False).choice
        return choice.name if choice else self.settings.name

    @property
    def problem(self) -> Diagnostic | None:
        """Why the provider that is meant to serve cannot."""
        _ = self.spec
        return self._slot.problem

    @property
    def configured(self) -> bool:
        """Whether passages are meant to have vectors, even where the provider cannot be used."""
        return self.choice is None or self.choice.kind != "none"

    @property
    def last_attempt(self) -> Attempt | None:
        """The last attempt to reach the provider that serves now, by any process."""
        choice = self.choice
        return None if choice is None or choice.kind == "none" else self._attempts.last(choice)

    @property
    def trouble(self) -> Diagnostic | None:
        """Why the last attempt to reach the provider failed; None after one that succeeded."""
        return reason_of(self.last_attempt, self.provider_name)

    @property
    def unknown(self) -> bool:
        """Whether the provider must be asked before its model is known."""
        return self.spec is None and self.problem is None and self.choice is not None and self.choice.kind != "none"

    @property
    def spec(self) -> ModelSpec | None:
        """The model that is meant to be used, as far as it is known without loading or asking."""
        slot = self._slot
        if not slot.looked and slot.choice is not None:
            slot.looked = True
            try:
                slot.spec = spec_at_hand(slot.choice, self.settings, self.outside)
            except MemoriterError as error:
                self._give_up(slot, error)
        return slot.spec

    def open(self, deadline: Deadline | None = None, hears: Downloading | None = None) -> EmbeddingProvider:
        """Return the running provider, for one caller.

        Args:
            deadline: how long this caller waits for a service, here and for each vector; None: until it answers.
            hears: is told how many bytes of a model are here, and how many there are.

        Raises:
            EmbeddingError: the provider cannot be used; `GivenUp` where a service did not answer in time.
        """
        opened, endpoint = self._opened(deadline, hears), self._endpoint
        return opened if endpoint is None else PatientProvider(opened, endpoint, deadline)

    def _opened(self, deadline: Deadline | None, hears: Downloading | None = None) -> EmbeddingProvider:
        slot, choice, endpoint = self._slot, self.choice, self._endpoint
        if slot.opened is not None:
            return slot.opened
        if self.problem is not None:
            raise ProviderUnavailable(self.problem.message, remedy=self.problem.remedy)
        assert choice is not None
        if endpoint is None:
            return self._loaded(slot, choice, hears)
        if self.spec is not None:  # nobody is asked
            return self._begin(slot, choice, None)
        return endpoint.ask((OPEN,), lambda: self._begin(slot, choice, None), within(deadline, QUERY_SECONDS))

    def _loaded(self, slot: Slot, choice: Choice, hears: Downloading | None) -> EmbeddingProvider:
        """Load a model of this machine, in one thread at a time."""
        with self._loads:
            self._loader = threading.get_ident()
            try:
                return slot.opened or self._begin(slot, choice, hears)
            finally:
                self._loader = 0

    def _begin(self, slot: Slot, choice: Choice, hears: Downloading | None) -> EmbeddingProvider:
        closings, asks = self._closings, choice.kind != "remote" or slot.spec is None
        try:
            opened = self._observed(choice, hears)
            slot.spec = opened.spec
        except EmbeddingError as error:
            self._attempts.note(choice, error)
            if isinstance(error, ProviderUnavailable):
                self._give_up(slot, error)
            raise
        except MemoriterError as error:
            self._give_up(slot, error)
            unavailable = ProviderUnavailable(error.message, remedy=error.remedy)
            self._attempts.note(choice, unavailable)
            raise unavailable from error
        if asks:
            self._attempts.note(choice, None)
        if closings == self._closings:
            slot.opened = opened
        else:  # it came after nobody waited for it any more
            opened.close()
        return opened

    def _observed(self, choice: Choice, hears: Downloading | None = None, *, anew: bool = False) -> Observed:
        """Open a provider whose attempts are recorded. Raises as `open_choice` does."""
        world = replace(self.outside, downloading=hears, left=self.calls.seconds_left)
        opened = open_choice(choice, self.settings, world, self.account(choice), anew=anew)
        return Observed(opened, partial(self._attempts.note, choice))

    @property
    def _endpoint(self) -> SharedEndpoint | None:
        """The service that serves; None where the provider needs none."""
        choice = self.choice
        if choice is None or choice.kind != "remote":
            return None
        pauses = Pauses(self.ledger, f"{choice.vendor}:{choice.endpoint}")
        name, note = f"{choice.name} at {choice.endpoint}", partial(self._attempts.note, choice)
        return SharedEndpoint(name, self.calls, pauses, self.outside, self._slot.late, note)

    @property
    def paused(self) -> Diagnostic | None:
        """Why the service that serves is left alone for a while; None if it is asked."""
        endpoint = self._endpoint
        return endpoint.paused if endpoint else None

    def try_again(self) -> None:
        """Let the service be asked now, since somebody asks for that."""
        if (endpoint := self._endpoint) is not None:
            endpoint.try_again()

    def warm(self) -> None:
        """Begin to load a model of this machine, in a thread of its own; a service has nothing to load."""
        if self.choice is None or self.choice.kind not in LOADED or self.warming or self._slot.opened is not None:
            return
        self._loading = Thread(target=self._load, name="memoriter-warm", daemon=True)
        self._loading.start()

    @property
    def warming(self) -> bool:
        """Whether another thread is loading the model. Nobody else opens it meanwhile."""
        elsewhere = self._loads.locked() and self._loader != threading.get_ident()
        return elsewhere or (self._loading is not None and self._loading.is_alive())

    def await_model(self, seconds: float) -> None:
        """Wait so long for a model that is being loaded."""
        if self._loading is not None:
            self._loading.join(max(seconds, 0.0))

    def _load(self) -> None:
        with suppress(EmbeddingError):  # whoever asks next is told
            self.open()

    def renew(self) -> None:
        """Ask a service anew for its model: another one may stand behind the name by now. No answer changes nothing."""
        slot = self._slot
        if slot.choice is None or slot.choice.kind != "remote" or slot.problem is not None:
            return
        try:
            opened = self._observed(slot.choice, anew=True)
        except EmbeddingError as error:
            self._attempts.note(slot.choice, error)
            return
        except MemoriterError:
            return
        if slot.opened is not None:
            slot.opened.close()
        slot.opened, slot.spec, slot.looked = opened, opened.spec, True
        self._queries.clear()

    def query_vector(self, text: str, deadline: Deadline | None = None) -> NDArray[np.float32]:
        """Return the question's vector (dims,), for which a service is not waited for longer than `QUERY_SECONDS`.

        A vector that comes later is there when the same is asked again.

        Raises:
            EmbeddingError: there is none; `GivenUp` where a service did not answer in time.
        """
        asked = self._standing_in, text
        with self._gate:
            if asked in self._queries:
                self._queries.move_to_end(asked)
                return self._queries[asked]
        endpoint = self._endpoint
        if endpoint is not None and (paused := endpoint.paused) is not None:
            raise TransientFailure(paused.message, remedy=paused.remedy)
        opened = self._opened(deadline)

        def fetch() -> NDArray[np.float32]:
            vector = opened.embed([text], role="query")[0]
            self._remember(asked, vector)
            return vector

        if endpoint is None:
            return fetch()
        limit = deadline or Deadline(self.outside.monotonic, inf)
        patience = within(limit, min(limit.left / 2, QUERY_SECONDS))
        return endpoint.ask(("query", *map(str, asked)), fetch, patience, seconds=max(limit.left, 2 * QUERY_SECONDS))

    def _remember(self, asked: tuple[bool, str], vector: NDArray[np.float32]) -> None:
        with self._gate:
            self._queries[asked] = vector
            if len(self._queries) > REMEMBERED_QUERIES:
                self._queries.popitem(last=False)

    def fall_back(self, error: EmbeddingError) -> bool:
        """Let the other provider serve for a while after an error; False where there is none to do so."""
        if self._standing_in or isinstance(error, InputTooLarge | InputRejected):
            return False
        other = self._slot_of(standing_in=True)
        if other.choice is None:
            return False
        self._standing_in, self._since = True, self.outside.monotonic()
        message = f"{self.first_name} does not serve now; {other.choice.name} does meanwhile. {error.message}"
        self.failed = Diagnostic("provider_fallback", message, error.remedy)
        return True

    def look(self) -> None:
        """Let the fallback serve where the first provider cannot even begin, and try that one again after some time."""
        now = self.outside.monotonic()
        if self._standing_in and now - self._since >= STANDING_IN_SECONDS:
            self._standing_in, self.failed = False, None
        for standing_in, slot in list(self._slots.items()):
            if slot.problem is not None:
                if now - slot.since >= STANDING_IN_SECONDS or self._answers(slot):
                    self._slots.pop(standing_in, None)
            elif slot.spec is None and self._answers(slot):  # another process may have made the model known
                slot.looked = False
        if (problem := self.problem) is not None:
            self.fall_back(ProviderUnavailable(problem.message, remedy=problem.remedy))

    def _answers(self, slot: Slot) -> bool:
        """Whether the last attempt to reach a provider succeeded, whoever made it."""
        if slot.choice is None or slot.opened is not None:
            return False
        attempt = self._attempts.last(slot.choice)
        return attempt is not None and attempt.ok

    def refusal(self, tokens: int) -> Diagnostic | None:
        """Why the service that serves would not be asked now about so many tokens. Nothing is sent."""
        choice = self.choice
        if choice is None or choice.remote is None or self.problem is not None:
            return None
        try:
            if tokens and (account := self.account(choice)) is not None:
                account.check(tokens)
            error = refusal_of(choice, self.outside)
        except EmbeddingError as over:
            error = over
        return Diagnostic(error.code, error.message, error.remedy) if error else self.paused

    def egress_notice(self) -> str | None:
        """Return where text may be sent from now on; None if nowhere, or if it was said before."""
        first, other = (self._slot_of(standing_in=standing_in).choice for standing_in in (False, True))
        return egress_notice(first, other, self.ledger)

    def account(self, choice: Choice) -> UsageMeter | None:
        """Who pays for a choice; None where nobody does."""
        if not choice.metered or choice.remote is None:
            return None
        return UsageMeter(self.ledger, self.budget, choice.vendor, choice.model, priced=choice.official_endpoint)

    def batches(self, provider: EmbeddingProvider, index: Index) -> Batches | None:
        """The batch interface of the opened provider, where it is wanted and there is one."""
        choice = self.choice
        if self.rules is None or choice is None or choice.kind != "remote":
            return None
        from memoriter.backends._jobs import Batches, batch_vendors

        if choice.vendor not in batch_vendors():
            return None
        opened, note = self._slot.opened, partial(self._attempts.note, choice)
        asked = provider if opened is None else opened.inner
        return Batches(index, asked, self.outside, self.rules, self.account(choice), note)

    def close(self) -> None:
        """Let go of models and connections."""
        self._closings += 1
        for slot in self._slots.values():
            if slot.opened is not None:
                self.calls.when_idle(slot.opened.close)
                slot.opened = None
        self.ledger.close()

    @property
    def _slot(self) -> Slot:
        return self._slot_of(standing_in=self._standing_in)

    def _slot_of(self, *, standing_in: bool) -> Slot:
        with self._gate:
            if standing_in in self._slots:
                return self._slots[standing_in]
            pick: Callable[[ProviderSettings], Choice | None] = choose_fallback if standing_in else choose
            self._slots[standing_in] = picked(pick, self.settings, now=self.outside.monotonic())
            return self._slots[standing_in]

    def _give_up(self, slot: Slot, error: MemoriterError) -> None:
        slot.problem, slot.since = Diagnostic(error.code, error.message, error.remedy), self.outside.monotonic()
