"""Ending a server process in time, whatever still hangs."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

END_SECONDS = 4.5
"""After that the process ends, whichever thread still hangs."""


class Ending:
    """The end of a server process: begun by a signal, and over within `END_SECONDS`."""

    def __init__(self, begin: Callable[[], None], last: Callable[[], None]) -> None:
        """Prepare an end.

        Args:
            begin: asks everything that works to stop; returns at once.
            last: must be done even where a thread hangs, such as to withdraw an announcement. May be called twice.
        """
        self._begin = begin
        self._last = last
        self._begun = False

    @property
    def begun(self) -> bool:
        return self._begun

    def begin(self) -> None:
        """Begin, once: from now on the process ends in time."""
        if self._begun:
            return
        self._begun = True
        timer = threading.Timer(END_SECONDS, self.now, (0,))
        timer.daemon = True
        timer.start()
        self._begin()

    def now(self, code: int) -> None:
        """End the process at once. Notes and index are whole at any moment: a kill would do them no harm either."""
        with suppress(Exception):
            self._last()
        os._exit(code)
