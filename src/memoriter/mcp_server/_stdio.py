"""The transport over stdio. `FirstAnswers` answers the first requests without the SDK, which takes long to import.

The SDK takes over at the first request that is different. It receives the client's first request too, which decides
between a handshake and envelopes, and its second answer to it is dropped.
"""

from __future__ import annotations

import io
import signal
import threading
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, TypeVar

from memoriter.environment import own_stdout
from memoriter.mcp_server._first_answers import FirstAnswers, Handover
from memoriter.startup import start_in_background

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from mcp.shared._stream_protocols import ReadStream, WriteStream
    from mcp.shared.message import SessionMessage

    from memoriter.memory import Memory

IDLE_SECONDS = 0.5
"""After this time without a hook, the SDK is imported, so that the first call of a tool need not wait for it."""
STARTING_SECONDS = 3.0
"""After this time, the parts of the memory are tried, so that the client's first request need not compete with that."""


def serve_stdio(memory: Memory) -> None:
    """Serve the client that started this process until it closes stdin; nothing else may write to stdout."""
    # A thread that waits for input cannot be interrupted, and nothing is lost if the process exits at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    preparation = Preparation(memory)
    with own_stdout() as writing:
        first = FirstAnswers(memory, before=preparation.postpone, after=preparation.schedule)  # loads plugins
        with io.FileIO(0, closefd=False) as reading:  # unbuffered, so that the SDK receives all that follows
            handover = first.serve(reading, writing)
        preparation.finish()
        if handover is None:
            memory.close()
        else:
            _serve_sdk(memory, handover, writing, start=not preparation.begun)


class Preparation:
    """The import of the SDK and of the model in a thread, while the client asks for nothing."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._timer: threading.Timer | None = None
        self._begun = False

    def schedule(self) -> None:
        """Begin after `IDLE_SECONDS`, unless it was scheduled before."""
        if self._timer is None:
            self._timer = threading.Timer(IDLE_SECONDS, self._prepare)
            self._timer.daemon = True
            self._timer.start()

    def postpone(self) -> None:
        """Do not begin before the next `schedule`; a preparation that has begun goes on."""
        if self._timer is not None and not self._begun:
            self._timer.cancel()
            self._timer = None

    def finish(self) -> None:
        """Wait for a preparation that has begun, and begin none."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()

    def _prepare(self) -> None:
        from importlib import import_module

        self._begun = True
        for module in ("mcp.server.stdio", "memoriter.mcp_server._server"):
            import_module(module)
        self._memory.warm()
        start_in_background(self._memory)

    @property
    def begun(self) -> bool:
        """Whether the parts of the memory are started."""
        return self._begun


def _serve_sdk(memory: Memory, handover: Handover, writing: BinaryIO, *, start: bool) -> None:
    """Continue a connection with the SDK until the client closes stdin; soon `start` the parts of the memory."""
    import anyio
    from mcp.server.stdio import stdio_server

    from memoriter.mcp_server._server import Shutdown, server_of
    from memoriter.mcp_server._shared import SharedMemory

    shutdown = Shutdown(lambda: None, lambda: None)
    server = server_of(memory, shared=SharedMemory(memory, closing=shutdown.begin))
    if start:
        start_in_background(memory, after=STARTING_SECONDS)

    async def serve() -> None:
        stdout = anyio.wrap_file(io.TextIOWrapper(writing, encoding="utf-8", newline="\n"))
        async with stdio_server(stdout=stdout) as (received, sent):
            resumed = Resumed(received, _messages(handover.received))
            once = AnsweredOnce(sent, handover.answered)
            await server.run(resumed, once, server.create_initialization_options())

    anyio.run(serve)


def _messages(received: bytes) -> list[SessionMessage | Exception]:
    """Return lines as the SDK reads them from stdin."""
    from mcp.shared.message import SessionMessage
    from mcp.types import jsonrpc_message_adapter

    messages: list[SessionMessage | Exception] = []
    for line in io.TextIOWrapper(io.BytesIO(received), "utf-8", errors="replace"):
        try:
            messages.append(SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False)))
        except ValueError as error:
            messages.append(error)
    return messages


_Stream = TypeVar("_Stream", bound="ReadStream[SessionMessage | Exception] | WriteStream[SessionMessage]")


class _Around(Generic[_Stream]):
    """A stream around another one, which is closed with it."""

    def __init__(self, stream: _Stream) -> None:
        self._stream = stream

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


class Resumed(_Around["ReadStream[SessionMessage | Exception]"]):
    """A stream of messages that begins with some that were received before."""

    def __init__(self, stream: ReadStream[SessionMessage | Exception], first: list[SessionMessage | Exception]) -> None:
        super().__init__(stream)
        self._first = first[::-1]

    @property
    def last_context(self) -> Any:
        """The context of the last message, as the SDK's own streams have it."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        return self._first.pop() if self._first else await self._stream.receive()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return self._first.pop() if self._first else await self._stream.__anext__()


class AnsweredOnce(_Around["WriteStream[SessionMessage]"]):
    """A stream of messages to the client that leaves out the answer to a request which was answered before."""

    def __init__(self, stream: WriteStream[SessionMessage], answered: int | str | None) -> None:
        super().__init__(stream)
        self._answered = answered

    async def send(self, item: SessionMessage, /) -> None:
        from mcp.types import JSONRPCError, JSONRPCResponse

        message = item.message
        if (
            self._answered is not None
            and isinstance(message, (JSONRPCResponse, JSONRPCError))
            and message.id == self._answered
        ):
            self._answered = None
            return
        await self._stream.send(item)
