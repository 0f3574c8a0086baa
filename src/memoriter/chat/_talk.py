"""One model and its tools, asked through Pydantic AI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memoriter.chat._model import failure_of, is_overflow, open_model
from memoriter.errors import ModelFailed
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
    """The conversation is longer than the model can hold."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model answered."""

    reply: str
    messages: Sequence[ModelMessage]
    """The conversation with this turn in it."""
    tokens: int
    """How full it is."""


class Talk:
    """Asks a model, which may call tools; those run in this thread, one after the other."""

    def __init__(
        self, endpoint: ChatEndpoint, tools: Sequence[Tool], call: Callable[[Tool, dict[str, Any]], Mapping[str, Any]]
    ) -> None:
        model = open_model(endpoint)
        from pydantic_ai import Agent

        self.endpoint = endpoint
        self._call = call
        self._agent: Agent[object, str] = Agent(model, tools=[self._offered(tool) for tool in tools])
        self._plain: Agent[object, str] = Agent(model)
        self._runner: asyncio.Runner | None = None

    def run(self, prompt: str, history: Sequence[ModelMessage], instructions: str) -> Turn:
        """One turn, with as many calls of tools as the model wants.

        Raises:
            Overflow: the conversation is too long.
            ModelFailed: the service gave no answer.
        """
        result = self._run(self._agent, prompt, history, instructions)
        return Turn(result.output, result.all_messages(), _tokens(result, instructions))

    def ask(self, prompt: str, instructions: str) -> str:
        """An answer outside of the conversation, without tools. Raises ModelFailed."""
        return self._run(self._plain, prompt, (), instructions).output

    def close(self) -> None:
        """Let go of the connections."""
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
            failure = failure_of(error, self.endpoint)
            if is_overflow(error):
                raise Overflow(failure.message, remedy=failure.remedy) from error
            raise failure from error

    def _offered(self, tool: Tool) -> AgentTool[object]:
        from pydantic_ai import Tool as AgentTool

        async def call(**params: Any) -> Mapping[str, Any]:
            return self._call(tool, params)

        return AgentTool[object].from_schema(call, tool.name, tool.description, dict(tool.input_schema))


def _tokens(result: AgentRunResult[str], instructions: str) -> int:
    """How full the conversation is, as the service counts, or near enough where it does not."""
    used = result.response.usage
    return used.input_tokens + used.output_tokens or estimate_tokens(f"{instructions}{_words(result.all_messages())}")


def _words(messages: Sequence[ModelMessage]) -> str:
    parts = (part for message in messages for part in message.parts)
    return "".join(str(getattr(part, "content", "") or getattr(part, "args", "")) for part in parts)
