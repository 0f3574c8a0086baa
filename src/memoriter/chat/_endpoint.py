"""Choose the service of a chat: its interface, URL and key. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from memoriter.config import expand
from memoriter.errors import UsageError
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.config import ModelProvider

Api = Literal["openai", "anthropic"]

OFFICIAL_URLS: dict[Api, str] = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
KEY_VARIABLES: dict[Api, str] = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
INTERFACES: dict[str, Api] = {
    "openai": "openai",
    "openai-completions": "openai",
    "openai-responses": "openai",
    "ollama": "openai",
    "anthropic": "anthropic",
    "anthropic-messages": "anthropic",
}
"""Accepted values of `models.providers.<name>.api`."""


@dataclass(frozen=True, slots=True)
class ChatEndpoint:
    """A model and its service."""

    api: Api
    model: str
    base_url: str = field(repr=False)
    api_key: str = field(repr=False)
    """Empty: the service needs no key."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    name: str = ""
    """The name in `models.providers`; empty: the service is not configured."""

    @property
    def host(self) -> str:
        """Return the host of the service, for people."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2]

    @property
    def own(self) -> bool:
        """Return whether the host is the vendor's official one."""
        return self.host == urlsplit(OFFICIAL_URLS[self.api]).netloc


def endpoint_of(
    model: str, base_url: str | None, providers: Mapping[str, ModelProvider], environ: Mapping[str, str]
) -> ChatEndpoint:
    """Return the endpoint for a model name.

    A key goes only to its own service: a key of `models.providers` to the service that is named or whose URL is given,
    an environment variable to the vendor's official host.

    Args:
        model: such as `gpt-4.1-mini`, or with the service as a prefix: `anthropic/claude-sonnet-4-5`, `work/qwen3`.
        base_url: URL of the service; replaces the configured one.
        providers: `models.providers`.
        environ: the environment.

    Raises:
        UsageError: the service is ambiguous, or it has no key.
        ConfigError: the configuration names a variable that is not set.
    """
    chosen_url = _check_url(base_url)
    name, model_name = _split_model(model.strip(), chosen_url, providers)
    entry = providers.get(name)
    interface = entry.api if entry and entry.api else name if name in OFFICIAL_URLS else "openai"
    api = INTERFACES.get(interface)
    if api is None:
        raise UsageError(
            f"The setting models.providers.{name}.api is {interface!r}, which the chat does not support.",
            remedy=f"Name a service with one of these interfaces: {', '.join(INTERFACES)}.",
        )
    url = (
        chosen_url
        or (_check_url(expand(entry.base_url, environ)) if entry and entry.base_url else "")
        or OFFICIAL_URLS[api]
    )
    if interface == "ollama" and not url.endswith("/v1"):
        url = f"{url}/v1"
    if api == "anthropic":
        url = url.removesuffix("/v1")  # its client adds the suffix
    headers = {key: expand(value, environ) for key, value in entry.headers.items()} if entry else dict[str, str]()
    keyless = ChatEndpoint(api, model_name, url, "", headers, name if entry else "")
    key = expand(entry.api_key, environ).strip() if entry and entry.api_key else ""
    if not key and keyless.own:
        key = environ.get(KEY_VARIABLES[api], "").strip()
        if not key and not headers:
            raise UsageError(
                f"There is no key for {keyless.host}.",
                remedy=f"Set {KEY_VARIABLES[api]}, or models.providers.{name or api}.apiKey; or give --base-url URL.",
            )
    return ChatEndpoint(api, model_name, url, key, headers, keyless.name)


def _split_model(model: str, base_url: str, providers: Mapping[str, ModelProvider]) -> tuple[str, str]:
    """Return the names of the service and of the model; a slash may be part of the model's name."""
    first, slash, rest = model.partition("/")
    if slash and rest and (first in providers or first in OFFICIAL_URLS):
        return first, rest
    if not model or model.endswith("/"):
        raise UsageError("The model has no name.", remedy="Give --model NAME, such as anthropic/claude-sonnet-4-5.")
    if base_url:
        matches = (name for name, entry in providers.items() if (entry.base_url or "").rstrip("/") == base_url)
        return next(matches, ""), model
    return ("anthropic" if model.startswith("claude") else "openai"), model


def _check_url(url: str | None) -> str:
    stripped = (url or "").strip().rstrip("/")
    if not stripped:
        return ""
    try:
        parts = urlsplit(stripped)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        valid = False
    if not valid:
        raise UsageError("The address of the service is not one of http or https.", remedy="Give --base-url URL.")
    return stripped
