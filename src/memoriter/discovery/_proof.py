"""Mutual authentication of a command and a server: both prove that they hold the secret of an announcement.

The secret itself is never sent. The command sends a nonce (a random number). The server answers with its own nonce and
an HMAC-SHA256 over both nonces, its process number and the address of the connection. The command then sends its
request, with an HMAC over the same values and the request. The address is that of the socket itself, so that a program
on another port gains nothing by relaying messages to the real server. This is the challenge-response form of
ISO/IEC 9798-4, with a label for each direction.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

CHALLENGE_PATH = "/hook"
"""The path of a challenge, which the server answers with its proof."""
WORK_PATHS = ("/hook/", "/command/")
"""The beginnings of the paths for which a proof counts."""
NONCE = "memoriter-nonce"
"""The header with the nonce of the command."""
DIGEST = "memoriter-digest"
"""The header with the SHA-256 of the request's body, in hexadecimal."""
SCHEME = "Memoriter"
"""The scheme of the `Authorization` header that carries the proof of the command."""
SERVER_LABEL, CLIENT_LABEL = "memoriter-server-1", "memoriter-client-1"


@dataclass(frozen=True, slots=True)
class Exchange:
    """The values that both sides know after the exchange of nonces."""

    pid: int
    """The process number of the server."""
    address: str
    """`address_of` for the server's end of the connection."""
    client_nonce: str
    """The nonce of the command."""
    server_nonce: str
    """The nonce of the server."""

    def server_proof(self, secret: str) -> str:
        """Return the proof of the server, in hexadecimal."""
        return _mac(secret, [SERVER_LABEL, *self._parts()])

    def client_proof(self, secret: str, target: str, ticket: str, digest: str) -> str:
        """Return the proof of the command for one request, in hexadecimal.

        Args:
            secret: the secret of the announcement.
            target: path and query of the request.
            ticket: the ticket of the work.
            digest: the SHA-256 of the body, in hexadecimal.
        """
        return _mac(secret, [CLIENT_LABEL, *self._parts(), target, ticket, digest])

    def _parts(self) -> Iterable[str]:
        return (str(self.pid), self.address, self.client_nonce, self.server_nonce)


def address_of(host: str, port: int) -> str:
    """Return the address of a socket in one form, independent of how the system writes it."""
    return f"{host.partition('%')[0].removeprefix('::ffff:')} {port}"


def body_digest(body: bytes | bytearray) -> str:
    """Return the SHA-256 of a body, in hexadecimal."""
    return hashlib.sha256(body).hexdigest()


def same(one: str, other: str) -> bool:
    """Return whether two texts are equal, in constant time."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def _mac(secret: str, parts: Iterable[str]) -> str:
    encoded = [part.encode("utf-8", "surrogateescape") for part in parts]
    # The length prefixes make the encoding unambiguous: no two lists give the same message.
    message = b"".join(len(part).to_bytes(4, "big") + part for part in encoded)
    return hmac.new(secret.encode("ascii"), message, hashlib.sha256).hexdigest()
