"""The language model that `memory.tidy` names, with the notice, the budget and the ledger of other services."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from memoriter.backends._endpoint import destination_of, is_consented, is_news
from memoriter.embed import choose_chat, open_chat
from memoriter.errors import MemoriterError, ProviderUnavailable
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from memoriter.backends._embedding import Embedding
    from memoriter.embed import ChatSettings

TO_COMPARE = "to compare statements"
"""The end of the notice about the model."""


class LanguageModel:
    """A chat model of the owner. Nothing is opened or sent before it is asked."""

    def __init__(self, settings: ChatSettings, embedding: Embedding) -> None:
        """Store the parts; the ledger, the budget and the rule about notices are those of the embedding provider."""
        self.name = settings.model
        self.settings = settings
        self._embedding = embedding

    @contextmanager
    def opened(self) -> Generator[Callable[[str, str], str]]:
        """Yield a function that returns the model's answer to instructions and a message.

        Raises MemoriterError, as that function does: the model cannot be used, or nobody was informed about it.
        """
        choice = choose_chat(self.settings)
        embedding = self._embedding
        if not embedding.attended and not is_consented(choice, embedding.ledger):
            raise ProviderUnavailable(
                f"Nothing is sent to {destination_of(choice)}: you have not seen the notice about this service yet.",
                remedy="Run `memoriter tidy` in a terminal to use it.",
            )
        chat = open_chat(choice, embedding.outside, embedding.account(choice))
        try:
            yield chat.answer
        finally:
            chat.close()

    def egress_notice(self) -> str | None:
        """Return where statements may be sent from now on; None if nowhere, or if the user was informed before."""
        with suppress(MemoriterError):
            choice = choose_chat(self.settings)
            if choice.leaves_machine and is_news(choice, self._embedding.ledger):
                return f"{destination_of(choice)} {TO_COMPARE}"
        return None

    @property
    def sent(self) -> Diagnostic | None:
        """Where statements may have been sent; None if they stay on this machine."""
        with suppress(MemoriterError):
            choice = choose_chat(self.settings)
            if choice.leaves_machine:
                message = (
                    f"Statements may have been sent to {self.name} at {choice.endpoint}. What it keeps is unknown."
                )
                return Diagnostic("sent", message, "Ask the service to delete it.")
        return None
