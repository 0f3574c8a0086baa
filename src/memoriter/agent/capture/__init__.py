"""Write a record of a conversation into the day's note when it was compacted or ends, without being asked."""

from memoriter.agent.capture._capture import (
    CapturedEntry,
    Capturing,
    Conversation,
    captures_in,
    find_captures,
    plan_removal,
    read_conversation,
)

__all__ = [
    "CapturedEntry",
    "Capturing",
    "Conversation",
    "captures_in",
    "find_captures",
    "plan_removal",
    "read_conversation",
]
