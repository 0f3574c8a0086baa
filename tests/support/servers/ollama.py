"""Ollama's `POST /api/embed`.

From docs.ollama.com/api/embed: `model`, `input` (a string or an array), `truncate` (true unless said), `dimensions`,
`options`, `keep_alive`. The answer is `{"model", "embeddings": [[...]], "total_duration", "load_duration",
"prompt_eval_count"}`, vectors of unit length in the order of the texts; a refusal is `{"error": words}`. Ollama itself
knows no keys: 401 and 429 come from what people put before it.
"""

from __future__ import annotations

from typing import Any

from servers.base import KEY, Answer, Call, ScriptedServer, need, vectors


class OllamaServer(ScriptedServer):
    vendor = "ollama"
    model = "nomic-embed-text"
    dimensions = 768
    context = 2048

    def answer(self, call: Call) -> Answer:
        need(call.path == "/api/embed", 404, b"404 page not found")
        body = call.json
        name = body["model"]
        need(name == self.model, 404, {"error": f'model "{name}" not found, try pulling it first'})
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        long = not body.get("truncate", True) and any(len(text) // 4 > self.context for text in texts)
        need(not long, 400, self.too_long().value)
        times = {"total_duration": 14143917, "load_duration": 1019500, "prompt_eval_count": 8}
        return Answer(200, {"model": name, "embeddings": vectors(texts, self.dimensions), **times})

    def rows(self, answer: Any) -> list[Any]:
        return answer["embeddings"]

    def with_vector(self, answer: Any, place: int, vector: Any) -> None:
        answer["embeddings"][place] = vector

    def wrong_key(self) -> Answer:
        return Answer(401, {"error": f"unauthorized: {KEY}"})

    def quota(self) -> Answer:
        return Answer(429, {"error": "you've reached your monthly usage limit, please upgrade to continue"})

    def throttled(self) -> Answer:
        return Answer(429, {"error": "too many concurrent requests"}, {"retry-after": "2"})

    def too_long(self) -> Answer:
        return Answer(400, {"error": "the input length exceeds the context length"})
