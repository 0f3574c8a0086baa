"""The one place that opens connections: time-outs, repetitions, and what must not leave this machine."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, assert_never
from urllib.parse import urljoin, urlsplit

from memoriter.embed.remote._remote_settings import is_loopback
from memoriter.embed.remote._wire import Response
from memoriter.errors import EmbeddingError, ProviderUnavailable, Throttled, TransientFailure

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx2

    from memoriter.embed.remote._wire import Request

T = TypeVar("T")

TRIES = 3
FIRST_WAIT, LONGEST_WAIT = 0.5, 8.0
"""Seconds before the second try, doubled for each further one."""
JITTER = 0.2
"""Part of a wait that is added at random, so that many clients do not come back together."""
_CONNECT_SECONDS = 10.0
_MOST_BYTES = 256 << 20
_MOST_REDIRECTS = 3
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_KEEPING_METHOD = frozenset({307, 308})

log = logging.getLogger(__name__)


class HttpClient:
    """Calls to services. Safe to share between threads; close it when done."""

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], object],
        random: Callable[[], float],
        offline: bool = False,
        most_bytes: int = _MOST_BYTES,
    ) -> None:
        """`clock` gives monotonic seconds, `random` a number in 0..1; `offline` allows this machine only."""
        self._clock = clock
        self._sleep = sleep
        self._random = random
        self._offline = offline
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._clients: dict[bool, httpx2.Client] = {}

    def send(
        self,
        request: Request,
        *,
        timeout: float,
        read: Callable[[Response], T],
        error_of: Callable[[Response], EmbeddingError],
        tries: int = TRIES,
        once: bool = False,
    ) -> T:
        """What `read` makes of a success. Throttled calls and those that failed on the way are repeated.

        `once` is for what must not happen twice: then only calls that were surely refused are repeated.

        `timeout` is for the whole of it, in seconds: tries, waits and the last byte. A wait that would not end in time
        is not begun.

        Raises:
            EmbeddingError: of `error_of` or `read`; `ProviderUnavailable` when the address is refused, answers too much
                or points elsewhere; `TransientFailure` when nothing or only half an answer came.
        """
        deadline = self._clock() + timeout
        for number in range(1, tries + 1):
            try:
                response = self._followed(request, deadline, timeout)
                if 200 <= response.status < 300:
                    return read(response)
                raise error_of(response)
            except (Throttled, TransientFailure) as error:
                wait = self._wait(number, error.retry_after)
                lost = once and not isinstance(error, Throttled)
                if lost or number == tries or self._clock() + wait >= deadline:
                    raise
                log.info("%s; trying again in %.1f s", error.code, wait)
            self._sleep(wait)
        raise AssertionError("a last try returns or raises")

    def close(self) -> None:
        """Let go of the connections. Closing twice is harmless."""
        with self._lock:
            clients, self._clients = self._clients, {}
        for client in clients.values():
            client.close()

    def _wait(self, number: int, said: float | None) -> float:
        """Seconds before the next try: as the service says, or doubling."""
        wait = min(FIRST_WAIT * 2 ** (number - 1), LONGEST_WAIT) if said is None else said
        return wait * (1 + JITTER * self._random())

    def _followed(self, request: Request, deadline: float, timeout: float) -> Response:
        """The answer, after redirects that are safe to follow."""
        for _ in range(_MOST_REDIRECTS + 1):
            response = self._attempt(request, deadline, timeout)
            target = response.headers.get("location") if response.status in _REDIRECTS else None
            if target is None:
                return response
            request = _redirected(request, urljoin(request.url, target), response.status)
        raise ProviderUnavailable(f"{_host(request.url)} redirects in a circle", remedy="check remote.baseUrl")

    def _attempt(self, request: Request, deadline: float, timeout: float) -> Response:
        if self._offline and not is_loopback(request.url):
            raise ProviderUnavailable(
                f"offline is set, so nothing is sent to {_host(request.url)}",
                remedy="use the bundled model or a server on this machine, or turn offline off",
            )
        import httpx2

        left = deadline - self._clock()
        slow = TransientFailure(
            f"{_host(request.url)} did not answer within {timeout:g} s", remedy="try again later, or with shorter texts"
        )
        if left <= 0:
            raise slow
        try:
            return self._exchange(request, left, deadline)
        except httpx2.TimeoutException as error:
            raise slow from error
        except TimeoutError as error:
            raise slow from error
        except httpx2.ConnectError as error:
            raise _unreachable(request.url, error) from error
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            raise TransientFailure(
                f"the connection to {_host(request.url)} broke: {error or type(error).__name__}",
                remedy="try again later",
            ) from error

    def _exchange(self, request: Request, left: float, deadline: float) -> Response:
        import httpx2

        seconds = httpx2.Timeout(left, connect=min(left, _CONNECT_SECONDS))
        headers = {**request.headers, "accept-encoding": "identity"}
        content = request.body or None
        with self._client(request.url).stream(
            request.method, request.url, headers=headers, content=content, timeout=seconds
        ) as answer:
            body = bytearray()
            for piece in answer.iter_bytes():
                body += piece
                if len(body) > self._most_bytes:
                    raise ProviderUnavailable(
                        f"{_host(request.url)} answered with more than {self._most_bytes >> 20} MiB",
                        remedy="check remote.baseUrl: this is not an embedding service",
                    )
                if self._clock() > deadline:  # a server that sends a byte now and then would hold us for ever
                    raise TimeoutError
            return Response(answer.status_code, {k.lower(): v for k, v in answer.headers.items()}, bytes(body))

    def _client(self, url: str) -> httpx2.Client:
        """One pool for this machine, which no proxy may see, and one for the rest, which heeds the usual variables."""
        import httpx2

        near = is_loopback(url)
        with self._lock:
            if near not in self._clients:
                self._clients[near] = httpx2.Client(
                    follow_redirects=False, trust_env=not near, headers={"user-agent": "memoriter"}
                )
            return self._clients[near]


def _redirected(request: Request, url: str, status: int) -> Request:
    """The request at another address of the same service; or, for what only fetches, elsewhere without the key.

    Raises:
        ProviderUnavailable: the redirect would carry the key or the notes to another host.
    """
    same = _origin(url) == _origin(request.url)
    match request.method:
        case "POST" if same and status in _KEEPING_METHOD:
            return replace(request, url=url)
        case "GET" if same:
            return replace(request, url=url)
        case "GET" if urlsplit(url).scheme == "https":
            return replace(request, url=url, headers={})
        case "DELETE" | "GET" | "POST":
            where = "another address of its own" if same else _host(url)
            raise ProviderUnavailable(
                f"{_host(request.url)} redirects to {where}, where neither key nor notes are sent",
                remedy="set remote.baseUrl to the address that is meant",
            )
        case _:
            assert_never(request.method)


def _unreachable(url: str, error: Exception) -> EmbeddingError:
    """No connection: for good when nothing listens on this machine, for now when it is the network."""
    if "CERTIFICATE" in str(error):
        return ProviderUnavailable(
            f"{_host(url)} shows a certificate that is not trusted here: {error}",
            remedy="check remote.baseUrl; for a certificate of your own set SSL_CERT_FILE",
        )
    if is_loopback(url):
        return ProviderUnavailable(f"nothing answers at {_host(url)}: {error}", remedy="start the server there")
    return TransientFailure(f"{_host(url)} cannot be reached: {error}", remedy="check the network and remote.baseUrl")


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def _host(url: str) -> str:
    """What of an address may be shown."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname or "?"
