"""A watcher in a background thread of a program."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from memoriter.backends._protocol import MemoryBackend
    from memoriter.sync import Watch, WatchEvent

CLOSING_SECONDS = 2.0
"""How long `close` waits for the thread. After that the thread continues alone and ends with the process."""


class Watching:
    """A thread that keeps the index up to date with the files until it is closed; a context manager."""

    def __init__(
        self,
        opened: Callable[[threading.Event, Callable[[WatchEvent], None]], tuple[Watch, MemoryBackend]],
        told: Callable[[WatchEvent], None],
    ) -> None:
        """Start the thread.

        Args:
            opened: returns the watch and a backend for its exclusive use.
            told: receives each event, in that thread.
        """
        self._stop = threading.Event()
        self._watch, self._backend = opened(self._stop, told)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="memoriter-watch", daemon=True)
        self._thread.start()

    @property
    def settled(self) -> bool:
        """Whether the index includes every reported change, so that a search need not scan the files."""
        return self._thread.is_alive() and self._watch.settled

    def ended(self, *, wait: float = 0.0) -> bool:
        """Wait up to `wait` seconds and return whether the thread has ended. Raises the error that ended it."""
        self._thread.join(wait)
        if self._error is not None:
            raise self._error
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Request the end of watching and return at once."""
        self._stop.set()
        self._backend.stop()

    def close(self) -> None:
        """Stop watching. Return after the current file or batch, and after `CLOSING_SECONDS` at the latest."""
        self.stop()
        self._thread.join(CLOSING_SECONDS)

    def _run(self) -> None:
        try:
            self._watch.run()
        except BaseException as error:  # for example, an error of the event callback
            self._error = error
            raise
        finally:
            self._backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
