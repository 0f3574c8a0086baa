"""One memory for all clients of a server, used in worker threads."""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import anyio
import anyio.from_thread
import anyio.to_thread

from memoriter.access import Shares
from memoriter.journal import acting
from memoriter.memory import ClientRequest, answering

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from mcp.server.session import ServerSession

    from memoriter.access import Caller
    from memoriter.memory import Memory
    from memoriter.sync import Progress

TOTAL = 100.0
LAST_STAGE = "embed"
STAGE_TEXTS = {"read": "Reading notes", "embed": "Computing vectors", "download": "Downloading the model"}
STEP = 1.0
"""Smallest increase, on the scale of 0 to `TOTAL`, that is reported."""
_T = TypeVar("_T")

MOST_AT_ONCE = 16
"""Threads of the owner per kind of work; slow work has its own, so it never delays a read or a health request."""
MOST_OF_EACH = 4
MOST_OF_OTHERS = 12
"""Threads of one other caller, and of all of them, per kind of work. Few, since they compute beside the owner's."""
DRAIN_SECONDS = 2.0
"""Seconds that `close` waits for running work."""


class ProgressScale:
    """The stages of one run on a scale of 0 to 100.

    Each stage takes half of the remaining scale; the last stage takes all of it.
    """

    def __init__(self) -> None:
        self._stage = ""
        self._start = 0.0
        self._reported = 0.0

    def update(self, progress: Progress) -> tuple[float, str] | None:
        """Return the number and the text to report, or None if the change is too small."""
        if progress.stage != self._stage:
            self._stage = progress.stage
            self._start = self._reported
        share = min(progress.done / progress.total, 1.0) if progress.total else 1.0
        reach = TOTAL - self._start if progress.stage == LAST_STAGE else (TOTAL - self._start) / 2
        now = self._start + share * reach
        if now < self._reported + STEP and not (share == 1.0 and now > self._reported):
            return None
        self._reported = now
        return now, f"{STAGE_TEXTS[progress.stage]}: {progress.done} of {progress.total}"


class Cancelled(BaseException):
    """The client cancelled its request.

    This is not a failure and not an `Exception`, so that no handler in between catches it.
    """


class SharedMemory:
    """The memory of a server. Requests use it concurrently; tools of plugins run one at a time, for thread safety."""

    def __init__(self, memory: Memory, *, closing: Callable[[], None] | None = None) -> None:
        """Share a memory."""
        self.memory = memory
        self._closing = closing
        self._exclusive = threading.Lock()
        self._sessions: dict[str, _SessionLock] = {}
        self._identifiers = WeakKeyDictionary["ServerSession", str]()
        self._slow = _threads()
        self._quick = _threads()
        self._hooks = _threads()
        self._stopped = threading.Event()
        self._idle = threading.Condition()
        self._busy = 0
        self._warmed = False

    async def run_request(
        self,
        session: ServerSession,
        act: Callable[[Memory], _T],
        *,
        caller: Caller | None,
        exclusive: bool = False,
        quick: bool = False,
    ) -> _T:
        """Run `act` with the memory in a worker thread; the client gets progress and may cancel.

        No two `exclusive` functions run at a time. One that is `quick` only reads or writes notes, and never waits for
        a search. None as the caller is the client over stdio.
        """
        cancelled = threading.Event()
        steps = ProgressScale()
        client = session.client_params.client_info.name if session.client_params else ""
        identifier = self._identifiers.setdefault(session, f"mcp-{os.urandom(4).hex()}")  # in the journal of changes

        def check() -> None:
            if cancelled.is_set() or self._stopped.is_set():
                raise Cancelled

        def report(progress: Progress) -> None:
            check()
            if (step := steps.update(progress)) is not None:
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the client has disconnected
                    anyio.from_thread.run(session.report_progress, step[0], TOTAL, step[1])

        request = ClientRequest(report, client, None if caller is None else caller.author)

        def work() -> _T:
            with self._tracked(self._exclusive if exclusive else None):
                check()
                with answering(request), acting(session=identifier):
                    return act(self.memory)

        try:
            return await _in_thread(work, self._quick if quick else self._slow, caller)
        except anyio.get_cancelled_exc_class():
            cancelled.set()
            raise

    async def run(
        self,
        act: Callable[[Memory], _T],
        *,
        caller: Caller | None,
        session: str | None = None,
        seconds: float | None = None,
    ) -> _T:
        """Run `act` with the memory in a worker thread, without progress.

        Functions of one session run one at a time; one without a session is quick. None as the caller is the client
        over stdio, and None as the seconds is no limit.

        Raises:
            Cancelled: there was no result in time, or the memory is being closed.
        """

        def work() -> _T:
            with self._session_lock(session), self._tracked(None):
                if self._stopped.is_set():
                    raise Cancelled
                return act(self.memory)

        with anyio.move_on_after(seconds):
            return await _in_thread(work, self._quick if session is None else self._hooks, caller)
        raise Cancelled

    async def run_for_api(
        self, act: Callable[[Memory], _T], *, caller: Caller | None = None, quick: bool = False
    ) -> _T:
        """Run `act` with the memory in a worker thread, beside the work of hooks, as `access.Run` says."""

        def work() -> _T:
            with self._tracked(None):
                if self._stopped.is_set():
                    raise anyio.ClosedResourceError
                return act(self.memory)

        return await _in_thread(work, self._quick if quick else self._slow, caller)

    def warm(self) -> None:
        """Start to load the model; later calls do nothing. A search reports a failure."""
        if not self._warmed:
            self._warmed = True
            self.memory.warm()

    async def run_reader(self, caller: Caller | None, act: Callable[..., _T], *arguments: Any) -> _T:
        """Run a function that reads files in a worker thread; it never waits for indexing."""
        return await _in_thread(partial(act, *arguments), self._quick, caller)

    def stop(self) -> None:
        """Stop waiting for services, and stop indexing at the next step."""
        if not self._stopped.is_set():
            self._stopped.set()
            if self._closing is not None:
                self._closing()
            self.memory.stop()

    def close(self) -> None:
        """Stop running work, wait up to `DRAIN_SECONDS` for it, and close the memory."""
        self.stop()
        with self._idle:
            self._idle.wait_for(lambda: not self._busy, timeout=DRAIN_SECONDS)
        self.memory.close()

    @contextmanager
    def _tracked(self, lock: threading.Lock | None) -> Generator[None]:
        """Count as running work, for which `close` waits, and hold the lock if one is given."""
        if lock is not None:
            lock.acquire()
        with self._idle:
            self._busy += 1
        try:
            yield
        finally:
            with self._idle:
                self._busy -= 1
                self._idle.notify_all()
            if lock is not None:
                lock.release()

    @contextmanager
    def _session_lock(self, name: str | None) -> Generator[None]:
        """Hold the lock of a session; the lock is dropped with its last user."""
        if name is None:
            yield
            return
        with self._idle:
            session_lock = self._sessions.setdefault(name, _SessionLock())
            session_lock.users += 1
        try:
            with session_lock.lock:
                yield
        finally:
            with self._idle:
                session_lock.users -= 1
                if not session_lock.users:
                    del self._sessions[name]


def _threads() -> Shares:
    return Shares(owner=MOST_AT_ONCE, each=MOST_OF_EACH, others=MOST_OF_OTHERS)


async def _in_thread(work: Callable[[], _T], shares: Shares, caller: Caller | None) -> _T:
    """Run `work` in a thread as soon as its caller may have one.

    The thread keeps its permit until it ends, even if its request is cancelled: a caller that cancels its requests
    would get any number of threads otherwise.
    """
    permit = await shares.wait(caller)

    async def run() -> _T:
        with permit:
            # A limiter for this thread alone, since the permit limits their number.
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1))

    return await asyncio.shield(asyncio.create_task(run()))


class _SessionLock:
    """The lock of one session."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
