"""A context provider for Microsoft Agent Framework: `Agent(context_providers=[NotesProvider(memory)])`."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from memoriter.extras import require

require("agent-framework", "The adapter of Microsoft Agent Framework")

from agent_framework import ContextProvider, FunctionTool
from agent_framework import Message as ChatMessage

from memoriter.agent import HookResult, Message
from memoriter.api_json import reason_json
from memoriter.integrations._passages import problems, recall_json
from memoriter.integrations._tool_calls import ToolCalls, tool_calls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_framework import AgentSession, SessionContext, SupportsAgentRun

    from memoriter import Memory
    from memoriter.agent import Audience, Context, Session
    from memoriter.types import Diagnostic

log = logging.getLogger(__name__)


class NotesProvider(ContextProvider):
    """Gives an agent what the notes say about a message, and the tools of the memory; delivers each turn to listeners.

    `context.metadata[source_id]` has `outcome`, `citations` and `health` of the recall, and `reasons`: what was wrong
    in the whole turn, which is also in the log.
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
            context: whether the long-term memory and the latest daily notes come before the user's message. They are
                no instructions, because agents may have written some of them.
            tools: whether the agent gets the tools of the memory.
            capture: whether turns are delivered to listeners, such as the one for long-term memories.
        """
        super().__init__(source_id)
        self._memory = memory
        self._audience: Audience = audience
        self._with_context = context
        self._with_tools = tools
        self._with_capture = capture

    async def before_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Add the notes of the session, the passages that match the user's message, and the tools."""
        del agent, state
        prompt = _text_of(context.input_messages, "user")
        started, recalled = await asyncio.to_thread(self._recall, self._session(session), prompt)
        texts = [started.text if self._with_context else "", recalled.prepend_context]
        if messages := [ChatMessage("user", [text]) for text in texts if text]:
            context.extend_messages(self, messages)
        if self._with_tools:
            calls = tool_calls(self._memory, session.session_id)
            context.extend_tools(self.source_id, [_function_tool(each) for each in calls])
        context.metadata[self.source_id] = {**recall_json(recalled), "reasons": []}
        self._report(context, (*started.reasons, *problems(recalled)))

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

    def _recall(self, session: Session, prompt: str) -> tuple[Context, HookResult]:
        """Return the context of the session's start, and what is recalled for this turn."""
        return session.start(), session.recall(prompt) if prompt.strip() else HookResult()

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
