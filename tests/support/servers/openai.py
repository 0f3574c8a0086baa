"""OpenAI's `POST /v1/embeddings`.

From developers.openai.com/api/reference/resources/embeddings/methods/create: `input` is a string or an array of at most
2,048 that may not be empty; each at most 8,192 tokens, all together at most 300,000; `dimensions` only for
text-embedding-3 and later; `encoding_format` is `float` or `base64`. The answer is `{"object": "list", "data":
[{"object": "embedding", "index", "embedding"}], "model", "usage": {"prompt_tokens", "total_tokens"}}`.

From .../guides/error-codes: 401 `invalid_api_key`, 429 with type and code `insufficient_quota` for a spent account and
`rate_limit_exceeded` for a fast one; the body is `{"error": {"message", "type", "param", "code"}}`.
"""

from __future__ import annotations

from typing import Any

from servers.base import KEY, Answer, Call, ScriptedServer, as_base64, need, vectors

SIZES = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}


def error(message: str, kind: str, code: str | None = None, param: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


class OpenAIServer(ScriptedServer):
    vendor = "openai"
    model = "text-embedding-3-small"
    path = "/v1"
    limit = 8192

    def answer(self, call: Call) -> Answer:
        invalid = "invalid_request_error"
        need(call.path == "/v1/embeddings", 404, error(f"Invalid URL (POST {call.path})", invalid))
        need(call.headers.get("authorization") == f"Bearer {KEY}", 401, self.wrong_key().value)
        return self.embeddings(call.json)

    def embeddings(self, body: dict[str, Any]) -> Answer:
        invalid = "invalid_request_error"
        name = body["model"]
        inputs = body["input"]
        missing = error(f"The model `{name}` does not exist", invalid, "model_not_found")
        need(name in SIZES, 404, missing)
        texts = [inputs] if isinstance(inputs, str) else inputs
        good = texts and len(texts) <= 2048 and all(isinstance(text, str) and text for text in texts)
        need(good, 400, error("'$.input' is invalid. Please check the API reference.", invalid, None, None))
        need(all(len(text) // 4 <= self.limit for text in texts), 400, self.too_long().value)
        wished = body.get("dimensions", SIZES[name])
        need(wished <= SIZES[name], 400, error("Invalid value for 'dimensions'", invalid, None, "dimensions"))
        rows = vectors(texts, wished)
        shown = [as_base64(row) if body.get("encoding_format") == "base64" else row for row in rows]
        entries = [{"object": "embedding", "index": place, "embedding": row} for place, row in enumerate(shown)]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        return Answer(200, {"object": "list", "data": entries, "model": name, "usage": usage})

    def wrong_key(self) -> Answer:
        message = f"Incorrect API key provided: {KEY}. You can find your API key at https://platform.openai.com."
        return Answer(401, error(message, "invalid_request_error", "invalid_api_key"))

    def quota(self) -> Answer:
        message = "You exceeded your current quota, please check your plan and billing details."
        return Answer(429, error(message, "insufficient_quota", "insufficient_quota"))

    def throttled(self) -> Answer:
        message = "Rate limit reached for text-embedding-3-small on tokens per min (TPM). Please try again in 6ms."
        return Answer(429, error(message, "tokens", "rate_limit_exceeded"), {"retry-after": "2"})

    def too_long(self) -> Answer:
        message = (
            "This model's maximum context length is 8192 tokens, however you requested 9001 tokens "
            "(9001 in your prompt; 0 for the completion). Please reduce your prompt; or completion length."
        )
        return Answer(400, error(message, "invalid_request_error"))
