"""Who sends a request, and what the caller may do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from memoriter.discovery import SCOPES, Limits
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping
    from typing import Any

    from memoriter.discovery import Scope

CALLER = "memoriter.caller"
"""The key of the caller in the scope of a request."""
STILL_KNOWN = "memoriter.still_known"
"""The key of a function in the scope of a request, which returns whether its caller is still known."""
OWNER = "owner"
"""The name of a caller who is the owner of the notes."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request, once it is known who it is."""

    name: str
    """`owner`, `command`, or the name of a token."""
    scope: Scope
    kind: Literal["token", "browser", "command"] = "token"
    """How the caller has identified itself: by a token, by a session of a browser, or as a command of this user."""
    principal: str = ""
    """Whose long-term memories the caller may reach; empty: those of the server, whoever they belong to."""
    workspaces: tuple[str, ...] = ()
    """The only workspaces that the caller may reach; empty: that of the server, or the first one of several."""
    limits: Limits | None = None
    """What the caller may use of the server; None: as the owner."""
    digest: str = ""
    """The hash of its token; empty: it has no token of its own."""

    def allows(self, scope: Scope) -> bool:
        """Return whether the caller may do what needs this scope."""
        return SCOPES.index(scope) <= SCOPES.index(self.scope)

    @property
    def key(self) -> str:
        """A text for this caller alone: a new token with the name of a revoked one is somebody else's."""
        return f"{self.kind} {self.name} {self.digest}"

    @property
    def has_owner_share(self) -> bool:
        """Whether the caller uses what a server keeps free for the owner, and not what other callers share."""
        return self.limits is None

    @property
    def is_owner(self) -> bool:
        """Whether the caller speaks for the owner of the notes."""
        return self.scope == "admin"

    @property
    def author(self) -> str | None:
        """The author of what the caller writes; None: the owner."""
        return None if self.is_owner else f"{self.name} via HTTP"


def caller_of(scope: MutableMapping[str, Any]) -> Caller:
    """Return the caller of a request that the middleware has let through."""
    return cast("Caller", scope[CALLER])


def known_caller(scope: MutableMapping[str, Any]) -> Caller | None:
    """Return the caller of a request, or None if it was not identified, as of a probe."""
    return cast("Caller | None", scope.get(CALLER))


def is_still_known(scope: MutableMapping[str, Any]) -> bool:
    """Return whether the caller of a request would still be let through, such as after a token was revoked."""
    return cast("Callable[[], bool]", scope[STILL_KNOWN])()
