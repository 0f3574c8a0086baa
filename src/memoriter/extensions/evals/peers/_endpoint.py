"""An embedding service on this machine, so that other programs search with the same vectors as memoriter."""

from __future__ import annotations

import base64
import json
import struct
import sys
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Literal, cast

from memoriter.embed import embed_in_batches, open_provider
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

    from memoriter.embed import EmbeddingProvider

MODEL = "same-as-memoriter"
"""Name of the model that the service reports; it serves any name."""


@dataclass(slots=True)
class Endpoint:
    """A running service with the interface of OpenAI's embeddings."""

    provider: EmbeddingProvider
    role: Literal["document", "query"] = "document"
    """What the texts of the next requests are; the interface itself has no place for it."""
    url: str = ""
    _vectors: dict[tuple[str, str], list[float]] = field(default_factory=dict[tuple[str, str], list[float]])
    _lock: Lock = field(default_factory=Lock)

    @property
    def dimensions(self) -> int:
        return self.provider.spec.dimensions

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vector of each text; zeros for a text that the provider refuses."""
        with self._lock:
            missing = [text for text in dict.fromkeys(texts) if (self.role, text) not in self._vectors]
            for batch in embed_in_batches(self.provider, missing, role=self.role):
                for position, vector in zip(batch.positions, batch.vectors, strict=True):
                    self._vectors[self.role, missing[position]] = [float(value) for value in vector]
            nothing = [0.0] * self.dimensions
            return [self._vectors.get((self.role, text), nothing) for text in texts]


@contextmanager
def serve_embeddings(provider: str, models: Path) -> Generator[Endpoint]:
    """Serve the vectors of a provider on 127.0.0.1 until the context ends.

    Args:
        provider: its name.
        models: the folder of its models.

    Raises:
        ProviderUnavailable: if the provider cannot be opened.
    """
    opened = open_provider(provider, cache_dir=models)
    endpoint = Endpoint(opened)
    server = _Server(("127.0.0.1", 0), _handler_for(endpoint))
    endpoint.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = Thread(target=server.serve_forever, name="embedding endpoint", daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        opened.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing about a program that stopped waiting for its answer; it reports that itself."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _handler_for(endpoint: Endpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            try:
                request = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
                answer = _answer(endpoint, request)
                status = 200
            except (ValueError, TypeError, AttributeError) as error:
                answer = {"error": {"message": str(error), "type": "invalid_request_error"}}
                status = 400
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name of the base class)
            """Write no log."""

    return Handler


def _answer(endpoint: Endpoint, request: Any) -> dict[str, Any]:
    """Return the response of OpenAI's interface. Raises ValueError for a request without texts."""
    given: Any = request.get("input")
    match given:
        case str():
            texts = [given]
        case [*values] if all(isinstance(value, str) for value in cast("list[object]", values)):
            texts = cast("list[str]", values)
        case _:
            raise ValueError("`input` must be a text or a list of texts.")
    packed = request.get("encoding_format") == "base64"
    rows: list[dict[str, Any]] = [
        {"object": "embedding", "index": index, "embedding": _packed(vector) if packed else vector}
        for index, vector in enumerate(endpoint.embed(texts))
    ]
    usage = {"prompt_tokens": 0, "total_tokens": 0}
    return {"object": "list", "model": request.get("model") or MODEL, "data": rows, "usage": usage}


def _packed(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
