"""A service that takes a request and answers when a test lets it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from servers.compatible import CompatibleServer, texts_of

if TYPE_CHECKING:
    from servers.base import Answer

LIMIT = 150.0
"""Seconds that anything may take on a busy machine."""


class HeldServer(CompatibleServer):
    """Speaks as OpenAI does, once it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.requested = threading.Event()
        """Set when the first request has come."""
        self.let_go = threading.Event()
        self.always = self.hold

    def hold(self, _: Any, answer: Answer) -> Answer:
        self.requested.set()
        self.let_go.wait(LIMIT)
        return answer

    def __exit__(self, *error: object) -> None:
        self.let_go.set()
        super().__exit__(*error)

    @property
    def texts(self) -> list[str]:
        """Every text of every request so far."""
        with self.lock:
            return [text for call in self.calls for text in texts_of(call)]
