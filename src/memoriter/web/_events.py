"""Server-sent events: the progress of indexing, and that the notes or the index changed. They contain no note text."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
import threading
import time
from collections import deque
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from memoriter.api_json import watch_json
from memoriter.errors import MemoriterError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

    from memoriter.backends import MemoryBackend
    from memoriter.sync import Progress
    from memoriter.watch import WatchEvent

MOST_KEPT = 1_000
MOST_KEPT_BYTES = 1 << 20
"""Events, and characters of them, that are kept for clients that are slow or connect again."""
HEARTBEAT_SECONDS = 15.0
"""Seconds without an event after which a comment is sent, and the caller's access is checked again."""
RETRY_MILLISECONDS = 2_000
"""Milliseconds after which a client should connect again."""
STEPS = 100
"""Progress is reported in steps of one of so many parts."""


class _Event(NamedTuple):
    """An event as it is sent, with its number."""

    number: int
    text: str


class _Subscriber:
    """One client; it belongs to an event loop."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.news = asyncio.Event()


class Events:
    """The events of one server, which any thread may publish.

    The last events are kept. A client that connects again names the last one that it has received, and gets those
    after it. If they are no longer kept, or were of another run of the server, it gets `reset` first: then it must read
    the state again.
    """

    def __init__(self) -> None:
        self._run = secrets.token_hex(4)
        self._kept: deque[_Event] = deque()
        self._kept_bytes = 0
        self._subscribers: list[_Subscriber] = []
        self._lock = threading.Lock()
        self._number = 0
        self._working = self._requests = 0
        self._closed = False
        self.on_streams: Callable[[int], None] = lambda _: None
        """Called with the number of open streams whenever it changes, and with 0 when all of them are to end."""
        self.before_indexed: Callable[[], None] = lambda: None
        """Called before `indexed` is sent, by the thread that has indexed."""

    def publish(self, name: str, data: dict[str, Any]) -> None:
        """Send an event to all clients that are connected now, and keep it for those that connect again."""
        if name == "indexed":
            self.before_indexed()
        with self._lock:
            self._number += 1
            text = self._text_of(self._number, name, data)
            self._kept.append(_Event(self._number, text))
            self._kept_bytes += len(text)
            while len(self._kept) > MOST_KEPT or self._kept_bytes > MOST_KEPT_BYTES:
                self._kept_bytes -= len(self._kept.popleft().text)
        self._wake()

    @contextmanager
    def working(self) -> Generator[Callable[[Progress], None]]:
        """Return a context manager whose value reports the progress of a request, in steps.

        When the last such request with progress ends, successfully or not, the event `idle` is sent.
        """
        last: tuple[str, int] | None = None
        with self._lock:
            self._requests += 1

        def report(progress: Progress) -> None:
            nonlocal last
            step = (progress.stage, progress.done * STEPS // progress.total if progress.total else STEPS)
            if step == last:
                return
            if last is None:
                with self._lock:
                    self._working += 1
            last = step
            self.publish("progress", {"stage": progress.stage, "done": progress.done, "total": progress.total})

        try:
            yield report
        finally:
            with self._lock:
                self._requests -= 1
                self._working -= last is not None
                idle = last is not None and not self._working
            if idle:
                self.publish("idle", {})

    def watched(self, event: WatchEvent) -> None:
        """Send an event of the watcher under its kind, such as `indexed`."""
        self.publish(event.kind, watch_json(event))

    def close(self) -> None:
        """End all streams; new ones end at once."""
        with self._lock:
            self._closed = True
        self._count_streams()
        self._wake()

    def _count_streams(self) -> None:
        self.on_streams(0 if self._closed else self.open)

    @property
    def at_work(self) -> bool:
        """Whether a request indexes now."""
        return self._requests > 0

    @property
    def open(self) -> int:
        """Number of open streams."""
        return len(self._subscribers)

    async def stream(self, still_known: Callable[[], bool], *, last_id: str = "") -> AsyncGenerator[str]:
        """Yield events as they are published, until the server ends or `still_known` returns False.

        `last_id` is the id of the last event that the client has received; empty: it wants new events only.
        """
        subscriber = _Subscriber()
        with self._lock:
            if self._closed:
                return
            self._subscribers.append(subscriber)
            position, beginning = self._begin(last_id)
        self._count_streams()
        try:
            yield beginning
            while True:
                subscriber.news.clear()
                position, texts, closed = self._after(position)
                for text in texts:
                    yield text
                if closed:
                    return
                if not texts:
                    try:
                        await asyncio.wait_for(subscriber.news.wait(), HEARTBEAT_SECONDS)
                    except TimeoutError:
                        yield ": nothing new\n\n"
                if not still_known():
                    return
        finally:
            with self._lock:
                self._subscribers.remove(subscriber)
            self._count_streams()

    def _begin(self, last_id: str) -> tuple[int, str]:
        """Return the number after which a new stream goes on, and its first text; with the lock.

        The id of `ready` is that of the last event before the stream, so that no event is lost or sent twice.
        """
        known = re.fullmatch(r"([0-9a-f]{8})-([0-9]{1,18})", last_id)
        if known is not None and known[1] == self._run and int(known[2]) <= self._number:
            return int(known[2]), self._text_of(int(known[2]), "ready", {}, retry=True)
        ready = self._text_of(self._number, "ready", {}, retry=True)
        if last_id:
            ready += self._text_of(self._number, "reset", {"cause": "restarted"})
        return self._number, ready

    def _after(self, position: int) -> tuple[int, list[str], bool]:
        """Return the position after the kept events, the texts of those after `position`, and whether all ended."""
        with self._lock:
            texts = [event.text for event in self._kept if event.number > position] if position < self._number else []
            if (missing := self._number - position - len(texts)) > 0:
                first = self._number - len(texts)
                texts.insert(0, self._text_of(first, "reset", {"cause": "missed", "events": missing}))
            return self._number, texts, self._closed

    def _text_of(self, number: int, name: str, data: dict[str, Any], *, retry: bool = False) -> str:
        wait = f"retry: {RETRY_MILLISECONDS}\n" if retry else ""
        return f"event: {name}\nid: {self._run}-{number}\n{wait}data: {json.dumps(data)}\n\n"

    def _wake(self) -> None:
        with self._lock:
            subscribers = [*self._subscribers]
        for each in subscribers:
            with suppress(RuntimeError):  # the loop has ended
                each.loop.call_soon_threadsafe(each.news.set)


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

        `at_work` tells whether this process indexes now in a way that ends with `indexed`, other than by a request.
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
