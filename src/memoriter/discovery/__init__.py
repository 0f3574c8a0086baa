"""How a command finds the server that already has its memory open, and hands its work over; loads next to nothing."""

from typing import TYPE_CHECKING, Any

from memoriter.discovery._announcement import Announcement, announce, announced, folder_of, withdraw
from memoriter.discovery._asking import Meant, meant_by, settings_digest
from memoriter.discovery._channel import REASONS, TICKET, Call, Reply
from memoriter.discovery._handover import Unanswered, hand_over
from memoriter.discovery._proof import CHALLENGE_PATH, DIGEST, NONCE, SCHEME, Exchange, address_of, body_digest, same
from memoriter.discovery._tickets import take_ticket

if TYPE_CHECKING:
    from memoriter.discovery._token import LiveToken, Token, renewed_token, token_for

__all__ = [
    "CHALLENGE_PATH",
    "DIGEST",
    "NONCE",
    "REASONS",
    "SCHEME",
    "TICKET",
    "Announcement",
    "Call",
    "Exchange",
    "LiveToken",
    "Meant",
    "Reply",
    "Token",
    "Unanswered",
    "address_of",
    "announce",
    "announced",
    "body_digest",
    "folder_of",
    "hand_over",
    "meant_by",
    "renewed_token",
    "same",
    "settings_digest",
    "take_ticket",
    "token_for",
    "withdraw",
]


def __getattr__(name: str) -> Any:
    """Load what keeps the token of a server when it is first asked for: a hook needs none."""
    if name in {"LiveToken", "Token", "renewed_token", "token_for"}:
        from memoriter.discovery import _token

        return getattr(_token, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
