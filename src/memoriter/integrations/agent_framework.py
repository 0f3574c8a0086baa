"""A context provider for Microsoft Agent Framework: `Agent(context_providers=[NotesProvider(memory)])`."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from memoriter.extras import require

require("agent-framework", "The adapter of Microsoft Agent Framework")

from agent_framework import ContextProvider, FunctionTool
from agent_framework import Message as ChatMessage

from memoriter.agent import Message
from memoriter.api_json import reason_json
from memoriter.integrations._tool_calls import ToolCalls, tool_calls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_framework import AgentSession, SessionContext, SupportsAgentRun

    from memoriter import Memory
    from memoriter.agent import Audience, Session
    from memoriter.types import Diagnostic

log = logging.getLogger(__name__)


class NotesProvider(ContextProvider):
    """Gives an agent what the notes say about a message, and the tools of the memory; delivers each turn to listeners.

    What is wrong with the memory is in `context.metadata[source_id]["reasons"]`, and in the log.
    """

    def __init__(
        self,
        memory: Memory,
        source_id: str = "memoriter",
        *,
        audience: Audience = "private",
        context: bool = True,
        tools: bool = True,
        capture: bool = True,
    ) -> None:
        """Prepare the provider.

        Args:
            memory: an open memory; the program closes it.
            source_id: the name of the provider in the session.
            audience: `shared` if others than the owner read the conversation: then nothing private is recalled.
            context: whether the instructions begin with the long-term memory and the latest daily notes.
            tools: whether the agent gets the tools of the memory.
            capture: whether turns are delivered to listeners, such as the one for long-term memories.
        """
        super().__init__(source_id)
        self._memory = memory
        self._audience: Audience = audience
        self._with_context, self._with_tools, self._with_capture = context, tools, capture

    async def before_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Add the notes of the session, the passages that match the user's message, and the tools."""
        del agent, state
        prompt = _text_of(context.input_messages, "user")
        started, recalled, reasons = await asyncio.to_thread(self._recall, self._session(session), prompt)
        if started:
            context.extend_instructions(self.source_id, started)
        if recalled:
            context.extend_messages(self, [ChatMessage("user", [recalled])])
        if self._with_tools:
            calls = tool_calls(self._memory, session.session_id)
            context.extend_tools(self.source_id, [_function_tool(each) for each in calls])
        self._report(context, reasons)

    async def after_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Deliver the user's message and the answer to the listeners that capture."""
        del agent, state
        answer = context.response
        texts = (("user", _text_of(context.input_messages, "user")), ("assistant", answer.text if answer else ""))
        messages = [Message("user" if role == "user" else "assistant", text) for role, text in texts if text]
        if self._with_capture and messages:
            memory_session = self._session(session)
            self._report(context, await asyncio.to_thread(memory_session.end_turn, messages))

    def _session(self, session: AgentSession) -> Session:
        return self._memory.session(session.session_id, audience=self._audience)

    def _recall(self, session: Session, prompt: str) -> tuple[str, str, tuple[Diagnostic, ...]]:
        """Return the text of the session's start, the text for this turn, and what is wrong with the memory."""
        start = session.start()
        recalled = session.recall(prompt) if prompt.strip() else None
        text, reasons = (recalled.prepend_context, recalled.reasons) if recalled else ("", ())
        return start.text if self._with_context else "", text, (*start.reasons, *reasons)

    def _report(self, context: SessionContext, reasons: Sequence[Diagnostic]) -> None:
        report = context.metadata.setdefault(self.source_id, {"reasons": []})
        for reason in reasons:
            log.warning("%s %s", reason.message, reason.remedy)
            report["reasons"].append(reason_json(reason))


def _text_of(messages: Sequence[ChatMessage], role: str) -> str:
    return "\n".join(message.text for message in messages if message.role == role and message.text)


def _function_tool(calls: ToolCalls) -> FunctionTool:
    def run(**arguments: Any) -> str:
        return calls(arguments)

    return FunctionTool(
        name=calls.tool.name,
        description=calls.tool.description,
        func=run,
        input_model=dict(calls.tool.input_schema),
    )
