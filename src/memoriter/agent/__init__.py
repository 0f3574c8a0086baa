"""Events around an agent's turns, the listeners for them, and the memory of a session."""

from memoriter.agent._bus import (
    Addition,
    AgentEnd,
    Audience,
    BeforeAgentStart,
    BeforeCompaction,
    Captured,
    Event,
    EventName,
    HookBus,
    HookResult,
    Listener,
    Message,
    SessionEnd,
    SessionStart,
    event_name,
)
from memoriter.agent._coding import HookAnswer, HookInput, answer_hook, read_hook, system_message
from memoriter.agent._guard import escape_for_prompt, looks_like_injection, source_label
from memoriter.agent._recall import (
    MarkdownRecall,
    RecallAnswer,
    RecallPassage,
    RecallSource,
    quote,
)
from memoriter.agent._session import Context, Session, SessionEnvironment, recall_listener
from memoriter.agent.capture import (
    CapturedEntry,
    Conversation,
    captures_in,
    find_captures,
    plan_removal,
)
from memoriter.agent.flush import FlushResult, FlushTurn

__all__ = [
    "Addition",
    "AgentEnd",
    "Audience",
    "BeforeAgentStart",
    "BeforeCompaction",
    "Captured",
    "CapturedEntry",
    "Context",
    "Conversation",
    "Event",
    "EventName",
    "FlushResult",
    "FlushTurn",
    "HookAnswer",
    "HookBus",
    "HookInput",
    "HookResult",
    "Listener",
    "MarkdownRecall",
    "Message",
    "RecallAnswer",
    "RecallPassage",
    "RecallSource",
    "Session",
    "SessionEnd",
    "SessionEnvironment",
    "SessionStart",
    "answer_hook",
    "captures_in",
    "escape_for_prompt",
    "event_name",
    "find_captures",
    "looks_like_injection",
    "plan_removal",
    "quote",
    "read_hook",
    "recall_listener",
    "source_label",
    "system_message",
]
