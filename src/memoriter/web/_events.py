"""Server-sent events: the progress of indexing, and that the notes or the index changed. They contain no note text."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memoriter.api_json import watch_json

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from memoriter.sync import Progress
    from memoriter.watch import WatchEvent

MOST_SUBSCRIBERS = 32
"""Open streams at most."""
MOST_WAITING = 100
"""Events that wait for one slow client at most; then the oldest are dropped, and the client gets `dropped`."""
HEARTBEAT_SECONDS = 15.0
"""Seconds without an event after which a comment is sent, and the caller's access is checked again."""
STEPS = 100
"""Progress is reported in steps of one of so many parts."""


class _Subscriber:
    """The events that wait for one client; it belongs to an event loop."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.queue: asyncio.Queue[str | None] = asyncio.Queue(MOST_WAITING)
        self.dropped = 0

    def put(self, text: str | None) -> None:
        """Add an event, or None for the end; in the thread of the loop."""
        while self.queue.full():
            self.queue.get_nowait()
            self.dropped += 1
        self.queue.put_nowait(text)


class Events:
    """The events of one server, which any thread may publish."""

    def __init__(self) -> None:
        self._subscribers: list[_Subscriber] = []
        self._lock = threading.Lock()
        self._number = 0
        self._last_step: tuple[str, int] = ("", -1)
        self._closed = False

    def publish(self, name: str, data: dict[str, Any]) -> None:
        """Send an event to all clients that are connected now."""
        with self._lock:
            self._number += 1
            text = f"id: {self._number}\nevent: {name}\ndata: {json.dumps(data)}\n\n"
            subscribers = [*self._subscribers]
        self._send(subscribers, text)

    def progress(self, progress: Progress) -> None:
        """Send the progress of an indexing run, unless it is less than a step further."""
        step = (progress.stage, progress.done * STEPS // progress.total if progress.total else STEPS)
        if step != self._last_step:
            self._last_step = step
            self.publish("progress", {"stage": progress.stage, "done": progress.done, "total": progress.total})

    def watched(self, event: WatchEvent) -> None:
        """Send an event of the watcher under its kind, such as `indexed`."""
        self.publish(event.kind, watch_json(event))

    def close(self) -> None:
        """End all streams; new ones end at once."""
        with self._lock:
            self._closed = True
            subscribers = [*self._subscribers]
        self._send(subscribers, None)

    @property
    def full(self) -> bool:
        """Whether no further client can connect."""
        return len(self._subscribers) >= MOST_SUBSCRIBERS

    async def stream(self, still_known: Callable[[], bool]) -> AsyncGenerator[str]:
        """Yield events as they are published, until the server ends or `still_known` returns False."""
        subscriber = _Subscriber()
        with self._lock:
            if self._closed:
                return
            self._subscribers.append(subscriber)
        try:
            yield "event: ready\ndata: {}\n\n"
            while True:
                try:
                    text = await asyncio.wait_for(subscriber.queue.get(), HEARTBEAT_SECONDS)
                except TimeoutError:
                    text = ": nothing new\n\n"
                if text is None or not still_known():
                    return
                if subscriber.dropped:
                    missing, subscriber.dropped = subscriber.dropped, 0
                    yield f"event: dropped\ndata: {json.dumps({'events': missing})}\n\n"
                yield text
        finally:
            with self._lock:
                self._subscribers.remove(subscriber)

    def _send(self, subscribers: list[_Subscriber], text: str | None) -> None:
        for each in subscribers:
            with suppress(RuntimeError):  # the loop has ended
                each.loop.call_soon_threadsafe(each.put, text)
