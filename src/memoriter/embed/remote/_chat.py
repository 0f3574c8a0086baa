"""A chat model behind OpenAI's interface, which most services and servers of models offer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from memoriter.embed.remote._breaker import CircuitBreaker
from memoriter.embed.remote._remote import estimate_tokens
from memoriter.embed.remote._vendor import endpoint_of, headers_for, is_local_network
from memoriter.embed.remote._wire import ErrorResponse, json_object, json_post, sanitize, tokens_in, usual_error
from memoriter.errors import EmbeddingError, OutOfQuota, Unauthorised

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.embed.remote._http import HttpClient
    from memoriter.embed.remote._remote import UsageRecorder
    from memoriter.embed.remote._vendor import RemoteSettings
    from memoriter.embed.remote._wire import Response
    from memoriter.service_guard import KeyValueStore

_PATH = "/chat/completions"
_SECONDS = 120.0
_NEAR_SECONDS = 600.0
"""The longest wait for an answer; models in the local network are slow."""
_ANSWER_BYTES = 1 << 20
_REMEDY = "Check model, baseUrl and apiKey of memory.tidy; if they are right, try again later."


def chat_address(base_url: str) -> str:
    """Return the base address of a chat model, without what may not be shown. Raises ConfigError."""
    return endpoint_of(base_url).removesuffix(_PATH)


class RemoteChat:
    """A chat model of a service, which remembers no conversation. Threads may share it."""

    def __init__(
        self,
        settings: RemoteSettings,
        http: HttpClient,
        *,
        wall: Callable[[], float],
        store: KeyValueStore | None = None,
        account: UsageRecorder | None = None,
    ) -> None:
        """Prepare the model; nothing is sent yet. The arguments are those of `RemoteProvider`."""
        self._settings = settings
        self._http = http
        self._account = account
        self._endpoint = chat_address(settings.base_url)
        self._service = self._endpoint.partition("://")[2].partition("/")[0]
        self._guard = CircuitBreaker(("chat", self._endpoint), settings.secrets, wall=wall, store=store)

    def answer(self, instructions: str, message: str) -> str:
        """Return the answer to a message. Raises EmbeddingError: there is none."""
        body = {
            "model": self._settings.model,
            "messages": [
                {"role": "system", "content": instructions},
                {"role": "user", "content": sanitize(message)},
            ],
        }
        tokens = estimate_tokens(instructions) + estimate_tokens(message)

        def read(response: Response) -> str:
            if self._account is not None:
                self._account.add(tokens_in(response.body) or tokens)
            answer: Any = json_object(response.body, self._service)
            return str(answer["choices"][0]["message"]["content"])

        def error_of(response: Response) -> EmbeddingError:
            secrets = self._settings.secrets
            return usual_error(ErrorResponse(self._service, response.status, response.headers, response.body, secrets))

        if self._account is not None:
            self._account.check(tokens)
        send = partial(
            self._http.send,
            json_post(self._endpoint + _PATH, headers_for(self._settings), body),
            timeout=_NEAR_SECONDS if is_local_network(self._endpoint) else _SECONDS,
            read=read,
            error_of=error_of,
            most_bytes=_ANSWER_BYTES,
            subject=f" to {self._settings.model}, {tokens} tokens",
        )
        try:
            return self._guard.call(send)
        except EmbeddingError as error:
            if not isinstance(error, OutOfQuota | Unauthorised):
                error.remedy = _REMEDY
            raise

    def close(self) -> None:
        """Close the connections."""
        self._http.close()
