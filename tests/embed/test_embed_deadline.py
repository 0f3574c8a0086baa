"""One deadline and one size for a whole exchange, against servers on 127.0.0.1 that keep to neither."""

from __future__ import annotations

import gzip
import socket
import sys
import threading
import time
import tracemalloc
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoriter.embed.remote._http import HttpClient
from memoriter.embed.remote._wire import Request
from memoriter.errors import EmbeddingError, ProviderUnavailable, TransientFailure
from servers.raw import dripped, for_ever, sent, server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoriter.embed.remote._wire import Response

SECONDS = 0.3
PATIENCE = 2.0
"""What a busy machine may add."""
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"


@pytest.fixture
def http() -> Iterator[HttpClient]:
    http = HttpClient(clock=time.monotonic, sleep=time.sleep, random=lambda: 0.0)
    yield http
    http.close()


def refusal(response: Response) -> EmbeddingError:
    return TransientFailure(f"status {response.status}", remedy="wait")


def send(http: HttpClient, url: str, **options: Any) -> bytes:
    request = Request(url, {"authorization": "Bearer planted"}, options.pop("body", b"{}"))
    arguments = {"timeout": SECONDS, "read": lambda answer: answer.body, "error_of": refusal, "tries": 1, **options}
    return http.send(request, **arguments)


def check(error: EmbeddingError) -> None:
    assert error.message
    assert error.remedy
    error.message.encode()


def after(seconds: float, content: bytes) -> Callable[[socket.socket], None]:
    def act(connection: socket.socket) -> None:
        time.sleep(seconds)
        connection.sendall(content)

    return act


ELSEWHERE = b"HTTP/1.1 307 Moved\r\nlocation: /v1/again\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
SLOW = {
    "says nothing": sent(),
    "drips the status": dripped(b"HTTP/1.1 200 OK"),
    "drips a header": sent(OK, then=dripped(b"x")),
    "drips headers": sent(OK, then=dripped(b"x: y\r\n")),
    "drips the body": sent(OK + b"content-length: 9999\r\n\r\n", then=dripped(b" ")),
    "drips a body without a length": sent(OK + b"connection: close\r\n\r\n", then=dripped(b" ")),
    "drips chunks": sent(CHUNKED, then=dripped(b"1\r\n \r\n")),
    "drips a trailer": sent(CHUNKED + b"1\r\n \r\n0\r\n", then=dripped(b"x: y\r\n")),
    "drips gzip": sent(OK + b"content-encoding: gzip\r\n\r\n", then=dripped(gzip.compress(b" " * 10_000, 0))),
    "announces on and on": dripped(b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "redirects slowly": after(0.2, ELSEWHERE),
}


@pytest.mark.matrix
@pytest.mark.parametrize("act", SLOW.values(), ids=SLOW)
def test_an_exchange_ends_at_its_deadline_however_slowly_the_server_answers(http: HttpClient, act: Any) -> None:
    with server(act) as url:
        started = time.monotonic()
        with pytest.raises(EmbeddingError) as failed:
            send(http, url)
        assert time.monotonic() - started < SECONDS + PATIENCE
    assert failed.value.remedy
    assert "did not answer within 0.3 s" in failed.value.message


@pytest.mark.slow
def test_tries_waits_and_redirects_count_towards_the_one_deadline(http: HttpClient) -> None:
    with server(after(0.1, b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")) as url:
        started = time.monotonic()
        with pytest.raises(TransientFailure):
            send(http, url, tries=50, timeout=0.8)
        assert time.monotonic() - started < 0.8 + PATIENCE


def test_a_server_that_does_not_read_is_given_up(http: HttpClient) -> None:
    with server(sent(), reads=False) as url, pytest.raises(TransientFailure, match="did not answer within"):
        send(http, url, body=b" " * (20 << 20))


@pytest.mark.parametrize("act", [sent(), dripped(b"\x16\x03\x01\x40\x00")], ids=["silent", "dripping"])
def test_a_handshake_that_does_not_end_is_given_up(http: HttpClient, act: Any) -> None:
    with server(act) as url:
        started = time.monotonic()
        with pytest.raises(EmbeddingError):
            send(http, url.replace("http", "https"))
        assert time.monotonic() - started < SECONDS + PATIENCE


@pytest.mark.slow
def test_a_name_that_is_looked_up_for_ever_is_given_up(http: HttpClient, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    lookups = list[str]()

    def slow(host: str, *_: Any, **__: Any) -> Any:
        lookups.append(host)
        ended.wait(10)
        raise socket.gaierror(socket.EAI_AGAIN, "later")

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    monkeypatch.setattr("memoriter.embed._network.proxy_for", lambda _: None)
    started = time.monotonic()
    for _ in range(3):
        with pytest.raises(TransientFailure, match="did not answer within"):
            send(http, "https://slow.example/v1")
    assert time.monotonic() - started < 3 * SECONDS + PATIENCE
    assert lookups == ["slow.example"], "one thread waits for one name"
    ended.set()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only one address of this machine can be used")
def test_each_address_of_a_host_gets_its_part_of_the_time(http: HttpClient, monkeypatch: pytest.MonkeyPatch) -> None:
    with server(sent(OK + b"content-length: 2\r\n\r\nok")) as url, socket.socket() as full:
        full.bind(("127.0.0.2", int(url.split(":")[2].split("/")[0])))
        full.listen(0)
        kept = [socket.socket() for _ in range(4)]
        for each in kept:  # the queue is full, so that nobody answers here
            each.setblocking(False)
            each.connect_ex(full.getsockname())
        port = full.getsockname()[1]
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port)) for host in ("127.0.0.2", "127.0.0.1")]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        monkeypatch.setattr("memoriter.embed._network.proxy_for", lambda _: None)
        try:
            assert send(http, f"http://two.example:{port}/v1", timeout=1.5) == b"ok"
        finally:
            for each in kept:
                each.close()


def packed(content: bytes, coding: str) -> Callable[[socket.socket], None]:
    return sent(OK + f"content-encoding: {coding}\r\ncontent-length: {len(content)}\r\n\r\n".encode() + content)


def bomb(coding: str, bits: int) -> Callable[[socket.socket], None]:
    """Return what answers with 64 MB that are sent as a few kilobytes; `bits` as in `zlib.compressobj`."""
    packer = zlib.compressobj(9, zlib.DEFLATED, bits)
    return packed(packer.compress(b"[" + b"1," * (32 << 20)) + packer.flush(), coding)


LARGE: dict[str, Callable[[], Callable[[socket.socket], None]]] = {
    "gzip": lambda: bomb("gzip", 31),
    "deflate": lambda: bomb("deflate", 15),
    "raw deflate": lambda: bomb("deflate", -15),
    "plain": lambda: sent(OK + b"content-length: 99999999999\r\n\r\n", then=for_ever(b"1," * 30_000)),
    "without a length": lambda: sent(OK + b"connection: close\r\n\r\n", then=for_ever(b"1," * 30_000)),
    "chunks": lambda: sent(CHUNKED, then=for_ever(b"200\r\n" + b"1," * 256 + b"\r\n")),
    "empty gzip": lambda: sent(
        OK + b"content-encoding: gzip\r\n\r\n" + gzip.compress(b""), then=for_ever(b"\0" * 60_000)
    ),
    "announcements": lambda: for_ever(b"HTTP/1.1 103 Early Hints\r\nx: " + b"y" * 500 + b"\r\n\r\n"),
}


@pytest.mark.matrix
@pytest.mark.parametrize("name", LARGE)
def test_an_answer_over_its_size_is_refused_before_it_takes_memory(http: HttpClient, name: str) -> None:
    with server(LARGE[name]()) as url:
        tracemalloc.start()
        try:
            with pytest.raises(ProviderUnavailable, match=r"more than (1 MiB|98,304 bytes of headers)"):
                send(http, url, most_bytes=1 << 20, timeout=20)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 24 << 20


@pytest.mark.parametrize("coding", ["gzip, gzip", "br", "zstd", "gzip, deflate", "unknown", "gzip," * 50 + "gzip"])
def test_an_encoding_that_was_not_asked_for_is_refused(http: HttpClient, coding: str) -> None:
    unasked = pytest.raises(TransientFailure, match="encoding that was not requested")
    with server(packed(gzip.compress(gzip.compress(b"{}")), coding)) as url, unasked:
        send(http, url, timeout=20)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "identity", "identity, gzip", ""])
def test_one_usual_encoding_is_read_although_none_was_asked_for(http: HttpClient, coding: str) -> None:
    content = {"g": gzip.compress, "d": zlib.compress}.get(coding[:1], bytes)(b"{}")
    content = gzip.compress(b"{}") if coding.endswith("gzip") else content
    with server(packed(content, coding)) as url:
        assert send(http, url, timeout=20) == b"{}"


def test_of_a_refusal_only_the_beginning_is_read(http: HttpClient) -> None:
    seen: list[int] = []

    def error_of(response: Response) -> EmbeddingError:
        seen.append(len(response.body))
        return refusal(response)

    act = sent(b"HTTP/1.1 500 No\r\n\r\n", then=for_ever(b"no " * 20_000))
    with server(act) as url, pytest.raises(TransientFailure, match="status 500"):
        send(http, url, error_of=error_of, timeout=20)
    assert seen == [64 << 10]


@pytest.mark.parametrize("size", [1_000, 60_000, 99_000, 400_000])
@pytest.mark.parametrize("headers", [b"x: y\r\n" * 5_000, b"x: " + b"y" * 300_000], ids=["many", "long"])
def test_headers_without_end_are_refused_in_pieces_of_any_size(http: HttpClient, headers: bytes, size: int) -> None:
    content = OK + headers + b"\r\n\r\n{}"
    pieces = [content[start : start + size] for start in range(0, len(content), size)]
    with server(sent(*pieces)) as url, pytest.raises(ProviderUnavailable, match="headers") as failed:
        send(http, url, timeout=20)
    assert "baseUrl" in failed.value.remedy


LOCATIONS = [
    "http://[half",
    "http://:0/",
    "//",
    "http://a:b/",
    "ftp://x/",
    "http://x:99999/",
    "\x7f",
    "%",
    "http:",
    "?",
]


@pytest.mark.matrix
@pytest.mark.parametrize("location", LOCATIONS)
def test_a_redirect_to_no_address_is_our_error(http: HttpClient, location: str) -> None:
    head = f"HTTP/1.1 308 Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n".encode("latin-1")
    with server(sent(head)) as url, pytest.raises(EmbeddingError) as failed:
        send(http, url)
    assert failed.value.remedy


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "http://[half", "what://127.0.0.1:9", "http://127.0.0.1:9"])
def test_a_proxy_that_cannot_be_used_is_our_error(
    http: HttpClient, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(EmbeddingError) as failed:
        send(http, "https://vectors.example/v1")
    assert failed.value.remedy


LINES = st.sampled_from(
    [
        *(b"HTTP/1.1 200 OK", b"HTTP/1.0 200", b"HTTP/9.9 200 OK", b"HTTP/1.1 307 Moved", b"HTTP/1.1 99 X"),
        *(b"HTTP/1.1 204 No", b"content-length: 2", b"content-length: x", b"content-length: -2", b"connection: close"),
        *(
            b"transfer-encoding: chunked",
            b"transfer-encoding: gzip",
            b"content-encoding: gzip",
            b"content-encoding: br",
        ),
        *(b"location: http://[", b"location: /v1", b"retry-after: x", b"content-type: \xff", b"upgrade: h2c"),
        *(b": nothing", b"x", b"", b"2", b"{}", b"0", b"fffffffffff"),
    ]
)


@given(
    content=st.one_of(
        st.binary(max_size=100),
        st.lists(st.one_of(LINES, st.binary(max_size=10)), max_size=8).map(b"\r\n".join),
        st.lists(LINES, max_size=6).map(lambda lines: b"HTTP/1.1 200 OK\r\n" + b"\r\n".join(lines) + b"\r\n\r\n{}"),
    )
)
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_whatever_a_server_writes_is_an_answer_or_our_error(http: HttpClient, content: bytes) -> None:
    def act(connection: socket.socket) -> None:
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)

    try:
        with server(act) as url:
            assert isinstance(send(http, url, timeout=5, most_bytes=1 << 20), bytes)
    except EmbeddingError as error:
        check(error)
