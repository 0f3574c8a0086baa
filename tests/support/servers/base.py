"""A server in threads that answers as a script says, and faults that any service can show."""

from __future__ import annotations

import base64
import json
import socket
import struct
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from memoriter.embed import open_provider
from memoriter.embed.remote._http import HttpClient
from memoriter.embed.remote._remote import RemoteProvider, RemoteSettings

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = "sk-planted-0123456789abcdef-KEY"
"""The key that every scripted service takes."""
_MODEL = open_provider("fake", cache_dir=Path())


@dataclass(frozen=True)
class Answer:
    status: int
    value: Any
    """Written as JSON, bytes as they are."""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        return self.value if isinstance(self.value, bytes) else json.dumps(self.value).encode()


class Refused(Exception):
    """Raised by a vendor's script where the vendor refuses."""

    def __init__(self, status: int, value: Any) -> None:
        super().__init__(status)
        self.answer = Answer(status, value)


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Fault = "Callable[[Exchange, Answer], Answer | None]"
"""Gets the answer that would be given and gives another, or writes something itself and gives None."""


class Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        script = self.server.script
        size = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(size)
        if len(body) < size:  # the client was killed before all of its request was sent
            self.close_connection = True
            return
        call = Call(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body)
        with script.lock:
            script.calls.append(call)
            script.busy += 1
            script.busiest = max(script.busiest, script.busy)
            fault = script.faults.popleft() if script.faults else script.always
        try:
            answer = script.answer_to(call)
            changed = fault(self, answer) if fault else answer
            if changed is not None:
                self.give(changed)
        finally:
            with script.lock:
                script.busy -= 1

    do_DELETE = do_GET = do_POST  # noqa: N815 - the names that http.server looks for

    def give(self, answer: Answer) -> None:
        body = answer.body
        self.send_response(answer.status)
        for name, value in {"content-type": "application/json", **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    script: ScriptedServer

    def handle_error(self, *_: object) -> None:
        """A client that went away in the middle is what some tests are about."""


class ScriptedServer:
    """One service. `faults` are used up in order, one a call; `always` holds for the calls after them."""

    vendor: ClassVar[str]
    model: ClassVar[str]
    path: ClassVar[str] = ""
    """Of the base URL."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.clients: list[HttpClient] = []
        """Closed with the server."""
        self.faults: deque[Any] = deque()
        self.always: Any = None
        self.lock = threading.Lock()
        self.busy = self.busiest = 0
        self._server = _Server(("127.0.0.1", 0), Exchange)
        self._server.script = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for http in self.clients:
            http.close()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def base_url(self) -> str:
        return self.root + self.path

    def answer_to(self, call: Call) -> Answer:
        try:
            return self.answer(call)
        except Refused as refused:
            return refused.answer

    def answer(self, call: Call) -> Answer:
        raise NotImplementedError

    # What tests ask of each vendor.

    def rows(self, answer: Any) -> list[Any]:
        """The list of vectors within an answer."""
        return answer["data"]

    def with_vector(self, answer: Any, place: int, vector: Any) -> None:
        self.rows(answer)[place]["embedding"] = vector

    def quota(self) -> Answer:
        raise NotImplementedError

    def wrong_key(self) -> Answer:
        raise NotImplementedError

    def throttled(self) -> Answer:
        raise NotImplementedError

    def too_long(self) -> Answer:
        raise NotImplementedError


def need(condition: object, status: int, value: Any) -> None:
    if not condition:
        raise Refused(status, value)


def vectors(texts: list[str], dimensions: int) -> list[list[float]]:
    """Words and their trigrams hashed: texts that share words are near each other."""
    rows = _MODEL.embed(texts, role="document")
    wide = np.zeros((len(texts), max(dimensions, rows.shape[1])), np.float32)
    wide[:, : rows.shape[1]] = rows
    return [[round(x, 6) for x in row] for row in wide[:, :dimensions].tolist()]


def as_base64(vector: list[float]) -> str:
    return base64.b64encode(np.array(vector, "<f4").tobytes()).decode()


def refused(answer: Answer) -> Any:
    return lambda _exchange, _answer: answer


def altered(change: Callable[[Any], Any]) -> Any:
    """The usual answer after `change`, which gives another value or changes the one it gets."""

    def fault(_: Exchange, answer: Answer) -> Answer:
        value = json.loads(answer.body)
        changed = change(value)
        return Answer(answer.status, value if changed is None else changed)

    return fault


def html_page(status: int = 200) -> Any:
    page = b"<!doctype html><html><head><title>502 Bad Gateway</title></head><body><h1>nginx</h1></body></html>"
    return refused(Answer(status, page, {"content-type": "text/html"}))


def half_written(exchange: Exchange, answer: Answer) -> None:
    body = answer.body
    exchange.send_response(answer.status)
    exchange.send_header("content-length", str(len(body)))
    exchange.end_headers()
    exchange.wfile.write(body[: len(body) // 2])
    exchange.wfile.flush()
    exchange.close_connection = True
    exchange.connection.shutdown(socket.SHUT_RDWR)


def reset(exchange: Exchange, _: Answer) -> None:
    exchange.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    exchange.rfile.close()
    exchange.wfile.close()
    exchange.close_connection = True
    exchange.connection.close()


def dripping(exchange: Exchange, answer: Answer) -> None:
    """A byte now and then, for as long as somebody listens and three seconds at most."""
    exchange.send_response(answer.status)
    exchange.send_header("content-length", "1000000")
    exchange.end_headers()
    exchange.close_connection = True
    for _ in range(150):
        exchange.wfile.write(b" ")
        exchange.wfile.flush()
        time.sleep(0.02)


class Watch:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def client(server: ScriptedServer, watch: Watch | None, **options: Any) -> HttpClient:
    """A client on a clock of our own (the real one without), whose waits are exact; closed with the server."""
    options = {"random": lambda: 0.0} | options
    clock, sleep = (watch, watch.sleep) if watch else (time.monotonic, time.sleep)
    server.clients.append(HttpClient(clock=clock, sleep=sleep, **options))
    return server.clients[-1]


def provider_of(
    server: ScriptedServer,
    watch: Watch | None = None,
    *,
    store: Any = None,
    real_time: bool = False,
    account: Any = None,
    **settings: Any,
) -> RemoteProvider:
    """A provider of a scripted service; settings stand in for the usual ones."""
    values = {"vendor": server.vendor, "model": server.model, "base_url": server.base_url, "api_key": KEY} | settings
    watch = watch or Watch()
    http = client(server, None if real_time else watch)
    return RemoteProvider(RemoteSettings(**values), http, wall=watch, store=store, account=account)
