"""How a hook and a server prove to each other that both hold the secret of one announcement, without sending it.

The hook sends a random number. The server answers with another one and with an HMAC-SHA256 over both, its process
number and the address of the connection. Only then does the hook send its request, with an HMAC over the same values
and the request. The address is that of the socket itself, so that a program on another port gains nothing by passing
messages on to the real server. This is the challenge-response form of ISO/IEC 9798-4, with a label for each direction.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

CHALLENGE_PATH = "/hook"
"""Where a server proves itself to whoever asks."""
NONCE = "memoriter-nonce"
"""The header with the random number of the hook."""
DIGEST = "memoriter-digest"
"""The header with the SHA-256 of the request's body, in hexadecimal."""
SCHEME = "Memoriter"
"""The scheme of the `Authorization` header that carries the proof of the hook."""
SERVER_LABEL, CLIENT_LABEL = "memoriter-server-1", "memoriter-client-1"


@dataclass(frozen=True, slots=True)
class Exchange:
    """What both sides know once the random numbers are exchanged."""

    pid: int
    """The process number of the server."""
    address: str
    """`address_of` the server's end of the connection."""
    asked: str
    """The random number of the hook."""
    answered: str
    """The random number of the server."""

    def server_proof(self, secret: str) -> str:
        """Return what the server shows, in hexadecimal."""
        return _mac(secret, [SERVER_LABEL, *self._parts()])

    def client_proof(self, secret: str, target: str, ticket: str, digest: str) -> str:
        """Return what the hook shows for one request, in hexadecimal.

        Args:
            secret: the secret of the announcement.
            target: path and query of the request.
            ticket: the ticket of the work.
            digest: the SHA-256 of the body, in hexadecimal.
        """
        return _mac(secret, [CLIENT_LABEL, *self._parts(), target, ticket, digest])

    def _parts(self) -> Iterable[str]:
        return (str(self.pid), self.address, self.asked, self.answered)


def address_of(host: str, port: int) -> str:
    """Return one form for the address of a socket, whichever way the system writes it."""
    return f"{host.partition('%')[0].removeprefix('::ffff:')} {port}"


def body_digest(body: bytes) -> str:
    """Return the SHA-256 of a body, in hexadecimal."""
    return hashlib.sha256(body).hexdigest()


def same(one: str, other: str) -> bool:
    """Return whether two texts are equal, in a time that does not depend on where they differ."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def _mac(secret: str, parts: Iterable[str]) -> str:
    encoded = [part.encode("utf-8", "surrogateescape") for part in parts]
    message = b"".join(len(part).to_bytes(4, "big") + part for part in encoded)  # no two lists give one message
    return hmac.new(secret.encode("ascii"), message, hashlib.sha256).hexdigest()
