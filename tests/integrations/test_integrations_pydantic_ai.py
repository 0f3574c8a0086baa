"""Agents of Pydantic AI on real notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from memoriter.agent import Message, Session
from memoriter.integrations.pydantic_ai import MemoriterCapability, memory_toolset

if TYPE_CHECKING:
    import pytest

    from memoriter import Memory


class Model:
    """Calls the search once, and then answers; it keeps what it was sent."""

    def __init__(self) -> None:
        self.sent = list[list[ModelMessage]]()
        self.tools = list[str]()

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.sent.append(messages)
        self.tools = [tool.name for tool in info.function_tools]
        if len(self.sent) == 1:
            return ModelResponse([ToolCallPart("memory_search", {"query": "which database has the ledger?"})])
        return ModelResponse([TextPart("PostgreSQL [MEMORY.md#L1]")])

    def returned(self) -> Any:
        parts = [part for message in self.sent[-1] for part in message.parts]
        (part,) = [part for part in parts if isinstance(part, ToolReturnPart)]
        return part.content


def prompts(messages: list[ModelMessage]) -> list[str]:
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    return [str(part.content) for request in requests for part in request.parts if part.part_kind == "user-prompt"]


def test_tools_return_citations_outcome_and_health(memory: Memory) -> None:
    model = Model()
    agent = Agent(FunctionModel(model), toolsets=[memory_toolset(memory)])
    assert agent.run_sync("Where is the ledger?").output == "PostgreSQL [MEMORY.md#L1]"
    found = model.returned()
    assert (found["results"][0]["citation"], found["outcome"], found["health"]["ok"]) == ("MEMORY.md#L1", "match", True)
    assert {"memory_search", "memory_get", "memory_append"} <= set(model.tools)


def test_a_run_recalls_before_and_captures_after(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    captured = list[Any]()
    end_turn = Session.end_turn

    def recorded(session: Session, messages: Any, *, success: bool = True) -> Any:
        captured.append((session.key, list(messages)))
        return end_turn(session, messages, success=success)

    monkeypatch.setattr(Session, "end_turn", recorded)
    model = Model()
    agent = Agent(FunctionModel(model), capabilities=[MemoriterCapability(memory, session="chat-1")])
    question = "Which database has the ledger?"
    result = agent.run_sync(question)
    for sent in model.sent:  # each request of the run has it, before the question
        recalled, asked = prompts(sent)
        assert "[MEMORY.md#L1]" in recalled
        assert asked == question
    assert prompts(result.all_messages()) == [question]
    answer = Message("assistant", "PostgreSQL [MEMORY.md#L1]")
    assert captured == [("chat-1", [Message("user", question), answer])]


def test_a_capability_has_the_outcome_of_each_run(memory: Memory) -> None:
    capability = MemoriterCapability(memory, tools=False)
    model = Model()
    model.sent.append([])
    agent = Agent(FunctionModel(model), capabilities=[capability])
    runs = [agent.run_sync(prompt) for prompt in ("Which database has the ledger?", "hi")]
    health = {"ok": True, "reasons": []}
    assert list(capability.recalls) == [
        {"run_id": runs[0].run_id, "outcome": "match", "citations": ["MEMORY.md#L1"], "health": health},
        {"run_id": runs[1].run_id, "outcome": "skipped", "citations": [], "health": health},
    ]


def test_a_run_goes_on_and_reports_when_the_memory_fails(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise OSError("The disk is gone")

    monkeypatch.setattr(memory.backend, "search", broken)
    capability = MemoriterCapability(memory, session="chat-1", tools=False)
    model = Model()
    model.sent.append([])
    assert Agent(FunctionModel(model), capabilities=[capability]).run_sync("Which database?").output.startswith("Post")
    assert capability.reasons
    (recall,) = capability.recalls
    assert (recall["outcome"], recall["health"]["ok"]) == ("unavailable", False)
