"""Ollama's own API: `POST <base>/api/embed`, a list of lists in the order of the texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.embed.remote._vendor import RemoteModel, Vendor, endpoint_of, headers_for, open_model
from memoriter.embed.remote._wire import ErrorResponse, classify, json_object, json_post, listed, matrix, to_exception

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed.remote._vendor import RemoteSettings
    from memoriter.embed.remote._wire import Kind, Request
    from memoriter.errors import EmbeddingError
    from memoriter.types import Role

_SERVICE = "Ollama"


def _address(base_url: str) -> str:
    address = endpoint_of(base_url)
    for ending in ("/embed", "/embeddings", "/api", "/v1"):
        address = address.removesuffix(ending)
    return address


def build_request(texts: Sequence[str], role: Role, settings: RemoteSettings) -> Request:
    """Return one request for all texts. The service rejects a text that is too long, and we embed its parts."""
    del role
    body = {"model": settings.model, "input": list(texts), "truncate": False}
    return json_post(_address(settings.base_url) + "/api/embed", headers_for(settings), body)


def parse_response(body: bytes, count: int, dimensions: int | None, service: str = _SERVICE) -> NDArray[np.float64]:
    """Return the vectors of a response; see `Vendor.parse_response`."""
    rows = listed(json_object(body, service), "embeddings", service)
    return matrix(rows, count=count, dimensions=dimensions, service=service)


def error_of(refusal: ErrorResponse) -> EmbeddingError:
    """Convert an error response to an error; most come as `{"error": words}` with status 500 or 400."""
    remedy = (
        "Fetch the model with `ollama pull`, or set memorySearch.model to one that `ollama list` shows."
        if refusal.status == 404
        else ""
    )
    return to_exception(refusal, _kind(refusal.status, refusal.whole.lower()), remedy=remedy)


def _kind(status: int, words: str) -> Kind:
    if "unsupported value: nan" in words:  # this text makes the model compute nonsense
        return "rejected"
    if "does not support embed" in words:
        return "unavailable"
    return classify(status, words)


def _others(settings: RemoteSettings) -> RemoteModel:
    return open_model(settings.model) or RemoteModel(max_tokens=2048)


VENDOR = Vendor(
    name="ollama",
    title=_SERVICE,
    base_url="http://127.0.0.1:11434",
    models={},
    unlisted_model=_others,
    build_request=build_request,
    parse_response=parse_response,
    refuse=error_of,
    prefixes=("ollama/",),
    needs_key=False,
    address=_address,
)
