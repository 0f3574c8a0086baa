"""Which service a chat asks: its interface, its address and its key. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from memoriter.config import expand
from memoriter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.config import ModelProvider

Api = Literal["openai", "anthropic"]

ADDRESSES: dict[Api, str] = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
VARIABLES: dict[Api, str] = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
INTERFACES: dict[str, Api] = {
    "openai": "openai",
    "openai-completions": "openai",
    "openai-responses": "openai",
    "ollama": "openai",
    "anthropic": "anthropic",
    "anthropic-messages": "anthropic",
}
"""What `models.providers.<name>.api` may say."""


@dataclass(frozen=True, slots=True)
class ChatEndpoint:
    """A model, and where it is asked."""

    api: Api
    model: str
    base_url: str = field(repr=False)
    api_key: str = field(repr=False)
    """Empty: the service needs none."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    name: str = ""
    """As in `models.providers`; empty: it is not configured."""

    @property
    def host(self) -> str:
        """For people."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2]

    @property
    def own(self) -> bool:
        """Whether it is the vendor's own address."""
        return self.host == urlsplit(ADDRESSES[self.api]).netloc


def endpoint_of(
    model: str, base_url: str | None, providers: Mapping[str, ModelProvider], environ: Mapping[str, str]
) -> ChatEndpoint:
    """Who is asked.

    A key goes only where it belongs: one of `models.providers` to the service that is named, or whose address it is; a
    variable of the environment to the vendor's own address.

    Args:
        model: such as `gpt-4.1-mini`, or with the service before it: `anthropic/claude-sonnet-4-5`, `work/qwen3`.
        base_url: where the service is, in place of what is configured.
        providers: `models.providers`.
        environ: the environment.

    Raises:
        UsageError: it is not clear which service is meant, or it has no key.
        ConfigError: the configuration names a variable that is not set.
    """
    asked = _address(base_url)
    name, wanted = _named(model.strip(), asked, providers)
    entry = providers.get(name)
    written = entry.api if entry and entry.api else name if name in ADDRESSES else "openai"
    api = INTERFACES.get(written)
    if api is None:
        raise UsageError(
            f"models.providers.{name}.api is {written!r}, which the chat does not speak.",
            remedy=f"Name a service that speaks one of: {', '.join(INTERFACES)}.",
        )
    place = asked or (_address(expand(entry.base_url, environ)) if entry and entry.base_url else "") or ADDRESSES[api]
    if written == "ollama" and not place.endswith("/v1"):
        place = f"{place}/v1"
    if api == "anthropic":
        place = place.removesuffix("/v1")  # which its client adds
    headers = {key: expand(value, environ) for key, value in entry.headers.items()} if entry else dict[str, str]()
    found = ChatEndpoint(api, wanted, place, "", headers, name if entry else "")
    key = expand(entry.api_key, environ).strip() if entry and entry.api_key else ""
    if not key and found.own:
        key = environ.get(VARIABLES[api], "").strip()
        if not key and not headers:
            raise UsageError(
                f"There is no key for {found.host}.",
                remedy=f"Set {VARIABLES[api]}, or models.providers.{name or api}.apiKey; or give --base-url URL.",
            )
    return ChatEndpoint(api, wanted, place, key, headers, found.name)


def _named(model: str, base_url: str, providers: Mapping[str, ModelProvider]) -> tuple[str, str]:
    """The service's name and the model's; a slash may be part of the model's."""
    first, slash, rest = model.partition("/")
    if slash and rest and (first in providers or first in ADDRESSES):
        return first, rest
    if not model or model.endswith("/"):
        raise UsageError("The model has no name.", remedy="Give --model NAME, such as anthropic/claude-sonnet-4-5.")
    if base_url:
        there = (name for name, entry in providers.items() if (entry.base_url or "").rstrip("/") == base_url)
        return next(there, ""), model
    return ("anthropic" if model.startswith("claude") else "openai"), model


def _address(written: str | None) -> str:
    place = (written or "").strip().rstrip("/")
    if not place:
        return ""
    try:
        parts = urlsplit(place)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        good = False
    if not good:
        raise UsageError("The address of the service is not one of http or https.", remedy="Give --base-url URL.")
    return place
