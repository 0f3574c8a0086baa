"""Watching in the background of a program."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from memoriter.backends._protocol import MemoryBackend
    from memoriter.sync import Watch, WatchEvent

CLOSING_SECONDS = 2.0
"""A thread that is not done by then goes on by itself, and ends with the process."""


class Watching:
    """A thread that keeps the index true to the files until it is closed; a context manager."""

    def __init__(
        self,
        opened: Callable[[threading.Event, Callable[[WatchEvent], None]], tuple[Watch, MemoryBackend]],
        told: Callable[[WatchEvent], None],
    ) -> None:
        """Begin at once.

        Args:
            opened: makes what watches and the backend that it has for itself.
            told: hears of each thing that is done, in that thread.
        """
        self._stop = threading.Event()
        self._watch, self._backend = opened(self._stop, told)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="memoriter-watch", daemon=True)
        self._thread.start()

    @property
    def settled(self) -> bool:
        """Whether the index is true to all changes that were heard of, so that a search need not look at the files."""
        return self._thread.is_alive() and self._watch.settled

    def ended(self, *, wait: float = 0.0) -> bool:
        """Return whether the thread has ended, within so many seconds. Raises what ended it, if something failed."""
        self._thread.join(wait)
        if self._error is not None:
            raise self._error
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Begin to stop watching, and return at once."""
        self._stop.set()
        self._backend.stop()

    def close(self) -> None:
        """Stop watching; return when the last file or batch is done, and after `CLOSING_SECONDS` in any case."""
        self.stop()
        self._thread.join(CLOSING_SECONDS)

    def _run(self) -> None:
        try:
            self._watch.run()
        except BaseException as error:  # such as that nobody hears of it any more
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
