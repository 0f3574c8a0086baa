"""A chat model on 127.0.0.1 with OpenAI's interface, which compares pairs of statements.

From platform.openai.com/docs/api-reference/chat: `POST /v1/chat/completions` with `model` and `messages`; the answer is
`{"object": "chat.completion", "model", "choices": [{"index", "message": {"role", "content"}, "finish_reason"}],
"usage": {"total_tokens"}}`; a refusal is `{"error": {"message", "type", "param", "code"}}`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from servers.base import KEY, Answer, Call, ScriptedServer, need

if TYPE_CHECKING:
    from collections.abc import Callable


class ChatServer(ScriptedServer):
    """Answers with the verdicts of `judge`, or with `said` as it is."""

    vendor = "chat"
    model = "gpt-x"
    path = "/v1"
    judge: Callable[[str, str], Any] = staticmethod(lambda one, other: "different")
    said: str | None = None

    def answer(self, call: Call) -> Answer:
        need(call.method == "POST" and call.path == f"{self.path}/chat/completions", 404, self.refusal("Not Found"))
        need(call.headers.get("authorization") == f"Bearer {KEY}", 401, self.refusal(f"Incorrect API key: {KEY}"))
        body = call.json
        need(set(body) == {"model", "messages"}, 400, self.refusal("Unrecognized request argument"))
        need([each["role"] for each in body["messages"]] == ["system", "user"], 400, self.refusal("Invalid role"))
        verdicts = {str(each["pair"]): self.judge(each["a"], each["b"]) for each in self.pairs_of(call)}
        content = json.dumps(verdicts) if self.said is None else self.said
        choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        around = {"object": "chat.completion", "model": body["model"], "usage": {"total_tokens": 42}}
        return Answer(200, {**around, "choices": [choice]})

    def refusal(self, words: str) -> dict[str, Any]:
        return {"error": {"message": words, "type": "invalid_request_error", "param": None, "code": None}}

    def wrong_key(self) -> Answer:
        return Answer(401, self.refusal(f"Incorrect API key provided: {KEY}"))

    def quota(self) -> Answer:
        return Answer(429, self.refusal("You exceeded your current quota, please check your plan."))

    @staticmethod
    def pairs_of(call: Call) -> list[dict[str, Any]]:
        return [json.loads(line) for line in call.json["messages"][1]["content"].splitlines()]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Every pair of every call, in order."""
        return [(each["a"], each["b"]) for call in list(self.calls) for each in self.pairs_of(call)]
