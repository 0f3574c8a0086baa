"""HTTP connections with a time limit for the whole exchange and a size limit for responses.

The timeouts of httpx2 apply to one operation, so a server that sends a byte now and then never exceeds them. Here each
operation gets the time left for the whole exchange, from the name lookup to the last byte.

A client of httpx2 as it comes, with one deadline around it, is not enough. It does not return while a server drips
headers or a trailer. It does not limit headers, or what is received before decompression. It gives the first address
of a host all of the time. Whoever waits in another thread can stop waiting, but the exchange then goes on without end.
`tests/embed/test_embed_deadline.py` has these servers.
"""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from importlib.util import find_spec
from ipaddress import ip_address
from math import inf
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore2
import httpx2

from memoriter.errors import ProviderUnavailable, sentence

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Generator, Iterable, Iterator

TIMED_OUT = (TimeoutError, httpx2.TimeoutException, httpcore2.TimeoutException)
NOT_CONNECTED = (httpx2.ConnectError, httpcore2.ConnectError, httpcore2.ProxyError)
BROKEN = (
    httpx2.HTTPError,
    httpx2.StreamError,
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.UnsupportedProtocol,
    OSError,
)
UNUSABLE = (httpx2.InvalidURL, httpx2.UnsupportedProtocol, httpcore2.UnsupportedProtocol, ValueError)
"""Errors caused by the address, not by the server."""
_PROXY_REMEDY = "Correct HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, or name the host in NO_PROXY."
_PIECE = 64 << 10
_KEEP_SECONDS = 5.0
"""Seconds that an idle connection is kept."""


class ResponseTooLarge(Exception):
    """The server has sent more bytes than the exchange allows."""


class ExchangeLimits(threading.local):
    """The time and bytes that the current thread's exchange may still use."""

    def __init__(self) -> None:
        self._time_left: Callable[[], float] = lambda: inf
        self._bytes_left = inf

    @contextmanager
    def enforce(self, time_left: Callable[[], float], *, most_bytes: float = inf) -> Generator[None]:
        """Apply limits to all connections of this thread.

        `time_left` returns seconds; `most_bytes` counts headers, framing and body, before decompression.
        """
        previous = self._time_left, self._bytes_left
        self._time_left = time_left
        self._bytes_left = most_bytes
        try:
            yield
        finally:
            self._time_left, self._bytes_left = previous

    def seconds(self, timeout: float | None = None) -> float | None:
        """Return the seconds that the next operation may take, or None for no limit.

        Raises TimeoutError: no time is left.
        """
        time_left = self._time_left()
        if time_left <= 0:
            raise TimeoutError("the time for the whole exchange is over")
        limit = time_left if timeout is None else min(time_left, timeout)
        return None if limit == inf else limit

    def allow(self, count: int) -> None:
        """Allow `count` more bytes to be received."""
        self._bytes_left += count

    def take(self, count: int) -> None:
        """Count received bytes. Raises ResponseTooLarge if there are more than allowed."""
        self._bytes_left -= count
        if self._bytes_left < 0:
            raise ResponseTooLarge


def client_for(limits: ExchangeLimits, *, proxy: str | None = None) -> httpx2.Client:
    """Return a client that obeys the limits.

    It does not follow redirects. Of the environment it reads only the variables for TLS. Raises
    ProviderUnavailable: the proxy or the certificates cannot be used.
    """
    try:
        certificates = httpx2.create_ssl_context()
    except OSError as error:
        message = (
            f"The certificates of SSL_CERT_FILE or SSL_CERT_DIR cannot be used: {sentence(error.strerror or error)}"
        )
        raise ProviderUnavailable(message, remedy="Correct or unset SSL_CERT_FILE and SSL_CERT_DIR.") from error
    try:
        server = _proxy(proxy) if proxy else None
    except (ImportError, *UNUSABLE) as error:
        name = (proxy or "").rpartition("@")[2]
        message = f"The proxy {name!r} cannot be used: {sentence(error)}"
        raise ProviderUnavailable(message, remedy=_PROXY_REMEDY) from error
    return httpx2.Client(
        transport=_Transport(limits, certificates, server),
        follow_redirects=False,
        trust_env=False,
        timeout=None,
        headers={"user-agent": "memoriter"},
    )


def proxy_for(url: str) -> str | None:
    """Return the proxy that the environment names for an address, or None."""
    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    address = proxies.get(parts.scheme) or proxies.get("all")
    return address if not address or "://" in address else f"http://{address}"


def redirect_target(url: str, location: str) -> str | None:
    """Return the address that a redirect from `url` leads to, or None if it is no address of a web server."""
    try:
        target = urljoin(url, location)
        parts = urlsplit(target)
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        return None
    return target if usable else None


def origin(url: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port of an address. Only addresses of one origin may receive a key."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


class _Transport(httpx2.BaseTransport):
    """A connection pool whose operations obey the limits."""

    def __init__(self, limits: ExchangeLimits, certificates: ssl.SSLContext, proxy: httpcore2.Proxy | None) -> None:
        self._pool = httpcore2.ConnectionPool(
            ssl_context=certificates,
            proxy=proxy,
            keepalive_expiry=_KEEP_SECONDS,
            network_backend=_Backend(limits),
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        response = self._pool.handle_request(
            httpcore2.Request(
                method=request.method,
                url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                headers=request.headers.raw,
                content=cast("httpx2.SyncByteStream", request.stream),
                extensions=request.extensions,
            )
        )
        content = _Content(cast("Iterable[bytes]", response.stream))
        extensions = cast("dict[str, Any]", response.extensions)  # pyright: ignore[reportUnknownMemberType]
        return httpx2.Response(response.status, headers=response.headers, stream=content, extensions=extensions)

    def close(self) -> None:
        self._pool.close()


def _proxy(address: str) -> httpcore2.Proxy:
    if not urlsplit(address).hostname:
        raise ValueError("it names no host")
    proxy = httpx2.Proxy(address)
    if proxy.url.scheme.startswith("socks") and find_spec("socksio") is None:
        raise ImportError("a SOCKS proxy needs the package socksio")
    url = httpcore2.URL(
        scheme=proxy.url.raw_scheme, host=proxy.url.raw_host, port=proxy.url.port, target=proxy.url.raw_path
    )
    return httpcore2.Proxy(url, auth=proxy.raw_auth, headers=proxy.headers.raw)


class _Content(httpx2.SyncByteStream):
    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces

    def close(self) -> None:
        close: Callable[[], None] | None = getattr(self._pieces, "close", None)
        if close is not None:
            close()


class _Backend(httpcore2.NetworkBackend):
    """Opens connections."""

    def __init__(self, limits: ExchangeLimits) -> None:
        self._limits = limits
        self._inner = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> _Stream:
        """Try each address of the host, each with an equal share of the time left."""
        addresses = _addresses(host, port, self._limits.seconds(timeout))
        last_error: Exception = httpcore2.ConnectError(f"{host} has no address")
        for number, address in enumerate(addresses):
            time_left = self._limits.seconds(timeout)
            share = None if time_left is None else time_left / (len(addresses) - number)
            try:
                stream = self._inner.connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                last_error = error
            else:
                return _Stream(stream, self._limits)
        raise last_error


class _Stream(httpcore2.NetworkStream):
    """One connection."""

    def __init__(self, inner: httpcore2.NetworkStream, limits: ExchangeLimits) -> None:
        self._inner = inner
        self._limits = limits

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        content = self._inner.read(max_bytes, self._limits.seconds(timeout))
        self._limits.take(len(content))
        return content

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            self._inner.write(buffer[start : start + _PIECE], self._limits.seconds(timeout))

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> _Stream:
        # Python applies this timeout to the whole handshake.
        inner = self._inner.start_tls(ssl_context, server_hostname, self._limits.seconds(timeout))
        return _Stream(inner, self._limits)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)

    def close(self) -> None:
        self._inner.close()


class _Lookup(threading.Thread):
    """The lookup of one name. The system cannot end a lookup early, so the thread may outlive its callers."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(name="memoriter-lookup", daemon=True)
        self._host = host
        self._port = port
        self.addresses: list[str] = []
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            entries = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
            self.addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
        except (OSError, UnicodeError) as error:
            self.error = error


_lookups: dict[tuple[str, int], _Lookup] = {}
_lookups_lock = threading.Lock()


def _addresses(host: str, port: int, seconds: float | None) -> list[str]:
    """Return the addresses of a host within some seconds. One thread serves all callers that wait for the same name.

    Raises:
        httpcore2.ConnectError: the host does not exist.
        httpcore2.ConnectTimeout: the lookup did not finish in time.
    """
    try:
        return [str(ip_address(host))]
    except ValueError:
        pass
    with _lookups_lock:
        lookup = _lookups.get((host, port))
        if lookup is None or not lookup.is_alive():
            lookup = _lookups[host, port] = _Lookup(host, port)
            lookup.start()
    lookup.join(seconds)
    if lookup.is_alive():
        raise httpcore2.ConnectTimeout(f"the name {host!r} could not be looked up in time")
    with _lookups_lock:
        if _lookups.get((host, port)) is lookup:
            del _lookups[host, port]
    if lookup.error is not None:
        raise httpcore2.ConnectError(str(lookup.error)) from lookup.error
    return lookup.addresses
