"""OpenAI, and every endpoint that speaks like it: LM Studio, vLLM, llama.cpp, OpenRouter and many more.

`POST <base>/embeddings` with `model`, `input`, and `dimensions` and `encoding_format` where they are known to be taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.embed.remote._vendor import Price, RemoteModel, Vendor, embeddings_address, headers_for, open_model
from memoriter.embed.remote._wire import (
    ErrorResponse,
    classify,
    error_object,
    json_object,
    json_post,
    listed,
    matrix,
    ordered,
    to_exception,
    word_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed.remote._vendor import RemoteSettings
    from memoriter.embed.remote._wire import Kind, Request
    from memoriter.errors import EmbeddingError
    from memoriter.types import Role

_SERVICE = "OpenAI"
_BASE_URL = "https://api.openai.com/v1"


def _row(dimensions: int, sizes: tuple[int, int] | None) -> RemoteModel:
    return RemoteModel(dimensions=dimensions, sizes=sizes, max_tokens=8191, max_inputs=2048, max_request_tokens=300_000)


# developers.openai.com/api/docs/guides/embeddings and /api/reference/resources/embeddings
_MODELS = {
    "text-embedding-3-small": _row(1536, (1, 1536)),
    "text-embedding-3-large": _row(3072, (1, 3072)),
    "text-embedding-ada-002": _row(1536, None),
}
_QUOTA_CODES = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_credits"}
_SETTING_PARAMS = {"model", "dimensions", "encoding_format"}


def request_body(texts: Sequence[str], settings: RemoteSettings) -> dict[str, object]:
    """Return the JSON of one request, for this interface and for batches."""
    official = embeddings_address(settings.base_url) == _BASE_URL  # others do not accept every parameter
    body: dict[str, object] = {
        "model": settings.model,
        "input": list(texts),
        "encoding_format": "base64" if official else "float",
    }
    row = _MODELS.get(settings.model)
    if official and row and row.sizes and settings.dimensions not in {None, row.dimensions}:
        body["dimensions"] = settings.dimensions
    return body


def build_request(texts: Sequence[str], role: Role, settings: RemoteSettings) -> Request:
    """Return one request for all texts; the role is in their templates already."""
    del role
    url = embeddings_address(settings.base_url) + "/embeddings"
    return json_post(url, headers_for(settings), request_body(texts, settings))


def parse_response(body: bytes, count: int, dimensions: int | None, service: str = _SERVICE) -> NDArray[np.float64]:
    """Return vectors of shape (count, dimensions), in the order of the texts, from numbers or base64.

    Raises:
        BadVector: the number of vectors or of dimensions is wrong.
        TransientFailure: the body is not a response of the API, or is the error that OpenRouter sends with status 200.
    """
    answer = json_object(body, service)
    if "data" not in answer and (error := error_object(body)) and "message" in error:
        status = error.get("code")
        known = status if isinstance(status, int) and 400 <= status < 600 else 503
        raise error_of(ErrorResponse(service, known, {}, body))
    return matrix(
        ordered(listed(answer, "data", service), count, service), count=count, dimensions=dimensions, service=service
    )


def error_of(refusal: ErrorResponse) -> EmbeddingError:
    """Convert an error response to an error: `error.code`, `error.type` and `error.param` first, then the status."""
    return to_exception(refusal, _kind(refusal))


def _kind(refusal: ErrorResponse) -> Kind:
    error = error_object(refusal.body)
    codes = {word_of(error.get("code")), word_of(error.get("type"))}
    if codes & _QUOTA_CODES:
        return "quota"
    if "invalid_api_key" in codes:
        return "unauthorised"
    kind = classify(refusal.status, refusal.whole)
    if kind == "rejected" and ("model_not_found" in codes or word_of(error.get("param")) in _SETTING_PARAMS):
        return "unavailable"
    return kind


def _others(settings: RemoteSettings) -> RemoteModel:
    short = settings.model.rpartition("/")[2]
    known = _MODELS.get(short)
    return open_model(short) or RemoteModel(max_tokens=known.max_tokens if known else 8191)


_PRICING = "https://developers.openai.com/api/docs/pricing"
_PRICES = {
    "text-embedding-3-small": Price(0.02, 0.01, _PRICING),
    "text-embedding-3-large": Price(0.13, 0.065, _PRICING),
    "text-embedding-ada-002": Price(0.10, 0.05, _PRICING),
}

VENDOR = Vendor(
    name="openai",
    title=_SERVICE,
    base_url=_BASE_URL,
    models=_MODELS,
    prices=_PRICES,
    unlisted_model=_others,
    build_request=build_request,
    parse_response=parse_response,
    refuse=error_of,
    prefixes=("openai/",),
    own_models_only_at_home=True,
    address=embeddings_address,
)
