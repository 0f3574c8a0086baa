"""The Gemini API's `POST /v1beta/models/<model>:batchEmbedContents`.

From ai.google.dev/api/embeddings: the body is `{"requests": [EmbedContentRequest]}` with `model` ("must match the model
of the request"), `content.parts[].text`, `taskType`, `title`, `outputDimensionality`; the answer is `{"embeddings":
[{"values"}]}` in the order of the requests. At most 100 requests in one batch. From .../docs/embeddings: 3,072
dimensions unless fewer are asked for, and only those come normalised from gemini-embedding-001.

A refusal is a google.rpc.Status: `{"error": {"code", "message", "status", "details"}}`; 400 with the reason
API_KEY_INVALID for a wrong key, 429 RESOURCE_EXHAUSTED with QuotaFailure (whose `quotaId` says PerMinute or PerDay) and
RetryInfo (`retryDelay` as "35s").
"""

from __future__ import annotations

from typing import Any

from servers.base import KEY, Answer, Call, ScriptedServer, need, vectors

TYPE = "type.googleapis.com/google.rpc."
SPENT = "You exceeded your current quota, please check your plan and billing details. For more information, see ai.dev."


def error(code: int, status: str, message: str, *details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


def quota_failure(period: str) -> dict[str, Any]:
    metric = "generativelanguage.googleapis.com/embed_content_free_tier_requests"
    name = f"EmbedContentRequestsPer{period}PerUserPerProjectPerModel-FreeTier"
    return {"@type": TYPE + "QuotaFailure", "violations": [{"quotaMetric": metric, "quotaId": name}]}


class GeminiServer(ScriptedServer):
    vendor = "gemini"
    model = "gemini-embedding-001"
    path = "/v1beta"

    def answer(self, call: Call) -> Answer:
        resource, _, method = call.path.removeprefix("/v1beta/").partition(":")
        known = {"models/gemini-embedding-001", "models/gemini-embedding-2"}
        missing = error(404, "NOT_FOUND", f"{resource} is not found for API version v1beta")
        need(resource in known and method == "batchEmbedContents", 404, missing)
        need(call.headers.get("x-goog-api-key") == KEY, 400, self.wrong_key().value)
        requests = call.json["requests"]
        many = error(
            400, "INVALID_ARGUMENT", "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch"
        )
        need(1 <= len(requests) <= 100, 400, many)
        return Answer(200, {"embeddings": [self.embedding(resource, request) for request in requests]})

    def embedding(self, resource: str, request: dict[str, Any]) -> dict[str, Any]:
        other = error(400, "INVALID_ARGUMENT", "model in batch requests must match the model in the URL")
        need(request["model"] == resource, 400, other)
        (part,) = request["content"]["parts"]
        need(part["text"], 400, error(400, "INVALID_ARGUMENT", "content contains an empty Part."))
        task = request.get("taskType", "") if resource.endswith("001") else ""
        (vector,) = vectors([f"{task} {part['text']}"], request.get("outputDimensionality", 3072))
        # The first model normalises only vectors of full size.
        return {"values": [value * 0.7 for value in vector] if len(vector) < 3072 else vector}

    def rows(self, answer: Any) -> list[Any]:
        return answer["embeddings"]

    def with_vector(self, answer: Any, place: int, vector: Any) -> None:
        answer["embeddings"][place] = {"values": vector}

    def wrong_key(self) -> Answer:
        reason = {"@type": TYPE + "ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}
        return Answer(400, error(400, "INVALID_ARGUMENT", f"API key not valid: {KEY}", reason))

    def quota(self) -> Answer:
        retry = {"@type": TYPE + "RetryInfo", "retryDelay": "35s"}
        return Answer(429, error(429, "RESOURCE_EXHAUSTED", SPENT, quota_failure("Day"), retry))

    def throttled(self) -> Answer:
        retry = {"@type": TYPE + "RetryInfo", "retryDelay": "2s"}
        return Answer(429, error(429, "RESOURCE_EXHAUSTED", SPENT, quota_failure("Minute"), retry))

    def too_long(self) -> Answer:
        message = "The input token count exceeds the maximum number of tokens allowed 2048."
        return Answer(400, error(400, "INVALID_ARGUMENT", message))
