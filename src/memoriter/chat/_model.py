"""A service as Pydantic AI asks it, and its failures in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from memoriter.errors import ModelFailed

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from memoriter.chat._endpoint import ChatEndpoint

NO_KEY = "none"
"""Goes where a key must be given but none is needed."""
INSTALL = "Run: pip install 'memoriter[chat]'"
LONGEST_REPLY = 8_192
"""Tokens; Anthropic must be told."""
LONGEST = 300
"""Characters of what a service says."""


def open_model(endpoint: ChatEndpoint) -> Model:
    """The service's model; nothing is sent yet. Raises ModelFailed: Pydantic AI is not installed."""
    try:
        return _anthropic(endpoint) if endpoint.api == "anthropic" else _openai(endpoint)
    except ImportError as error:
        message = f"The chat needs Pydantic AI, which is not installed ({error.name or error})."
        raise ModelFailed(message, remedy=INSTALL) from error


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
    named = OpenAICompatibleProvider(endpoint.name or "openai-compatible", openai_client=client)
    return OpenAIChatModel(endpoint.model, provider=named)


def is_overflow(error: Exception) -> bool:
    """Whether the service refused because the conversation is longer than its model can hold."""
    from pydantic_ai import exceptions

    return isinstance(error, exceptions.ModelContextWindowExceededError)


def failure_of(error: Exception, endpoint: ChatEndpoint) -> ModelFailed:
    """What a person is told of a failed request; the key is not in it."""
    from pydantic_ai import exceptions

    where, said = endpoint.host, _said(error, endpoint)
    match error:
        case exceptions.ModelAuthenticationError():
            whose = f"models.providers.{endpoint.name}.apiKey" if endpoint.name else "its variable or --model"
            return ModelFailed(f"{where} refused the key: {said}", remedy=f"Correct {whose}.")
        case exceptions.ModelNotFoundError():
            return ModelFailed(
                f"{where} does not know the model {endpoint.model!r}: {said}", remedy="Name another with --model."
            )
        case exceptions.ModelContextWindowExceededError():
            return ModelFailed(
                f"The conversation is longer than {endpoint.model!r} can hold: {said}",
                remedy="Start the chat with a smaller --context.",
            )
        case exceptions.ModelQuotaExceededError():
            return ModelFailed(f"Nothing is left to spend at {where}: {said}", remedy="Look at the account there.")
        case exceptions.ModelRateLimitError():
            return ModelFailed(f"{where} asks for fewer requests: {said}", remedy="Wait a moment, then say it again.")
        case exceptions.ModelConnectionError():
            return ModelFailed(f"{where} cannot be reached: {said}", remedy="Look at --base-url and the network.")
        case exceptions.ModelServerError() | exceptions.ModelUnavailableError():
            return ModelFailed(f"{where} failed: {said}", remedy="Wait a moment, then say it again.")
        case exceptions.UsageLimitExceeded():
            return ModelFailed(f"The model did not come to an end: {said}", remedy="Ask for less at a time.")
        case exceptions.UnexpectedModelBehavior():
            return ModelFailed(
                f"{endpoint.model!r} gave an answer that is none: {said}", remedy="Say it again, or use another model."
            )
        case _:
            return ModelFailed(f"{where} did not answer: {said}")


def _said(error: Exception, endpoint: ChatEndpoint) -> str:
    """What the service or the connection says, in a line."""
    from pydantic_ai import exceptions

    text = str(error)
    if isinstance(error, exceptions.ModelHTTPError):
        text = f"HTTP {error.status_code}, {_message(error.body) or text}"
    elif isinstance(error, exceptions.ModelConnectionError):
        text = str(error.__cause__ or error)
    line = " ".join(text.split())
    if endpoint.api_key:
        line = line.replace(endpoint.api_key, "***")
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


def _message(body: object) -> str:
    """The words in the JSON of an error, where they usually are."""
    while isinstance(body, dict):
        table = cast("dict[str, object]", body)
        body = table.get("error", table.get("message"))
    return body if isinstance(body, str) else ""
