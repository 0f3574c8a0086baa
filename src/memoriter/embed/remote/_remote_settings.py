"""The settings of a remote provider: the service, the model and the key."""

from __future__ import annotations

import base64
import ipaddress
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

from memoriter.errors import ConfigError
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VISIBLE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")


@dataclass(frozen=True, slots=True)
class RemoteSettings:
    """One model of one service. Secrets are never shown.

    Raises:
        ConfigError: the address, the key or a header cannot be sent; the message does not repeat it.
    """

    vendor: str
    model: str = ""
    """Empty for the vendor's default."""
    base_url: str = field(default="", repr=False)
    """Empty for the vendor's own. `endpoint_of` returns the part that may be shown."""
    api_key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Sent with every call; they replace our own headers of the same name."""
    dimensions: int | None = None
    """Known from an earlier response, or requested from a model that supports several."""
    background: tuple[float, float] | None = None
    """Known from an earlier `resolve`."""
    offline: bool = False
    """Refuse every address that is not on this machine."""
    query_seconds: float | None = None
    document_seconds: float | None = None
    """Time limit for a call with its repetitions.

    None is 60 s for a query and 120 s for documents; in the local network, 5 and 10 minutes.
    """

    def __post_init__(self) -> None:
        if self.base_url:
            endpoint_of(self.base_url)
        if self.api_key and not _VISIBLE.fullmatch(self.api_key):
            raise ConfigError(
                f"The key for {self.vendor!r} has characters that no key has, such as a line break.",
                remedy="Copy the key again, or check the variable that it comes from.",
            )
        for name, value in self.headers.items():
            if not _TOKEN.fullmatch(name) or (value and not _VISIBLE.fullmatch(value)):
                raise ConfigError(f"The header {name!r} in remote.headers cannot be sent.", remedy="Use plain ASCII.")
        if self.dimensions is not None and self.dimensions < 1:
            raise ConfigError(f"Vectors cannot have {self.dimensions} dimensions.")

    @property
    def secrets(self) -> tuple[str, ...]:
        """All strings that must never be shown, even if a service repeats them."""
        user, _, password = urlsplit(self.base_url).netloc.rpartition("@")[0].partition(":")
        headers = (*self.headers.values(), *credentials_of(self.base_url).values())
        parts = (part for value in headers for part in value.split()[1:])
        return tuple(filter(None, (self.api_key, *headers, *parts, unquote(password or user), password)))


def endpoint_of(base_url: str) -> str:
    """Return the address without credentials and without a trailing slash.

    Raises:
        ConfigError: it is not the address of a web service.
    """
    try:
        parts = urlsplit(base_url.strip())
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        host, port, parts = "", None, urlsplit("")
    if parts.scheme not in {"http", "https"} or not host or parts.query or parts.fragment or not host.isascii():
        raise ConfigError(
            "The setting remote.baseUrl is not the address of a service.",
            remedy="Write it as https://host/path, without a query; what else is needed goes into remote.headers.",
        )
    netloc = f"[{host}]" if ":" in host else host
    return urlunsplit((parts.scheme, f"{netloc}:{port}" if port else netloc, parts.path.rstrip("/"), "", ""))


def credentials_of(base_url: str) -> dict[str, str]:
    """Return the header for the user and password in the address, or an empty mapping."""
    user = urlsplit(base_url.strip()).netloc.rpartition("@")[0]
    return {"authorization": "Basic " + base64.b64encode(unquote(user).encode()).decode()} if user else {}


def headers_for(settings: RemoteSettings, key_header: str = "authorization", prefix: str = "Bearer ") -> dict[str, str]:
    """Return the headers that identify the caller; headers of the settings take precedence."""
    own = credentials_of(settings.base_url)
    if settings.api_key:
        own[key_header] = prefix + settings.api_key
    return own | {name.lower(): value for name, value in settings.headers.items()}


def is_loopback(url: str) -> bool:
    """Return whether the address is this machine, without a name lookup."""
    host = (urlsplit(url).hostname or "").lower()
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def is_local_network(url: str) -> bool:
    """Return whether the address is this machine or in the local network, where models are slow and free of charge."""
    host = (urlsplit(url).hostname or "").lower()
    address = _address(host)
    if address is None:
        return "." not in host or host.endswith((".local", ".lan", ".internal", ".home.arpa"))
    return address.is_loopback or address.is_private or address.is_link_local


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
