"""The transport over stdio. It answers the first requests without the SDK, which takes a second of CPU time to import.

Some clients send their first request to the model that soon, without the tools of a server that has not answered.
`FirstAnswers` answers `initialize`, `ping` and one `tools/list`, exactly as the SDK does. The SDK takes over then, or
at the first message that is different. It receives the handshake too, and its second answer to it is dropped.
"""

from __future__ import annotations

import io
import json
import signal
import sys
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from memoriter.mcp_server._offered import Offered, is_builtin, tool_json
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import BinaryIO, Self

    from mcp.shared._stream_protocols import ReadStream, WriteStream
    from mcp.shared.message import SessionMessage

    from memoriter.memory import Memory
    from memoriter.tools import Tool

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The revisions of the protocol that begin with `initialize`, the latest last."""
MAX_DEPTH = 16
"""Deepest nesting of values that are accepted here."""
MAX_ID = 1 << 53
INITIALIZE_KEYS = {"protocolVersion", "capabilities", "clientInfo", "_meta"}
CLIENT_KEYS = {"name", "version", "title", "description", "websiteUrl"}
OPEN_CAPABILITIES = {"experimental", "extensions"}
"""Capabilities that hold an object for each name."""
CAPABILITIES = {"roots": {"listChanged"}, "sampling": {"context", "tools"}, "elicitation": {"form", "url"}}
"""The keys of the other capabilities."""


def serve_stdio(memory: Memory) -> None:
    """Serve the client that started this process until it closes stdin; nothing else may write to stdout."""
    # A thread that waits for input cannot be interrupted, and nothing is lost if the process exits at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    first = FirstAnswers(Offered.by(memory), memory.tools)
    with io.FileIO(0, closefd=False) as reading:  # unbuffered, so that the SDK receives all that follows
        handover = first.serve(reading, sys.stdout.buffer)
    if handover is None:
        memory.close()
        return
    _serve_sdk(memory, handover)


@dataclass(frozen=True, slots=True)
class Handover:
    """What the SDK needs to continue a connection."""

    received: bytes
    """The messages that it must receive before the next one of the client."""
    answered: int | str | None
    """The id of the handshake, if the client has the answer to it."""


class FirstAnswers:
    """The answers to the first requests of a client."""

    def __init__(self, offered: Offered, tools: Sequence[Tool]) -> None:
        self._offered = offered
        self._tools = tools
        self._handshake: int | str | None = None

    def serve(self, reading: BinaryIO, writing: BinaryIO) -> Handover | None:
        """Answer requests until the SDK must take over.

        Args:
            reading: the client's messages, one on each line; it must not read ahead.
            writing: where the answers go.

        Returns:
            What the SDK needs; None: the client has closed the connection.
        """
        received = bytearray()
        while line := reading.readline():
            message = _parse(line)
            result = self._result(message) if message is not None else None
            if message is None or result is None:
                return Handover(bytes(received + line), self._handshake)
            method = message["method"]
            if method in {"initialize", "notifications/initialized"}:
                received += line
            if "id" in message:
                response = {"jsonrpc": "2.0", "id": message["id"], "result": result}
                writing.write(json.dumps(response, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
                writing.flush()
            if method == "tools/list":
                return Handover(bytes(received), self._handshake)
        return None

    def _result(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Return the result of a message; empty for a notification, and None if only the SDK knows it."""
        params, method, is_request = message.get("params", {}), message["method"], "id" in message
        if self._handshake is None:
            if method != "initialize" or not is_request or not _is_handshake(params):
                return None
            self._handshake = message["id"]
            requested = params["protocolVersion"]
            return self._offered.initialize_json(
                requested if requested in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
            )
        if not _is_meta_only(params):
            return None
        known_tools = all(is_builtin(tool) for tool in self._tools) and not self._offered.connector
        if method == "tools/list" and is_request and known_tools:
            return {"tools": [tool_json(tool) for tool in self._tools]}
        known = method == ("ping" if is_request else "notifications/initialized")
        return {} if known else None


def _parse(line: bytes) -> dict[str, Any] | None:
    r"""Return a message of plain values, or None if the SDK must read it, such as for its `\u` escapes."""
    if b"\\u" in line:
        return None
    try:
        value: Any = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not _is_plain(value):
        return None
    message = cast("dict[str, Any]", value)
    keys = message.keys() - {"id", "params"}
    valid_id = "id" not in message or isinstance(message["id"], str) or _is_small_number(message["id"])
    named = keys == {"jsonrpc", "method"} and message["jsonrpc"] == "2.0" and isinstance(message["method"], str)
    return message if named and valid_id and isinstance(message.get("params", {}), dict) else None


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Return whether a value holds nothing that readers of JSON may take differently, such as a number with a dot."""
    if depth > MAX_DEPTH:
        return False
    if isinstance(value, dict):
        return all(_is_plain(each, depth + 1) for each in cast("dict[str, Any]", value).values())
    if isinstance(value, list):
        return all(_is_plain(each, depth + 1) for each in cast("list[Any]", value))
    return value is None or isinstance(value, (str, bool)) or _is_small_number(value)


def _is_small_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -MAX_ID < value < MAX_ID


def _is_handshake(params: dict[str, Any]) -> bool:
    """Return whether the parameters of `initialize` are valid and well known."""
    client, capabilities = params.get("clientInfo"), params.get("capabilities")
    return (
        params.keys() <= INITIALIZE_KEYS
        and _is_meta_only({key: value for key, value in params.items() if key == "_meta"})
        and isinstance(params.get("protocolVersion"), str)
        and isinstance(client, dict)
        and {"name", "version"} <= cast("dict[str, Any]", client).keys() <= CLIENT_KEYS
        and all(isinstance(value, str) for value in cast("dict[str, Any]", client).values())
        and isinstance(capabilities, dict)
        and all(_is_capability(name, value) for name, value in cast("dict[str, Any]", capabilities).items())
    )


def _is_capability(name: str, value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    settings = cast("dict[str, Any]", value)
    if name in OPEN_CAPABILITIES:
        return all(isinstance(each, dict) for each in settings.values())
    expected = bool if name == "roots" else dict
    return settings.keys() <= CAPABILITIES.get(name, set()) and (
        name in CAPABILITIES and all(isinstance(each, expected) for each in settings.values())
    )


def _is_meta_only(params: dict[str, Any]) -> bool:
    """Return whether parameters hold at most a token for progress."""
    meta = params.get("_meta", {})
    if params.keys() - {"_meta"} or not isinstance(meta, dict):
        return False
    token = cast("dict[str, Any]", meta).get("progressToken", "")
    return cast("dict[str, Any]", meta).keys() <= {"progressToken"} and (
        isinstance(token, str) or _is_small_number(token)
    )


def _serve_sdk(memory: Memory, handover: Handover) -> None:
    """Continue a connection with the SDK until the client closes stdin."""
    import anyio
    from mcp.server.stdio import stdio_server

    from memoriter.mcp_server._server import Shutdown, server_of
    from memoriter.mcp_server._shared import SharedMemory

    shutdown = Shutdown(lambda: None, lambda: None)
    server = server_of(memory, shared=SharedMemory(memory, closing=shutdown.begin))

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            resumed = Resumed(reading, _messages(handover.received))
            once = AnsweredOnce(writing, handover.answered)
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
