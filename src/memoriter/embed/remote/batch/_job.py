"""A batch job: its state, and the interface that each vendor implements with pure functions.

Time is an argument, and all state can be stored.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from memoriter.embed.remote._wire import Request, error_text, json_object
from memoriter.errors import TransientFailure
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memoriter.embed.remote._vendor import RemoteSettings, Vendor

    Items = Sequence[tuple[str, str]]


Stage = Literal["creating", "running", "cancelling", "ended"]
"""`creating` is stored before the request is sent, since the process may end before it receives the job's id."""
Step = Literal["find", "poll", "wait", "cancel", "abandon", "collect"]

CANCEL_SECONDS = 600.0
"""Time for a cancelled job to deliver its results; then it is abandoned."""


@dataclass(frozen=True, slots=True)
class BatchRules:
    """Limits for batch jobs; the fields of `remote.batch`."""

    wait: bool = True
    concurrency: int = 2
    poll_seconds: float = 2.0
    timeout_minutes: float = 60.0
    """Limit for a job that is waited for. A job that a later run collects may take as long as the service allows."""
    most_tries: int = 2
    """Maximum number of jobs for one text before it is returned."""


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """The state of a job, as the service reports it."""

    ended: bool
    outputs: tuple[str, ...] = ()
    """Files with the results and with the errors of single texts."""
    reason: str = ""
    """The reason if the job ended without completing."""


@dataclass(frozen=True, slots=True)
class BatchJob:
    """One job. It stores keys only: no texts and nothing secret."""

    name: str
    """Our own name, sent with the job, so that a job with a lost id can be found again."""
    keys: tuple[str, ...]
    created: float
    """Seconds since 1970."""
    stage: Stage = "creating"
    job_id: str = ""
    files: tuple[str, ...] = ()
    """Uploaded files, to be deleted at the end."""
    outputs: tuple[str, ...] = ()
    reason: str = ""
    polled: float | None = None
    cancelled: float = 0.0
    tokens: int = 0
    """Estimated tokens of the texts."""
    tries: int = 1

    def step(self, now: float, rules: BatchRules) -> Step:
        """Return the next step. A late job is polled once more before it is cancelled."""
        polled_recently = self.polled is not None and 0 <= now - self.polled < rules.poll_seconds
        deadline = self.created + rules.timeout_minutes * 60
        match self.stage:
            case "creating":
                return "wait" if polled_recently else "find"
            case "ended":
                return "collect"
            case "cancelling" if self.polled is not None and self.polled - self.cancelled > CANCEL_SECONDS:
                return "abandon"
            case "running" if rules.wait and self.polled is not None and self.polled >= deadline:
                return "cancel"
            case _:
                return "wait" if polled_recently else "poll"

    def with_file(self, file: str) -> BatchJob:
        return replace(self, files=(*self.files, file))

    def with_job_id(self, job_id: str) -> BatchJob:
        return replace(self, stage="running", job_id=job_id)

    def after_poll(self, progress: BatchProgress, now: float) -> BatchJob:
        """Return the job after a response to a poll."""
        stage: Stage = "ended" if progress.ended else self.stage
        return replace(self, stage=stage, outputs=progress.outputs, reason=progress.reason, polled=now)

    def after_failed_poll(self, now: float) -> BatchJob:
        """Return the job after a poll without a response."""
        return replace(self, polled=now)

    def after_cancel(self, now: float) -> BatchJob:
        return replace(self, stage="cancelling", cancelled=now)

    def abandoned(self, reason: str) -> BatchJob:
        """Return the job as ended without results."""
        return replace(self, stage="ended", outputs=(), reason=reason)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> BatchJob | None:
        """Return the stored job, or None if it cannot be parsed."""
        try:
            fields = cast("dict[str, Any]", json.loads(text))
            for name in ("keys", "files", "outputs"):
                fields[name] = tuple(map(str, fields[name]))
            return cls(**fields)
        except (ValueError, TypeError, KeyError):
            return None


@dataclass(frozen=True, slots=True)
class BatchRow:
    """The result of one text."""

    key: str
    embedding: Any = None
    """The vector in the service's format; None if there is an error."""
    status: int = 200
    message: str = ""


@dataclass(frozen=True, slots=True)
class SortedResults:
    """The texts of an ended job. Each is in exactly one of the three fields."""

    rows: tuple[BatchRow, ...]
    failed: tuple[BatchRow, ...]
    """Texts that the service rejects because of their content."""
    again: tuple[str, ...]
    """Keys of texts without a result, through no fault of theirs."""


def sort_results(job: BatchJob, rows: list[BatchRow]) -> SortedResults:
    """Sort the texts of a job by their results. Rows of other jobs are ignored; of duplicates, one counts."""
    by_key: dict[str, BatchRow] = {}
    for row in rows:
        if row.key not in by_key or by_key[row.key].embedding is None:
            by_key[row.key] = row
    own_rows = [by_key[key] for key in job.keys if key in by_key]
    succeeded = tuple(row for row in own_rows if row.embedding is not None)
    failed = tuple(row for row in own_rows if row.embedding is None and row.status in {400, 413, 422})
    done_keys = {row.key for row in (*succeeded, *failed)}
    return SortedResults(succeeded, failed, tuple(key for key in job.keys if key not in done_keys))


@dataclass(frozen=True, slots=True)
class BatchApi:
    """A vendor's batch interface. Items are pairs of key (up to 64 characters) and text, ready to send."""

    vendor: Vendor
    most_inputs: int
    """Maximum texts of one job; below the vendor's limit, so that the results fit into memory."""
    most_bytes: int
    """Maximum size of the texts of one job."""
    upload: Callable[[Items, RemoteSettings, str], Request] | None
    """Builds the request that uploads the texts as a file with a name; None if the job itself contains the texts."""
    create: Callable[[Items, RemoteSettings, str, str], Request]
    """Builds the request that creates a job from its name and the uploaded file."""
    id_field: str
    """Field of the response that holds the job's id."""
    poll: Callable[[RemoteSettings, str], Request]
    progress: Callable[[bytes, str], BatchProgress]
    """Parses a response body; the second argument names the sender (see `Vendor.called`)."""
    results: Callable[[RemoteSettings, BatchJob, str], Request]
    """Builds the request for one of a job's outputs."""
    rows: Callable[[bytes, BatchJob], list[BatchRow]]
    cancel: Callable[[RemoteSettings, str], Request]
    find: Callable[[RemoteSettings], Request]
    """Builds the request for the latest jobs."""
    parse_job_id: Callable[[bytes, str, str], str | None]
    """Returns the id of the job with a given name in the list of jobs, or None; the last argument names the sender."""
    tidy: Callable[[RemoteSettings, BatchJob], list[Request]]
    """Builds the requests that delete the vendor's copies of our texts."""


def new_job_name(keys: Sequence[str], now: float) -> str:
    """Return a name for a job. Each call with another time gives another name."""
    return hashlib.sha256(json.dumps([now, *keys]).encode()).hexdigest()[:24]


def parse_id(body: bytes, service: str, name: str = "id") -> str:
    """Return the id that a service assigned to a file or a job. Raises TransientFailure: the response has no id."""
    value = json_object(body, service).get(name)
    if not isinstance(value, str) or not value:
        raise TransientFailure(f"{service} answered without {name!r}: {error_text(body)!r}.")
    return value


def get_request(url: str, headers: Mapping[str, str]) -> Request:
    return Request(url, headers, method="GET")
