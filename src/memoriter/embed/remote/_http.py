"""The HTTP client for remote services: time limits, retries, redirects, and rules for what may leave this machine."""

from __future__ import annotations

import logging
import threading
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, assert_never
from urllib.parse import urlsplit

from memoriter.embed.remote._vendor import is_loopback
from memoriter.embed.remote._wire import Response, redact_line
from memoriter.errors import BadVector, EmbeddingError, ProviderUnavailable, Throttled, TransientFailure, sentence

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx2

    from memoriter.embed._network import ExchangeLimits
    from memoriter.embed.remote._wire import Request

T = TypeVar("T")

TRIES = 3
FIRST_WAIT = 0.5
LONGEST_WAIT = 8.0
"""Seconds before the second try. The wait doubles with each further try, up to `LONGEST_WAIT`."""
JITTER = 0.2
"""Random share added to each wait, so that many clients do not retry at the same time."""
_CONNECT_SECONDS = 10.0
MOST_BYTES = 256 << 20
"""Limit for any response body, decompressed."""
_MOST_REFUSAL_BYTES = 64 << 10
_MOST_HEADER_BYTES = 96 << 10
"""Less than the header parser accepts, however the headers are split into pieces."""
_MOST_HEADERS = 200
_CODINGS = frozenset({"gzip", "deflate"})
_CHECK_ADDRESS = "Check remote.baseUrl: it may not be the address of an embedding service."
_MOST_REDIRECTS = 3
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_KEEPING_METHOD = frozenset({307, 308})

log = logging.getLogger(__name__)


class HttpClient:
    """An HTTP client for remote services. It is safe to share between threads; close it when done."""

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], object],
        random: Callable[[], float],
        offline: bool = False,
    ) -> None:
        """Create a client without connections."""
        self._clock = clock
        self._sleep = sleep
        self._random = random
        self._offline = offline
        self._lock = threading.Lock()
        self._clients: dict[str | None, httpx2.Client] = {}
        self._own_limits: ExchangeLimits | None = None

    def send(
        self,
        request: Request,
        *,
        timeout: float,
        read: Callable[[Response], T],
        error_of: Callable[[Response], EmbeddingError],
        tries: int = TRIES,
        once: bool = False,
        most_bytes: int = MOST_BYTES,
        subject: str = "",
    ) -> T:
        """Send a request and return what `read` makes of a successful response.

        Throttled calls and calls that failed on the way are repeated.

        `timeout` (seconds) is for everything: name lookup, connection, tries, waits and the last byte; the client does
        not start a wait that would end too late. `error_of` converts any response but a success to an error. `once` is
        for calls that must not take effect twice: only throttled calls, which surely had no effect, are repeated.
        `most_bytes` is the largest plausible success. `subject` is for logs; it contains no text of notes and no key.

        Raises:
            EmbeddingError: an error of `error_of` or `read`; `ProviderUnavailable` if the address is refused, the
                response is too large or redirects elsewhere; `TransientFailure` if the response is missing or
                incomplete.
        """
        deadline = self._clock() + timeout
        most = min(most_bytes, MOST_BYTES)
        for attempt in range(1, tries + 1):
            started = self._clock()
            try:
                response = self._follow(request, deadline, timeout, most)
                milliseconds = (self._clock() - started) * 1000
                log.debug(
                    "%s%s: status %d, %.1f ms, retry %d",
                    request.method,
                    subject,
                    response.status,
                    milliseconds,
                    attempt - 1,
                )
                if 200 <= response.status < 300:
                    return _convert(response, read, request.url)
                raise _convert(response, error_of, request.url)
            except (Throttled, TransientFailure) as error:
                wait = self._wait(attempt, error.retry_after)
                must_not_repeat = once and not isinstance(error, Throttled)
                if must_not_repeat or attempt == tries or self._clock() + wait >= deadline:
                    log.info("%s%s: %s, retry %d, the last one", request.method, subject, error.code, attempt - 1)
                    raise
                log.info("%s%s: %s; trying again in %.1f s", request.method, subject, error.code, wait)
            self._sleep(wait)
        raise AssertionError("a last try returns or raises")

    def close(self) -> None:
        """Close all connections. Closing twice is harmless."""
        with self._lock:
            clients = self._clients
            self._clients = {}
        for client in clients.values():
            client.close()

    def _wait(self, attempt: int, retry_after: float | None) -> float:
        """Return the seconds before the next try: the service's own value, or exponential backoff."""
        wait = min(FIRST_WAIT * 2 ** (attempt - 1), LONGEST_WAIT) if retry_after is None else retry_after
        return wait * (1 + JITTER * self._random())

    @property
    def _limits(self) -> ExchangeLimits:
        with self._lock:
            if self._own_limits is None:
                from memoriter.embed._network import ExchangeLimits

                self._own_limits = ExchangeLimits()
            return self._own_limits

    def _follow(self, request: Request, deadline: float, timeout: float, most: int) -> Response:
        """Return the response after following safe redirects."""
        for _ in range(_MOST_REDIRECTS + 1):
            response = self._attempt(request, deadline, timeout, most)
            target = response.headers.get("location") if response.status in _REDIRECTS else None
            if target is None:
                return response
            request = _redirect_request(request, _redirect_target(request.url, target), response.status)
        raise ProviderUnavailable(
            f"The service at {_host(request.url)} redirects in a circle.", remedy="Check remote.baseUrl."
        )

    def _attempt(self, request: Request, deadline: float, timeout: float, most: int) -> Response:
        if self._offline and not is_loopback(request.url):
            raise ProviderUnavailable(
                f"The setting offline is on, so nothing is sent to {_host(request.url)}.",
                remedy="Use the bundled model or a server on this machine, or turn offline off.",
            )
        import memoriter.embed._network as network

        timeout_error = TransientFailure(
            f"The service at {_host(request.url)} did not answer within {timeout:g} s.",
            remedy="Try again later, or with shorter texts.",
        )
        try:
            return self._exchange(request, deadline, most)
        except network.TIMED_OUT as error:
            raise timeout_error from error
        except network.ResponseTooLarge as error:
            raise _size_error(request.url, most) from error
        except network.UNUSABLE as error:
            message = f"The address {_host(request.url)} is not usable."
            raise ProviderUnavailable(message, remedy=_CHECK_ADDRESS) from error
        except network.NOT_CONNECTED as error:
            raise _connection_error(request.url, error) from error
        except network.BROKEN as error:
            raise TransientFailure(
                f"The connection to {_host(request.url)} broke:"
                f" {sentence(redact_line(str(error)) or type(error).__name__)}",
                remedy="Try again later.",
            ) from error

    def _exchange(self, request: Request, deadline: float, most: int) -> Response:
        """Send a request and receive the complete response before the deadline."""

        def time_left() -> float:
            return deadline - self._clock()

        import memoriter.embed._network as network

        with self._limits.enforce(time_left, most_bytes=_MOST_HEADER_BYTES), ExitStack() as stack:
            connect = self._limits.seconds(_CONNECT_SECONDS)
            stream = self._client_for(request.url).stream(
                request.method,
                request.url,
                headers={**request.headers, "accept-encoding": "identity"},
                content=request.body or None,
                extensions={"timeout": {"connect": connect, "pool": time_left()}},
            )
            try:
                response = stack.enter_context(stream)
            except network.ResponseTooLarge as error:
                limit = f"{_MOST_HEADER_BYTES:,} bytes of headers"
                message = f"The service at {_host(request.url)} answered with more than {limit}."
                raise ProviderUnavailable(message, remedy=_CHECK_ADDRESS) from error
            self._limits.allow(most + most // 4)
            body = self._read_body(response, request.url, most)
            return Response(response.status_code, {k.lower(): v for k, v in response.headers.items()}, body)

    def _read_body(self, response: httpx2.Response, url: str, most: int) -> bytes:
        """Return the body of a response; for an error response, only its beginning, which contains the message.

        Up to a quarter more than `most` may be received, because each piece of a body can have a line before it.
        """
        if len(response.headers) > _MOST_HEADERS:
            raise ProviderUnavailable(
                f"The service at {_host(url)} answered with more than {_MOST_HEADERS} headers.", remedy=_CHECK_ADDRESS
            )
        codings = [coding.strip().lower() for coding in response.headers.get("content-encoding", "").split(",")]
        codings = [coding for coding in codings if coding not in {"", "identity"}]
        if len(codings) > 1 or not _CODINGS.issuperset(codings):
            raise TransientFailure(
                f"The service at {_host(url)} answered in an encoding that was not requested:"
                f" {redact_line(', '.join(codings))!r}.",
                remedy="Check remote.baseUrl, or the proxy in front of the service.",
            )
        most = most if response.is_success else min(most, _MOST_REFUSAL_BYTES)
        body = bytearray()
        for piece in response.iter_bytes():
            body += piece
            if len(body) > most and response.is_success:
                raise _size_error(url, most)
            if len(body) > most:
                break
            self._limits.seconds()
        return bytes(body[:most])

    def _client_for(self, url: str) -> httpx2.Client:
        """Return the connection pool for an address.

        Requests to this machine use no proxy. For others the usual environment variables apply.
        """
        import memoriter.embed._network as network

        proxy = _proxy_for(url)
        limits = self._limits
        with self._lock:
            if proxy not in self._clients:
                self._clients[proxy] = network.client_for(limits, proxy=proxy)
            return self._clients[proxy]


def _size_error(url: str, most: int) -> ProviderUnavailable:
    size = f"{most >> 20} MiB" if most >= 1 << 20 else f"{most:,} bytes"
    return ProviderUnavailable(
        f"The service at {_host(url)} answered with more than {size}.",
        remedy="Check remote.baseUrl: this is not an embedding service.",
    )


def _redirect_target(url: str, location: str) -> str:
    """Return the address that a redirect leads to. Raises ProviderUnavailable if it is not a usable one."""
    import memoriter.embed._network as network

    if (target := network.redirect_target(url, location)) is None:
        message = f"The service at {_host(url)} redirects to an invalid address: {redact_line(location)!r}."
        raise ProviderUnavailable(message, remedy=_CHECK_ADDRESS)
    return target


def _convert(response: Response, convert: Callable[[Response], T], url: str) -> T:
    """Return what `convert` makes of a response. Raises BadVector if the response cannot be parsed."""
    try:
        return convert(response)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise BadVector(
            f"The service at {_host(url)} answered {response.status} with something that cannot be read:"
            f" {type(error).__name__}.",
            remedy=_CHECK_ADDRESS,
        ) from error


def _redirect_request(request: Request, url: str, status: int) -> Request:
    """Return the request for the redirect target.

    The target is an address of the same service. A GET may also go to another host over https, without the key. Raises
    ProviderUnavailable: the redirect would send the key or the notes to another host.
    """
    import memoriter.embed._network as network

    same_origin = network.origin(url) == network.origin(request.url)
    match request.method:
        case "POST" if same_origin and status in _KEEPING_METHOD:
            return replace(request, url=url)
        case "GET" if same_origin:
            return replace(request, url=url)
        case "GET" if urlsplit(url).scheme == "https":
            return replace(request, url=url, headers={})
        case "DELETE" | "GET" | "POST":
            destination = "another address of its own" if same_origin else _host(url)
            raise ProviderUnavailable(
                f"The service at {_host(request.url)} redirects to {destination}, where neither key"
                " nor notes are sent.",
                remedy="Set remote.baseUrl to the correct address.",
            )
        case _:
            assert_never(request.method)


def _connection_error(url: str, error: Exception) -> EmbeddingError:
    """Return the error for a failed connection.

    It is permanent for a refused certificate and for this machine, where no server is listening. It is transient for
    other hosts.
    """
    if "CERTIFICATE" in str(error):
        return ProviderUnavailable(
            f"The service at {_host(url)} shows a certificate that is not trusted here: {sentence(error)}",
            remedy="Check remote.baseUrl; for a certificate of your own set SSL_CERT_FILE.",
        )
    if is_loopback(url):
        return ProviderUnavailable(
            f"Nothing answers at {_host(url)}: {sentence(error)}", remedy="Start the server there."
        )
    if proxy := _proxy_for(url):
        return TransientFailure(
            f"The service at {_host(url)} cannot be reached by the proxy {_host(proxy)}: {sentence(error)}",
            remedy="Check HTTP_PROXY, HTTPS_PROXY and ALL_PROXY, the network and remote.baseUrl.",
        )
    return TransientFailure(
        f"The service at {_host(url)} cannot be reached: {sentence(error)}",
        remedy="Check the network and remote.baseUrl.",
    )


def _proxy_for(url: str) -> str | None:
    """Return the proxy of the environment for an address, or None, as for this machine."""
    import memoriter.embed._network as network

    return None if is_loopback(url) else network.proxy_for(url)


def _host(url: str) -> str:
    """Return the part of an address that is safe to show."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname or "?"
