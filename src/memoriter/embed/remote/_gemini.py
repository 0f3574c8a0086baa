"""Google's Gemini API: `POST <base>/models/<model>:batchEmbedContents`, one entry a text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from memoriter.embed.remote._vendor import Price, RemoteModel, Vendor, endpoint_of, headers_for
from memoriter.embed.remote._wire import (
    ErrorResponse,
    classify,
    error_object,
    json_body,
    json_object,
    json_post,
    listed,
    matrix,
    to_exception,
    word_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed.remote._vendor import RemoteSettings
    from memoriter.embed.remote._wire import Kind, Request
    from memoriter.errors import EmbeddingError
    from memoriter.types import Role

_SERVICE = "Gemini"
_TASKS = ("RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT")

# ai.google.dev/gemini-api/docs/embeddings and /api/embeddings. The first model takes a task type and normalises only
# vectors of full size; the second is told its task in words around the text, and is said to normalise all.
_FIRST = RemoteModel(
    dimensions=3072,
    sizes=(128, 3072),
    max_tokens=2048,
    max_inputs=100,
    max_request_tokens=200_000,
    query_template="[taskType=RETRIEVAL_QUERY] {text}",
    document_template="[taskType=RETRIEVAL_DOCUMENT] {text}",
    tasks=_TASKS,
)
_SECOND = RemoteModel(
    dimensions=3072,
    sizes=(128, 3072),
    max_tokens=8192,
    max_inputs=100,
    max_request_tokens=400_000,
    query_template="task: search result | query: {text}",
    document_template="title: none | text: {text}",
)
_MODELS = {
    "gemini-embedding-001": _FIRST,
    "gemini-embedding-2": _SECOND,
    "gemini-embedding-2-preview": _SECOND,
}
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")


def _address(base_url: str) -> str:
    address = endpoint_of(base_url)
    return address.partition("/openai")[0].partition("/models/")[0]


def model_path(settings: RemoteSettings) -> str:
    """Return the resource name of the model: `models/<name>`."""
    return "models/" + settings.model.removeprefix("models/")


def entry(text: str, role: Role, settings: RemoteSettings) -> dict[str, object]:
    """Return one EmbedContentRequest. Each text is a content, because the parts of a content become one vector."""
    value: dict[str, object] = {"model": model_path(settings), "content": {"parts": [{"text": text}]}}
    row = _MODELS.get(settings.model.removeprefix("models/")) or _FIRST
    if row.tasks[0]:
        value["taskType"] = row.tasks[0 if role == "query" else 1]
    if row.sizes and settings.dimensions not in {None, row.dimensions}:
        value["outputDimensionality"] = settings.dimensions
    return value


def url_of(settings: RemoteSettings, method: str) -> str:
    """Return the URL of a method of the model."""
    return f"{_address(settings.base_url)}/{model_path(settings)}:{method}"


def headers_of(settings: RemoteSettings) -> dict[str, str]:
    """Return the headers, with the key. In a URL the key would end up in logs."""
    return headers_for(settings, key_header="x-goog-api-key", prefix="")


def build_request(texts: Sequence[str], role: Role, settings: RemoteSettings) -> Request:
    """Return one request for all texts."""
    body = {"requests": [entry(text, role, settings) for text in texts]}
    return json_post(url_of(settings, "batchEmbedContents"), headers_of(settings), body)


def parse_response(body: bytes, count: int, dimensions: int | None, service: str = _SERVICE) -> NDArray[np.float64]:
    """Return the vectors of a response; see `Vendor.parse_response`."""
    rows = [values_of(item) for item in listed(json_object(body, service), "embeddings", service)]
    return matrix(rows, count=count, dimensions=dimensions, service=service)


def values_of(item: Any) -> Any:
    """Return the numbers of a ContentEmbedding, or None."""
    return cast("dict[str, Any]", item).get("values") if isinstance(item, dict) else None


def error_of(refusal: ErrorResponse) -> EmbeddingError:
    """Convert an error response to an error.

    The message "You exceeded your current quota" is about a minute or a day; `details` has the difference.
    """
    details = _details(refusal.body)
    waits = [match for detail in details if (match := _DURATION.fullmatch(word_of(detail.get("retryDelay"))))]
    wait = float(waits[0][1]) if waits else None
    return to_exception(refusal, _kind(refusal, details), retry_after=wait)


def _kind(refusal: ErrorResponse, details: Sequence[Mapping[str, Any]]) -> Kind:
    if any(detail.get("reason") == "API_KEY_INVALID" for detail in details) or "API key" in refusal.whole:
        return "unauthorised"
    if refusal.status == 429:
        violated = b" ".join(_written(detail.get("violations")) for detail in details)
        spent = b"PerDay" in violated or "credits are depleted" in refusal.whole
        return "quota" if spent else "throttled"
    return classify(refusal.status, refusal.whole)


def _details(body: bytes) -> list[dict[str, Any]]:
    details = error_object(body).get("details")
    items = cast("list[Any]", details) if isinstance(details, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]


def _written(value: Any) -> bytes:
    try:
        return json_body(value)
    except RecursionError:
        return b""


_PRICING = "https://ai.google.dev/gemini-api/docs/pricing"
_PRICES = {
    "gemini-embedding-001": Price(0.15, 0.075, _PRICING),
    "gemini-embedding-2": Price(0.20, 0.10, _PRICING),
    "gemini-embedding-2-preview": Price(0.20, 0.10, _PRICING),
}

VENDOR = Vendor(
    name="gemini",
    title=_SERVICE,
    base_url="https://generativelanguage.googleapis.com/v1beta",
    models=_MODELS,
    prices=_PRICES,
    unlisted_model=lambda _: _FIRST,
    build_request=build_request,
    parse_response=parse_response,
    refuse=error_of,
    prefixes=("models/", "gemini/", "google/"),
    address=_address,
)
