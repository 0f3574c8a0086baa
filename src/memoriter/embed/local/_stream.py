"""A large answer of a server, piece by piece."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from memoriter.errors import ProviderUnavailable

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    import httpx2

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS = 5
_KEPT_OF_REDIRECTS = "x-linked-"
"""What the hub says of a file, it says before it sends the client elsewhere for the content."""
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class Interrupted(Exception):
    """The connection could not be opened, or broke: what came is good, and another try may bring the rest."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answers."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    pieces: Iterator[bytes]
    """The content as it comes, never decoded. Raises Interrupted."""


@contextmanager
def opened(url: str, headers: Mapping[str, str], *, seconds: float) -> Generator[Reply]:
    """GET an address and follow where it leads; `seconds` is the longest wait for the next byte.

    What authorises at the first address is sent nowhere else.

    Raises:
        Interrupted: no connection, or none that lasts.
        ProviderUnavailable: it leads in a circle, or from an encrypted to an open connection.
    """
    import httpx2

    near = urlsplit(url).hostname in _LOOPBACK
    # No proxy may come between this machine and itself.
    with httpx2.Client(follow_redirects=False, trust_env=not near, timeout=seconds) as client:
        said: dict[str, str] = {}
        sent = {"user-agent": "memoriter", **headers, "accept-encoding": "identity"}
        for _ in range(_MOST_REDIRECTS + 1):
            with _answer(client, url, sent) as answer:
                said |= {name: text for name, text in answer.headers.items() if name.startswith(_KEPT_OF_REDIRECTS)}
                target = answer.headers.get("location") if answer.status_code in _REDIRECTS else None
                if target is None:
                    yield Reply(answer.status_code, {**answer.headers, **said}, _pieces(answer))
                    return
            url, before = _target(url, target), url
            if _origin(url) != _origin(before):
                sent = {name: text for name, text in sent.items() if name.lower() != "authorization"}
    raise ProviderUnavailable(f"{_origin(url)[1]} redirects in a circle", remedy="try again later")


@contextmanager
def _answer(client: httpx2.Client, url: str, headers: Mapping[str, str]) -> Generator[httpx2.Response]:
    import httpx2

    try:
        answer = client.send(client.build_request("GET", url, headers=dict(headers)), stream=True)
    except httpx2.TransportError as error:
        host = urlsplit(url).hostname
        raise Interrupted(f"{host} does not answer: {error or type(error).__name__}") from error
    try:
        yield answer
    finally:
        answer.close()


def _pieces(answer: httpx2.Response) -> Iterator[bytes]:
    import httpx2

    try:
        # Not in pieces of one size: the beginning of the last one would be lost with the connection.
        yield from answer.iter_raw()
    except httpx2.TransportError as error:
        raise Interrupted(f"the connection broke: {error or type(error).__name__}") from error


def _target(url: str, location: str) -> str:
    target = urljoin(url, location)
    if urlsplit(url).scheme == "https" != urlsplit(target).scheme:
        raise ProviderUnavailable(
            f"{urlsplit(url).hostname} redirects to a connection that is not encrypted", remedy="try again later"
        )
    return target


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port
