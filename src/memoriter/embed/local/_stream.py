"""Stream a large HTTP response piece by piece."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from memoriter.errors import ProviderUnavailable, sentence
from memoriter.extras import install_command, missing_packages
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    import httpx2

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS = 5
_KEPT_OF_REDIRECTS = "x-linked-"
"""Prefix of the headers to keep from redirects: the hub describes a file before it redirects to the content."""
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
LEAST_BYTES_A_SECOND = 1024
"""A server that sends fewer bytes per second is treated as stalled."""
_HUB = "Check HF_ENDPOINT, or set local.modelPath to a GGUF file."
_PROXY = "Correct HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, or name the host in NO_PROXY."


class Interrupted(Exception):
    """The connection could not be opened, or broke. The data received is valid, and a retry may get the rest."""


@dataclass(frozen=True, slots=True)
class StreamedResponse:
    """A response of a server."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    pieces: Iterator[bytes]
    """The content in pieces as they arrive, never decoded. Iterating may raise Interrupted."""


class _WaitLimit:
    """Limits the time spent waiting for a server: `seconds` in total for each part of a minimum size."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self._seconds, self._clock = seconds, clock
        self._waited = self._bytes = 0.0
        self._waiting_since: float | None = None

    def left(self) -> float:
        """Return the seconds left."""
        current = 0.0 if self._waiting_since is None else self._clock() - self._waiting_since
        return self._seconds - self._waited - current

    def begin(self) -> None:
        """Start to count waiting time."""
        self._waiting_since = self._clock()

    def end(self, count: int) -> None:
        """Stop counting waiting time after `count` bytes arrived. Time spent on processing them does not count."""
        if self._waiting_since is not None:
            self._waited += self._clock() - self._waiting_since
            self._waiting_since = None
        self._bytes += count
        if self._bytes >= self._seconds * LEAST_BYTES_A_SECOND:
            self._waited = self._bytes = 0.0


@contextmanager
def open_stream(
    url: str, headers: Mapping[str, str], *, seconds: float, clock: Callable[[], float] = time.monotonic
) -> Generator[StreamedResponse]:
    """GET an address and follow redirects.

    The authorization header is sent to the first origin only.

    Args:
        url: the address.
        headers: sent with the request.
        seconds: the longest wait for the headers, including the name lookup, and then for each part of the content that
            has `LEAST_BYTES_A_SECOND`. A server that sends a byte now and then counts as stalled.
        clock: monotonic seconds.

    Raises:
        Interrupted: the connection cannot be opened, or breaks.
        ProviderUnavailable: the redirects form a loop, lead to no address, or switch between https and http.
    """
    _require_client()
    import memoriter.embed._network as network

    hub_headers: dict[str, str] = {}
    request_headers = {"user-agent": "memoriter", **headers, "accept-encoding": "identity"}
    for _ in range(_MOST_REDIRECTS + 1):
        with _request(url, request_headers, wait_limit := _WaitLimit(seconds, clock)) as response:
            hub_headers |= {
                name: text for name, text in response.headers.items() if name.startswith(_KEPT_OF_REDIRECTS)
            }
            target = response.headers.get("location") if response.status_code in _REDIRECTS else None
            if target is None:
                yield StreamedResponse(
                    response.status_code, {**response.headers, **hub_headers}, _read_pieces(response, wait_limit)
                )
                return
        url, previous_url = _redirect_target(url, target), url
        if network.origin(url) != network.origin(previous_url):
            request_headers = {name: text for name, text in request_headers.items() if name.lower() != "authorization"}
    raise ProviderUnavailable(f"The server {urlsplit(url).hostname} redirects in a circle.", remedy="Try again later.")


def _require_client() -> None:
    if missing := missing_packages("remote"):
        raise ProviderUnavailable(
            f"A model cannot be downloaded: {', '.join(missing)} is not installed.",
            remedy=f"Run `{install_command('remote')}`.",
        )


@contextmanager
def _request(url: str, headers: Mapping[str, str], wait_limit: _WaitLimit) -> Generator[httpx2.Response]:
    """Yield the response of one server. The connection closes with the context."""
    import memoriter.embed._network as network

    host, limits = urlsplit(url).hostname, network.ExchangeLimits()
    try:
        # Connections to this machine use no proxy.
        client = network.client_for(limits, proxy=None if host in _LOOPBACK else network.proxy_for(url))
    except (ImportError, ValueError, *network.BROKEN) as error:
        raise ProviderUnavailable(f"The proxy for {host} cannot be used: {sentence(error)}", remedy=_PROXY) from error
    with client, limits.enforce(wait_limit.left):
        wait_limit.begin()
        try:
            response = client.send(client.build_request("GET", url, headers=dict(headers)), stream=True)
        except network.UNUSABLE as error:
            raise ProviderUnavailable(f"The address {host} is not one that can be asked.", remedy=_HUB) from error
        except (*network.TIMED_OUT, *network.BROKEN, *network.NOT_CONNECTED) as error:
            raise Interrupted(f"{host} does not answer: {error or type(error).__name__}") from error
        wait_limit.end(0)
        try:
            yield response
        finally:
            response.close()


def _read_pieces(response: httpx2.Response, wait_limit: _WaitLimit) -> Iterator[bytes]:
    import memoriter.embed._network as network

    # Pieces of one size would lose the beginning of the last one if the connection broke.
    content = response.iter_raw()
    while True:
        wait_limit.begin()
        try:
            piece = next(content, None)
        except network.TIMED_OUT as error:
            raise Interrupted("the server sends hardly anything any more") from error
        except (*network.BROKEN, *network.UNUSABLE) as error:
            raise Interrupted(f"the connection broke: {error or type(error).__name__}") from error
        if piece is None:
            return
        wait_limit.end(len(piece))
        yield piece


def _redirect_target(url: str, location: str) -> str:
    import memoriter.embed._network as network

    if (target := network.redirect_target(url, location)) is None:
        raise ProviderUnavailable(
            f"The server {urlsplit(url).hostname} redirects to an address that is none.", remedy=_HUB
        )
    if urlsplit(url).scheme == "https" != urlsplit(target).scheme:
        raise ProviderUnavailable(
            f"The server {urlsplit(url).hostname} redirects to a connection that is not encrypted.",
            remedy="Try again later.",
        )
    return target
