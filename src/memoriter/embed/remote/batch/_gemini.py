"""Gemini's batch interface: `:asyncBatchEmbedContent` takes the requests and starts an operation with the results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from memoriter.embed.remote._gemini import VENDOR, entry, headers_of, model_path, url_of, values_of
from memoriter.embed.remote._wire import Request, error_value_text, json_object, json_post, word_of
from memoriter.embed.remote.batch._job import BatchApi, BatchProgress, BatchRow, get_request

if TYPE_CHECKING:
    from memoriter.embed.remote._vendor import RemoteSettings
    from memoriter.embed.remote.batch._job import BatchJob, Items

_INLINE = "inline"
"""Stands for results within the operation itself."""
_ENDED = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED")


def _base_url(settings: RemoteSettings) -> str:
    return VENDOR.address(settings.base_url)


def _create(items: Items, settings: RemoteSettings, name: str, file: str) -> Request:
    del file
    requests = [{"request": entry(text, "document", settings), "metadata": {"key": key}} for key, text in items]
    batch = {
        "model": model_path(settings),
        "displayName": name,
        "inputConfig": {"requests": {"requests": requests}},
    }
    return json_post(url_of(settings, "asyncBatchEmbedContent"), headers_of(settings), {"batch": batch})


def _poll(settings: RemoteSettings, job_id: str) -> Request:
    return get_request(f"{_base_url(settings)}/{job_id}", headers_of(settings))


def _parse_progress(body: bytes, service: str) -> BatchProgress:
    operation = json_object(body, service)
    state = word_of(_as_object(operation.get("metadata")).get("state") or operation.get("state"))
    ended = bool(operation.get("done")) or state.endswith(_ENDED)
    if not ended:
        return BatchProgress(ended=False)
    output = _output(operation)
    file = word_of(output.get("responsesFile"))
    outputs: tuple[str, ...] = (file,) if file else ()
    if not file and _responses(output):
        outputs = (_INLINE,)
    reason = "" if state.endswith("SUCCEEDED") or outputs else state
    if operation.get("error"):
        reason = error_value_text(operation["error"])
    return BatchProgress(ended=True, outputs=outputs, reason=reason)


def _results(settings: RemoteSettings, job: BatchJob, output: str) -> Request:
    if output == _INLINE:
        return _poll(settings, job.job_id)
    root, _, version = _base_url(settings).rpartition("/")
    return get_request(f"{root}/download/{version}/{output}:download?alt=media", headers_of(settings))


def _parse_rows(body: bytes, job: BatchJob) -> list[BatchRow]:
    """Parse the results, which are in the operation or one per line. A result without a key belongs to no text."""
    del job
    try:
        operation = _as_object(json.loads(body))
    except (ValueError, RecursionError):
        operation = {}
    entries = _responses(_output(operation)) if "done" in operation or "metadata" in operation else _parse_lines(body)
    return [_parse_row(key, item) for item in map(_as_object, entries) if (key := _key_of(item))]


def _key_of(item: dict[str, Any]) -> str:
    return word_of(_as_object(item.get("metadata")).get("key") or item.get("key"))


def _parse_row(key: str, item: dict[str, Any]) -> BatchRow:
    values = values_of(_as_object(item.get("response")).get("embedding"))
    if values:
        return BatchRow(key, values)
    error = _as_object(item.get("error"))
    # google.rpc codes: 3 is INVALID_ARGUMENT.
    return BatchRow(key, None, 400 if word_of(error.get("code")) in {"3", "400"} else 500, error_value_text(error))


def _output(operation: dict[str, Any]) -> dict[str, Any]:
    return _as_object(operation.get("response")) or _as_object(_as_object(operation.get("metadata")).get("output"))


def _responses(output: dict[str, Any]) -> list[Any]:
    """Return the list of responses.

    The API uses both field names, and wraps the list in an object of the same name or not.
    """
    value = output.get("inlinedResponses") or output.get("inlinedEmbedContentResponses")
    if isinstance(value, dict):
        value = cast("dict[str, Any]", value).get("inlinedResponses")
    return cast("list[Any]", value) if isinstance(value, list) else []


def _parse_lines(body: bytes) -> list[Any]:
    entries: list[Any] = []
    for line in filter(None, body.splitlines()):
        try:
            entries.append(json.loads(line))
        except (ValueError, RecursionError):
            continue
    return entries


def _as_object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _cancel(settings: RemoteSettings, job_id: str) -> Request:
    return json_post(f"{_base_url(settings)}/{job_id}:cancel", headers_of(settings), {})


def _find(settings: RemoteSettings) -> Request:
    return get_request(f"{_base_url(settings)}/batches?pageSize=100", headers_of(settings))


def _parse_job_id(body: bytes, name: str, service: str) -> str | None:
    operations = json_object(body, service).get("operations")
    for item in cast("list[Any]", operations) if isinstance(operations, list) else []:
        operation = _as_object(item)
        if _as_object(operation.get("metadata")).get("displayName") == name and operation.get("name"):
            return word_of(operation["name"]) or None
    return None


def _tidy(settings: RemoteSettings, job: BatchJob) -> list[Request]:
    return [Request(f"{_base_url(settings)}/{job.job_id}", headers_of(settings), method="DELETE")] if job.job_id else []


# ai.google.dev/gemini-api/docs/batch-api: the limit for inline requests is 20 MB.
GEMINI = BatchApi(
    vendor=VENDOR,
    most_inputs=1_000,
    most_bytes=12_000_000,
    upload=None,
    create=_create,
    id_field="name",
    poll=_poll,
    progress=_parse_progress,
    results=_results,
    rows=_parse_rows,
    cancel=_cancel,
    find=_find,
    parse_job_id=_parse_job_id,
    tidy=_tidy,
)
