"""The memory of one workspace for programs with an event loop: each method of `Memory` runs in a thread of its own."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial, wraps
from inspect import signature
from threading import Event
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast

from memoriter.environment import cancelled_by
from memoriter.errors import UsageError
from memoriter.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from memoriter.config import Configuration, MemorySearch, Place
    from memoriter.tools import Tool
    from memoriter.types import Diagnostic
    from memoriter.watch import WatchEvent

_P = ParamSpec("_P")
_T = TypeVar("_T")

THREADS = 8
"""How many calls run at the same time; further ones wait."""


class _Cancelled(BaseException):  # as KeyboardInterrupt: nothing on the way may take it for a failure of its own
    """Ends the work of a thread whose task was cancelled."""


def _awaitable(
    method: Callable[Concatenate[Memory, _P], _T],
) -> Callable[Concatenate[AsyncMemory, _P], Coroutine[Any, Any, _T]]:
    """Return a method of `Memory` as a coroutine function with the same parameters, result and documentation."""
    reports_progress = "progress" in signature(method).parameters

    @wraps(method)
    async def call(memory: AsyncMemory, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        stop = Event()
        named = cast("dict[str, Any]", kwargs)
        if reports_progress:
            named["progress"] = _ending(stop, named.get("progress"))
        return await memory.in_thread(partial(method, memory.memory, *args, **kwargs), stop)

    return call


def _ending(stop: Event, report: Callable[[Any], None] | None) -> Callable[[Any], None]:
    """Return a function for progress that ends the work as soon as `stop` is set; what was indexed is kept."""

    def step(progress: Any) -> None:
        if stop.is_set():
            raise _Cancelled
        if report is not None:
            report(progress)

    return step


class AsyncMemory:
    """`Memory` for programs with an event loop; an asynchronous context manager. Many tasks may share one.

    A cancelled call ends its work before `CancelledError` is raised: a search stops waiting for models and services,
    and indexing stops after the current file or batch and keeps what is done. A write (`remember`, `replace`, `forget`)
    is never interrupted: it is complete when `CancelledError` is raised. A second cancellation waits for nothing.
    Callbacks run in the thread of the call.

    >>> async with await AsyncMemory.open("~/notes") as memory:
    ...     result = await memory.search("which database did we choose?")
    """

    def __init__(self, memory: Memory) -> None:
        """Wrap an open memory; `close` closes it."""
        self.memory = memory
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="memoriter")
        self._running = set[Event]()
        self._closed = False

    @classmethod
    async def open(
        cls,
        workspace: str | Path | None = None,
        *,
        config: str | Path | None = None,
        agent: str | None = None,
        home: str | Path | None = None,
    ) -> Self:
        """Open the memory of a folder of notes, with the arguments and errors of `Memory.open`."""
        opening = partial(Memory.open, workspace, config=config, agent=agent, home=home)
        return cls(await asyncio.to_thread(opening))

    search = _awaitable(Memory.search)
    why_not = _awaitable(Memory.why_not)
    read = _awaitable(Memory.read)
    sync = _awaitable(Memory.sync)
    estimate = _awaitable(Memory.estimate)
    compact = _awaitable(Memory.compact)
    plan_forget = _awaitable(Memory.plan_forget)
    forget = _awaitable(Memory.forget)
    delete = _awaitable(Memory.delete)
    remember = _awaitable(Memory.remember)
    replace = _awaitable(Memory.replace)
    list = _awaitable(Memory.list)
    history = _awaitable(Memory.history)
    line_origins = _awaitable(Memory.line_origins)
    diff = _awaitable(Memory.diff)
    line_origin = _awaitable(Memory.line_origin)
    unreviewed = _awaitable(Memory.unreviewed)
    mark_reviewed = _awaitable(Memory.mark_reviewed)
    amend = _awaitable(Memory.amend)
    tidy = _awaitable(Memory.tidy)
    accept_proposal = _awaitable(Memory.accept_proposal)
    refuse_proposal = _awaitable(Memory.refuse_proposal)
    undo = _awaitable(Memory.undo)
    plan_rollback = _awaitable(Memory.plan_rollback)
    rollback = _awaitable(Memory.rollback)
    authors = _awaitable(Memory.authors)
    session_started = _awaitable(Memory.session_started)
    sources = _awaitable(Memory.sources)
    file_of = _awaitable(Memory.file_of)
    egress_notice = _awaitable(Memory.egress_notice)
    status = _awaitable(Memory.status)
    check_plugins = _awaitable(Memory.check_plugins)
    reload_plugins = _awaitable(Memory.reload_plugins)

    async def watch(self, on_event: Callable[[WatchEvent], None] | None = None) -> None:
        """Keep the index in sync with the files until the task is cancelled; no failure ends it."""
        stop = Event()
        with ThreadPoolExecutor(1, thread_name_prefix="memoriter-watch") as thread:
            await self.in_thread(partial(self.memory.watch, stop, on_event), stop, thread)

    async def call_tool(self, name: str, params: dict[str, Any], *, session: str | None = None) -> dict[str, Any]:
        """Run one of `tools`, and return its JSON; failures of the memory are JSON too. Raises KeyError."""
        tool = {each.name: each for each in self.tools}[name]
        return await self.in_thread(partial(tool.run, self.memory, params, session_key=session), Event())

    async def in_thread(
        self, call: Callable[[], _T], stop: Event | None = None, threads: ThreadPoolExecutor | None = None
    ) -> _T:
        """Run a call in a thread, such as one of a `Session`, and return its result.

        Args:
            call: without parameters; its deadlines count as passed when the task is cancelled.
            stop: set when the task is cancelled or the memory is closed.
            threads: where it runs; None: in the threads of this memory.

        Raises:
            UsageError: the memory is closed.
        """
        if self._closed:
            raise UsageError("The memory is closed.", remedy="Open it again with AsyncMemory.open.")
        event = stop or Event()
        context = copy_context()
        self._running.add(event)

        def work() -> _T:
            with cancelled_by(event):
                if event.is_set():
                    raise _Cancelled
                return call()

        try:
            future = (threads or self._threads).submit(context.run, work)
            future.add_done_callback(lambda _: self._running.discard(event))
            return await _finished(future, event)
        except _Cancelled:
            raise asyncio.CancelledError("The memory was closed.") from None

    def warm(self) -> None:
        """Load the model in the background, as `Memory.warm` does."""
        self.memory.warm()

    @property
    def place(self) -> Place:
        """The workspace, and why it was selected."""
        return self.memory.place

    @property
    def notices(self) -> tuple[Diagnostic, ...]:
        """As `Memory.notices`."""
        return self.memory.notices

    @property
    def configuration(self) -> Configuration:
        return self.memory.configuration

    @property
    def settings(self) -> MemorySearch:
        """The settings in force for the agent."""
        return self.memory.settings

    @property
    def agent(self) -> str:
        return self.memory.agent

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools of an agent; `call_tool` runs one."""
        return self.memory.tools

    async def close(self) -> None:
        """Cancel what is running, wait until it has ended, and close the index and the model."""
        self._closed = True
        for event in tuple(self._running):
            event.set()

        def end() -> None:
            self.memory.stop()
            self._threads.shutdown()
            self.memory.close()

        await asyncio.to_thread(end)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def _finished(work: Future[_T], stop: Event) -> _T:
    """Return the result of work in a thread; when the task is cancelled, stop the work and wait until it has ended."""
    future = asyncio.wrap_future(work)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if work.cancel() or future.done():  # it has not begun, or it was closed
            raise
        stop.set()
        await asyncio.wait([future])
        if not future.cancelled():
            future.exception()  # read, so that nothing is logged about it
        raise
