"""A service of nobody in particular that speaks as OpenAI does, and tells of every vector which model has made it."""

from __future__ import annotations

from typing import Any

from memoriter.embed.remote._vendor import PROBE
from servers.base import KEY, Answer, Call, need, vectors
from servers.openai import OpenAIServer

WIDTH = 256
"""Dimensions in which a text is described; the others of a vector are zero."""
QUERY = "query: "
DOCUMENT = "passage: "


class CompatibleServer(OpenAIServer):
    """Any model at any length. A model fills the dimensions from `place` on: two models share none, and so no cosine.

    The name of its model makes the provider write `query: ` and `passage: ` before the texts.
    """

    model = "some-e5-model"

    def __init__(self, dimensions: int = 2 * WIDTH, place: int = 0, *, key: str = KEY) -> None:
        super().__init__()
        self.dimensions = dimensions
        self.place = place
        self.key = key
        """Empty: whoever comes is served."""
        self.down: Answer | None = None
        """Given to everybody while it is set."""

    def answer(self, call: Call) -> Answer:
        if self.down is not None:
            return self.down
        if self.key:
            need(call.headers.get("authorization") == f"Bearer {self.key}", 401, self.wrong_key().value)
        need(call.path == "/v1/embeddings", 404, {"error": {"message": f"no {call.path}"}})
        texts = call.json["input"]
        rows = [self.vector(text) for text in texts]
        entries = [{"object": "embedding", "index": place, "embedding": row} for place, row in enumerate(rows)]
        usage = {"prompt_tokens": 10 * len(texts), "total_tokens": 10 * len(texts)}
        return Answer(200, {"object": "list", "data": entries, "model": call.json["model"], "usage": usage})

    def vector(self, text: str) -> list[float]:
        (row,) = vectors([text.removeprefix(QUERY).removeprefix(DOCUMENT)], WIDTH)
        whole = [0.0] * self.dimensions
        whole[self.place : self.place + WIDTH] = row
        return whole[: self.dimensions]

    # What was asked, without the texts by which a model is made known.

    @property
    def probes(self) -> int:
        """How often the model was made known."""
        return sum(PROBE[0] in text for text in self.sent)

    @property
    def sent(self) -> list[str]:
        """Every text of every call, in the order in which they came."""
        return [text for call in list(self.calls) for text in texts_of(call)]

    @property
    def questions(self) -> list[str]:
        return [text.removeprefix(QUERY) for text in self.sent if text.startswith(QUERY)]

    @property
    def documents(self) -> list[str]:
        known = {DOCUMENT + text for text in PROBE}
        return [text.removeprefix(DOCUMENT) for text in self.sent if text.startswith(DOCUMENT) and text not in known]


def texts_of(call: Call) -> list[str]:
    """The texts of a call that embeds, by OpenAI's interface or Ollama's."""
    if not call.path.endswith(("/embeddings", "/embed")):
        return []
    texts: Any = call.json["input"]
    return [texts] if isinstance(texts, str) else texts
