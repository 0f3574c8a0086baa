"""One model with its tools, called through Pydantic AI: open it, run its turns, and explain its failures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import MissingPackage, ModelFailed, sentence
from memoriter.extras import install_command, require
from memoriter.values import dataclass
from memoriter.workspace import estimate_tokens

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping, Sequence

    from pydantic_ai import Agent
    from pydantic_ai import Tool as AgentTool
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import Model
    from pydantic_ai.run import AgentRunResult

    from memoriter.chat._endpoint import ChatEndpoint
    from memoriter.tools import Tool

NO_KEY = "none"
"""Placeholder key for services that need none."""
LONGEST_REPLY = 8_192
"""Tokens; Anthropic requires a limit."""
LONGEST_DETAIL = 300
"""Characters of a service's error text."""


def open_model(endpoint: ChatEndpoint) -> Model:
    """Return the service's model; this sends no request.

    Raises:
        MissingPackage: the extra `chat` is not installed.
    """
    require("chat", "The chat")
    try:
        return _anthropic(endpoint) if endpoint.api == "anthropic" else _openai(endpoint)
    except ImportError as error:
        message = f"The chat needs packages that cannot be imported: {error.name or error}."
        raise MissingPackage(message, remedy=f"Run `{install_command('chat')}`.") from error


def _anthropic(endpoint: ChatEndpoint) -> Model:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = AsyncAnthropic(
        api_key=endpoint.api_key or NO_KEY, base_url=endpoint.base_url, default_headers=dict(endpoint.headers)
    )
    settings = AnthropicModelSettings(max_tokens=LONGEST_REPLY)
    return AnthropicModel(endpoint.model, provider=AnthropicProvider(anthropic_client=client), settings=settings)


def _openai(endpoint: ChatEndpoint) -> Model:
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    client = AsyncOpenAI(
        api_key=endpoint.api_key or NO_KEY, base_url=endpoint.base_url, default_headers=dict(endpoint.headers)
    )
    if endpoint.own:
        return OpenAIChatModel(endpoint.model, provider=OpenAIProvider(openai_client=client))
    provider = OpenAICompatibleProvider(endpoint.name or "openai-compatible", openai_client=client)
    return OpenAIChatModel(endpoint.model, provider=provider)


def is_overflow(error: Exception) -> bool:
    """Return whether the service rejected a conversation that exceeds the model's context window."""
    from pydantic_ai import exceptions

    return isinstance(error, exceptions.ModelContextWindowExceededError)


def to_model_failed(error: Exception, endpoint: ChatEndpoint) -> ModelFailed:
    """Return a failed request as an error for people, without the key."""
    from pydantic_ai import exceptions

    where = endpoint.host
    detail = _error_detail(error, endpoint)
    match error:
        case exceptions.ModelAuthenticationError():
            setting = f"models.providers.{endpoint.name}.apiKey" if endpoint.name else "its variable or --model"
            return ModelFailed(f"The service {where} refused the key: {sentence(detail)}", remedy=f"Correct {setting}.")
        case exceptions.ModelNotFoundError():
            return ModelFailed(
                f"The service {where} has no model {endpoint.model!r}: {sentence(detail)}",
                remedy="Name another with --model.",
            )
        case exceptions.ModelContextWindowExceededError():
            return ModelFailed(
                f"The conversation is longer than {endpoint.model!r} can hold: {sentence(detail)}",
                remedy="Start the chat with a smaller --context.",
            )
        case exceptions.ModelQuotaExceededError():
            return ModelFailed(
                f"The quota at {where} is used up: {sentence(detail)}",
                remedy="Check your account there.",
            )
        case exceptions.ModelRateLimitError():
            return ModelFailed(
                f"The service {where} refused the request because there were too many: {sentence(detail)}",
                remedy="Wait a moment, then send the message again.",
            )
        case exceptions.ModelConnectionError():
            return ModelFailed(
                f"The service {where} cannot be reached: {sentence(detail)}",
                remedy="Check --base-url and the network.",
            )
        case exceptions.ModelServerError() | exceptions.ModelUnavailableError():
            return ModelFailed(
                f"The service {where} failed: {sentence(detail)}", remedy="Wait a moment, then send the message again."
            )
        case exceptions.UsageLimitExceeded():
            return ModelFailed(
                f"The model did not finish its answer: {sentence(detail)}", remedy="Ask for less at a time."
            )
        case exceptions.UnexpectedModelBehavior():
            return ModelFailed(
                f"The model {endpoint.model!r} gave an unusable answer: {sentence(detail)}",
                remedy="Send the message again, or use another model.",
            )
        case _:
            return ModelFailed(f"The service {where} did not answer: {sentence(detail)}")


def _error_detail(error: Exception, endpoint: ChatEndpoint) -> str:
    """Return the error text of the service or the connection in one line, with the key masked."""
    from pydantic_ai import exceptions

    text = str(error)
    if isinstance(error, exceptions.ModelHTTPError):
        text = f"HTTP {error.status_code}, {_body_message(error.body) or text}"
    elif isinstance(error, exceptions.ModelConnectionError):
        text = str(error.__cause__ or error)
    line = " ".join(text.split())
    if endpoint.api_key:
        line = line.replace(endpoint.api_key, "***")
    return line if len(line) <= LONGEST_DETAIL else f"{line[:LONGEST_DETAIL]}…"


def _body_message(body: object) -> str:
    """Return the message in the JSON of an error, from its usual places."""
    while isinstance(body, dict):
        table = cast("dict[str, object]", body)
        body = table.get("error", table.get("message"))
    return body if isinstance(body, str) else ""


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
