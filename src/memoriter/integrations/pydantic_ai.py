"""Pydantic AI: a toolset, and a capability that recalls notes before a run and delivers the turn after it."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from memoriter.extras import require

require("pydantic-ai", "The Pydantic AI adapter")

from pydantic_ai import AgentRunResult, RunContext, Tool
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.toolsets import FunctionToolset

from memoriter.agent import HookResult, Message
from memoriter.integrations._passages import problems, recall_json
from memoriter.memory import Memory
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from memoriter.agent import Audience, Session
    from memoriter.tools import Tool as MemoryTool

log = logging.getLogger(__name__)
MAX_RECALLS = 100


def memory_toolset(memory: Memory, *, session: str | None = None) -> FunctionToolset[Any]:
    """Return the tools of the memory for `Agent(toolsets=...)`; results are JSON with citations, outcome and health.

    `session` is the key of the conversation, which decides about citations; None: only the owner reads it.
    """
    return FunctionToolset([_tool(memory, tool, session) for tool in memory.tools], id="memoriter")


def _tool(memory: Memory, tool: MemoryTool, session: str | None) -> Tool[Any]:
    async def call(**params: Any) -> dict[str, Any]:
        return await asyncio.to_thread(partial(tool.run, memory, params, session_key=session))

    return Tool[Any].from_schema(call, tool.name, tool.description, dict(tool.input_schema))


@dataclass
class MemoriterCapability(AbstractCapability[Any]):
    """Recalls before a run, captures after it, and gives the agent the tools of the memory.

    Before the first request of a run, the passages that certainly bear on the prompt are quoted before it, with their
    citations; `recalls` has the outcome. They are sent with the requests of this run, and do not become part of the
    message history. After the run, prompt and answer go to what captures, such as long-term memories where they are
    installed and turned on.
    """

    memory: Memory
    session: str = ""
    """The key of the conversation; empty: the `conversation_id` of Pydantic AI."""
    audience: Audience = "private"
    """`private` if only the owner reads the conversation, else `shared`."""
    tools: bool = True
    """Whether the agent has the tools of the memory."""
    reasons: list[Diagnostic] = field(default_factory=list[Diagnostic])
    """What was wrong with the memory in the runs so far; also logged as warnings."""
    recalls: deque[dict[str, Any]] = field(default_factory=lambda: deque[dict[str, Any]](maxlen=MAX_RECALLS))
    """The recalls of the latest runs, each with `run_id`, `outcome`, `citations` of the passages before the prompt, and
    `health`, with what was wrong."""
    _recalled: HookResult | None = None

    async def for_run(self, ctx: RunContext[Any]) -> MemoriterCapability:
        """Return the capability of one run."""
        return replace(self, session=self.session or ctx.conversation_id or ctx.run_id or "pydantic-ai", _recalled=None)

    def get_toolset(self) -> FunctionToolset[Any] | None:
        """Return the tools of the memory."""
        return memory_toolset(self.memory, session=self.session or None) if self.tools else None

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put the recalled passages before the prompt of this run."""
        if self._recalled is None:
            prompt = _text(ctx.prompt)
            self._recalled = HookResult()
            if prompt.strip():
                self._recalled = await asyncio.to_thread(self._session().recall, prompt)
            self.recalls.append({"run_id": ctx.run_id, **recall_json(self._recalled)})
            self._report(problems(self._recalled))
        if not self._recalled.prepend_context:
            return request_context
        messages = list(request_context.messages)
        for number in range(len(messages) - 1, -1, -1):
            message = messages[number]
            if isinstance(message, ModelRequest) and any(isinstance(part, UserPromptPart) for part in message.parts):
                recalled = UserPromptPart(self._recalled.prepend_context)
                messages[number] = replace(message, parts=[recalled, *message.parts])
                break
        return replace(request_context, messages=messages)

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Deliver prompt and answer to what captures."""
        messages = [Message("user", _text(ctx.prompt)), Message("assistant", str(result.output))]
        self._report(await asyncio.to_thread(lambda: self._session().end_turn(messages)))
        return result

    def _session(self) -> Session:
        return self.memory.session(self.session, audience=self.audience)

    def _report(self, reasons: tuple[Diagnostic, ...]) -> None:
        self.reasons.extend(reasons)
        for reason in reasons:
            log.warning("%s %s", reason.message, reason.remedy)


def _text(prompt: object) -> str:
    """Return the text of a prompt, without its images and files."""
    if isinstance(prompt, str):
        return prompt
    parts = cast("Sequence[object]", prompt) if isinstance(prompt, Sequence) else ()
    return "\n".join(part for part in parts if isinstance(part, str))
