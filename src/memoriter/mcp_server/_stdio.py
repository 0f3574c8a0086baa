"""The transport over stdio. `FirstAnswers` answers the first requests without the SDK, which takes long to import.

The SDK takes over at the first request that is different. It receives the client's first request too, which decides
between a handshake and envelopes, and its second answer to it is dropped.
"""

from __future__ import annotations

import io
import json
import re
import signal
import threading
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from memoriter.environment import own_stdin, own_stdout
from memoriter.errors import sentence
from memoriter.mcp_server._first_answers import FirstAnswers, Handover
from memoriter.startup import start_in_background

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    import anyio
    from mcp.shared.message import SessionMessage
    from mcp.types import JSONRPCMessage

    from memoriter.memory import Memory

IDLE_SECONDS = 0.5
"""After this time without a hook, the SDK is imported, so that the first call of a tool need not wait for it."""
STARTING_SECONDS = 3.0
"""After this time, the parts of the memory are tried, so that the client's first request need not compete with that."""

DRAIN_SECONDS = 3.0
"""Seconds that requests which run may still take after the client has closed stdin."""
ENDED = "The client closed the connection before this was done. What it writes may be written or not."
_SURROGATE = re.compile("[\ud800-\udfff]")


def serve_stdio(memory: Memory) -> None:
    """Serve the client that started this process until it closes stdin; nothing else may write to stdout."""
    # A thread that waits for input cannot be interrupted, and nothing is lost if the process exits at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    preparation = Preparation(memory)
    with own_stdin() as reading, own_stdout() as writing:
        first = FirstAnswers(memory, before=preparation.postpone, after=preparation.schedule)  # loads plugins
        handover = first.serve(reading, writing)
        preparation.finish()
        if handover is None:
            memory.close()
        else:
            _serve_sdk(memory, handover, reading, writing, start=not preparation.begun)


class Preparation:
    """The import of the SDK and of the model in a thread, while the client asks for nothing."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._timer: threading.Timer | None = None
        self.begun = False
        """Whether the parts of the memory are started."""

    def schedule(self) -> None:
        """Begin after `IDLE_SECONDS`, unless it was scheduled before."""
        if self._timer is None:
            self._timer = threading.Timer(IDLE_SECONDS, self._prepare)
            self._timer.daemon = True
            self._timer.start()

    def postpone(self) -> None:
        """Do not begin before the next `schedule`; a preparation that has begun goes on."""
        if self._timer is not None and not self.begun:
            self._timer.cancel()
            self._timer = None

    def finish(self) -> None:
        """Wait for a preparation that has begun, and begin none."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()

    def _prepare(self) -> None:
        from importlib import import_module

        self.begun = True
        import_module("memoriter.mcp_server._server")
        self._memory.warm()
        start_in_background(self._memory)


def _serve_sdk(memory: Memory, handover: Handover, reading: BinaryIO, writing: BinaryIO, *, start: bool) -> None:
    """Continue a connection with the SDK until the client closes stdin; soon `start` the parts of the memory."""
    import anyio

    from memoriter.mcp_server._server import Shutdown, server_of
    from memoriter.mcp_server._shared import SharedMemory

    shutdown = Shutdown(lambda: None, lambda: None)
    server = server_of(memory, shared=SharedMemory(memory, closing=shutdown.begin))
    if start:
        start_in_background(memory, after=STARTING_SECONDS)

    async def serve() -> None:
        calls = Calls()
        sent = Sent(writing, calls, handover.answered)
        received = Received(handover.received, reading, calls, sent)
        await server.run(received, sent, server.create_initialization_options())
        if sent.failure is not None:
            raise sent.failure

    anyio.run(serve)


class Calls:
    """The requests of the client that are not answered yet."""

    def __init__(self) -> None:
        self._open = set[int | str]()
        self._none: anyio.Event | None = None

    def begin(self, number: int | str) -> None:
        self._open.add(number)

    def end(self, number: int | str | None) -> None:
        self._open.discard(number or 0)
        if self._none is not None and not self._open:
            self._none.set()

    async def wait(self, seconds: float) -> None:
        """Wait until all are answered, for so many seconds at most."""
        import anyio

        self._none = anyio.Event()
        if self._open:
            with anyio.move_on_after(seconds):
                await self._none.wait()


class _Stream:
    """What the SDK needs of a stream besides its messages."""

    async def aclose(self) -> None:
        """Leave the stream open, which belongs to somebody else."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


class Sent(_Stream):
    """The stream of messages to the client."""

    def __init__(self, writing: BinaryIO, calls: Calls, answered: int | str | None) -> None:
        """Write to a stream.

        `answered` is the id of a request that was answered before; the next answer to it is left out.
        """
        import anyio

        self._writing = writing
        self._calls = calls
        self._answered = answered
        self._lock = anyio.Lock()
        self.failure: OSError | None = None
        """Why nothing can be written any more."""

    async def send(self, item: SessionMessage, /) -> None:
        from anyio.to_thread import run_sync
        from mcp.types import CONNECTION_CLOSED, JSONRPCError, JSONRPCResponse

        message = item.message
        if isinstance(message, (JSONRPCResponse, JSONRPCError)):
            if self._answered is not None and message.id == self._answered:
                self._answered = None
                self._calls.end(message.id)
                return
            if isinstance(message, JSONRPCError) and message.error.code == CONNECTION_CLOSED:
                message.error.message = ENDED
        line = message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        async with self._lock:
            await run_sync(self._write, line)
        if isinstance(message, (JSONRPCResponse, JSONRPCError)):
            self._calls.end(message.id)

    def _write(self, line: bytes) -> None:
        if self.failure is not None:
            return
        try:
            self._writing.write(line)
            self._writing.flush()
        except OSError as error:
            self.failure = error


class Received(_Stream):
    """The stream of messages from the client. A line that is no message is answered with an error.

    At the end of the input, requests that run are answered before the stream ends, if that takes `DRAIN_SECONDS`.
    """

    def __init__(self, first: bytes, reading: BinaryIO, calls: Calls, sent: Sent) -> None:
        """Read a stream."""
        self._first = io.BytesIO(first)
        self._reading = reading
        self._calls = calls
        self._sent = sent

    async def receive(self) -> SessionMessage | Exception:
        import anyio
        from anyio.to_thread import run_sync
        from mcp.shared.message import SessionMessage
        from mcp.types import JSONRPCNotification, JSONRPCRequest

        while line := self._first.readline() or await run_sync(self._reading.readline, abandon_on_cancel=True):
            if not line.strip():
                continue
            try:
                message = parse_message(line)
            except Refused as refused:
                await self._sent.send(SessionMessage(refused.error))
                continue
            if isinstance(message, JSONRPCRequest):
                self._calls.begin(message.id)
            elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
                self._calls.end((message.params or {}).get("requestId"))
            return SessionMessage(message)
        await self._calls.wait(DRAIN_SECONDS)
        raise anyio.EndOfStream

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        import anyio

        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class Refused(Exception):
    """A line that is no message; `error` answers it."""

    def __init__(self, code: int, message: str, number: int | str | None = None) -> None:
        from mcp.types import ErrorData, JSONRPCError

        super().__init__(message)
        self.error = JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=code, message=message))


def parse_message(line: bytes) -> JSONRPCMessage:
    """Return the message of a line. Raises Refused."""
    from mcp.types import INVALID_REQUEST, PARSE_ERROR, JSONRPCNotification, jsonrpc_message_adapter

    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        message = None
    if message is not None and not (isinstance(message, JSONRPCNotification) and b'"id"' in line):
        return message
    try:
        value: Any = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Refused(PARSE_ERROR, f"The line is not UTF-8: {sentence(error.reason)}") from None
    except (ValueError, RecursionError) as error:
        raise Refused(PARSE_ERROR, f"The line is not JSON: {sentence(error)}") from None
    if isinstance(value, list):
        raise Refused(INVALID_REQUEST, "The line is a batch. Send each message on a line of its own.")
    if not isinstance(value, dict):
        raise Refused(INVALID_REQUEST, "The line is not a JSON object.")
    fields = cast("dict[str, Any]", value)
    if message is not None and "id" not in fields:
        return message
    number = fields.get("id")
    is_id = isinstance(number, (int, str)) and not isinstance(number, bool)
    known = number if is_id and not _SURROGATE.search(str(number)) else None
    if "id" in fields and not is_id:
        raise Refused(INVALID_REQUEST, "The id is neither a text nor a whole number.")
    if _SURROGATE.search(json.dumps(fields, ensure_ascii=False)):
        raise Refused(INVALID_REQUEST, "The message has half of a character: a surrogate without its pair.", known)
    raise Refused(INVALID_REQUEST, "The line is not a message of JSON-RPC 2.0.", known)
