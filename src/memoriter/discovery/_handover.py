"""Handing a piece of work to a server, so that it is done once whatever happens to the server.

The request is written by hand, since `http.client` takes longer to load than all the rest of this room.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from memoriter.discovery._announcement import announced, withdraw
from memoriter.discovery._tickets import is_free, take_ticket, write_ticket

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from memoriter.discovery._announcement import Announcement
    from memoriter.discovery._asking import Meant

TICKET = "idempotency-key"
"""The header of a request that names its ticket."""
REASONS = "memoriter-reasons"
"""The header of an answer with what a person should know: a list of strings in JSON."""
TAKEN_SECONDS = 1.0
"""How long a server may take to begin."""
ANSWER_SECONDS = 30.0
"""How long it may take from there."""
DONE = {200, 204}
NOT_OURS = (ValueError, IndexError, TypeError, RecursionError)
"""What comes of reading an answer that is no answer of our server's."""


class Unanswered(Exception):
    """A server has taken the work and did not say what became of it."""


@dataclass(frozen=True, slots=True)
class Call:
    """What to ask of a server."""

    path: str
    """With the query, if there is one."""
    body: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answered."""

    status: int
    body: bytes
    reasons: tuple[str, ...]


def hand_over(meant: Meant, folder: Path, call: Call) -> Reply | None:
    """Let a server of this memory do the work.

    Returns:
        Its answer; None: nothing was done, and nothing will be.

    Raises:
        Unanswered: it was begun, and nobody knows how it ended.
        ConfigError: there is no such configuration.
    """
    for server in announced(folder):
        if not meant.is_of(server):
            continue
        try:
            ticket = write_ticket(folder)
        except OSError:
            return None
        reply = _asked(server, folder, call, ticket)
        if reply is not None and reply.status in DONE:
            take_ticket(folder, ticket)
            return reply
        if not take_ticket(folder, ticket):
            raise Unanswered
    return None


def _asked(server: Announcement, folder: Path, call: Call, ticket: str) -> Reply | None:
    import select
    import socket

    host, _, port = server.url.removeprefix("http://").rpartition(":")
    try:
        connection = socket.create_connection((host.strip("[]"), int(port)), timeout=TAKEN_SECONDS)
    except ConnectionRefusedError:
        withdraw(folder, server)
        return None
    except (OSError, ValueError):
        return None
    with connection:
        try:
            connection.sendall(_request(server, call, ticket))
            if not select.select([connection], [], [], TAKEN_SECONDS)[0] and is_free(folder, ticket):
                return None
            connection.settimeout(ANSWER_SECONDS)
            return _read(connection)
        except (OSError, *NOT_OURS):
            return None


def _request(server: Announcement, call: Call, ticket: str) -> bytes:
    head = [
        f"POST {call.path} HTTP/1.1",
        f"Host: {server.url.removeprefix('http://')}",
        f"Authorization: Bearer {server.token}",
        f"{TICKET}: {ticket}",
        "Content-Type: application/json",
        f"Content-Length: {len(call.body)}",
        "Connection: close",
    ]
    return "\r\n".join([*head, "", ""]).encode("ascii") + call.body


def _read(connection: socket.socket) -> Reply:
    """The answer, of which our server tells the length beforehand. Raises OSError and `NOT_OURS`."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += _more(connection)
    head, _, body = received.partition(b"\r\n\r\n")
    status, *lines = head.decode("ascii").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = int(headers.get("content-length", "0"))
    while len(body) < length:
        body += _more(connection)
    reasons = cast("list[object]", json.loads(headers.get(REASONS, "[]")))
    return Reply(int(status.split()[1]), body[:length], tuple(str(reason) for reason in reasons))


def _more(connection: socket.socket) -> bytes:
    part = connection.recv(1 << 16)
    if not part:
        raise ValueError("the answer ends too early")
    return part
