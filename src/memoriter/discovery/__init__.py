"""Discovery of a running server of the same memory, and delegation of work to it; this package imports very little."""

from typing import TYPE_CHECKING, Any

from memoriter.discovery._announcement import (
    Announcement,
    announce,
    announce_again,
    announced,
    folder_of,
    redeem_ticket,
    unregister,
)
from memoriter.discovery._channel import (
    REASONS,
    TICKET,
    WORK_PATHS,
    Call,
    Reply,
    Unanswered,
    delegate,
)
from memoriter.discovery._target import (
    TargetMemory,
    conditions_digest,
    resolve_target,
    settings_digest,
    uses_openclaw,
)

if TYPE_CHECKING:
    from memoriter.discovery._scoped_tokens import (
        BURST_SECONDS,
        SCOPES,
        Limits,
        LiveTokens,
        Scope,
        ScopedToken,
        TokenFile,
        digest_of,
    )
    from memoriter.discovery._socket import open_socket
    from memoriter.discovery._token import LiveToken, Token, renewed_token, token_for

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
    "TargetMemory",
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


def __getattr__(name: str) -> Any:
    """Import on first use what only servers need."""
    if name == "open_socket":
        from memoriter.discovery import _socket

        return _socket.open_socket
    if name in {"LiveToken", "Token", "renewed_token", "token_for"}:
        from memoriter.discovery import _token

        return getattr(_token, name)
    if name in {"BURST_SECONDS", "SCOPES", "Limits", "LiveTokens", "Scope", "ScopedToken", "TokenFile", "digest_of"}:
        from memoriter.discovery import _scoped_tokens

        return getattr(_scoped_tokens, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
