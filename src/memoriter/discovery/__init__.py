"""Discovery of a running server of the same memory, and delegation of work to it; this package imports very little."""

from typing import TYPE_CHECKING

from memoriter.discovery._announcement import (
    Announcement,
    announce,
    announce_again,
    announced,
    folder_of,
    redeem_ticket,
    unregister,
)
from memoriter.discovery._delegation import (
    REASONS,
    TICKET,
    WORK_PATHS,
    Call,
    Reply,
    Unanswered,
    conditions_digest,
    delegate,
    resolve_target,
    settings_digest,
    uses_openclaw,
)
from memoriter.lazy import lazy_names

if TYPE_CHECKING:
    from memoriter.discovery._socket import open_socket
    from memoriter.discovery._tokens import (
        BURST_SECONDS,
        SCOPES,
        Limits,
        LiveToken,
        LiveTokens,
        Scope,
        ScopedToken,
        Token,
        TokenFile,
        digest_of,
        renewed_token,
        token_for,
    )

__all__ = [
    "BURST_SECONDS",
    "REASONS",
    "SCOPES",
    "TICKET",
    "WORK_PATHS",
    "Announcement",
    "Call",
    "Limits",
    "LiveToken",
    "LiveTokens",
    "Reply",
    "Scope",
    "ScopedToken",
    "Token",
    "TokenFile",
    "Unanswered",
    "announce",
    "announce_again",
    "announced",
    "conditions_digest",
    "delegate",
    "digest_of",
    "folder_of",
    "open_socket",
    "redeem_ticket",
    "renewed_token",
    "resolve_target",
    "settings_digest",
    "token_for",
    "unregister",
    "uses_openclaw",
]


# Import on first use what only servers need.
__getattr__ = lazy_names(
    __name__,
    {
        "_socket": "open_socket",
        "_tokens": (
            "BURST_SECONDS SCOPES Limits LiveToken LiveTokens Scope ScopedToken Token TokenFile digest_of "
            "renewed_token token_for"
        ),
    },
)
