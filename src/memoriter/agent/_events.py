"""What happens around an agent's turns, as values. A host tells them, listeners hear them; nobody can change one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, assert_never

Audience = Literal["private", "shared"]
"""Who reads along: the owner alone, or others too. Unknown counts as shared."""
Role = Literal["user", "assistant"]
EventName = Literal["session_start", "before_agent_start", "agent_end", "before_compaction", "session_end"]


@dataclass(frozen=True, slots=True)
class Message:
    """What one side said."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class SessionStart:
    """A conversation begins, or goes on after a pause or a compaction."""

    session: str
    audience: Audience = "shared"


@dataclass(frozen=True, slots=True)
class BeforeAgentStart:
    """The user's message is about to go to the model."""

    session: str
    prompt: str
    audience: Audience = "shared"


@dataclass(frozen=True, slots=True)
class AgentEnd:
    """The agent has answered."""

    session: str
    messages: tuple[Message, ...] = ()
    """Of this turn, in order."""
    success: bool = True
    audience: Audience = "shared"


@dataclass(frozen=True, slots=True)
class BeforeCompaction:
    """The conversation is about to be replaced by a summary of it."""

    session: str
    cycle: int = 0
    """How many compactions there were before."""


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """The conversation is over."""

    session: str


Event = SessionStart | BeforeAgentStart | AgentEnd | BeforeCompaction | SessionEnd


def event_name(event: Event) -> EventName:
    """The name that listeners register for."""
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
