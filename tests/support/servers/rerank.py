"""Reranking services on 127.0.0.1 that speak as the vendors do.

From docs.cohere.com/reference/rerank (v2): `POST /v2/rerank` with `model`, `query`, `documents` (texts), `top_n` and
`max_tokens_per_doc`; the answer is `{"id", "results": [{"index", "relevance_score"}], "meta": {"billed_units":
{"search_units"}}}`, best first; a refusal is `{"message": words}`.

From jina.ai/reranker: `POST /v1/rerank` with `model`, `query`, `documents`, `top_n`, `return_documents`; the answer is
`{"model", "usage": {"total_tokens"}, "results": [{"index", "relevance_score"}]}`; a refusal is `{"detail": words}`.

From docs.voyageai.com/reference/reranker-api: `POST /v1/rerank` with `model`, `query`, `documents`, `top_k`,
`truncation`; the answer is `{"object": "list", "data": [{"index", "relevance_score"}], "model", "usage":
{"total_tokens"}}`; a refusal is `{"detail": words}`.

From llama.cpp's tools/server/README.md: `POST /v1/rerank` with `query`, `documents` and perhaps `model` and `top_n`;
the answer is `{"model", "object": "list", "usage", "results": [{"index", "relevance_score"}]}`, and its scores are
logits; a refusal is `{"error": {"code", "message", "type"}}`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

from memoriter.embed.remote import RemoteReranker, RemoteSettings
from servers.base import KEY, Answer, Call, ScriptedServer, Watch, client, need

if TYPE_CHECKING:
    from collections.abc import Callable


def overlap(query: str, passage: str) -> float:
    """The share of the question's words that a passage has."""
    words = set(re.findall(r"\w+", query.lower()))
    return len(words & set(re.findall(r"\w+", passage.lower()))) / max(len(words), 1)


class RerankServer(ScriptedServer):
    """Scores by shared words, unless `judge` is set."""

    path = "/v1"
    model = "some-reranker"
    results: ClassVar[str] = "results"
    limit: ClassVar[str] = "top_n"
    allowed: ClassVar[frozenset[str]] = frozenset()
    judge: Callable[[str, str], float] = staticmethod(overlap)

    def answer(self, call: Call) -> Answer:
        need(call.method == "POST" and call.path == f"{self.path}/rerank", 404, {"detail": "Not Found"})
        need(call.headers.get("authorization") == f"Bearer {KEY}", 401, self.wrong_key().value)
        body = call.json
        unknown = set(body) - {"model", "query", "documents", self.limit} - self.allowed
        need(not unknown, 400, self.refusal(f"unknown parameter {sorted(unknown)}"))
        need(body.get("model") and body["query"].strip(), 400, self.refusal("model and query must not be empty"))
        need(body["documents"] and all(body["documents"]), 400, self.refusal("documents must not be empty"))
        need(1 <= body[self.limit] <= len(body["documents"]), 400, self.refusal(f"{self.limit} is out of range"))
        scores = [self.judge(body["query"], text) for text in body["documents"]]
        order = sorted(range(len(scores)), key=lambda at: -scores[at])
        rows = [{"index": at, "relevance_score": scores[at]} for at in order[: body[self.limit]]]
        return Answer(200, {self.results: rows, **self.around(body)})

    def around(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"model": body["model"], "object": "list", "usage": {"total_tokens": 7 * len(body["documents"])}}

    def rows(self, answer: Any) -> list[Any]:
        return answer[self.results]

    def refusal(self, words: str) -> dict[str, Any]:
        return {"detail": words}

    def wrong_key(self) -> Answer:
        return Answer(401, self.refusal(f"Provided API key is invalid: {KEY}"))

    def throttled(self) -> Answer:
        return Answer(429, self.refusal("Rate limit exceeded."), {"retry-after": "2"})

    def quota(self) -> Answer:
        return Answer(402, self.refusal("Insufficient balance"))

    def too_long(self) -> Answer:
        return Answer(400, self.refusal("The input exceeds the context length of the model."))

    @property
    def questions(self) -> list[str]:
        return [call.json["query"] for call in list(self.calls)]

    @property
    def passages(self) -> list[str]:
        """Every passage of every call, in order."""
        return [text for call in list(self.calls) for text in call.json["documents"]]


class CohereServer(RerankServer):
    vendor = "cohere"
    path = "/v2"
    model = "rerank-v5.0-fast"
    allowed = frozenset({"max_tokens_per_doc", "priority"})

    def around(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"id": "07734bd2", "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}}}

    def refusal(self, words: str) -> dict[str, Any]:
        return {"id": "07734bd3", "message": words}

    def wrong_key(self) -> Answer:
        return Answer(401, self.refusal("invalid api token"))

    def throttled(self) -> Answer:
        message = "You are using a Trial key, which is limited to 10 API calls / minute."
        return Answer(429, self.refusal(message), {"retry-after": "2"})


class JinaServer(RerankServer):
    vendor = "jina"
    model = "jina-reranker-v3"
    allowed = frozenset({"return_documents", "truncation"})


class VoyageRerankServer(RerankServer):
    vendor = "voyage"
    model = "rerank-2.5"
    results = "data"
    limit = "top_k"
    allowed = frozenset({"return_documents", "truncation"})

    def quota(self) -> Answer:
        return Answer(429, self.refusal("You have reached the monthly usage limit set for this organization."))


class LlamaCppServer(RerankServer):
    """Its scores are logits, and its results are in the order of the passages."""

    vendor = "compatible"
    model = "bge-reranker-v2-m3"
    judge = staticmethod(lambda query, passage: 12 * overlap(query, passage) - 8)

    def refusal(self, words: str) -> dict[str, Any]:
        return {"error": {"code": 400, "message": words, "type": "invalid_request_error"}}


RERANK_SERVERS = {server.vendor: server for server in (CohereServer, JinaServer, LlamaCppServer, VoyageRerankServer)}


def reranker_of(server: RerankServer, watch: Watch | None = None, *, real_time: bool = False, **more: Any) -> Any:
    """A reranker of a scripted service; `more` are settings, besides `account` and `store`."""
    parts = {name: more.pop(name) for name in ("account", "store") if name in more}
    values = {"vendor": server.vendor, "model": server.model, "base_url": server.base_url, "api_key": KEY} | more
    watch = watch or Watch()
    return RemoteReranker(RemoteSettings(**values), client(server, None if real_time else watch), wall=watch, **parts)
