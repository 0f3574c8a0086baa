"""Events around an agent's turns, as immutable values. A host emits them, and listeners receive them."""

from __future__ import annotations

from typing import Literal, assert_never

from memoriter.values import dataclass

Audience = Literal["private", "shared"]
"""Readers of the conversation: only the owner, or others too. Treat an unknown audience as shared."""
Role = Literal["user", "assistant"]
EventName = Literal["session_start", "before_agent_start", "agent_end", "before_compaction", "session_end"]


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the user or the agent."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class SessionStart:
    """A conversation starts, or continues after a pause or a compaction."""

    session: str
    audience: Audience = "shared"


@dataclass(frozen=True, slots=True)
class BeforeAgentStart:
    """The host is about to send the user's message to the model."""

    session: str
    prompt: str
    audience: Audience = "shared"
    seconds: float | None = None
    """The time that the turn waits for all listeners together; None: each has its own limit."""


@dataclass(frozen=True, slots=True)
class AgentEnd:
    """The agent has answered."""

    session: str
    messages: tuple[Message, ...] = ()
    """The messages of this turn, in order."""
    success: bool = True
    audience: Audience = "shared"


@dataclass(frozen=True, slots=True)
class BeforeCompaction:
    """The host is about to replace the conversation by a summary."""

    session: str
    cycle: int = 0
    """Number of earlier compactions."""


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """The conversation has ended."""

    session: str


Event = SessionStart | BeforeAgentStart | AgentEnd | BeforeCompaction | SessionEnd


def event_name(event: Event) -> EventName:
    """Return the name under which listeners register for an event."""
    match event:
        case SessionStart():
            return "session_start"
        case BeforeAgentStart():
            return "before_agent_start"
        case AgentEnd():
            return "agent_end"
        case BeforeCompaction():
            return "before_compaction"
        case SessionEnd():
            return "session_end"
        case _:
            assert_never(event)
