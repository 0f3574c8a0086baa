"""The proof of a command that it knows the secret of a server's announcement."""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING

from memoriter.discovery import CHALLENGE_PATH, DIGEST, NONCE, TICKET, WORK_PATHS, Exchange, address_of, same

if TYPE_CHECKING:
    from starlette.types import Scope

PROVEN_DIGEST = "memoriter.digest"
"""Scope key with the digest that the body must have; set after a command has proven itself for that body."""
MOST_CHALLENGES = 1_024
"""Maximum number of connections between their challenge and their request; the oldest is dropped first."""
HEX_64 = re.compile("[0-9a-f]{64}")
HEX_32 = re.compile("[0-9a-f]{32}")


class CommandProof:
    """The server's side of the mutual proof between a server and a command."""

    def __init__(self, secret: str, pid: int) -> None:
        """Create the proof for one announcement.

        Args:
            secret: the secret of the announcement.
            pid: the process number in the announcement.
        """
        self._secret = secret
        self._pid = pid
        self._exchanges: dict[object, Exchange] = {}

    def answer_challenge(self, scope: Scope) -> str | None:
        """Return the server's proof, or None if the request is not a challenge.

        The nonces are valid for one request on the same connection.
        """
        if (scope["method"], scope["path"]) != ("POST", CHALLENGE_PATH) or header_of(scope, "origin") is not None:
            return None
        client_nonce = header_of(scope, NONCE) or ""
        if not HEX_64.fullmatch(client_nonce) or (address := _address(scope)) is None:
            return None
        exchange = Exchange(self._pid, address, client_nonce, secrets.token_hex(32))
        connection = _connection(scope)
        self._exchanges.pop(connection, None)
        while len(self._exchanges) >= MOST_CHALLENGES:
            self._exchanges.pop(next(iter(self._exchanges)))
        self._exchanges[connection] = exchange
        return f"{exchange.server_nonce} {exchange.server_proof(self._secret)}"

    def verify(self, scope: Scope, proof: str) -> bool:
        """Return whether the request carries a valid proof of a command.

        If it does, the body must have the digest that the request names; the scope keeps that digest.
        """
        exchange = self._exchanges.pop(_connection(scope), None)
        ticket = header_of(scope, TICKET) or ""
        digest = header_of(scope, DIGEST) or ""
        target = _target(scope)
        if exchange is None or not target.startswith(WORK_PATHS):
            return False
        if not (HEX_32.fullmatch(ticket) and HEX_64.fullmatch(digest)):
            return False
        if not same(proof, exchange.client_proof(self._secret, target, ticket, digest)):
            return False
        scope[PROVEN_DIGEST] = digest
        return True


def header_of(scope: Scope, name: str) -> str | None:
    """Return the value of a header, or None if it is missing or repeated."""
    key_bytes = name.encode("ascii")
    values: list[bytes] = [value for key, value in scope["headers"] if key.lower() == key_bytes]
    return values[0].decode("latin-1") if len(values) == 1 else None


def _connection(scope: Scope) -> object:
    """Return a key that identifies a connection among those open at the same time."""
    return tuple(scope.get("client") or ())


def _address(scope: Scope) -> str | None:
    """Return the server's end of the connection, as its socket reports it, or None if that is no network address."""
    host, port = scope.get("server") or ("", None)
    return None if port is None else address_of(host, port)


def _target(scope: Scope) -> str:
    raw: bytes = scope.get("raw_path") or scope["path"].encode("utf-8")
    query: bytes = scope["query_string"]
    return (raw + b"?" + query if query else raw).decode("latin-1")
