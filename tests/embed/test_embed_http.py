"""The client: what is repeated, how long it waits, and what it never sends where."""

from __future__ import annotations

import socket
import time
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.embed.remote._http import _connection_error, _redirect_request
from memoriter.embed.remote._wire import Request, Response, retry_after_of
from memoriter.errors import EmbeddingError, ProviderUnavailable, Throttled, TransientFailure
from servers import Answer, OpenAIServer, Watch, client, refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.embed.remote._http import HttpClient

SECRET = {"authorization": "Bearer planted"}


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


@pytest.fixture
def other() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


def error_of(response: Response) -> EmbeddingError:
    return {429: Throttled, 503: TransientFailure}.get(response.status, ProviderUnavailable)(
        f"status {response.status}",
        **({"retry_after": retry_after_of(response.headers)} if response.status == 429 else {}),
    )


def send(http: HttpClient, request: Request, **options: Any) -> bytes:
    return http.send(request, **{"timeout": 60, "read": lambda answer: answer.body, "error_of": error_of} | options)


def post(url: str) -> Request:
    return Request(url, SECRET, b'{"input": "a note"}')


def test_a_wait_doubles_and_is_lengthened_at_random(server: OpenAIServer) -> None:
    server.always = refused(Answer(503, {}))
    watch = Watch()
    with pytest.raises(TransientFailure):
        send(client(server, watch, random=lambda: 1.0), post(server.base_url), tries=6)
    assert watch.slept == pytest.approx([0.6, 1.2, 2.4, 4.8, 9.6])


def test_only_what_may_succeed_next_time_is_repeated(server: OpenAIServer) -> None:
    server.always = refused(Answer(400, {}))
    with pytest.raises(ProviderUnavailable):
        send(client(server, Watch()), post(server.base_url))
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": formatdate(1_000_030, usegmt=True), "date": formatdate(1_000_000, usegmt=True)}, 30),
        ({"retry-after": formatdate(1_000_000, usegmt=True), "date": formatdate(1_000_030, usegmt=True)}, 0),
        ({"retry-after": formatdate(1_000_030, usegmt=True)}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "1e9"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_seconds_and_as_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_of(headers) == seconds


def test_a_wait_that_would_end_too_late_is_not_begun(server: OpenAIServer) -> None:
    server.always = refused(Answer(429, {}, {"retry-after": "59"}))
    watch = Watch()
    with pytest.raises(Throttled):
        send(client(server, watch), post(server.base_url), timeout=100)
    assert watch.slept == [59]


def test_an_answer_that_never_ends_is_cut_off(server: OpenAIServer) -> None:
    server.always = refused(Answer(200, b" " * 3_000_000))
    with pytest.raises(ProviderUnavailable, match="more than 1 MiB"):
        send(client(server, Watch()), post(server.base_url), most_bytes=1 << 20)
    assert len(server.calls) == 1


def test_offline_opens_no_socket_but_to_this_machine(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[Any] = []
    connect = socket.socket.connect
    resolve = socket.getaddrinfo
    monkeypatch.setattr(socket.socket, "connect", lambda it, to: (reached.append(to[0]), connect(it, to))[1])
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *a, **k: (reached.append(host), resolve(host, *a, **k))[1])
    http = client(server, Watch(), offline=True)
    for url in (
        "https://api.openai.com/v1",
        "http://192.0.2.1/",
        "http://127.0.0.1.example.com/",
        "http://[2001:db8::1]/",
    ):
        with pytest.raises(ProviderUnavailable, match="offline"):
            send(http, post(url))
    assert reached == []
    server.always = refused(Answer(200, b"here"))
    assert send(http, post(server.base_url)) == b"here"
    assert set(reached) == {"127.0.0.1"}


def test_notes_and_key_do_not_follow_a_redirect_to_another_host(server: OpenAIServer, other: OpenAIServer) -> None:
    for status in (301, 302, 303, 307, 308):
        server.always = refused(Answer(status, b"", {"location": other.base_url + "/embeddings"}))
        with pytest.raises(ProviderUnavailable, match="redirects to 127"):
            send(client(server, Watch()), post(server.base_url))
    assert other.calls == []


def test_a_redirect_within_the_host_is_followed_with_the_body(server: OpenAIServer) -> None:
    server.faults.append(refused(Answer(308, b"", {"location": "/elsewhere"})))
    server.always = refused(Answer(200, b"arrived"))
    assert send(client(server, Watch()), post(server.base_url)) == b"arrived"
    assert [call.path for call in server.calls] == ["/v1", "/elsewhere"]
    assert server.calls[1].body == b'{"input": "a note"}'
    assert server.calls[1].headers["authorization"] == "Bearer planted"


def test_redirects_in_a_circle_end(server: OpenAIServer) -> None:
    server.always = refused(Answer(307, b"", {"location": "/v1"}))
    with pytest.raises(ProviderUnavailable, match="circle"):
        send(client(server, Watch()), post(server.base_url))
    assert len(server.calls) == 4


def test_no_proxy_sees_what_is_for_this_machine(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    server.always = refused(Answer(200, b"direct"))
    assert send(client(server, Watch()), post(server.base_url)) == b"direct"


def test_a_server_that_is_not_running_is_said_at_once(server: OpenAIServer) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    watch = Watch()
    with pytest.raises(ProviderUnavailable, match="Nothing answers"):
        send(client(server, watch), post(url))
    assert watch.slept == []


def test_a_server_that_says_nothing_is_given_up_in_time(server: OpenAIServer) -> None:
    server.always = lambda _exchange, _answer: time.sleep(5)
    started = time.monotonic()
    with pytest.raises(TransientFailure, match="did not answer within"):
        send(client(server, None), post(server.base_url), timeout=0.2)
    assert time.monotonic() - started < 4


def test_a_request_shows_neither_key_nor_notes() -> None:
    assert repr(post("http://127.0.0.1/v1")) == "Request(url='http://127.0.0.1/v1', method='POST')"
    assert "note" not in repr(Response(200, {}, b"note"))


def fetch(url: str) -> Request:
    return Request(url, SECRET, method="GET")


@pytest.mark.parametrize(
    ("request_", "target", "headers"),
    [
        (fetch("https://a.example/v1/x"), "https://a.example/y", SECRET),
        (fetch("https://a.example:443/v1/x"), "https://a.example/y", SECRET),
        (fetch("https://a.example/v1/x"), "https://files.example/y?signature=1", {}),
        (fetch("https://a.example/v1/x"), "http://a.example/y", None),
        (fetch("https://a.example/v1/x"), "http://files.example/y", None),
        (post("https://a.example/v1/x"), "https://a.example:8443/y", None),
        (post("https://a.example/v1/x"), "http://a.example/y", None),
        (Request("https://a.example/v1/x", SECRET, method="DELETE"), "https://a.example/y", None),
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_download_may_lead_elsewhere_but_without_the_key_and_never_in_the_clear(
    request_: Request, target: str, headers: dict[str, str] | None
) -> None:
    if headers is None:
        with pytest.raises(ProviderUnavailable):
            _redirect_request(request_, target, 307)
    else:
        assert _redirect_request(request_, target, 302) == Request(target, headers, method="GET")


def test_a_certificate_that_is_not_trusted_is_no_passing_fault() -> None:
    error = _connection_error(
        "https://h.example/v1", OSError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate")
    )
    assert isinstance(error, ProviderUnavailable)
    assert isinstance(_connection_error("https://h.example/v1", OSError("no route to host")), TransientFailure)


def test_what_must_not_happen_twice_is_repeated_only_when_it_was_refused(server: OpenAIServer) -> None:
    server.faults.extend([refused(Answer(429, {})), refused(Answer(503, {}))])
    with pytest.raises(TransientFailure):
        send(client(server, Watch()), post(server.base_url), once=True)
    assert len(server.calls) == 2
