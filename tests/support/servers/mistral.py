"""Mistral's `POST /v1/embeddings`.

From docs.mistral.ai/api/endpoint/embeddings: `input` is a string or an array, `model`, `output_dimension`,
`output_dtype`, `encoding_format` (`float` or `base64`). The answer has `data` of `{"object", "embedding", "index"}`.

As seen in reports of users: 400 with code 3210 for more than 16,384 tokens or 256 texts in a request, 429 with code
1300 for too many calls, 401 with `{"detail": "Unauthorized"}`, 402 for an account that has to be paid.
"""

from __future__ import annotations

from typing import Any

from servers.base import KEY, Answer, Call, ScriptedServer, as_base64, need, vectors


def error(message: str, kind: str, code: str | None) -> dict[str, Any]:
    return {"object": "error", "message": message, "type": kind, "param": None, "code": code}


class MistralServer(ScriptedServer):
    vendor = "mistral"
    model = "mistral-embed"
    path = "/v1"

    def answer(self, call: Call) -> Answer:
        need(call.path == "/v1/embeddings", 404, {"message": "no Route matched with those values"})
        need(call.headers.get("authorization") == f"Bearer {KEY}", 401, self.wrong_key().value)
        body = call.json
        sizes = {"mistral-embed": 1024, "codestral-embed": 1536}
        missing = error(f"Invalid model: {body['model']}", "invalid_model", "1500")
        need(body["model"] in sizes, 400, missing)
        texts = body["input"]
        many = error("Too many inputs in request, split into more batches.", "invalid_request_prompt", "3210")
        need(1 <= len(texts) <= 256, 400, many)
        need(sum(len(text) // 4 for text in texts) <= 16_384, 400, self.too_long().value)
        size = body.get("output_dimension", sizes[body["model"]])
        unsupported = error("This model does not support output_dimension.", "invalid_request_invalid_args", "3051")
        need("output_dimension" not in body or body["model"] == "codestral-embed", 400, unsupported)
        rows = vectors(texts, size)
        shown = [as_base64(row) if body.get("encoding_format") == "base64" else row for row in rows]
        entries = [{"object": "embedding", "embedding": row, "index": place} for place, row in enumerate(shown)]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts), "completion_tokens": 0}
        return Answer(200, {"id": "1", "object": "list", "data": entries, "model": body["model"], "usage": usage})

    def wrong_key(self) -> Answer:
        return Answer(401, {"detail": "Unauthorized", "key": KEY})

    def quota(self) -> Answer:
        return Answer(402, error("Payment required for this workspace.", "payment_required", None))

    def throttled(self) -> Answer:
        return Answer(429, error("Rate limit exceeded", "rate_limited", "1300"), {"retry-after": "2"})

    def too_long(self) -> Answer:
        message = "Too many tokens overall, split into more batches."
        return Answer(400, error(message, "invalid_request_prompt", "3210"))
