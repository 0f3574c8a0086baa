"""A hub on 127.0.0.1: lists files, tells size and hash, redirects to where the content is, and fails on demand."""

from __future__ import annotations

import hashlib
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = "/ada/notes-GGUF/resolve/main/"


@dataclass
class Hub:
    """What the server has and how it behaves."""

    files: dict[str, bytes]
    ranges: bool = True
    linked: bool = True
    """Whether size and hash are told with the redirect, as the hub does for large files."""
    etag: str = '"v1"'
    hash_of: str | None = None
    """Told in place of the true hash."""
    breaks: list[int] = field(default_factory=list)
    """Each answer in turn ends, without a word, after so many bytes of content."""
    statuses: list[int] = field(default_factory=list)
    """Answered in turn before anything else."""
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    leads_to: str | None = None
    """Where the redirect leads in place of the store."""
    hold: threading.Event | None = None
    """Content is sent once it is set."""
    url: str = ""
    store: str = ""
    """Where the redirects lead: another origin."""

    def requested_ranges(self) -> list[str | None]:
        return [headers.get("range") for path, headers in self.requests if path.startswith("/store/")]


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append((path, {name.lower(): text for name, text in self.headers.items()}))
        if self.hub.statuses:
            self._say(self.hub.statuses.pop(0), b"not now")
        elif path == "/api/models/ada/notes-GGUF/tree/main":
            listed = [{"type": "file", "path": name, "size": len(text)} for name, text in self.hub.files.items()]
            self._say(200, json.dumps([{"type": "directory", "path": "x"}, *listed]).encode())
        elif path.startswith(FOLDER) and path.removeprefix(FOLDER) in self.hub.files:
            self._redirect(path.removeprefix(FOLDER))
        elif path.startswith("/store/"):
            self._send(self.hub.files[path.removeprefix("/store/")])
        else:
            self._say(404, b"Entry not found")

    def _redirect(self, name: str) -> None:
        content = self.hub.files[name]
        headers = {"Location": self.hub.leads_to or f"{self.hub.store}/store/{name}"}
        if self.hub.linked:
            sha256 = self.hub.hash_of or hashlib.sha256(content).hexdigest()
            headers |= {"X-Linked-Etag": f'"{sha256}"', "X-Linked-Size": str(len(content))}
        self._say(302, b"", headers)

    def _send(self, content: bytes) -> None:
        if self.hub.hold is not None:
            self.hub.hold.wait(20)
        total = len(content)
        start = 0
        status = 200
        headers = {"ETag": self.hub.etag}
        response = self.headers.get("Range")
        if response and self.hub.ranges and self.headers.get("If-Range", self.hub.etag) == self.hub.etag:
            start = int(response.removeprefix("bytes=").rstrip("-"))
            status = 206
            if start >= total:
                self._say(416, b"")
                return
            headers["Content-Range"] = f"bytes {start}-{total - 1}/{total}"
        self._say(status, content[start:], headers, self.hub.breaks.pop(0) if self.hub.breaks else None)

    def _say(self, status: int, content: bytes, headers: dict[str, str] | None = None, most: int | None = None) -> None:
        self.send_response(status)
        for name, text in {"Content-Length": str(len(content)), "Connection": "close", **(headers or {})}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(content[:most])
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    handler = type("Answer", (_Answer,), {"hub": hub})
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), handler) for _ in range(2)]
    threads = [threading.Thread(target=server.serve_forever, args=(0.01,)) for server in servers]
    for thread in threads:
        thread.start()
    hub.url, hub.store = (f"http://127.0.0.1:{server.server_port}" for server in servers)
    try:
        yield hub
    finally:
        if hub.hold is not None:
            hub.hold.set()
        for server, thread in zip(servers, threads, strict=True):
            server.shutdown()
            server.server_close()
            thread.join()
