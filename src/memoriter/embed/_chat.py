"""The chat model that the settings name. Nothing is opened or sent before the first message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.embed._choice import Choice, ServiceConfig
from memoriter.errors import ConfigError, ProviderUnavailable
from memoriter.extras import install_command, missing_packages
from memoriter.values import dataclass

if TYPE_CHECKING:
    from memoriter.embed._registry import ProviderContext
    from memoriter.embed.remote import RemoteChat, UsageRecorder


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """The settings of `memory.tidy`, with `${NAME}` already replaced."""

    model: str
    service: ServiceConfig
    offline: bool = False


def choose_chat(settings: ChatSettings) -> Choice:
    """Return the chat model that the settings name.

    Raises:
        ConfigError: its settings are invalid.
        ProviderUnavailable: it cannot be used here, such as a service where `offline` is set.
    """
    if missing := missing_packages("remote"):
        raise ProviderUnavailable(
            f"The model {settings.model!r} needs the extra 'remote': {', '.join(missing)} is not installed.",
            remedy=f"Run `{install_command('remote')}`.",
        )
    from memoriter.embed.remote import RemoteSettings, chat_address, is_local_network, is_loopback

    service = settings.service
    if service.problem is not None:
        raise service.problem
    try:
        endpoint = chat_address(service.base_url)
    except ConfigError as error:
        raise ConfigError(
            "The setting memory.tidy.baseUrl is not the address of a service.",
            remedy="Write it as http://127.0.0.1:11434/v1 or https://host/v1, without a query.",
        ) from error
    leaves = not is_loopback(endpoint)
    if settings.offline and leaves:
        raise ProviderUnavailable(
            f"The model {settings.model!r} is at {endpoint}, and memorySearch.offline forbids the network.",
            remedy="Name a model on this machine in memory.tidy, or none.",
        )
    return Choice(
        settings.model,
        "remote",
        RemoteSettings("chat", settings.model, service.base_url, service.api_key, offline=settings.offline),
        endpoint,
        leaves,
        metered=not is_local_network(endpoint),
        key_source="memory.tidy.apiKey" if service.api_key else "",
        vendor="chat",
        model=settings.model,
    )


def open_chat(choice: Choice, outside: ProviderContext, account: UsageRecorder | None = None) -> RemoteChat:
    """Return a chosen chat model, ready to be asked."""
    from memoriter.embed.remote import HttpClient, RemoteChat

    assert choice.remote is not None
    http = HttpClient(
        clock=outside.monotonic, sleep=outside.sleep, random=outside.random, offline=choice.remote.offline
    )
    return RemoteChat(choice.remote, http, wall=outside.wall, store=outside.store, account=account)
