"""One memory for every client of a server: asked in worker threads, by one of them at a time."""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread

from memoriter.mcp_server._progress import TOTAL, Steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.session import ServerSession

    from memoriter.config import Configuration, MemorySearch, Place
    from memoriter.memory import Memory
    from memoriter.sync import Progress
    from memoriter.types import Excerpt, Remembered, SearchResult

_T = TypeVar("_T")


class Cancelled(BaseException):
    """The client has taken its request back; no failure, so nothing on the way catches it."""


class Told:
    """A memory as one request sees it: its searches tell the client how far a first index is."""

    def __init__(self, memory: Memory, progress: Callable[[Progress], None], client: str = "") -> None:
        self._memory = memory
        self._progress = progress
        self._client = f" ({client})" if client else ""

    @property
    def configuration(self) -> Configuration:
        return self._memory.configuration

    @property
    def settings(self) -> MemorySearch:
        return self._memory.settings

    @property
    def place(self) -> Place:
        return self._memory.place

    def search(self, query: str, **narrowed: Any) -> SearchResult:
        return self._memory.search(query, progress=self._progress, **narrowed)

    def read(self, path: str, *, start: int | None = None, lines: int | None = None) -> Excerpt:
        return self._memory.read(path, start=start, lines=lines)

    def remember(
        self, text: str, *, to: Literal["daily", "long-term"] = "daily", origin: str | None = None
    ) -> Remembered:
        return self._memory.remember(text, to=to, origin=f"{origin} via MCP{self._client}" if origin else None)


class SharedMemory:
    """The memory behind a server. It is used by one thread at a time; files are read without waiting for a turn."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._turn = threading.Lock()
        self._stopped = threading.Event()
        self._warmed = False

    async def ask(self, session: ServerSession, act: Callable[[Told], _T]) -> _T:
        """Do something with the memory in a worker thread; the client hears of progress and may cancel."""
        cancelled = threading.Event()
        steps = Steps()
        client = session.client_params.client_info.name if session.client_params else ""

        def check() -> None:
            if cancelled.is_set() or self._stopped.is_set():
                raise Cancelled

        def hear(progress: Progress) -> None:
            check()
            if (step := steps.take(progress)) is not None:
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # nobody listens any more
                    anyio.from_thread.run(session.report_progress, step[0], TOTAL, step[1])

        def work() -> _T:
            with self._turn:
                check()
                return act(Told(self.memory, hear, client))

        try:
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        except anyio.get_cancelled_exc_class():
            cancelled.set()
            raise

    async def take_turn(self, act: Callable[[Memory], _T], *, patience: float | None = None) -> _T:
        """Do something with the memory in a worker thread, for somebody who hears of no progress.

        Args:
            act: what to do, once it has its turn.
            patience: seconds to wait for the turn; None: as long as it takes.

        Raises:
            Cancelled: the turn did not come, or the memory is being closed.
        """

        def work() -> _T:
            if not self._turn.acquire(timeout=-1 if patience is None else patience):
                raise Cancelled
            try:
                if self._stopped.is_set():
                    raise Cancelled
                return act(self.memory)
            finally:
                self._turn.release()

        return await anyio.to_thread.run_sync(work)

    def warm(self) -> None:
        """Begin to load the model, once: what fails is for a search to tell."""
        if not self._warmed:
            self._warmed = True
            self.memory.warm()

    async def look(self, act: Callable[..., _T], *arguments: Any, **options: Any) -> _T:
        """Read files in a worker thread; indexing does not hold it up."""
        return await anyio.to_thread.run_sync(partial(act, *arguments, **options), abandon_on_cancel=True)

    def close(self) -> None:
        """Stop what still runs at its next step, and let go of the memory."""
        self._stopped.set()
        with self._turn:
            self.memory.close()
