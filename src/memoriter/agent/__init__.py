"""What happens around an agent's turns: events and who hears of them."""

from memoriter.agent._bus import Addition, Answer, HookBus, Listener
from memoriter.agent._events import (
    AgentEnd,
    Audience,
    BeforeAgentStart,
    BeforeCompaction,
    Event,
    EventName,
    Message,
    SessionEnd,
    SessionStart,
    event_name,
)
from memoriter.agent._passages import Passage, RecallSource

__all__ = [
    "Addition",
    "AgentEnd",
    "Answer",
    "Audience",
    "BeforeAgentStart",
    "BeforeCompaction",
    "Event",
    "EventName",
    "HookBus",
    "Listener",
    "Message",
    "Passage",
    "RecallSource",
    "SessionEnd",
    "SessionStart",
    "event_name",
]
