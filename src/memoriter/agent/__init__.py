"""What happens around an agent's turns: events and who hears of them, and what a session is given."""

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
from memoriter.agent._flushing import FlushAnswer, FlushResult, FlushTurn
from memoriter.agent._guard import escape_for_prompt, looks_like_injection
from memoriter.agent._markdown import MarkdownRecall
from memoriter.agent._passages import Passage, RecallSource
from memoriter.agent._session import Context, Session, Surrounds

__all__ = [
    "Addition",
    "AgentEnd",
    "Answer",
    "Audience",
    "BeforeAgentStart",
    "BeforeCompaction",
    "Context",
    "Event",
    "EventName",
    "FlushAnswer",
    "FlushResult",
    "FlushTurn",
    "HookBus",
    "Listener",
    "MarkdownRecall",
    "Message",
    "Passage",
    "RecallSource",
    "Session",
    "SessionEnd",
    "SessionStart",
    "Surrounds",
    "escape_for_prompt",
    "event_name",
    "looks_like_injection",
]
