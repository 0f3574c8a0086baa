"""The language model that `memory.tidy` names, with the notice, the budget and the ledger of other services."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from memoriter.backends._endpoint import destination_of, is_consented, is_news
from memoriter.embed import Choice
from memoriter.errors import ConfigError, MemoriterError, ProviderUnavailable
from memoriter.extras import install_command, missing_packages
from memoriter.types import Diagnostic
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from memoriter.backends._embedding import Embedding
    from memoriter.embed import ServiceConfig

TO_COMPARE = "to compare statements"
"""The end of the notice about the model."""


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A chat model of the owner. Nothing is opened or sent before it is asked."""

    name: str
    service: ServiceConfig
    embedding: Embedding
    """Whose ledger, budget, clocks and rules about the network and notices hold for the model as well."""

    @contextmanager
    def opened(self) -> Generator[Callable[[str, str], str]]:
        """Yield a function that returns the model's answer to instructions and a message.

        Raises MemoriterError, as that function does: the model cannot be used, or nobody was informed about it.
        """
        choice = self._choice()
        if not self.embedding.attended and not is_consented(choice, self.embedding.ledger):
            raise ProviderUnavailable(
                f"Nothing is sent to {destination_of(choice)}: you have not seen the notice about this service yet.",
                remedy="Run `memoriter tidy` in a terminal to use it.",
            )
        from memoriter.embed.remote import HttpClient, ask_chat

        outside = self.embedding.outside
        offline = self.embedding.settings.offline
        http = HttpClient(clock=outside.monotonic, sleep=outside.sleep, random=outside.random, offline=offline)
        assert choice.remote is not None
        try:
            yield partial(ask_chat, choice.remote, http, self.embedding.account(choice))
        finally:
            http.close()

    def egress_notice(self) -> str | None:
        """Return where statements may be sent from now on; None if nowhere, or if the user was informed before."""
        with suppress(MemoriterError):
            choice = self._choice()
            if choice.leaves_machine and is_news(choice, self.embedding.ledger):
                return f"{destination_of(choice)} {TO_COMPARE}"
        return None

    @property
    def sent(self) -> Diagnostic | None:
        """Where statements may have been sent; None if they stay on this machine."""
        with suppress(MemoriterError):
            choice = self._choice()
            if choice.leaves_machine:
                message = f"Statements may have been sent to {destination_of(choice)}. What it keeps is unknown."
                return Diagnostic("sent", message, "Ask the service to delete it.")
        return None

    def _choice(self) -> Choice:
        """Return the model as a service. Raises MemoriterError: it cannot be used with these settings."""
        if missing := missing_packages("remote"):
            raise ProviderUnavailable(
                f"The model {self.name!r} needs the extra 'remote': {', '.join(missing)} is not installed.",
                remedy=f"Run `{install_command('remote')}`.",
            )
        from memoriter.embed.remote import RemoteSettings, endpoint_of, is_local_network, is_loopback

        if self.service.problem is not None:
            raise self.service.problem
        try:
            endpoint = endpoint_of(self.service.base_url)
        except ConfigError as error:
            message = "The setting memory.tidy.baseUrl is not the address of a service."
            raise ConfigError(message, remedy="Write it as https://host/v1, without a query.") from error
        return Choice(
            self.name,
            "remote",
            RemoteSettings("memory.tidy", self.name, self.service.base_url, self.service.api_key),
            endpoint,
            leaves_machine=not (self.embedding.settings.offline or is_loopback(endpoint)),
            metered=not is_local_network(endpoint),
            key_source="memory.tidy.apiKey" if self.service.api_key else "",
            vendor="chat",
            model=self.name,
        )
