"""What is recorded about services, for every process: spending, the last attempts, pauses, and batch jobs.

Batch jobs are stored in the index, the rest in the ledger. Their last answers are remembered in this process alone.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from memoriter.codes import stored_code
from memoriter.embed import EmbedsWithin, SendsTexts, batch_of, price_of, price_row
from memoriter.errors import (
    EmbeddingError,
    InputRejected,
    InputTooLarge,
    OverBudget,
    ProviderUnavailable,
    TransientFailure,
)
from memoriter.ids import fingerprint
from memoriter.service_guard import doubling
from memoriter.sync import STORING_SECONDS
from memoriter.types import Attempt, Diagnostic
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed import BatchJob, BatchRules, Choice, Collected, EmbeddingProvider, ProviderContext
    from memoriter.store import Store
    from memoriter.types import ModelSpec, Role, Spent

_K = TypeVar("_K")
_T = TypeVar("_T")

MOST_REMEMBERED = 256
"""The most queries whose vectors are kept, and the most questions whose scores are."""
_REMEDY = "Wait until midnight (UTC), or raise memorySearch.remote.budget; keyword search works meanwhile."


class Ledger(Protocol):
    """What must outlive every store: spending at providers, and what is known about them.

    `memoriter.index.Ledger` implements it.
    """

    def add(self, provider: str, model: str, tokens: int, dollars: float | None) -> None:
        """Record one response of a provider; `dollars` is None if the price is unknown."""
        ...

    def today(self) -> Spent:
        """Return what was spent since midnight (UTC), at all providers."""
        ...

    def get(self, name: str) -> str | None:
        """Return a stored value, or None."""
        ...

    def set(self, name: str, value: str) -> None:
        """Store a value. Raises ProviderUnavailable if it cannot be written."""
        ...

    def swap(self, name: str, old: str, new: str) -> bool:
        """Replace a stored value if it still is `old`; return whether it was."""
        ...

    def close(self) -> None:
        """Close the ledger; it is reopened when needed."""
        ...


class Remembered(Generic[_K, _T]):
    """The values of the keys that were used last. Safe to share between threads."""

    def __init__(self) -> None:
        self._values: OrderedDict[_K, _T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: _K) -> _T | None:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: _K, value: _T) -> _T:
        """Store a value and return it."""
        with self._lock:
            self._values[key] = value
            if len(self._values) > MOST_REMEMBERED:
                self._values.popitem(last=False)
        return value

    def clear(self) -> None:
        with self._lock:
            self._values.clear()


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that may be sent to paid services in a day (UTC), by all agents together; 0 means no limit."""

    tokens: int = 0
    dollars: float = 0.0


@dataclass(slots=True)
class UsageMeter:
    """The usage and the price of one model of one service."""

    ledger: Ledger
    budget: Budget
    provider: str
    model: str
    priced: bool
    """Whether the service is the vendor's own, whose prices are known."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, tokens: int) -> None:
        """Refuse a request that exceeds the day's budget. Raises OverBudget."""
        spent = self.ledger.today()
        if self.budget.tokens and spent.tokens + tokens > self.budget.tokens:
            raise OverBudget(
                f"The day's budget of {self.budget.tokens:,} tokens is too small for {tokens:,} more:"
                f" {spent.tokens:,} are spent.",
                remedy=_REMEDY,
            )
        price = self.price(tokens) or 0.0
        if self.budget.dollars and spent.dollars + price > self.budget.dollars:
            raise OverBudget(
                f"The day's budget of ${self.budget.dollars:.2f} does not hold ${price:.4f} more:"
                f" ${spent.dollars:.4f} are spent.",
                remedy=_REMEDY,
            )

    def add(self, tokens: int, *, batch: bool = False) -> None:
        """Record the tokens of a response or batch job."""
        with self._lock:
            self.ledger.add(self.provider, self.model, tokens, self.price(tokens, batch=batch))

    @property
    def seen(self) -> str:
        """The year and month of the price; empty if the price is unknown."""
        row = price_row(self.provider, self.model) if self.priced else None
        return row.seen if row else ""

    def price(self, tokens: int, *, batch: bool = False) -> float | None:
        """Return the price in US dollars; None if it is unknown."""
        return price_of(self.provider, self.model, tokens, batch=batch) if self.priced else None


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
        """Record an attempt that has just ended, with its error, or None for a success."""
        now = self.wall()
        last = self.last(choice)
        if error is None:
            if last is not None and last.ok and abs(now - last.at) < FRESH_SECONDS:
                return
            attempt = Attempt(now)
        elif not error.attempted and (last is not None or isinstance(error, TransientFailure)):
            return  # the call was never sent, so it is not evidence of a failure
        else:
            attempt = Attempt(now, Diagnostic.of(error))
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
        """Wrap a provider. `note` receives the error of each call, or None for a success."""
        self.inner = inner
        self._note = note

    @property
    def spec(self) -> ModelSpec:
        return self.inner.spec

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """Return the provider's vectors and record the outcome."""
        return self._recorded(lambda: self.inner.embed(texts, role=role), texts, role)

    def embed_within(self, texts: Sequence[str], *, role: Role, seconds: float) -> NDArray[np.float32]:
        """Return the vectors of a service that may take `seconds` for each request, and record the outcome."""
        inner = self.inner
        assert isinstance(inner, EmbedsWithin), "a service can be given a time limit"
        return self._recorded(lambda: inner.embed_within(texts, role=role, seconds=seconds), texts, role)

    def _recorded(
        self, embed: Callable[[], NDArray[np.float32]], texts: Sequence[str], role: Role
    ) -> NDArray[np.float32]:
        """Return the vectors and record the outcome.

        The refusal of one document is not recorded, because it is no sign of a failing provider.
        """
        try:
            vectors = embed()
        except EmbeddingError as error:
            if role == "query" or not isinstance(error, InputRejected | InputTooLarge):
                self._note(error)
            raise
        if texts:
            self._note(None)
        return vectors

    def count_tokens(self, text: str) -> int:
        return self.inner.count_tokens(text)

    def outgoing(self, text: str) -> str:
        """Return the text as it leaves this process."""
        return self.inner.outgoing(text) if isinstance(self.inner, SendsTexts) else text

    def hint_batch_size(self, chunks: int) -> None:
        self.inner.hint_batch_size(chunks)

    def close(self) -> None:
        self.inner.close()


def reason_of(at: float, reason: Diagnostic, name: str) -> Diagnostic:
    """Return why the last attempt to reach the provider `name` failed `at` (seconds since 1970), with the time."""
    time = datetime.fromtimestamp(at, tz=UTC).strftime("%Y-%m-%d %H:%M:%S")
    message = f"The last attempt to reach {name} failed at {time} UTC: {reason.message}"
    return replace(reason, message=message)


def _to_json(attempt: Attempt) -> str:
    reason = attempt.reason
    fields = None if reason is None else [reason.code, reason.message, reason.remedy]
    return json.dumps({"at": attempt.at, "reason": fields})


def _from_json(text: str | None) -> Attempt | None:
    """Return the stored attempt; None if the text is not one."""
    try:
        stored: Any = json.loads(text or "")
        at = float(stored["at"])
        reason = stored["reason"]
        datetime.fromtimestamp(at, tz=UTC)
        if reason is None:
            return Attempt(at)
        code, message, remedy = map(str, reason)
        return Attempt(at, Diagnostic(stored_code(code), message, remedy))
    except (ValueError, TypeError, KeyError, OverflowError, OSError):
        return None


PATIENCE = doubling(30.0, 600.0)
"""How long a service is left alone that kept a caller waiting."""


@dataclass(frozen=True, slots=True)
class JobStore:
    """The stored batch jobs of one set of vectors. Another process can collect their results."""

    index: Store
    prefix: str

    @classmethod
    def of(cls, index: Store, provider: EmbeddingProvider) -> JobStore:
        return cls(index, f"batch:{fingerprint(provider.spec)}:")

    def load(self) -> Sequence[BatchJob]:
        from memoriter.embed import BatchJob  # imported here because most processes need no batches

        jobs = (BatchJob.from_json(text) for text in self.index.metas(self.prefix).values())
        return [job for job in jobs if job is not None]

    def save(self, job: BatchJob) -> None:
        with self.index.storing(wait=STORING_SECONDS):
            self.index.set_meta(self.prefix + job.name, job.to_json())

    def drop(self, job: BatchJob) -> None:
        with self.index.storing(wait=STORING_SECONDS):
            self.index.drop_meta(self.prefix + job.name)


@dataclass(frozen=True, slots=True)
class Batches:
    """The batch interface of a provider, for one indexing run."""

    index: Store
    provider: EmbeddingProvider
    env: ProviderContext
    rules: BatchRules
    account: UsageMeter | None
    note: Callable[[EmbeddingError | None], None] = lambda _: None
    """Receives the error of a run, or None for each job that brought vectors."""

    @property
    def under_way(self) -> frozenset[str]:
        """Keys of texts that were sent and whose vectors have not arrived."""
        return frozenset(key for job in JobStore.of(self.index, self.provider).load() for key in job.keys)

    def run(self, texts: Mapping[str, str], *, wait: bool) -> Iterator[Collected]:
        """Yield vectors by key as jobs end; without `wait`, only those that are ready now. Raises EmbeddingError."""
        store = JobStore.of(self.index, self.provider)
        rules = replace(self.rules, wait=wait and self.rules.wait)
        run = batch_of(self.provider, store, self.env, rules, self.account)
        assert run is not None
        try:
            for done in run.run(texts):
                if done.keys:
                    self.note(None)
                yield done
        except EmbeddingError as error:
            self.note(error)
            raise


def trim_jobs(index: Store) -> None:
    """Remove keys from jobs if no chunk uses their texts any more.

    The results for those keys are then ignored.
    """
    from memoriter.embed import BatchJob

    stored = index.metas("batch:")
    used = {key.hex() for key in index.vector_keys()} if stored else set[str]()
    for name, text in stored.items():
        job = BatchJob.from_json(text)
        if job is None:
            index.drop_meta(name)
        elif any(key not in used for key in job.keys):
            index.set_meta(name, replace(job, keys=tuple(key for key in job.keys if key in used)).to_json())
