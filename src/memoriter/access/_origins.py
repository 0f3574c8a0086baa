"""The hosts and origins that requests may name: those of this machine, against DNS rebinding and foreign pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import Scope

LOCAL = ("127.0.0.1", "localhost", "[::1]")
"""The names of the loopback addresses in URLs."""
LOOPBACK = ("127.", "::1", "::ffff:127.")
"""The beginnings of loopback addresses."""


class Origins:
    """The host names of a server."""

    def __init__(self, hosts: Sequence[str] = ()) -> None:
        """Accept the names of the loopback addresses and `hosts`, each with or without a port."""
        self._names = frozenset((*LOCAL, *(host.lower() for host in hosts)))

    def host_fault(self, scope: Scope) -> str:
        """Return what is wrong with the `Host` of a request, as a sentence; empty if nothing is."""
        host = header_of(scope, "host")
        if host is None:
            return "The request names no host, or several."
        return "" if self._knows(host) else "The request names a host that is not this server."

    def origin_fault(self, scope: Scope) -> str:
        """Return what is wrong with the `Origin` of a request, as a sentence; empty if nothing is."""
        origins: list[bytes] = [value for name, value in scope["headers"] if name.lower() == b"origin"]
        if not origins:
            return ""
        scheme, _, host = origins[0].decode("latin-1").partition("://")
        if len(origins) == 1 and scheme.lower() in {"http", "https"} and self._knows(host):
            return ""
        return "The request comes from a page of another site."

    def _knows(self, host: str) -> bool:
        lowered = host.lower()
        return lowered in self._names or _without_port(lowered) in self._names


FORWARDED = (b"forwarded", b"x-forwarded-for", b"x-real-ip")
"""Headers by which a proxy says that it passes on somebody else's request."""


def is_local(scope: Scope) -> bool:
    """Return whether a request comes from this machine and names a loopback address as its host.

    A request that a proxy on this machine has passed on does not, whatever it names.
    """
    address = str((scope.get("client") or ("",))[0])
    if any(name.lower() in FORWARDED for name, _ in scope["headers"]):
        return False
    return address.startswith(LOOPBACK) and _without_port((header_of(scope, "host") or "").lower()) in LOCAL


def header_of(scope: Scope, name: str) -> str | None:
    """Return the value of a header, or None if it is missing or repeated."""
    key_bytes = name.encode("ascii")
    values: list[bytes] = [value for key, value in scope["headers"] if key.lower() == key_bytes]
    return values[0].decode("latin-1") if len(values) == 1 else None


def same_origin_fault(scope: Scope) -> str:
    """Return why a request of a browser may come from another page than one of this server; empty if it does not.

    A request that changes something must name the same origin and have a header that forms cannot send. Of a form,
    which needs no script, the browser itself must say that a page of this origin sent it. Browsers do not keep cookies
    of two ports of a machine apart, so a page of another port counts as another site here.
    """
    site = header_of(scope, "sec-fetch-site")
    if site not in {None, "same-origin", "none"}:
        return "The request comes from a page of another site."
    if scope["method"] in {"GET", "HEAD"}:
        return ""
    host = (header_of(scope, "origin") or "").partition("://")[2]
    if not host or host.lower() != (header_of(scope, "host") or "").lower():
        return "The request does not name the origin of this server."
    if header_of(scope, REQUEST_HEADER) != "1" and not (site == "same-origin" and _is_form(scope)):
        return f"The request lacks the header `{REQUEST_HEADER}: 1`."
    return ""


def _is_form(scope: Scope) -> bool:
    """Return whether the body is a form. The HTTP API takes none, so this concerns only pages."""
    kind = (header_of(scope, "content-type") or "").partition(";")[0].strip().lower()
    return kind in {"application/x-www-form-urlencoded", "multipart/form-data"} and not scope["path"].startswith(
        PROGRAM_PATHS
    )


PROGRAM_PATHS = ("/api/", "/mcp", "/hook/", "/command/")
"""The beginnings of paths for programs, which take no forms."""
REQUEST_HEADER = "memoriter-request"
"""The header that a page must send with a request that changes something; no page of another origin can send it."""


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and (port.isdecimal() or not port) and (not name.count(":") or name.endswith("]")) else host
