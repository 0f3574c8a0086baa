"""A connection to an announced server, which sends nothing private before both sides have proven themselves.

Both prove that they hold the secret of an announcement, which itself is never sent. The command sends a nonce (a random
number). The server answers with its own nonce and an HMAC-SHA256 over both nonces, its process number and the address
of the connection. The command then sends its request, with an HMAC over the same values and the request. The address
is that of the socket itself, so that a program on another port gains nothing by relaying messages to the real server.
This is the challenge-response form of ISO/IEC 9798-4, with a label for each direction.

The requests are written by hand, because `http.client` takes longer to import than all the rest of this package.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from typing import TYPE_CHECKING, cast

from memoriter.discovery._announcement import announced, create_ticket, is_available, redeem_ticket, unregister
from memoriter.values import dataclass

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from memoriter.discovery._announcement import Announcement
    from memoriter.discovery._target import TargetMemory

CHALLENGE_PATH = "/hook"
"""The path of a challenge, which the server answers with its proof."""
WORK_PATHS = ("/hook/", "/command/")
"""The beginnings of the paths for which a proof counts."""
NONCE = "memoriter-nonce"
"""The header with the nonce of the command."""
DIGEST = "memoriter-digest"
"""The header with the SHA-256 of the request's body, in hexadecimal."""
SCHEME = "Memoriter"
"""The scheme of the `Authorization` header that carries the proof of the command."""
SERVER_LABEL = "memoriter-server-1"
CLIENT_LABEL = "memoriter-client-1"
TICKET = "idempotency-key"
"""The request header with the ticket."""
REASONS = "memoriter-reasons"
"""The response header with diagnostics for a person: a JSON list of strings."""
LONGEST_PROOF = 4_096
"""Maximum bytes that are read before the server has proven itself."""
NOT_OURS = (ValueError, IndexError, TypeError, RecursionError)
"""Exceptions from parsing a response that is not from a memoriter server."""
TAKEN_SECONDS = 1.0
"""The usual value of `Call.taken_seconds`."""
DONE = {200, 204}


@dataclass(frozen=True, slots=True)
class Exchange:
    """The values that both sides know after the exchange of nonces."""

    pid: int
    """The process number of the server."""
    address: str
    """`address_of` for the server's end of the connection."""
    client_nonce: str
    """The nonce of the command."""
    server_nonce: str
    """The nonce of the server."""

    def server_proof(self, secret: str) -> str:
        """Return the proof of the server, in hexadecimal."""
        return _mac(secret, [SERVER_LABEL, *self._parts()])

    def client_proof(self, secret: str, target: str, ticket: str, digest: str) -> str:
        """Return the proof of the command for one request, in hexadecimal.

        Args:
            secret: the secret of the announcement.
            target: path and query of the request.
            ticket: the ticket of the work.
            digest: the SHA-256 of the body, in hexadecimal.
        """
        return _mac(secret, [CLIENT_LABEL, *self._parts(), target, ticket, digest])

    def _parts(self) -> Iterable[str]:
        return (str(self.pid), self.address, self.client_nonce, self.server_nonce)


def address_of(host: str, port: int) -> str:
    """Return the address of a socket in one form, independent of how the system writes it."""
    return f"{host.partition('%')[0].removeprefix('::ffff:')} {port}"


def body_digest(body: bytes | bytearray) -> str:
    """Return the SHA-256 of a body, in hexadecimal."""
    return hashlib.sha256(body).hexdigest()


def same(one: str, other: str) -> bool:
    """Return whether two texts are equal, in constant time."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def _mac(secret: str, parts: Iterable[str]) -> str:
    encoded = [part.encode("utf-8", "surrogateescape") for part in parts]
    # The length prefixes make the encoding unambiguous: no two lists give the same message.
    message = b"".join(len(part).to_bytes(4, "big") + part for part in encoded)
    return hmac.new(secret.encode("ascii"), message, hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class Call:
    """A request of a command to a server."""

    path: str
    """Path with the query, if there is one; it begins with one of `WORK_PATHS`."""
    body: bytes
    answer_seconds: float = 30.0
    """Seconds within which a server that has begun must answer."""
    taken_seconds: float | None = None
    """Seconds within which a server must prove itself, and then begin the work; None: `TAKEN_SECONDS`."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The response of a server to a command."""

    status: int
    body: bytes
    reasons: tuple[str, ...]


class Channel:
    """A connection to a server that proves that it holds the secret of its announcement."""

    def __init__(self, connection: socket.socket, server: Announcement, clock: Callable[[], float]) -> None:
        self._connection = connection
        self._server = server
        self._clock = clock
        self._deadline = 0.0
        self._exchange: Exchange | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def set_deadline(self, seconds: float) -> None:
        """Set the deadline for all further steps together, in seconds from now."""
        self._deadline = self._clock() + seconds

    def challenge(self) -> None:
        """Require a proof from the server.

        Raises:
            OSError: the connection failed, or the deadline has passed.
            ValueError, IndexError, TypeError, RecursionError: another program answers (`NOT_OURS`).
        """
        client_nonce = os.urandom(32).hex()
        self._send(CHALLENGE_PATH, [f"{NONCE}: {client_nonce}"], b"")
        server_nonce, proof = self._receive(LONGEST_PROOF).body.decode("ascii").split(" ")
        address = address_of(*self._connection.getpeername()[:2])
        exchange = Exchange(self._server.pid, address, client_nonce, server_nonce)
        if not same(proof, exchange.server_proof(self._server.secret)):
            raise ValueError("the server does not hold the secret of its announcement")
        self._exchange = exchange

    def send(self, call: Call, ticket: str) -> None:
        """Send a request to the server, after `challenge`. Raises OSError."""
        assert self._exchange is not None, "the server has proven itself"
        digest = body_digest(call.body)
        proof = self._exchange.client_proof(self._server.secret, call.path, ticket, digest)
        headers = [
            f"Authorization: {SCHEME} {proof}",
            f"{DIGEST}: {digest}",
            f"{TICKET}: {ticket}",
            "Content-Type: application/json",
            "Connection: close",
        ]
        self._send(call.path, headers, call.body)

    def answers_within(self, seconds: float) -> bool:
        """Return whether the server starts to answer within that many seconds."""
        import select

        return bool(select.select([self._connection], [], [], seconds)[0])

    def receive(self) -> Reply:
        """Return the response. Raises OSError and `NOT_OURS`."""
        return self._receive(None)

    def _send(self, path: str, headers: Sequence[str], body: bytes) -> None:
        head = [
            f"POST {path} HTTP/1.1",
            f"Host: {self._server.url.removeprefix('http://')}",
            *headers,
            f"Content-Length: {len(body)}",
        ]
        self._apply_deadline()
        self._connection.sendall("\r\n".join([*head, "", ""]).encode("ascii") + body)

    def _receive(self, max_bytes: int | None) -> Reply:
        """Read a response, whose length a memoriter server always states; one of over `most` bytes is refused."""
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._read_part(received, max_bytes)
        head, _, body = received.partition(b"\r\n\r\n")
        status, *lines = head.decode("ascii").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", "0"))
        while len(body) < length:
            body += self._read_part(body, max_bytes)
        reasons = cast("list[object]", json.loads(headers.get(REASONS, "[]")))
        return Reply(int(status.split()[1]), body[:length], tuple(str(reason) for reason in reasons))

    def _read_part(self, received: bytes, max_bytes: int | None) -> bytes:
        if max_bytes is not None and len(received) >= max_bytes:
            raise ValueError("the answer is too long")
        self._apply_deadline()
        part = self._connection.recv(1 << 16 if max_bytes is None else max_bytes)
        if not part:
            raise ValueError("the answer ends too early")
        return part

    def _apply_deadline(self) -> None:
        """Limit the next step on the connection to the time left. Raises TimeoutError."""
        remaining = self._deadline - self._clock()
        if remaining <= 0:
            raise TimeoutError
        self._connection.settimeout(remaining)


def connect(server: Announcement, folder: Path, clock: Callable[[], float], seconds: float) -> Channel | None:
    """Connect to a server, and require its proof that it wrote the announcement.

    Args:
        server: the announcement of the server.
        folder: the folder of the announcement, which is removed if the server has ended.
        clock: monotonic seconds.
        seconds: the time limit.

    Returns:
        The connection, or None if there is no such server. In that case only a random number was sent.
    """
    import socket

    host, _, port = server.url.removeprefix("http://").rpartition(":")
    try:
        connection = socket.create_connection((host.strip("[]"), int(port)), timeout=seconds)
    except ConnectionRefusedError:
        unregister(folder, server)
        return None
    except (OSError, ValueError, OverflowError):
        return None
    channel = Channel(connection, server, clock)
    try:
        channel.set_deadline(seconds)
        channel.challenge()
    except (OSError, *NOT_OURS):
        connection.close()
        return None
    return channel


class Unanswered(Exception):
    """A server has taken the work and did not report its result."""


def delegate(target: TargetMemory, folder: Path, call: Call) -> Reply | None:
    """Delegate the work of a command to a server of this memory.

    Returns:
        The reply of the server, or None if no server has done the work or will do it.

    Raises:
        Unanswered: a server has begun the work, and its result is unknown.
        ConfigError: the configuration does not exist.
    """
    for server in announced(folder):
        if not target.matches(server):
            continue
        channel = connect(server, folder, target.env.monotonic, call.taken_seconds or TAKEN_SECONDS)
        if channel is None:
            continue
        with channel:
            try:
                ticket = create_ticket(folder)
            except OSError:
                return None
            reply = _send(channel, folder, call, ticket)
        if reply is not None and reply.status in DONE:
            redeem_ticket(folder, ticket)
            return reply
        if not redeem_ticket(folder, ticket):
            raise Unanswered
    return None


def _send(channel: Channel, folder: Path, call: Call, ticket: str) -> Reply | None:
    try:
        seconds = call.taken_seconds or TAKEN_SECONDS
        channel.set_deadline(seconds)
        channel.send(call, ticket)
        if not channel.answers_within(seconds) and is_available(folder, ticket):
            return None
        channel.set_deadline(call.answer_seconds)
        return channel.receive()
    except (OSError, *NOT_OURS):
        return None
