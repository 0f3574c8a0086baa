"""Voyage AI's `POST /v1/embeddings`.

From docs.voyageai.com/reference/embeddings-api: `input` has at most 1,000 texts of at least one character; `input_type`
is null, `query` or `document`, and then "Represent the query for retrieving supporting documents: " or "Represent the
document for retrieval: " is put before the text; `truncation: false` makes a long text an error; `output_dimension` is
256, 512, 1024 or 2048. The answer is `{"object": "list", "data": [{"object": "embedding", "embedding", "index"}],
"model", "usage": {"total_tokens"}}`; a refusal is `{"detail": words}`.

From docs.voyageai.com/docs/error-codes: 400 invalid request, 401 invalid key, 429 rate limit, 500, 502 to 504.
"""

from __future__ import annotations

from typing import Any

from servers.base import KEY, Answer, Call, ScriptedServer, need, vectors

PROMPTS = {
    "query": "Represent the query for retrieving supporting documents: ",
    "document": "Represent the document for retrieval: ",
    None: "",
}


class VoyageServer(ScriptedServer):
    vendor = "voyage"
    model = "voyage-4-large"
    path = "/v1"

    def answer(self, call: Call) -> Answer:
        need(call.path == "/v1/embeddings", 404, {"detail": "Not Found"})
        need(call.headers.get("authorization") == f"Bearer {KEY}", 401, self.wrong_key().value)
        return self.embeddings(call.json)

    def embeddings(self, body: dict[str, Any]) -> Answer:
        allowed = {"input", "model", "input_type", "truncation", "output_dimension", "encoding_format", "output_dtype"}
        need(not set(body) - allowed, 400, {"detail": f"Argument {set(body) - allowed} is not supported by our API."})
        texts = body["input"]
        role = body.get("input_type")
        supported = body["model"].startswith("voyage-")
        need(supported, 400, {"detail": f"Model {body['model']} is not supported. Supported models are []."})
        need(1 <= len(texts) <= 1000, 400, {"detail": "The batch size limit is 1000."})
        need(all(texts), 400, {"detail": "Input cannot contain empty strings or empty lists."})
        need(role in PROMPTS, 400, {"detail": "Value in input_type is not valid."})
        size = body.get("output_dimension", 1024)
        need(size in {256, 512, 1024, 2048}, 400, {"detail": "output_dimension is not valid."})
        long = not body.get("truncation", True) and any(len(text) // 4 > 32_000 for text in texts)
        need(not long, 400, self.too_long().value)
        rows = vectors([PROMPTS[role] + text for text in texts], size)
        entries = [{"object": "embedding", "embedding": row, "index": place} for place, row in enumerate(rows)]
        usage = {"total_tokens": len(texts)}
        return Answer(200, {"object": "list", "data": entries, "model": body["model"], "usage": usage})

    def wrong_key(self) -> Answer:
        return Answer(401, {"detail": f"Provided API key is invalid: {KEY}"})

    def quota(self) -> Answer:
        return Answer(429, {"detail": "You have reached the monthly usage limit set for this organization."})

    def throttled(self) -> Answer:
        message = (
            "You have not yet added your payment method in the billing page and will have reduced rate limits of "
            "3 RPM and 10K TPM. To unlock our standard rate limits, please add a payment method in the billing page."
        )
        return Answer(429, {"detail": message}, {"retry-after": "2"})

    def too_long(self) -> Answer:
        message = (
            "Request to model 'voyage-4-large' failed. The example at index 0 in your batch has too many tokens and "
            "does not fit into the model's context window of 32000 tokens."
        )
        return Answer(400, {"detail": message})
