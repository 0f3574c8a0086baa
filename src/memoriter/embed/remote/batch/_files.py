"""The batch interfaces of OpenAI and Voyage AI: a file of requests, `POST /batches`, a file of results within a day."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, cast

from memoriter.embed.remote import _openai, _voyage
from memoriter.embed.remote._vendor import headers_for
from memoriter.embed.remote._wire import (
    JSON_TYPE,
    Request,
    error_value_text,
    json_body,
    json_object,
    json_post,
    word_of,
)
from memoriter.embed.remote.batch._job import BatchApi, BatchProgress, BatchRow, get_request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memoriter.embed.remote._vendor import RemoteSettings, Vendor
    from memoriter.embed.remote.batch._job import BatchJob, Items

MARK = "memoriter"
"""Our key in the metadata of a job."""
_MOST_FILE_BYTES = 150_000_000
_ENDED = {"completed", "failed", "expired", "cancelled", "canceled"}
_ENDPOINT = "/v1/embeddings"


def upload_request(url: str, headers: Mapping[str, str], lines: Sequence[object], name: str) -> Request:
    """Return the request `POST /files` with purpose `batch`: a multipart form with one JSON object per line."""
    content = b"".join(json_body(line) + b"\n" for line in lines)
    boundary = f"memoriter-{hashlib.sha256(content).hexdigest()[:32]}"
    form = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}.jsonl"\r\n'
        f"Content-Type: application/jsonl\r\n\r\n"
    )
    body = form.encode() + content + f"\r\n--{boundary}--\r\n".encode()
    return Request(
        url, {**headers, "content-type": f"multipart/form-data; boundary={boundary}", "accept": JSON_TYPE}, body
    )


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
        lines = [line(key, text, settings) for key, text in items]
        return upload_request(url(settings, "/files"), headers_for(settings), lines, name)

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
        rows=lambda body, _: parse_rows(body),
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
    for line in body.splitlines():
        try:
            entry: Any = json.loads(line)
        except (ValueError, RecursionError):
            continue
        fields = _as_object(entry)
        key = fields.get("custom_id")
        if isinstance(key, str):
            rows.append(_parse_row(key, fields))
    return rows


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


def find_job_id(body: bytes, name: str, service: str) -> str | None:
    """Return the id of the job with our name in a list of OpenAI's kind, or None."""
    jobs = json_object(body, service).get("data")
    for job in cast("list[Any]", jobs) if isinstance(jobs, list) else []:
        entry = _as_object(job)
        if _as_object(entry.get("metadata")).get(MARK) == name and entry.get("id"):
            return word_of(entry["id"]) or None
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
