"""Tells the clients of a server that the index changed although no event `indexed` reports it."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from memoriter.errors import MemoriterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.backends import MemoryBackend
    from memoriter.web._events import Events

log = logging.getLogger(__name__)
PAUSE_SECONDS = 5.0
"""Seconds between two events at least: while another process indexes, the content changes all the time."""
OWN_WORK_SECONDS = 60.0
"""Seconds that a change waits at most for the end of an indexing run of this process, which may report it."""
LOOK_SECONDS = 0.1
"""How often a waiting thread looks whether that run has ended."""


class IndexChanges:
    """Publishes `changed` when another process, or a search of this one, has changed the index.

    A thread follows the index while at least one stream of events is open.
    """

    def __init__(self, backend: MemoryBackend, events: Events, *, at_work: Callable[[], bool] = lambda: False) -> None:
        """Start a thread that reads the present state and waits for a stream.

        Args:
            backend: the memory.
            events: where `changed` is published.
            at_work: whether this process indexes now in a way that ends with `indexed`, other than by a request.
        """
        self._backend = backend
        self._events = events
        self._at_work = at_work
        self._wanted = threading.Event()
        self._idle = threading.Event()
        self._reported: str | None = None
        """The name of the content that the clients know; None: no content was seen yet."""
        self._lock = threading.Lock()
        events.on_streams = self._streams_changed
        events.before_indexed = self._will_be_reported
        threading.Thread(target=self._run, name="memoriter-changes", daemon=True).start()

    def _streams_changed(self, count: int) -> None:
        """Follow the index while there are streams."""
        if count:
            self._idle.clear()
            self._wanted.set()
        else:
            self._wanted.clear()
            self._idle.set()

    def _will_be_reported(self) -> None:
        """Note the content of which `indexed` is about to report: clients read everything again after it."""
        with suppress(MemoriterError):
            version = self._backend.content_version()
            with self._lock:
                self._reported = version

    def _run(self) -> None:
        self._will_be_reported()  # what changes before the first client connects is reported to it
        while self._wanted.wait():
            for version in self._backend.changes(self._idle):
                self._changed(version)

    def _changed(self, version: str) -> None:
        """Publish `changed`, unless an event has reported the change or is about to."""
        if version != self._reported and self._is_at_work():
            end = time.monotonic() + OWN_WORK_SECONDS
            while self._is_at_work() and time.monotonic() < end and not self._idle.wait(LOOK_SECONDS):
                pass
            with suppress(MemoriterError):
                version = self._backend.content_version()
        with self._lock:
            before = self._reported
            self._reported = version
        if before not in {None, version}:
            self._events.publish("changed", {"version": version})
            self._idle.wait(PAUSE_SECONDS)

    def _is_at_work(self) -> bool:
        return self._events.at_work or self._at_work()
