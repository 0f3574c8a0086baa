"""A chat model behind OpenAI's interface, which most services and servers of models offer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.embed.remote._remote import estimate_tokens
from memoriter.embed.remote._vendor import endpoint_of, headers_for, is_local_network
from memoriter.embed.remote._wire import ErrorResponse, json_object, json_post, sanitize, tokens_in, usual_error
from memoriter.errors import EmbeddingError, OutOfQuota, Unauthorised

if TYPE_CHECKING:
    from memoriter.embed.remote._http import HttpClient
    from memoriter.embed.remote._remote import UsageRecorder
    from memoriter.embed.remote._vendor import RemoteSettings
    from memoriter.embed.remote._wire import Response

_SECONDS = 120.0
_NEAR_SECONDS = 600.0
"""The longest wait for an answer; models in the local network are slow."""
_REMEDY = "Check model, baseUrl and apiKey of memory.tidy; if they are right, try again later."


def ask_chat(
    settings: RemoteSettings, http: HttpClient, account: UsageRecorder | None, instructions: str, message: str
) -> str:
    """Return the answer of a chat model to a message. Raises EmbeddingError: there is none."""
    roles = {"system": instructions, "user": sanitize(message)}
    body = {"model": settings.model, "messages": [{"role": role, "content": text} for role, text in roles.items()]}
    endpoint = endpoint_of(settings.base_url)
    service = endpoint.partition("://")[2].partition("/")[0]
    tokens = estimate_tokens(instructions) + estimate_tokens(message)

    def read(response: Response) -> str:
        if account is not None:
            account.add(tokens_in(response.body) or tokens)
        answer: Any = json_object(response.body, service)
        return str(answer["choices"][0]["message"]["content"])

    def error_of(response: Response) -> EmbeddingError:
        headers = response.headers
        return usual_error(ErrorResponse(service, response.status, headers, response.body, settings.secrets))

    if account is not None:
        account.check(tokens)
    try:
        return http.send(
            json_post(endpoint.removesuffix("/chat/completions") + "/chat/completions", headers_for(settings), body),
            timeout=_NEAR_SECONDS if is_local_network(endpoint) else _SECONDS,
            read=read,
            error_of=error_of,
            subject=f" to {settings.model}, {tokens} tokens",
        )
    except EmbeddingError as error:
        if not isinstance(error, OutOfQuota | Unauthorised):
            error.remedy = _REMEDY
        raise
