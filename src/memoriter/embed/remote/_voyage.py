"""Voyage AI: `POST <base>/embeddings` with `input_type`, for which it puts words of its own before the text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoriter.embed.remote._vendor import Price, RemoteModel, Vendor, embeddings_address, headers_for
from memoriter.embed.remote._wire import (
    ErrorResponse,
    classify,
    json_post,
    to_exception,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.embed.remote._vendor import RemoteSettings
    from memoriter.embed.remote._wire import Request
    from memoriter.errors import EmbeddingError
    from memoriter.types import Role

_SERVICE = "Voyage AI"
_SIZES = (256, 2048)
_SPENT = re.compile(r"usage limit|spend\w* (?:limit|cap)|credits?\b|balance|quota", re.IGNORECASE)


_PRICING = "https://docs.voyageai.com/docs/pricing"


def _row(
    request_tokens: int, *, dimensions: int = 1024, tokens: int = 32_000, sizes: tuple[int, int] | None = _SIZES
) -> RemoteModel:
    return RemoteModel(
        dimensions=dimensions,
        sizes=sizes,
        max_tokens=tokens,
        max_inputs=1000,
        max_request_tokens=request_tokens,
        query_template="[input_type=query] {text}",
        document_template="[input_type=document] {text}",
        tasks=("query", "document"),
    )


# docs.voyageai.com/reference/embeddings-api and /docs/embeddings, with the dollars for a million tokens
_ROWS = {
    "voyage-4-large": (_row(120_000), 0.12),
    "voyage-4": (_row(320_000), 0.06),
    "voyage-4-lite": (_row(1_000_000), 0.02),
    "voyage-3-large": (_row(120_000), 0.18),
    "voyage-3.5": (_row(320_000), 0.06),
    "voyage-3.5-lite": (_row(1_000_000), 0.02),
    "voyage-3": (_row(120_000, sizes=None), 0.06),
    "voyage-3-lite": (_row(120_000, dimensions=512, sizes=None), 0.02),
    "voyage-code-3": (_row(120_000), 0.18),
    "voyage-finance-2": (_row(120_000, sizes=None), 0.12),
    "voyage-law-2": (_row(120_000, tokens=16_000, sizes=None), 0.12),
    "voyage-multilingual-2": (_row(120_000, sizes=None), 0.12),
    "voyage-code-2": (_row(120_000, dimensions=1536, tokens=16_000, sizes=None), 0.12),
}
_MODELS = {name: row for name, (row, _) in _ROWS.items()}
_PRICES = {name: Price(dollars, round(dollars * 0.67, 4), _PRICING) for name, (_, dollars) in _ROWS.items()}
"""A batch costs a third less."""


def request_params(role: Role, settings: RemoteSettings) -> dict[str, object]:
    """Return a request without its texts. The service rejects a text that is too long, and we embed its parts."""
    params: dict[str, object] = {"model": settings.model, "input_type": role, "truncation": False}
    row = _MODELS.get(settings.model)
    if row and row.sizes and settings.dimensions not in {None, row.dimensions}:
        params["output_dimension"] = settings.dimensions
    return params


def build_request(texts: Sequence[str], role: Role, settings: RemoteSettings) -> Request:
    """Return one request for all texts."""
    body = {"input": list(texts), **request_params(role, settings)}
    return json_post(embeddings_address(settings.base_url) + "/embeddings", headers_for(settings), body)


def error_of(refusal: ErrorResponse) -> EmbeddingError:
    """Convert an error response to an error.

    An account without a payment method is throttled, although the message is about billing.
    """
    kind = classify(refusal.status, refusal.whole)
    if refusal.status == 429:
        slow = "rate limit" in refusal.whole.lower()
        kind = "quota" if _SPENT.search(refusal.whole) and not slow else "throttled"
    return to_exception(refusal, kind)


VENDOR = Vendor(
    name="voyage",
    title=_SERVICE,
    base_url="https://api.voyageai.com/v1",
    models=_MODELS,
    prices=_PRICES,
    unlisted_model=lambda _: _row(120_000, sizes=None),
    build_request=build_request,
    refuse=error_of,
    prefixes=("voyage/", "voyageai/"),
    address=embeddings_address,
)
