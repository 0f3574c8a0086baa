"""Open a service through Pydantic AI, and translate its failures."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from memoriter.errors import MissingPackage, ModelFailed, sentence
from memoriter.extras import install_command, require

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from memoriter.chat._endpoint import ChatEndpoint

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

    where, detail = endpoint.host, _error_detail(error, endpoint)
    match error:
        case exceptions.ModelAuthenticationError():
            setting = f"models.providers.{endpoint.name}.apiKey" if endpoint.name else "its variable or --model"
            return ModelFailed(f"The service {where} refused the key: {sentence(detail)}", remedy=f"Correct {setting}.")
        case exceptions.ModelNotFoundError():
            return ModelFailed(
                f"The service {where} does not know the model {endpoint.model!r}: {sentence(detail)}",
                remedy="Name another with --model.",
            )
        case exceptions.ModelContextWindowExceededError():
            return ModelFailed(
                f"The conversation is longer than {endpoint.model!r} can hold: {sentence(detail)}",
                remedy="Start the chat with a smaller --context.",
            )
        case exceptions.ModelQuotaExceededError():
            return ModelFailed(
                f"Nothing is left to spend at {where}: {sentence(detail)}", remedy="Look at the account there."
            )
        case exceptions.ModelRateLimitError():
            return ModelFailed(
                f"The service {where} asks for fewer requests: {sentence(detail)}",
                remedy="Wait a moment, then say it again.",
            )
        case exceptions.ModelConnectionError():
            return ModelFailed(
                f"The service {where} cannot be reached: {sentence(detail)}",
                remedy="Look at --base-url and the network.",
            )
        case exceptions.ModelServerError() | exceptions.ModelUnavailableError():
            return ModelFailed(
                f"The service {where} failed: {sentence(detail)}", remedy="Wait a moment, then say it again."
            )
        case exceptions.UsageLimitExceeded():
            return ModelFailed(
                f"The model did not come to an end: {sentence(detail)}", remedy="Ask for less at a time."
            )
        case exceptions.UnexpectedModelBehavior():
            return ModelFailed(
                f"The model {endpoint.model!r} gave an answer that is none: {sentence(detail)}",
                remedy="Say it again, or use another model.",
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
