"""The model of a coding agent: it plays scripted steps over the API of the client that asks, and keeps each request."""

from __future__ import annotations

import json
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from servers.base import Answer, Call, ScriptedServer

WAITS = 100
"""Requests, 0.2 seconds apart, in which a client may still be starting its MCP servers."""
SERVER = "mcp__memoriter__"
"""Begins the names of memoriter's tools in Claude Code."""


@dataclass(frozen=True)
class Step:
    """What the model does next: it says `text`, or calls the offered tool whose name ends with `tool`."""

    text: str = ""
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    tokens: int = 1_000
    """The length of the conversation, as the model reports it."""


class AgentModel(ScriptedServer):
    """APIs of Anthropic, OpenAI (both) and Gemini. Requests without tools (titles, topics) do not take a step."""

    vendor = "agent"
    model = "scripted"

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[dict[str, Any]] = []
        self.steps: deque[Step] = deque()
        self.threads: dict[str, dict[str, Any]] = {}
        """Conversations of Anthropic's SDK, which sends only what is new, by the id of the last answer."""

    def play(self, *steps: Step) -> None:
        """Forget the requests so far, and play these steps next; after them, the model says "Done."."""
        self.requests.clear()
        self.steps = deque(steps)

    def seen(self, request: int = -1) -> str:
        """Return a request as text, without the escapes of JSON that hide quotation marks and letters."""
        return json.dumps(self.requests[request], ensure_ascii=False).replace("\\\\", "\\").replace('\\"', '"')

    def answer(self, call: Call) -> Answer:
        path = call.path.partition("?")[0]
        body = json.loads(call.body) if call.body else {}
        if path.endswith("/count_tokens"):
            return Answer(200, {"input_tokens": len(call.body) // 4})
        if path.endswith("/messages"):
            whole = self._whole(body)
            answer = _anthropic(whole, *self._next(whole, {tool["name"]: "" for tool in whole.get("tools", ())}))
            self._keep(whole, answer)
            return answer
        if path.endswith("/responses"):
            return _responses(*self._next(body, _offered_by_codex(body)))
        if path.endswith("/chat/completions"):
            return _chat(body, *self._next(body, {tool["function"]["name"]: "" for tool in body.get("tools", ())}))
        if path.endswith("enerateContent"):
            groups = [group.get("functionDeclarations", ()) for group in body.get("tools", ())]
            names = {tool["name"]: "" for group in groups for tool in group}
            return _gemini(path, *self._next(body, names))
        return Answer(200, {"models": [], "data": []})

    def _whole(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return a request with the fields and messages of the conversation that it continues."""
        before = self.threads.get(body.get("thread", {}).get("previous_message_id", ""), {"messages": []})
        return {**before, **body, "messages": [*before["messages"], *body.get("messages", ())]}

    def _keep(self, body: dict[str, Any], answer: Answer) -> None:
        if "thread" in body and isinstance(answer.value, dict):
            said = {"role": "assistant", "content": answer.value["content"]}
            self.threads[answer.value["id"]] = {**body, "messages": [*body["messages"], said]}

    def _next(self, body: dict[str, Any], offered: dict[str, str]) -> tuple[Step, str, str]:
        """Return the step to play, the full name of its tool, and the namespace of the tool."""
        with self.lock:
            if not offered:
                return Step("ok"), "", ""
            self.requests.append(body)
            if not self.steps:
                return Step("Done."), "", ""
            step = self.steps[0]
            name = next((name for name in offered if name.endswith(step.tool)), "") if step.tool else ""
            if not step.tool or name or len(self.requests) > WAITS:
                self.steps.popleft()
                return step, name, offered.get(name, "")
        time.sleep(0.2)
        if "ToolSearch" in offered:  # Claude Code lists the tools of a server that came late only there
            return Step(tool="ToolSearch", arguments={"query": f"select:{SERVER}{step.tool}"}), "ToolSearch", ""
        return (
            Step(tool="wait", arguments={"request": len(self.requests)}),
            "wait",
            "",
        )  # no client has this tool, so each reports an error and asks again


def _identifier(prefix: str) -> str:
    return f"{prefix}_{time.monotonic_ns()}"


def _stream(events: list[dict[str, Any]]) -> Answer:
    text = "".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
        if "type" in event
        else f"data: {json.dumps(event)}\n\n"
        for event in events
    )
    return Answer(200, text.encode(), {"content-type": "text/event-stream"})


def _anthropic(body: dict[str, Any], step: Step, name: str, _: str) -> Answer:
    if step.tool:
        block: dict[str, Any] = {"type": "tool_use", "id": _identifier("toolu"), "name": name, "input": step.arguments}
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step.arguments)}
    else:
        block = {"type": "text", "text": step.text}
        empty = {**block, "text": ""}
        delta = {"type": "text_delta", "text": step.text}
    reason = "tool_use" if step.tool else "end_turn"
    counted = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1}
    usage = {"input_tokens": step.tokens, **counted}
    message = {"id": _identifier("msg"), "type": "message", "role": "assistant", "model": body.get("model", "scripted")}
    ended = {"stop_reason": reason, "stop_sequence": None}
    if not body.get("stream"):
        return Answer(200, {**message, "content": [block], **ended, "usage": usage})
    begun = {**message, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    return _stream(
        [
            {"type": "message_start", "message": begun},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": ended, "usage": usage},
            {"type": "message_stop"},
        ]
    )


def _offered_by_codex(body: dict[str, Any]) -> dict[str, str]:
    """Return the namespace of each tool. Codex puts the tools of an MCP server into one namespace."""
    offered = {"shell": ""}  # Codex always offers tools, and never asks for titles
    for tool in body.get("tools", ()):
        if tool.get("type") == "namespace":
            offered |= {inner["name"]: tool["name"] for inner in tool["tools"]}
    return offered


def _responses(step: Step, name: str, namespace: str) -> Answer:
    item: dict[str, Any]
    if step.tool:
        number = _identifier("call")
        item = {"type": "function_call", "id": number, "call_id": number, "name": name}
        item |= {"arguments": json.dumps(step.arguments)} | ({"namespace": namespace} if namespace else {})
    else:
        item = {"type": "message", "id": "m", "role": "assistant", "status": "completed"}
        item["content"] = [{"type": "output_text", "text": step.text, "annotations": []}]
    usage = {"input_tokens": step.tokens, "output_tokens": 1, "total_tokens": step.tokens + 1}
    whole = {"id": "r", "object": "response", "status": "completed", "output": [item], "usage": usage}
    return _stream(
        [
            {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": whole},
        ]
    )


def _chat(body: dict[str, Any], step: Step, name: str, _: str) -> Answer:
    message: dict[str, Any] = {"role": "assistant", "content": step.text or None}
    if step.tool:
        function = {"name": name, "arguments": json.dumps(step.arguments)}
        message["tool_calls"] = [{"index": 0, "id": _identifier("call"), "type": "function", "function": function}]
    reason = "tool_calls" if step.tool else "stop"
    usage = {"prompt_tokens": step.tokens, "completion_tokens": 1, "total_tokens": step.tokens + 1}
    whole = {"id": _identifier("chat"), "created": int(time.time()), "model": "scripted"}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return Answer(200, {**whole, "object": "chat.completion", "choices": [choice], "usage": usage})
    parts = [{"index": 0, "delta": message, "finish_reason": None}, {"index": 0, "delta": {}, "finish_reason": reason}]
    chunk = {**whole, "object": "chat.completion.chunk"}
    return _stream([{**chunk, "choices": parts[:1]}, {**chunk, "choices": parts[1:], "usage": usage}])


def _gemini(path: str, step: Step, name: str, _: str) -> Answer:
    call = {"functionCall": {"name": name, "args": step.arguments, "id": _identifier("call")}}
    content = {"role": "model", "parts": [call if step.tool else {"text": step.text}]}
    usage = {"promptTokenCount": step.tokens, "candidatesTokenCount": 1, "totalTokenCount": step.tokens + 1}
    whole = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}
    return _stream([whole]) if "stream" in path else Answer(200, whole)
