"""The record of one request, for logs and measurements: who asked for what, how long it took, and how many bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.access._caller import known_caller
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import MutableMapping

TOOL = "memoriter.tool"
"""The key, in the scope of a request, of the name of the MCP tool that it calls."""
UPLOAD = "memoriter.upload"
"""The key, in the state of a request, that lets its body take long, as long as it keeps arriving."""
FIELDS = "memoriter_fields"
"""The attribute of a log record that holds the fields for structured logs."""


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request after it was answered. It contains no text of notes or questions, and no token."""

    method: str
    path: str
    """A path that the server has, or `another path`."""
    tool: str
    """The MCP tool that was called; empty: none was."""
    caller: str
    """`owner`, `command` or the name of a token; empty: the caller was not identified."""
    address: str
    """The address that the request came from."""
    status: int
    """The HTTP status; 0: the client left before there was one."""
    seconds: float
    received: int
    """Bytes of the request's body."""
    sent: int
    """Bytes of the response's body."""

    @property
    def operation(self) -> str:
        """The path, with the tool if one was called."""
        return f"{self.path} {self.tool}" if self.tool else self.path

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a structured log."""
        return {
            "caller": self.caller,
            "address": self.address,
            "method": self.method,
            "operation": self.operation,
            "status": self.status,
            "ms": round(self.seconds * 1000, 1),
            "received": self.received,
            "sent": self.sent,
        }


def name_of_caller(scope: MutableMapping[str, Any]) -> str:
    """Return the name of the caller of a request, or an empty string if it was not identified."""
    caller = known_caller(scope)
    return "" if caller is None else caller.name
