"""A thread that follows the changes of an index, as a server does."""

from __future__ import annotations

import queue
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Protocol

    class Changing(Protocol):
        """A store or a backend."""

        def changes(self, stop: threading.Event) -> Generator[str]:
            """Yield the name of the content now and after each change."""
            ...


PATIENCE_SECONDS = 60.0
"""What a change may take on a busy machine, far less than a slow check that a test has set to an hour."""
ENDED = ""
"""Received when there are no more names."""


class Followed:
    """The names that a thread has received."""

    def __init__(self) -> None:
        self.received = queue.SimpleQueue[str]()

    def next(self) -> str:
        return self.received.get(timeout=PATIENCE_SECONDS)

    def until(self, expected: str) -> None:
        """Return once the name has been received; others may come before it."""
        while self.next() != expected:
            pass

    @property
    def silent(self) -> bool:
        return self.received.empty()


@contextmanager
def followed(changing: Changing) -> Generator[Followed]:
    """Follow in a thread, which has received the present name. It must end soon after it was told to."""
    names = Followed()
    stop = threading.Event()

    def follow() -> None:
        for name in changing.changes(stop):
            names.received.put(name)
        names.received.put(ENDED)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        names.next()
        yield names
    finally:
        stop.set()
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()
