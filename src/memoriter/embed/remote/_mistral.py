"""Mistral: `POST <base>/embeddings`, with `output_dimension` for the model that can give fewer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.embed.remote._vendor import Price, RemoteModel, Vendor, embeddings_address, headers_for
from memoriter.embed.remote._wire import (
    ErrorResponse,
    classify,
    error_object,
    json_post,
    to_exception,
    word_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.embed.remote._vendor import RemoteSettings
    from memoriter.embed.remote._wire import Request
    from memoriter.errors import EmbeddingError
    from memoriter.types import Role

_SERVICE = "Mistral"
_TOO_MUCH = "3210"
"""`code` of "too many tokens" and of "too many inputs"."""


def _row(dimensions: int | None, sizes: tuple[int, int] | None = None) -> RemoteModel:
    # 16,384 tokens a request and 256 inputs are what the service enforces; its pages do not say.
    return RemoteModel(dimensions=dimensions, sizes=sizes, max_tokens=8192, max_inputs=128, max_request_tokens=16_000)


# docs.mistral.ai/capabilities/embeddings and /api/endpoint/embeddings
_MODELS = {
    "mistral-embed": _row(1024),
    "mistral-embed-2312": _row(1024),
    "codestral-embed": _row(1536, (1, 3072)),
    "codestral-embed-2505": _row(1536, (1, 3072)),
}


def build_request(texts: Sequence[str], role: Role, settings: RemoteSettings) -> Request:
    """Return one request for all texts; queries and documents are treated alike."""
    del role
    body: dict[str, object] = {"model": settings.model, "input": list(texts), "encoding_format": "float"}
    row = _MODELS.get(settings.model)
    if row and row.sizes and settings.dimensions not in {None, row.dimensions}:
        body["output_dimension"] = settings.dimensions
    return json_post(embeddings_address(settings.base_url) + "/embeddings", headers_for(settings), body)


def error_of(refusal: ErrorResponse) -> EmbeddingError:
    """Convert an error response to an error."""
    too_much = word_of(error_object(refusal.body).get("code")) == _TOO_MUCH
    return to_exception(refusal, "too_large" if too_much else classify(refusal.status, refusal.whole))


_PRICING = "https://mistral.ai/pricing"
_PRICES = {
    "mistral-embed": Price(0.10, None, _PRICING),
    "mistral-embed-2312": Price(0.10, None, _PRICING),
    "codestral-embed": Price(0.15, None, _PRICING),
    "codestral-embed-2505": Price(0.15, None, _PRICING),
}

VENDOR = Vendor(
    name="mistral",
    title=_SERVICE,
    base_url="https://api.mistral.ai/v1",
    models=_MODELS,
    prices=_PRICES,
    unlisted_model=lambda _: _row(None),
    build_request=build_request,
    refuse=error_of,
    prefixes=("mistral/", "mistralai/"),
    address=embeddings_address,
)
