"""One model with its tools, called through Pydantic AI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.chat._model import is_overflow, open_model, to_model_failed
from memoriter.errors import ModelFailed
from memoriter.values import dataclass
from memoriter.workspace import estimate_tokens

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping, Sequence

    from pydantic_ai import Agent
    from pydantic_ai import Tool as AgentTool
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.run import AgentRunResult

    from memoriter.chat._endpoint import ChatEndpoint
    from memoriter.tools import Tool


class Overflow(ModelFailed):
    """The conversation exceeds the model's context window."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The model's answer."""

    reply: str
    messages: Sequence[ModelMessage]
    """The conversation including this turn."""
    tokens: int
    """Context usage of the conversation."""


class Talk:
    """Calls a model. Its tool calls run in this thread, one after the other."""

    def __init__(
        self, endpoint: ChatEndpoint, tools: Sequence[Tool], call: Callable[[Tool, dict[str, Any]], Mapping[str, Any]]
    ) -> None:
        model = open_model(endpoint)
        from pydantic_ai import Agent

        self.endpoint = endpoint
        self._call = call
        self._agent: Agent[object, str] = Agent(model, tools=[self._agent_tool(tool) for tool in tools])
        self._toolless_agent: Agent[object, str] = Agent(model)
        self._runner: asyncio.Runner | None = None

    def run(self, prompt: str, history: Sequence[ModelMessage], instructions: str) -> Turn:
        """Run one turn, with as many tool calls as the model makes.

        Raises:
            Overflow: the conversation is too long.
            ModelFailed: the service gave no answer.
        """
        result = self._run(self._agent, prompt, history, instructions)
        return Turn(result.output, result.all_messages(), _count_tokens(result, instructions))

    def ask(self, prompt: str, instructions: str) -> str:
        """Return an answer outside of the conversation, without tools.

        Raises:
            ModelFailed: the service gave no answer.
        """
        return self._run(self._toolless_agent, prompt, (), instructions).output

    def close(self) -> None:
        """Close the connections."""
        if self._runner is not None:
            self._runner.close()

    def _run(
        self, agent: Agent[object, str], prompt: str, history: Sequence[ModelMessage], instructions: str
    ) -> AgentRunResult[str]:
        import asyncio

        if self._runner is None:
            self._runner = asyncio.Runner()
        try:
            return self._runner.run(agent.run(prompt, message_history=history, instructions=instructions))
        except Exception as error:
            failure = to_model_failed(error, self.endpoint)
            if is_overflow(error):
                raise Overflow(failure.message, remedy=failure.remedy) from error
            raise failure from error

    def _agent_tool(self, tool: Tool) -> AgentTool[object]:
        from pydantic_ai import Tool as AgentTool

        async def call(**params: Any) -> Mapping[str, Any]:
            return self._call(tool, params)

        return AgentTool[object].from_schema(call, tool.name, tool.description, dict(tool.input_schema))


def _count_tokens(result: AgentRunResult[str], instructions: str) -> int:
    """Return the context usage of the conversation: the service's count, or an estimate."""
    used = result.response.usage
    return used.input_tokens + used.output_tokens or estimate_tokens(f"{instructions}{_text(result.all_messages())}")


def _text(messages: Sequence[ModelMessage]) -> str:
    parts = (part for message in messages for part in message.parts)
    return "".join(str(getattr(part, "content", "") or getattr(part, "args", "")) for part in parts)
