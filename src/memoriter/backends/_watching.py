"""Watching in the background of a program."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from memoriter.backends._protocol import MemoryBackend
    from memoriter.sync import Watch, WatchEvent


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
        self._thread = threading.Thread(target=self._run, name="memoriter-watch", daemon=True)
        self._thread.start()

    @property
    def settled(self) -> bool:
        """Whether the index is true to all changes that were heard of, so that a search need not look at the files."""
        return self._thread.is_alive() and self._watch.settled

    def close(self) -> None:
        """Stop watching; returns when the last file or batch is done."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._watch.run()
        finally:
            self._backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
