"""Run batch jobs: submit texts, poll, collect vectors, and resume jobs of an earlier process."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from memoriter.embed._provider import normalise, utf8_size
from memoriter.embed.remote._wire import matrix
from memoriter.embed.remote.batch._apis import (
    GEMINI,
    OPENAI,
    VOYAGE,
    BatchJob,
    BatchRules,
    new_job_name,
    parse_id,
    sort_results,
)
from memoriter.errors import (
    BadVector,
    ConfigError,
    EmbeddingError,
    InputRejected,
    OverBudget,
    Throttled,
    TransientFailure,
    sentence,
)
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed.remote._http import HttpClient
    from memoriter.embed.remote._remote import RemoteProvider, UsageRecorder
    from memoriter.embed.remote._wire import Request, Response
    from memoriter.embed.remote.batch._apis import BatchApi, BatchRow


T = TypeVar("T")

_APIS = {api.vendor.name: api for api in (GEMINI, OPENAI, VOYAGE)}
_SECONDS = 120.0
_FILE_SECONDS = 600.0
_LONGEST_KEY = 64
_MOST_LISTING_BYTES = 64 << 20
"""Limit for a response that is not about one job; a list of jobs may include some of their results."""


class BatchStore(Protocol):
    """Storage for jobs, by name, until their vectors are stored."""

    def load(self) -> Sequence[BatchJob]: ...
    def save(self, job: BatchJob) -> None: ...
    def drop(self, job: BatchJob) -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Collected:
    """The outcome of some texts. Each key is in exactly one of `keys`, `failures` and `again`."""

    keys: tuple[str, ...]
    vectors: NDArray[np.float32]
    """Shape (keys, dimensions); rows of unit length."""
    failures: Mapping[str, EmbeddingError]
    """Errors of the texts that the service rejected, by key."""
    again: tuple[str, ...]
    """Keys of texts to embed without a job: too long for one vector, or without a result after several jobs."""


class _NotFound(EmbeddingError):
    """The service no longer has the job or the file."""


def batch_vendors() -> tuple[str, ...]:
    """Return the names of the vendors with a batch interface, in alphabetical order."""
    return tuple(sorted(_APIS))


class BatchRun:
    """The batch jobs of one provider. Only one process at a time may run them."""

    def __init__(
        self,
        provider: RemoteProvider,
        http: HttpClient,
        store: BatchStore,
        *,
        wall: Callable[[], float],
        sleep: Callable[[float], object],
        rules: BatchRules = BatchRules(),  # noqa: B008 - frozen
        account: UsageRecorder | None = None,
    ) -> None:
        """Prepare to run the jobs in `store`.

        Raises:
            ConfigError: the vendor has no batch interface.
        """
        vendor = provider.settings.vendor
        if vendor not in _APIS:
            raise ConfigError(
                f"The service {vendor!r} has no batch interface.",
                remedy=f"Turn remote.batch off; it is for {', '.join(_APIS)}.",
            )
        self._api: BatchApi = _APIS[vendor]
        self._provider = provider
        self._http = http
        self._store = store
        self._wall = wall
        self._sleep = sleep
        self._rules = rules
        self._account = account

    def run(self, texts: Mapping[str, str]) -> Iterator[Collected]:
        """Yield the vectors of documents, by key, as jobs end. This includes jobs of earlier processes.

        Texts of a running job are not sent again. A job is dropped from the store when the next result is requested, so
        the caller must have stored the previous result by then. With `wait` off, the method submits jobs, collects
        finished ones and returns; a later run resumes the rest.

        Raises:
            EmbeddingError: no progress is possible now; submitted jobs keep running.
            ValueError: a key is longer than 64 characters.
        """
        jobs = list(self._store.load())
        pending_keys = {key for job in jobs for key in job.keys}
        new_keys = [key for key in texts if key not in pending_keys]
        if any(len(key) > _LONGEST_KEY for key in new_keys):
            raise ValueError(f"keys may have {_LONGEST_KEY} characters")
        direct = tuple(key for key in new_keys if self._must_embed_directly(texts[key]))
        if direct:
            yield Collected((), self._stack([]), {}, direct)
        queue = deque((group, 1) for group in self._groups([key for key in new_keys if key not in set(direct)], texts))
        budget_error: OverBudget | None = None
        while jobs or queue:
            any_ended = False
            for job in list(jobs):
                jobs.remove(job)
                advanced = self._advance(job)
                if advanced.stage != "ended":
                    jobs.append(advanced)
                    continue
                try:
                    collected = self._collect(advanced)
                except (Throttled, TransientFailure):
                    if not self._rules.wait or self._wall() - advanced.created > self._rules.timeout_minutes * 60:
                        raise
                    jobs.append(advanced)
                    continue
                any_ended = True
                may_retry = advanced.tries < self._rules.most_tries
                retry_keys = [key for key in collected.again if key in texts and may_retry]
                queue.extend((group, advanced.tries + 1) for group in self._groups(retry_keys, texts))
                yield replace(collected, again=tuple(key for key in collected.again if key not in set(retry_keys)))
                self._drop(advanced)
            while queue and len(jobs) < max(self._rules.concurrency, 1):
                try:
                    jobs.append(self._submit(*queue.popleft(), texts))
                except OverBudget as error:  # running jobs are paid for, so collect them first
                    budget_error = error
                    queue.clear()
            if jobs and not any_ended:
                if not self._rules.wait:
                    break
                self._sleep(max(self._rules.poll_seconds, 0.01))
        if budget_error is not None:
            raise budget_error

    def _must_embed_directly(self, text: str) -> bool:
        """Return whether a text cannot be part of a job: it is too long for one vector, or a secret was removed.

        A job names its texts by keys, which are hashes of the complete texts. Anyone who has a text without its
        password and the hash of the text with it can test passwords against the hash.
        """
        provider = self._provider
        return provider.count_tokens(text) > provider.spec.max_tokens or provider.outgoing(text) is not text

    def _groups(self, keys: Sequence[str], texts: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
        """Yield groups of keys, in order, each as large as one job allows."""
        group: list[str] = []
        used = 0
        for key in keys:
            size = utf8_size(texts[key])
            if group and (len(group) == self._api.most_inputs or used + size > self._api.most_bytes):
                yield tuple(group)
                group = []
                used = 0
            group.append(key)
            used += size
        if group:
            yield tuple(group)

    def _submit(self, keys: tuple[str, ...], tries: int, texts: Mapping[str, str]) -> BatchJob:
        """Create a job and return it: running, or still `creating` if the service may or may not have it."""
        now = self._wall()
        tokens = sum(self._provider.count_tokens(texts[key]) for key in keys)
        if self._account is not None:
            self._account.check(tokens)
        job = BatchJob(new_job_name(keys, now), keys, now, tokens=tokens, tries=tries)
        self._store.save(job)
        items = [(key, self._provider.apply_template(texts[key], "document")) for key in keys]
        api = self._api
        settings = self._provider.settings
        service = self._provider.service
        try:
            if api.upload is not None:
                request = api.upload(items, settings, job.name)
                job = job.with_file(self._send(request, lambda body: parse_id(body, service), seconds=_FILE_SECONDS))
                self._store.save(job)
            request = api.create(items, settings, job.name, "".join(job.files))
            read: Callable[[bytes], str] = lambda body: parse_id(body, service, api.id_field)  # noqa: E731
            job = job.with_job_id(self._send(request, read, seconds=_FILE_SECONDS, once=True))
        except TransientFailure:  # the job may exist: the next step looks for it
            return job
        except EmbeddingError:
            self._drop(job)
            raise
        return self._record_submission(job)

    def _record_submission(self, job: BatchJob) -> BatchJob:
        """Save a job that the service is known to have, record its tokens, and return it."""
        self._store.save(job)
        if self._account is not None:
            self._account.add(job.tokens, batch=True)
        return job

    def _advance(self, job: BatchJob) -> BatchJob:
        """Take the next step of a job, save the job, and return it."""
        now = self._wall()
        match job.step(now, self._rules):
            case "wait" | "collect":
                return job
            case "find":
                advanced = self._find_created(job, now)
            case "poll":
                advanced = self._poll(job, now)
            case "cancel":
                with suppress(EmbeddingError):
                    self._send(self._api.cancel(self._provider.settings, job.job_id), lambda _: None, job=job)
                advanced = job.after_cancel(now)
            case "abandon":
                advanced = job.abandoned("it took too long")
        self._store.save(advanced)
        return advanced

    def _find_created(self, job: BatchJob, now: float) -> BatchJob:
        """Look for a job that may or may not have been created."""
        try:
            job_id = self._send(
                self._api.find(self._provider.settings),
                lambda body: self._api.parse_job_id(body, job.name, self._provider.service),
            )
        except (Throttled, TransientFailure):
            return job.after_failed_poll(now)
        return self._record_submission(job.with_job_id(job_id)) if job_id else job.abandoned("it was never created")

    def _poll(self, job: BatchJob, now: float) -> BatchJob:
        """Ask the service for the state of a job."""
        try:
            progress = self._send(
                self._api.poll(self._provider.settings, job.job_id),
                lambda body: self._api.progress(body, self._provider.service),
                job=job,
            )
        except _NotFound:
            return job.abandoned("the service does not know it any more")
        except (Throttled, TransientFailure):
            return job.after_failed_poll(now)
        return job.after_poll(progress, now)

    def _collect(self, job: BatchJob) -> Collected:
        """Return the results of a job; `again` has all keys without a result."""
        rows: list[BatchRow] = []
        for output in job.outputs:
            request = self._api.results(self._provider.settings, job, output)
            with suppress(_NotFound):
                rows += self._send(request, self._api.rows, seconds=_FILE_SECONDS, job=job)
        outcome = sort_results(job, rows)
        failures: dict[str, EmbeddingError] = {
            row.key: InputRejected(f"{self._provider.service} refused this text: {sentence(row.message)}")
            for row in outcome.failed
        }
        vectors = self._vectors(outcome.rows, failures)
        if outcome.rows and not vectors and len(outcome.rows) > 1:
            self._drop(job)
            raise failures[outcome.rows[0].key]
        return Collected(tuple(vectors), self._stack([*vectors.values()]), failures, outcome.again)

    def _vectors(self, rows: Sequence[BatchRow], failures: dict[str, EmbeddingError]) -> dict[str, NDArray[np.float32]]:
        """Return the unit vector of each row, by key; add rows without a usable vector to `failures`."""
        service = self._provider.service
        dimensions = self._provider.spec.dimensions
        vectors: dict[str, NDArray[np.float32]] = {}
        for row in rows:
            try:
                (vector,), (usable,) = normalise(
                    matrix([row.embedding], count=1, dimensions=dimensions, service=service)
                )
            except BadVector as error:
                failures[row.key] = error
                continue
            if usable:
                vectors[row.key] = vector
            else:
                failures[row.key] = InputRejected(f"{service} gave a vector that is zero or not finite.")
        return vectors

    def _stack(self, vectors: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        import numpy as np

        return np.array(vectors, np.float32).reshape(len(vectors), self._provider.spec.dimensions)

    def _drop(self, job: BatchJob) -> None:
        """Drop a job, and delete the copies of its texts that the service keeps."""
        self._store.drop(job)
        for request in self._api.tidy(self._provider.settings, job):
            with suppress(EmbeddingError):
                self._send(request, lambda _: None)

    def _send(
        self,
        request: Request,
        read: Callable[[bytes], T],
        *,
        seconds: float = _SECONDS,
        once: bool = False,
        job: BatchJob | None = None,
    ) -> T:
        """Send a request and return the parsed response.

        `job` is the job whose results the response may hold; the size limit of the response depends on it.
        """
        most_bytes = self._provider.most_bytes(len(job.keys)) if job is not None else _MOST_LISTING_BYTES

        def error_of(response: Response) -> EmbeddingError:
            if response.status == 404 and request.method == "GET":
                return _NotFound("not found")
            secrets = self._provider.settings.secrets
            return self._api.vendor.error_of(
                response.status, response.headers, response.body, secrets, self._provider.service
            )

        def call() -> Any:
            return self._http.send(
                request,
                timeout=seconds,
                read=lambda response: read(response.body),
                error_of=error_of,
                once=once,
                most_bytes=most_bytes,
            )

        return self._provider.guard.call(call)
