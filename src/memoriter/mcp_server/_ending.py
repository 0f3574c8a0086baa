"""Shutdown of a server process within a time limit, even if a thread hangs."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

END_SECONDS = 4.5
"""Seconds after which the process exits, even if a thread hangs."""


class Shutdown:
    """The shutdown of a server process: a signal starts it, and it takes at most `END_SECONDS`."""

    def __init__(self, begin: Callable[[], None], last: Callable[[], None]) -> None:
        """Prepare a shutdown.

        Args:
            begin: asks all running work to stop; returns at once.
            last: cleanup that must run even if a thread hangs, such as removing an announcement. It may be called
                twice.
        """
        self._begin = begin
        self._last = last
        self._started = False

    @property
    def started(self) -> bool:
        return self._started

    def begin(self) -> None:
        """Start the shutdown and its time limit; later calls do nothing."""
        if self._started:
            return
        self._started = True
        timer = threading.Timer(END_SECONDS, self.exit_now, (0,))
        timer.daemon = True
        timer.start()
        self._begin()

    def exit_now(self, code: int) -> None:
        """Exit the process at once. This is safe: notes and index are consistent at any moment, even after a kill."""
        with suppress(Exception):
            self._last()
        os._exit(code)
