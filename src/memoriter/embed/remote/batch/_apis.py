"""A batch job, whose state can be stored, and the batch interfaces of the vendors. All functions are pure.

OpenAI and Voyage AI take a file of requests and return a file of results. Gemini's job contains the requests.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

from memoriter.embed.remote import _gemini, _openai, _voyage
from memoriter.embed.remote._vendor import headers_for
from memoriter.embed.remote._wire import (
    JSON_TYPE,
    Request,
    error_text,
    error_value_text,
    json_body,
    json_object,
    json_post,
    word_of,
)
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
MARK = "memoriter"
"""Our key in the metadata of a job."""
_MOST_FILE_BYTES = 150_000_000
_ENDED = {"completed", "failed", "expired", "cancelled", "canceled"}
_ENDPOINT = "/v1/embeddings"
_INLINE = "inline"
"""Stands for results within the operation itself."""
_GEMINI_ENDED = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED")


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
    """Parses a response body; the second argument names the sender (see `Vendor.display_name`)."""
    results: Callable[[RemoteSettings, BatchJob, str], Request]
    """Builds the request for one of a job's outputs."""
    rows: Callable[[bytes], list[BatchRow]]
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


def file_batch_api(
    vendor: Vendor,
    *,
    most_inputs: int,
    line: Callable[[str, str, RemoteSettings], object],
    job: Callable[[str, RemoteSettings], dict[str, object]],
) -> BatchApi:
    """Return the interface of a vendor that takes a file of requests and returns a file of responses, as OpenAI does.

    `line` returns one line of the file for a key, a text and the settings, `job` the body for the uploaded file's id.
    """

    def url(settings: RemoteSettings, path: str) -> str:
        return vendor.address(settings.base_url) + path

    def upload(items: Items, settings: RemoteSettings, name: str) -> Request:
        """Return the request `POST /files` with purpose `batch`: a multipart form with one JSON object per line."""
        content = b"".join(json_body(line(key, text, settings)) + b"\n" for key, text in items)
        boundary = f"memoriter-{hashlib.sha256(content).hexdigest()[:32]}"
        form = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}.jsonl"\r\n'
            f"Content-Type: application/jsonl\r\n\r\n"
        )
        body = form.encode() + content + f"\r\n--{boundary}--\r\n".encode()
        content_type = f"multipart/form-data; boundary={boundary}"
        headers = {**headers_for(settings), "content-type": content_type, "accept": JSON_TYPE}
        return Request(url(settings, "/files"), headers, body)

    def create(items: Items, settings: RemoteSettings, name: str, file: str) -> Request:
        del items
        body = {**job(file, settings), "metadata": {MARK: name}}
        return json_post(url(settings, "/batches"), headers_for(settings), body)

    def results(settings: RemoteSettings, job: BatchJob, output: str) -> Request:
        del job
        return get_request(url(settings, f"/files/{output}/content"), headers_for(settings))

    def tidy(settings: RemoteSettings, job: BatchJob) -> list[Request]:
        files = (*job.files, *job.outputs)
        return [Request(url(settings, f"/files/{file}"), headers_for(settings), method="DELETE") for file in files]

    return BatchApi(
        vendor=vendor,
        most_inputs=most_inputs,
        most_bytes=_MOST_FILE_BYTES,
        upload=upload,
        create=create,
        id_field="id",
        poll=lambda settings, job_id: get_request(url(settings, f"/batches/{job_id}"), headers_for(settings)),
        progress=parse_progress,
        results=results,
        rows=parse_rows,
        cancel=lambda settings, job_id: json_post(
            url(settings, f"/batches/{job_id}/cancel"), headers_for(settings), {}
        ),
        find=lambda settings: get_request(url(settings, "/batches?limit=100"), headers_for(settings)),
        parse_job_id=find_job_id,
        tidy=tidy,
    )


def parse_progress(body: bytes, service: str) -> BatchProgress:
    """Parse the state of a job: `status`, `output_file_id`, `error_file_id`, `errors.data[].message`."""
    job = json_object(body, service)
    status = word_of(job.get("status"))
    files = tuple(filter(None, (word_of(job.get(name)) for name in ("output_file_id", "error_file_id"))))
    reason = "" if status == "completed" else status
    if job.get("errors"):
        errors: Any = job["errors"]
        listed = cast("dict[str, Any]", errors).get("data") if isinstance(errors, dict) else errors
        reason = f"{status}: {error_value_text(listed)}"
    return BatchProgress(status in _ENDED, files, reason if status in _ENDED else "")


def parse_rows(body: bytes) -> list[BatchRow]:
    """Parse lines of `{"custom_id", "response": {"status_code", "body"}, "error"}`; skip other lines."""
    rows: list[BatchRow] = []
    for entry in map(_as_object, _parse_lines(body)):
        key = entry.get("custom_id")
        if isinstance(key, str):
            rows.append(_parse_row(key, entry))
    return rows


def _parse_lines(body: bytes) -> list[Any]:
    """Return the JSON of each line; skip other lines."""
    entries: list[Any] = []
    for line in filter(None, body.splitlines()):
        try:
            entries.append(json.loads(line))
        except (ValueError, RecursionError):
            continue
    return entries


def _parse_row(key: str, entry: dict[str, Any]) -> BatchRow:
    response = _as_object(entry.get("response"))
    body = _as_object(response.get("body"))
    entries = body.get("data")
    first = _as_object(cast("list[Any]", entries)[0]) if isinstance(entries, list) and entries else {}
    status = response.get("status_code", 200 if first else 500)
    if first.get("embedding") and status == 200:
        return BatchRow(key, first["embedding"])
    return BatchRow(key, None, status if isinstance(status, int) else 500, error_value_text(entry.get("error") or body))


def _as_object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def find_job_id(
    body: bytes, name: str, service: str, *, jobs: str = "data", mark: str = MARK, id_field: str = "id"
) -> str | None:
    """Return the id of the job with our name in a list of jobs, or None; `mark` is the field of our name."""
    listed = json_object(body, service).get(jobs)
    for item in cast("list[Any]", listed) if isinstance(listed, list) else []:
        job = _as_object(item)
        if _as_object(job.get("metadata")).get(mark) == name and job.get(id_field):
            return word_of(job[id_field]) or None
    return None


def _openai_line(key: str, text: str, settings: RemoteSettings) -> object:
    return {"custom_id": key, "method": "POST", "url": _ENDPOINT, "body": _openai.request_body([text], settings)}


def _openai_job(file: str, settings: RemoteSettings) -> dict[str, object]:
    del settings
    return {"input_file_id": file, "endpoint": _ENDPOINT, "completion_window": "24h"}


# developers.openai.com/api/docs/guides/batch: the limits are 50,000 texts and 200 MB per file.
OPENAI = file_batch_api(_openai.VENDOR, most_inputs=10_000, line=_openai_line, job=_openai_job)


def _voyage_line(key: str, text: str, settings: RemoteSettings) -> object:
    del settings
    return {"custom_id": key, "body": {"input": [text]}}


def _voyage_job(file: str, settings: RemoteSettings) -> dict[str, object]:
    return {
        "endpoint": _ENDPOINT,
        "completion_window": "12h",
        "request_params": _voyage.request_params("document", settings),
        "input_file_id": file,
    }


# docs.voyageai.com/docs/batch-inference: the limits are 100,000 texts and 1 GB per file.
VOYAGE = file_batch_api(_voyage.VENDOR, most_inputs=5_000, line=_voyage_line, job=_voyage_job)


def _gemini_base_url(settings: RemoteSettings) -> str:
    return _gemini.VENDOR.address(settings.base_url)


def _gemini_create(items: Items, settings: RemoteSettings, name: str, file: str) -> Request:
    del file
    requests = [{"request": _gemini.entry(text, "document", settings), "metadata": {"key": key}} for key, text in items]
    batch = {
        "model": _gemini.model_path(settings),
        "displayName": name,
        "inputConfig": {"requests": {"requests": requests}},
    }
    return json_post(_gemini.url_of(settings, "asyncBatchEmbedContent"), _gemini.headers_of(settings), {"batch": batch})


def _gemini_poll(settings: RemoteSettings, job_id: str) -> Request:
    return get_request(f"{_gemini_base_url(settings)}/{job_id}", _gemini.headers_of(settings))


def _gemini_parse_progress(body: bytes, service: str) -> BatchProgress:
    operation = json_object(body, service)
    state = word_of(_as_object(operation.get("metadata")).get("state") or operation.get("state"))
    ended = bool(operation.get("done")) or state.endswith(_GEMINI_ENDED)
    if not ended:
        return BatchProgress(ended=False)
    output = _gemini_output(operation)
    file = word_of(output.get("responsesFile"))
    outputs: tuple[str, ...] = (file,) if file else ()
    if not file and _gemini_responses(output):
        outputs = (_INLINE,)
    reason = "" if state.endswith("SUCCEEDED") or outputs else state
    if operation.get("error"):
        reason = error_value_text(operation["error"])
    return BatchProgress(ended=True, outputs=outputs, reason=reason)


def _gemini_results(settings: RemoteSettings, job: BatchJob, output: str) -> Request:
    if output == _INLINE:
        return _gemini_poll(settings, job.job_id)
    root, _, version = _gemini_base_url(settings).rpartition("/")
    return get_request(f"{root}/download/{version}/{output}:download?alt=media", _gemini.headers_of(settings))


def _gemini_parse_rows(body: bytes) -> list[BatchRow]:
    """Parse the results, which are in the operation or one per line. A result without a key belongs to no text."""
    try:
        operation = _as_object(json.loads(body))
    except (ValueError, RecursionError):
        operation = {}
    is_operation = "done" in operation or "metadata" in operation
    entries = _gemini_responses(_gemini_output(operation)) if is_operation else _parse_lines(body)
    return [_gemini_parse_row(key, item) for item in map(_as_object, entries) if (key := _gemini_key_of(item))]


def _gemini_key_of(item: dict[str, Any]) -> str:
    return word_of(_as_object(item.get("metadata")).get("key") or item.get("key"))


def _gemini_parse_row(key: str, item: dict[str, Any]) -> BatchRow:
    values = _gemini.values_of(_as_object(item.get("response")).get("embedding"))
    if values:
        return BatchRow(key, values)
    error = _as_object(item.get("error"))
    # google.rpc codes: 3 is INVALID_ARGUMENT.
    return BatchRow(key, None, 400 if word_of(error.get("code")) in {"3", "400"} else 500, error_value_text(error))


def _gemini_output(operation: dict[str, Any]) -> dict[str, Any]:
    return _as_object(operation.get("response")) or _as_object(_as_object(operation.get("metadata")).get("output"))


def _gemini_responses(output: dict[str, Any]) -> list[Any]:
    """Return the list of responses.

    The API uses both field names, and wraps the list in an object of the same name or not.
    """
    value = output.get("inlinedResponses") or output.get("inlinedEmbedContentResponses")
    if isinstance(value, dict):
        value = cast("dict[str, Any]", value).get("inlinedResponses")
    return cast("list[Any]", value) if isinstance(value, list) else []


def _gemini_cancel(settings: RemoteSettings, job_id: str) -> Request:
    return json_post(f"{_gemini_base_url(settings)}/{job_id}:cancel", _gemini.headers_of(settings), {})


def _gemini_find(settings: RemoteSettings) -> Request:
    return get_request(f"{_gemini_base_url(settings)}/batches?pageSize=100", _gemini.headers_of(settings))


def _gemini_tidy(settings: RemoteSettings, job: BatchJob) -> list[Request]:
    if not job.job_id:
        return []
    return [Request(f"{_gemini_base_url(settings)}/{job.job_id}", _gemini.headers_of(settings), method="DELETE")]


# ai.google.dev/gemini-api/docs/batch-api: the limit for inline requests is 20 MB.
GEMINI = BatchApi(
    vendor=_gemini.VENDOR,
    most_inputs=1_000,
    most_bytes=12_000_000,
    upload=None,
    create=_gemini_create,
    id_field="name",
    poll=_gemini_poll,
    progress=_gemini_parse_progress,
    results=_gemini_results,
    rows=_gemini_parse_rows,
    cancel=_gemini_cancel,
    find=_gemini_find,
    parse_job_id=partial(find_job_id, jobs="operations", mark="displayName", id_field="name"),
    tidy=_gemini_tidy,
)
