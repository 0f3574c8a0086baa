"""Reranking by a service: the interfaces of the vendors, and one request for each question.

All interfaces take a question and a list of passages, and return one relevance for each passage by its position.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from memoriter.embed.remote._remote import CircuitBreaker, estimate_tokens
from memoriter.embed.remote._vendor import Price, endpoint_of, headers_for
from memoriter.embed.remote._voyage import error_of as voyage_error_of
from memoriter.embed.remote._wire import (
    ErrorResponse,
    error_value_text,
    json_object,
    json_post,
    sanitize,
    tokens_in,
    usual_error,
)
from memoriter.errors import (
    BadScores,
    BadVector,
    ConfigError,
    EmbeddingError,
    InputRejected,
    InputTooLarge,
    ProviderUnavailable,
    Throttled,
    TransientFailure,
)
from memoriter.providers import RERANKERS
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memoriter.embed.remote._http import HttpClient
    from memoriter.embed.remote._remote import UsageRecorder
    from memoriter.embed.remote._vendor import ErrorOf, RemoteSettings
    from memoriter.embed.remote._wire import Request, Response
    from memoriter.service_guard import KeyValueStore

_TRIES = 2
"""Somebody waits for the answer."""
_ANSWER_BYTES = 1 << 20
_PASSAGE_BYTES = 16 << 10
"""The most that an answer has: for itself, and for each passage, which some servers repeat."""
_REMEDY = "Check memorySearch.query.rerank: this may not be a reranking service."
_SHORTER = "Set memorySearch.query.rerank.candidates lower, or choose another model."
_REMEDIES: dict[type[EmbeddingError], str] = {
    InputRejected: _SHORTER,
    InputTooLarge: _SHORTER,
    ProviderUnavailable: "Check provider, model and remote.baseUrl in memorySearch.query.rerank.",
    Throttled: "Wait a moment, then ask again.",
    TransientFailure: "Ask again later; if it fails again, check memorySearch.query.rerank.",
}
_COHERE_PRICES = "https://cohere.com/pricing"
_VOYAGE_PRICES = "https://docs.voyageai.com/docs/pricing"


@dataclass(frozen=True, slots=True)
class RerankVendor:
    """A service that reranks, or a family of servers with the same interface."""

    name: str
    title: str
    """The vendor's own spelling, for messages."""
    base_url: str
    """Empty where the user names the address."""
    results: tuple[str, ...] = ("results",)
    """Names of the list in an answer; the first that is there counts."""
    limit: str = "top_n"
    """The parameter with the number of passages to return; all of them are wanted."""
    more: Mapping[str, object] = field(default_factory=dict[str, object])
    """Further parameters of each request."""
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    """Prices by model. The price of other models is unknown."""
    refuse: ErrorOf = usual_error
    """Returns the error that an answer means which is not a success."""

    def address(self, base_url: str) -> str:
        """Return the base address: without the method, and without what may not be shown."""
        return endpoint_of(base_url or self.base_url).removesuffix("/rerank")

    def resolved(self, settings: RemoteSettings) -> RemoteSettings:
        """Return the settings with address and model filled in. Raises ConfigError: an address is missing."""
        if not settings.base_url and not self.base_url:
            raise ConfigError(
                f"The reranker {self.name!r} has no address.",
                remedy="Set memorySearch.query.rerank.remote.baseUrl, such as http://127.0.0.1:8080/v1.",
            )
        model = settings.model.strip() or RERANKERS[self.name].default_model
        return replace(settings, base_url=settings.base_url or self.base_url, model=model)


_VENDORS = {
    vendor.name: vendor
    for vendor in (
        # docs.cohere.com/reference/rerank; passages of 1,000 tokens keep 50 of them within one unit of its bills
        RerankVendor(
            name="cohere",
            title="Cohere",
            base_url="https://api.cohere.com/v2",
            more={"max_tokens_per_doc": 1_000},
            prices={
                "rerank-v5.0-fast": Price(0.02, None, _COHERE_PRICES, "2026-11"),
                "rerank-v5.0-pro": Price(0.05, None, _COHERE_PRICES, "2026-11"),
                "rerank-v4.0-fast": Price(0.0, None, _COHERE_PRICES, "2026-06", request=0.002),
                "rerank-v4.0-pro": Price(0.0, None, _COHERE_PRICES, "2026-06", request=0.0025),
            },
        ),
        # jina.ai/reranker
        RerankVendor(name="jina", title="Jina AI", base_url="https://api.jina.ai/v1", more={"return_documents": False}),
        # docs.voyageai.com/reference/reranker-api
        RerankVendor(
            name="voyage",
            title="Voyage AI",
            base_url="https://api.voyageai.com/v1",
            results=("data",),
            limit="top_k",
            more={"truncation": True},
            prices={
                "rerank-2.5": Price(0.05, None, _VOYAGE_PRICES, "2026-07"),
                "rerank-2.5-lite": Price(0.02, None, _VOYAGE_PRICES, "2026-07"),
            },
            refuse=voyage_error_of,
        ),
        # llama.cpp (tools/server), vLLM, LocalAI and others
        RerankVendor(name="compatible", title="The server", base_url="", results=("results", "data")),
    )
}


def rerank_vendors() -> tuple[str, ...]:
    """Return the names of the interfaces, in alphabetical order."""
    return tuple(sorted(_VENDORS))


def rerank_vendor_of(name: str) -> RerankVendor:
    """Return the interface of that name. Raises ConfigError: there is none."""
    if name not in _VENDORS:
        raise ConfigError(f"There is no reranking service {name!r}.", remedy=f"Choose one of: {', '.join(_VENDORS)}.")
    return _VENDORS[name]


def build_request(vendor: RerankVendor, query: str, passages: Sequence[str], settings: RemoteSettings) -> Request:
    """Return one request for a question and its passages, with resolved settings."""
    named = {"model": settings.model} if settings.model else {}
    body = {**named, "query": query, "documents": list(passages), vendor.limit: len(passages), **vendor.more}
    return json_post(vendor.address(settings.base_url) + "/rerank", headers_for(settings), body)


def parse_scores(body: bytes, count: int, names: Sequence[str], service: str) -> list[float]:
    """Return the relevance of each of `count` passages, in order; the list of results may have one of `names`.

    Raises:
        BadScores: the answer has no finite number for some passage, two for one, or one for no passage.
        TransientFailure: the answer is not a JSON object.
    """
    answer = json_object(body, service)
    rows: Any = next((answer[name] for name in names if name in answer), None)
    if not isinstance(rows, list):
        shown = error_value_text(answer)
        raise BadScores(f"{service} answered without the list {names[0]!r}: {shown!r}.", remedy=_REMEDY)
    scores: dict[int, float] = {}
    for row in cast("list[Any]", rows):
        fields = cast("dict[str, Any]", row) if isinstance(row, dict) else {}
        place = fields.get("index")
        score = fields.get("relevance_score", fields.get("score"))
        if type(place) is not int or not 0 <= place < count or place in scores:
            raise BadScores(f"{service} numbered its scores for {count} passages wrongly.", remedy=_REMEDY)
        if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
            raise BadScores(f"{service} gave a score that is not a finite number.", remedy=_REMEDY)
        scores[place] = float(score)
    if len(scores) != count:
        raise BadScores(f"{service} gave {len(scores)} scores for {count} passages.", remedy=_REMEDY)
    return [scores[place] for place in range(count)]


class RemoteReranker:
    """The relevance of passages, by a service. Threads may share it."""

    def __init__(
        self,
        settings: RemoteSettings,
        http: HttpClient,
        *,
        wall: Callable[[], float],
        store: KeyValueStore | None = None,
        account: UsageRecorder | None = None,
    ) -> None:
        """Prepare the reranker; nothing is sent yet. The arguments are those of `RemoteProvider`.

        Raises ConfigError: the settings do not fit the vendor.
        """
        self._vendor = vendor = rerank_vendor_of(settings.vendor)
        self._settings = vendor.resolved(settings)
        self._http = http
        self._account = account
        self.endpoint = vendor.address(self._settings.base_url)
        official = self.endpoint == vendor.base_url
        self.service = vendor.title if official else self.endpoint.partition("://")[2].partition("/")[0]
        """Who answers, for messages."""
        identity = ("rerank", vendor.name, self.endpoint)
        self.guard = CircuitBreaker(identity, settings.secrets, wall=wall, store=store)

    def scores(self, query: str, passages: Sequence[str], *, seconds: float) -> list[float]:
        """Return the relevance of each passage; larger is better, and the scale is the vendor's.

        Secrets are masked before anything is sent. Raises EmbeddingError: the service failed or is not contacted now;
        nothing is known of any passage.
        """
        from memoriter.masking import mask_outgoing

        question, *texts = (sanitize(mask_outgoing(text)) for text in (query, *passages))
        request = build_request(self._vendor, question, texts, self._settings)
        # The models read the question once with each passage, and some vendors count it as often.
        tokens = sum(map(estimate_tokens, texts)) + len(texts) * estimate_tokens(question)

        def read(response: Response) -> list[float]:
            if self._account is not None:
                self._account.add(tokens_in(response.body) or tokens)
            return parse_scores(response.body, len(texts), self._vendor.results, self.service)

        def error_of(response: Response) -> EmbeddingError:
            secrets = self._settings.secrets
            refusal = ErrorResponse(self.service, response.status, response.headers, response.body, secrets)
            return self._vendor.refuse(refusal)

        if self._account is not None:
            self._account.check(tokens)
        send = partial(
            self._http.send,
            request,
            timeout=seconds,
            read=read,
            error_of=error_of,
            tries=_TRIES,
            most_bytes=_ANSWER_BYTES + len(texts) * _PASSAGE_BYTES,
            subject=f" to {self._vendor.name}, {self._settings.model}, {len(texts)} passages, {tokens} tokens",
        )
        try:
            return self.guard.call(send)
        except BadVector as error:  # the client's word for an answer that cannot be read
            raise BadScores(error.message, remedy=_REMEDY) from error
        except (InputRejected, InputTooLarge, ProviderUnavailable, Throttled, TransientFailure) as error:
            error.remedy = _REMEDIES[type(error)]
            raise

    def close(self) -> None:
        """Close the connections."""
        self._http.close()
