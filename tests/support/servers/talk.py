"""Models that talk as a script says: OpenAI's chat completions and Anthropic's messages.

OpenAI, from developers.openai.com/api/reference: `POST /v1/chat/completions` answers with `choices`, whose `message`
has `content` or `tool_calls` (`id`, `type`, `function` with `name` and `arguments` as JSON text), and `usage`.
Anthropic, from platform.claude.com/docs/en/api/messages: `POST /v1/messages` answers with `content` (blocks `text` and
`tool_use`), `stop_reason` and `usage`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from servers.base import KEY, Answer, Call, ScriptedServer, need


@dataclass(frozen=True)
class Reply:
    """What the model answers, and how full it finds the conversation."""

    text: str
    tokens: int = 50


@dataclass(frozen=True)
class Calls:
    """A tool that the model calls."""

    tool: str
    arguments: dict[str, Any]
    tokens: int = 50


@dataclass(frozen=True)
class Fails:
    """What the service answers instead."""

    status: int
    message: str
    code: str | None = None


@dataclass
class ChatRequest:
    """What one request says."""

    system: str = ""
    messages: list[tuple[str, str]] = field(default_factory=list)
    """Who and what, in order; results of tools are of `tool`."""
    tools: list[str] = field(default_factory=list)

    @property
    def last(self) -> str:
        return self.messages[-1][1]


Step = "Reply | Calls | Fails | Callable[[ChatRequest], Reply | Calls | Fails]"


class TalkServer(ScriptedServer):
    """Answers the steps of its script, one a request."""

    def __init__(self, *steps: Any, key: str = KEY) -> None:
        super().__init__()
        self.steps = list(steps)
        self.received: list[ChatRequest] = []
        self.key = key

    def answer(self, call: Call) -> Answer:
        need(self.allowed(call), 401, self.wrong(Fails(401, f"Incorrect API key provided: {KEY}", "invalid_api_key")))
        need(call.path == self.place, 404, self.wrong(Fails(404, f"Invalid URL (POST {call.path})")))
        received = self.read(call.json)
        self.received.append(received)
        need(self.steps, 400, self.wrong(Fails(400, "the script is at its end")))
        step = self.steps.pop(0)
        message = step(received) if callable(step) else step
        if isinstance(message, Fails):
            return Answer(message.status, self.wrong(message))
        return Answer(200, self.written(message, call.json["model"]))

    place: str

    def allowed(self, call: Call) -> bool:
        raise NotImplementedError

    def read(self, body: dict[str, Any]) -> ChatRequest:
        raise NotImplementedError

    def written(self, reply: Reply | Calls, model: str) -> dict[str, Any]:
        raise NotImplementedError

    def wrong(self, fails: Fails) -> dict[str, Any]:
        raise NotImplementedError


class OpenAITalk(TalkServer):
    vendor = "openai"
    model = "gpt-4.1-mini"
    path = "/v1"
    place = "/v1/chat/completions"

    def allowed(self, call: Call) -> bool:
        return not self.key or call.headers.get("authorization") == f"Bearer {self.key}"

    def read(self, body: dict[str, Any]) -> ChatRequest:
        received = ChatRequest(tools=[tool["function"]["name"] for tool in body.get("tools", [])])
        for message in body["messages"]:
            text = message.get("content") or json.dumps(message.get("tool_calls", ""), ensure_ascii=False)
            if isinstance(text, list):
                text = "".join(part.get("text", "") for part in text)
            if message["role"] in {"system", "developer"}:
                received.system += text
            else:
                received.messages.append((message["role"], text))
        return received

    def written(self, reply: Reply | Calls, model: str) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": None}
        if isinstance(reply, Reply):
            message["content"] = reply.text
        else:
            function = {"name": reply.tool, "arguments": json.dumps(reply.arguments, ensure_ascii=False)}
            message["tool_calls"] = [{"id": f"call_{len(self.received)}", "type": "function", "function": function}]
        reason = "stop" if isinstance(reply, Reply) else "tool_calls"
        usage = {"prompt_tokens": reply.tokens - 1, "completion_tokens": 1, "total_tokens": reply.tokens}
        return {
            "id": f"chatcmpl-{len(self.received)}",
            "object": "chat.completion",
            "created": 1_770_724_800,
            "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": usage,
        }

    def wrong(self, fails: Fails) -> dict[str, Any]:
        return {"error": {"message": fails.message, "type": "invalid_request_error", "param": None, "code": fails.code}}


class AnthropicTalk(TalkServer):
    vendor = "anthropic"
    model = "claude-sonnet-4-5"
    place = "/v1/messages"

    def allowed(self, call: Call) -> bool:
        token = call.headers.get("x-api-key") or call.headers.get("authorization", "").removeprefix("Bearer ")
        return not self.key or token == self.key

    def read(self, body: dict[str, Any]) -> ChatRequest:
        received = ChatRequest(
            tools=[tool["name"] for tool in body.get("tools", [])], system=_words(body.get("system", ""))
        )
        for message in body["messages"]:
            blocks = message["content"]
            results = isinstance(blocks, list) and any(block["type"] == "tool_result" for block in blocks)
            received.messages.append(("tool" if results else message["role"], _words(blocks)))
        return received

    def written(self, reply: Reply | Calls, model: str) -> dict[str, Any]:
        block: dict[str, Any] = (
            {"type": "text", "text": reply.text}
            if isinstance(reply, Reply)
            else {"type": "tool_use", "id": f"toolu_{len(self.received)}", "name": reply.tool, "input": reply.arguments}
        )
        return {
            "id": f"msg_{len(self.received)}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [block],
            "stop_reason": "end_turn" if isinstance(reply, Reply) else "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": reply.tokens - 1, "output_tokens": 1},
        }

    def wrong(self, fails: Fails) -> dict[str, Any]:
        kind = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
        return {
            "type": "error",
            "error": {"type": kind.get(fails.status, "invalid_request_error"), "message": fails.message},
        }


def _words(content: Any) -> str:
    """The text in a message's content, whatever its blocks."""
    if isinstance(content, str):
        return content
    return "".join(_words(block.get("text") or block.get("content") or "") for block in content)
