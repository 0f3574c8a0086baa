"""Embedding by a service: any vendor behind the one Protocol, within its limits and with what it says checked."""

from __future__ import annotations

import hashlib
import re
import threading
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Protocol, TypeVar

from memoriter.embed._provider import group_by_budget, normalise, split_within
from memoriter.embed.remote import _gemini, _mistral, _ollama, _openai, _voyage
from memoriter.embed.remote._vendor import PROBE, RemoteSettings, background_of, is_local_network
from memoriter.embed.remote._wire import redact, sanitize, tokens_in
from memoriter.errors import (
    BadVector,
    ConfigError,
    EmbeddingError,
    InputRejected,
    InputTooLarge,
    OutOfQuota,
    ProviderUnavailable,
    TransientFailure,
    Unauthorised,
)
from memoriter.providers import BY_NAME
from memoriter.service_guard import FEW_AN_HOUR, ServiceGuard
from memoriter.types import Diagnostic, ModelSpec
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed.remote._http import HttpClient
    from memoriter.embed.remote._vendor import Vendor
    from memoriter.embed.remote._wire import Response
    from memoriter.service_guard import KeyValueStore
    from memoriter.types import Role

_T = TypeVar("_T")
_R = TypeVar("_R")
_VENDORS = {vendor.VENDOR.name: vendor.VENDOR for vendor in (_gemini, _mistral, _ollama, _openai, _voyage)}

CONCURRENCY = 2
"""Calls at once. Few, so that no more than these can be lost when a quota ends."""
_QUERY_SECONDS = 60.0
_DOCUMENT_SECONDS = 120.0
_NEAR_QUERY_SECONDS = 300.0
_NEAR_DOCUMENT_SECONDS = 600.0
_LEAST_SECONDS = 0.05
"""However little time is left: an answer may be there at once."""
_DOCUMENT_SECONDS_LEFT = 1.0
"""Documents that are sent are paid for, so they are not sent where there is less time for the answer."""
_MOST_DIMENSIONS = 16_384
"""Assumed of a model that nobody knows."""
_NUMBER_BYTES = 32
_TEXT_BYTES = 2048
_ANSWER_BYTES = 1 << 20
"""The most that an answer has for each number, for each text, and for the rest."""
_QUERY_TRIES = 2
_DOCUMENT_TRIES = 4
"""Somebody waits for a query."""
_SURELY_SHORT = 100
"""Tokens that every model can read: whoever finds them too many takes no text at all."""
_NOT_EVEN_SHORT = "Check memorySearch.model and remote.baseUrl: the service refuses even a short sentence."
_NORMALISER = "control characters to spaces; '.' for nothing"
_PIECES = re.compile(r"[A-Za-z]{1,3}|[^\sA-Za-z]")
_WIDE = re.compile(r"[\u1100-\uffff]")
_ASTRAL = re.compile(r"[\U00010000-\U0010ffff]")
_REASONS = {error.code: error for error in (OutOfQuota, Unauthorised)}


class UsageRecorder(Protocol):
    """Who pays."""

    def check(self, tokens: int) -> None:
        """Hear that about so many tokens are to be sent. Raises OverBudget."""
        ...

    def add(self, tokens: int, *, batch: bool = False) -> None:
        """Hear what an answer took, or a batch."""
        ...


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a request showed about a model, to be stored in `RemoteSettings`."""

    dimensions: int
    background: tuple[float, float]


def remote_names() -> tuple[str, ...]:
    """Return the names of all vendors, sorted."""
    return tuple(sorted(_VENDORS))


def vendor_of(name: str) -> Vendor:
    """Return a vendor by its name.

    Raises:
        ConfigError: there is no such vendor.
    """
    if name not in _VENDORS:
        raise ConfigError(f"There is no remote provider {name!r}.", remedy=f"Choose one of: {', '.join(_VENDORS)}.")
    return _VENDORS[name]


class RemoteProvider:
    """The vectors of a service, normalized to unit length. Threads may share it."""

    def __init__(
        self,
        settings: RemoteSettings,
        http: HttpClient,
        *,
        wall: Callable[[], float],
        store: KeyValueStore | None = None,
        account: UsageRecorder | None = None,
    ) -> None:
        """Prepare the provider; nothing is sent yet. `wall` gives seconds since 1970.

        `store` keeps what a next process must know. `account` permits each request, and records the tokens of each
        answer as the service counts them, or else our estimate; it is called from any thread.

        Raises:
            ConfigError: the settings do not fit the vendor.
            ProviderUnavailable: the vendor wants a key and there is none.
        """
        self._vendor = vendor = vendor_of(settings.vendor)
        self.settings = vendor.resolved(settings)
        """With the address, the model and the dimensions filled in."""
        self._model = vendor.model_of(self.settings)
        templates = (self._model.query_template, self._model.document_template)
        around = max(estimate_tokens(template.replace("{text}", "")) for template in templates)
        self._max_tokens = self._model.max_tokens - around
        self._endpoint = vendor.address(self.settings.base_url)
        self.service = vendor.display_name(self._endpoint)
        """Who answers, for messages."""
        if vendor.needs_key and not settings.secrets and self._endpoint == vendor.base_url:
            variables = " or ".join(BY_NAME[vendor.name].key_variables)
            raise ProviderUnavailable(
                f"There is no key for {vendor.title}.",
                remedy=f"Set remote.apiKey, models.providers.{vendor.name}.apiKey or {variables}.",
            )
        self.http = http
        self.requested = settings
        """As they were given."""
        self.known = self._model.dimensions is not None
        """Whether a table of ours has the model."""
        self._account = account
        self.guard = CircuitBreaker((vendor.name, self._endpoint), settings.secrets, wall=wall, store=store)
        """Shared with whoever else asks this service with this key."""
        self._slots = threading.BoundedSemaphore(CONCURRENCY)
        self._asking = threading.Lock()
        self._answered = False
        self._spec = self._spec_with(self._model.dimensions, settings.background)

    @property
    def spec(self) -> ModelSpec:
        """The model as it is used. Asks the service (see `resolve`) if nothing else knows the dimensions."""
        if self._spec is None:
            self.resolve()
        assert self._spec is not None
        return self._spec

    def resolve(self) -> Resolved:
        """Return dimensions and background; unless both are known, embed a dozen short texts of our own in one request.

        Raises:
            EmbeddingError: the service does not answer with vectors.
        """
        with _held(self._asking, self._seconds("query"), self.service):
            spec = self._spec
            background = self.settings.background
            if spec is None or background is None:
                texts = [self.apply_template(text, "document") for text in PROBE]
                vectors = self._fetched(texts, "document", seconds=self._seconds("document"))
                background = background_of(vectors)
                self._spec = spec = self._spec_with(vectors.shape[1], background)
                assert spec is not None
                self.settings = replace(self.settings, background=background)
            return Resolved(spec.dimensions, background)

    def most_bytes(self, texts: int) -> int:
        """Return the size of the largest plausible answer for so many texts."""
        dimensions = self._spec.dimensions if self._spec is not None else _MOST_DIMENSIONS
        return _ANSWER_BYTES + texts * (_TEXT_BYTES + dimensions * _NUMBER_BYTES)

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """Return vectors (texts, dimensions), however long the service takes."""
        return self.embed_within(texts, role=role, seconds=inf)

    def embed_within(self, texts: Sequence[str], *, role: Role, seconds: float) -> NDArray[np.float32]:
        """Return vectors (texts, dimensions), in as many requests as the vendor's limits require, two at a time.

        A text over the limit is cut by our estimate of its tokens; the service may still reject it as too large.
        """
        import numpy as np

        if not texts:
            return np.empty((0, self.spec.dimensions), np.float32)
        _ = self.spec
        inputs = [self.apply_template(text, role) for text in texts]
        sizes = [self.count_tokens(text) for text in inputs]
        groups = group_by_budget(sizes, self._model.max_request_tokens, most=self._model.max_inputs)

        def fetched(group: Sequence[int]) -> NDArray[np.float32]:
            if role == "document" and seconds < _DOCUMENT_SECONDS_LEFT:
                raise _no_time(self.service)
            return self._fetched([inputs[position] for position in group], role, seconds=self._seconds(role, seconds))

        if len(groups) == 1:
            return fetched(groups[0])
        return np.concatenate(in_threads(fetched, groups, CONCURRENCY))

    def count_tokens(self, text: str) -> int:
        """Return an estimate; see `estimate_tokens`."""
        return estimate_tokens(text)

    def hint_batch_size(self, chunks: int) -> None:
        """Do nothing: no model is loaded here."""

    def close(self) -> None:
        """Close the connections."""
        self.http.close()

    def _spec_with(self, dimensions: int | None, background: tuple[float, float] | None) -> ModelSpec | None:
        if dimensions is None:
            return None
        return ModelSpec(
            provider=self._vendor.name,
            model=self.settings.model,
            dimensions=dimensions,
            endpoint=self._endpoint,
            query_template=self._model.query_template,
            document_template=self._model.document_template,
            pooling="",
            normaliser=_NORMALISER,
            max_tokens=self._max_tokens,
            background=background or self._model.background,
        )

    def outgoing(self, text: str) -> str:
        """Return a text without its secrets, as it may leave this process. The same object if it has none."""
        from memoriter.masking import mask_outgoing

        return mask_outgoing(text)

    def apply_template(self, text: str, role: Role) -> str:
        """Return the text as it is sent: without secrets, cleaned, cut at the limit, in the model's template."""
        limit = self._max_tokens
        text = self.outgoing(text)
        # No character is more than four tokens here, nor a token more than three characters and the space before them.
        text = sanitize(text[: 8 * limit])
        if len(text) * 4 > limit and self.count_tokens(text) > limit:
            text = next(split_within(text, limit, size=self.count_tokens))
        if self._model.tasks[0]:
            return text
        template = self._model.query_template if role == "query" else self._model.document_template
        return template.replace("{text}", text)

    def _fetched(self, texts: Sequence[str], role: Role, *, seconds: float) -> NDArray[np.float32]:
        """Return the unit vectors of one request."""
        try:
            rows = self._request(texts, role, seconds)
        except InputTooLarge as error:
            if len(texts) == 1 and self.count_tokens(texts[0]) <= _SURELY_SHORT:
                raise ProviderUnavailable(error.message, remedy=_NOT_EVEN_SHORT) from error
            raise
        except InputRejected as error:
            self._blame(error, role, seconds)
            self._answered = False
            raise
        self._answered = True
        vectors, usable = normalise(rows)
        if usable.all():
            return vectors
        bad = [place for place, good in enumerate(usable.tolist()) if not good]
        problem = f"{self.service} gave a vector that is zero or not finite"
        if len(bad) == len(texts) > 1:
            raise BadVector(f"{problem} for each of {len(texts)} texts.", remedy="Try another model.")
        raise InputRejected(f"{problem} for text {bad[0] + 1} of {len(texts)}.", remedy="Try another model.")

    def _blame(self, error: InputRejected, role: Role, seconds: float) -> None:
        """Raise ProviderUnavailable if the service rejects every text: then the request is wrong and not this text."""
        if self._answered:
            return
        try:
            self._request([self.apply_template(PROBE[0], role)], role, seconds)
        except InputRejected:
            raise ProviderUnavailable(error.message, remedy=_NOT_EVEN_SHORT) from error
        self._answered = True

    def _request(self, texts: Sequence[str], role: Role, seconds: float) -> NDArray[np.float64]:
        """Send one request and return its vectors unchanged."""
        request = self._vendor.build_request(texts, role, self.settings)
        dimensions = self._spec.dimensions if self._spec is not None else None

        def read(response: Response) -> NDArray[np.float64]:
            if self._account is not None:
                self._account.add(tokens_in(response.body) or sum(map(self.count_tokens, texts)))
            most = len(texts) * ((dimensions or _MOST_DIMENSIONS) + _TEXT_BYTES) + _TEXT_BYTES
            if response.body.count(b",") > most:  # each number would take more memory than its text
                raise BadVector(f"{self.service} answered with more numbers than {len(texts)} vectors have.")
            return self._vendor.parse_response(response.body, len(texts), dimensions, self.service)

        def error_of(response: Response) -> EmbeddingError:
            secrets = self.settings.secrets
            return self._vendor.error_of(response.status, response.headers, response.body, secrets, self.service)

        def call() -> NDArray[np.float64]:
            tries = _QUERY_TRIES if role == "query" else _DOCUMENT_TRIES
            return self.http.send(
                request,
                timeout=seconds,
                read=read,
                error_of=error_of,
                tries=tries,
                most_bytes=self.most_bytes(len(texts)),
                subject=f" to {self._vendor.name}, {self.settings.model}, {len(texts)} texts, {tokens} tokens",
            )

        tokens = sum(map(self.count_tokens, texts))
        if self._account is not None:
            self._account.check(tokens)
        with _held(self._slots, seconds, self.service):
            return self.guard.call(call)

    def _seconds(self, role: Role, left: float = inf) -> float:
        """Return the time limit of a request whose caller waits `left` seconds."""
        near = is_local_network(self._endpoint)
        if role == "query":
            most = self.settings.query_seconds or (_NEAR_QUERY_SECONDS if near else _QUERY_SECONDS)
        else:
            most = self.settings.document_seconds or (_NEAR_DOCUMENT_SECONDS if near else _DOCUMENT_SECONDS)
        return min(most, max(left, _LEAST_SECONDS))


@contextmanager
def _held(lock: threading.Lock | threading.Semaphore, seconds: float, service: str) -> Generator[None]:
    """Hold a lock that other calls may hold. Raises TransientFailure where it is not free in time."""
    if not lock.acquire(timeout=min(seconds, threading.TIMEOUT_MAX)):
        raise _no_time(service)
    try:
        yield
    finally:
        lock.release()


def _no_time(service: str) -> TransientFailure:
    """Return the error for a call that was not made for want of time."""
    error = TransientFailure(f"There was no time left for a request to {service}.", remedy="Run `memoriter index`.")
    error.attempted = False
    return error


def estimate_tokens(text: str) -> int:
    """Return an estimate, rarely too low: a token for three letters or one other character, more for rare ones."""
    wide = 0 if text.isascii() else len(_WIDE.findall(text)) // 2 + 3 * len(_ASTRAL.findall(text))
    return len(_PIECES.findall(text)) + wide + 1


def in_threads(act: Callable[[_T], _R], items: Sequence[_T], most: int) -> list[_R]:
    """Return the result of `act` for each item, in order, with at most `most` calls at once.

    Unlike those of `concurrent.futures`, the threads do not delay the end of the process, even if a service hangs.
    After a failure no further item is started, and the first failure in order is raised.
    """
    results: dict[int, _R] = {}
    errors: dict[int, BaseException] = {}
    positions = iter(range(len(items)))
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                position = None if errors else next(positions, None)
            if position is None:
                return
            try:
                results[position] = act(items[position])
            except BaseException as error:  # noqa: BLE001 - raised below, in the caller's thread
                errors[position] = error

    threads = [threading.Thread(target=work, name="memoriter-remote", daemon=True) for _ in range(most)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[min(errors)]
    return [results[position] for position in range(len(items))]


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
        # The key cannot be recovered from a hash of all parts.
        owner = hashlib.sha256("\0".join((*identity, *secrets)).encode()).hexdigest()[:12]
        name = ":".join(("breaker", *identity, owner))
        self._guard = ServiceGuard(FEW_AN_HOUR, wall, store=store, name=name, owner=owner)
        self._lock = threading.RLock()

    def call(self, call: Callable[[], _T]) -> _T:
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

    def _run_and_record(self, call: Callable[[], _T]) -> _T:
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
