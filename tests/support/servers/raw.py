"""A server on 127.0.0.1 that writes bytes as it likes: slowly, without end, or nothing at all."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def server(act: Callable[[socket.socket], None], *, reads: bool = True) -> Iterator[str]:
    """The address of a server that does this with each connection, after it has read a request."""
    ended = threading.Event()

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            if reads:
                connection.recv(65_536)
            act(connection)
            ended.wait(10)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        finally:
            ended.set()
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)


def dripped(content: bytes) -> Callable[[socket.socket], None]:
    """Send a byte every hundredth of a second, without end."""

    def act(connection: socket.socket) -> None:
        for byte in (content * (2_000 // max(len(content), 1) + 1))[:2_000]:
            connection.sendall(bytes([byte]))
            time.sleep(0.01)

    return act


def sent(*parts: bytes, then: Callable[[socket.socket], None] | None = None) -> Callable[[socket.socket], None]:
    def act(connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)
        if then is not None:
            then(connection)

    return act


def for_ever(content: bytes) -> Callable[[socket.socket], None]:
    def act(connection: socket.socket) -> None:
        while True:
            connection.sendall(content)

    return act
