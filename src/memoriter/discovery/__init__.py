"""Discovery of a running server of the same memory, and delegation of work to it; this package imports very little."""

from typing import TYPE_CHECKING, Any

from memoriter.discovery._announcement import Announcement, announce, announced, folder_of, redeem_ticket, unregister
from memoriter.discovery._channel import (
    CHALLENGE_PATH,
    DIGEST,
    NONCE,
    REASONS,
    SCHEME,
    TICKET,
    WORK_PATHS,
    Call,
    Exchange,
    Reply,
    Unanswered,
    address_of,
    body_digest,
    delegate,
    same,
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
    from memoriter.discovery._token import LiveToken, Token, renewed_token, token_for

__all__ = [
    "BURST_SECONDS",
    "CHALLENGE_PATH",
    "DIGEST",
    "NONCE",
    "REASONS",
    "SCHEME",
    "SCOPES",
    "TICKET",
    "WORK_PATHS",
    "Announcement",
    "Call",
    "Exchange",
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
    "address_of",
    "announce",
    "announced",
    "body_digest",
    "conditions_digest",
    "delegate",
    "digest_of",
    "folder_of",
    "redeem_ticket",
    "renewed_token",
    "resolve_target",
    "same",
    "settings_digest",
    "token_for",
    "unregister",
    "uses_openclaw",
]


def __getattr__(name: str) -> Any:
    """Import the server tokens on first use; a hook does not need them."""
    if name in {"LiveToken", "Token", "renewed_token", "token_for"}:
        from memoriter.discovery import _token

        return getattr(_token, name)
    if name in {"BURST_SECONDS", "SCOPES", "Limits", "LiveTokens", "Scope", "ScopedToken", "TokenFile", "digest_of"}:
        from memoriter.discovery import _scoped_tokens

        return getattr(_scoped_tokens, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
