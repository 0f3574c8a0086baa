"""Hooks and tools for the Claude Agent SDK: `ClaudeAgentOptions(**memory_options(memory))`."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Any, cast

from memoriter.extras import require

require("claude-agent-sdk", "The Claude Agent SDK adapter")

from claude_agent_sdk import HookMatcher, SdkMcpTool, create_sdk_mcp_server

from memoriter.agent import answer_hook, read_hook
from memoriter.coding_hooks import HOOKS
from memoriter.errors import MemoriterError
from memoriter.integrations._passages import recall_json
from memoriter.integrations._tool_calls import ToolCalls, tool_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from claude_agent_sdk import HookContext, HookInput, HookJSONOutput, McpSdkServerConfig
    from claude_agent_sdk.types import HookCallback, HookEvent

    from memoriter import Memory
    from memoriter.agent import Audience, Session
    from memoriter.types import Diagnostic

    OnRecall = Callable[[dict[str, Any]], None]

log = logging.getLogger(__name__)
SERVER = "memoriter"
PROMPT = "UserPromptSubmit"
COMPACTION = "PreCompact"


class MemoryHooks:
    """Recalls before a prompt, and captures after an answer.

    The SDK has no hook for the start of a session, so the first prompt, and the first one after a compaction, also
    brings the long-term memory and the latest daily notes.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        audience: Audience = "private",
        interactive: bool = True,
        on_recall: OnRecall | None = None,
    ) -> None:
        """Prepare the hooks.

        Args:
            memory: an open memory; the program closes it.
            audience: `shared` if others than the owner read the conversation: then nothing private is recalled.
            interactive: False if the prompts are not written by the owner: then nothing is captured.
            on_recall: called in a thread after each recall, with the `session`, the `outcome`, the `citations` of the
                passages that were quoted, and the `health` of the memory. An error in it is logged.
        """
        self._memory = memory
        self._on_recall = on_recall
        self._audience: Audience = audience
        self._interactive = interactive
        self._started = set[str]()
        self._compacted = set[str]()

    async def __call__(self, given: HookInput, _tool_use: str | None, _context: HookContext) -> HookJSONOutput:
        """Answer a hook; an answer without fields adds nothing. It raises nothing because of the memory."""
        try:
            output = await asyncio.to_thread(self._answer, cast("dict[str, Any]", given))
        except MemoriterError as error:
            log.warning("%s %s", error.message, error.remedy)
            output = {"systemMessage": f"memoriter: {error.message} {error.remedy}"}
        return cast("HookJSONOutput", output)

    def _answer(self, given: dict[str, Any]) -> dict[str, Any]:
        name = str(given["hook_event_name"])
        event = read_hook(HOOKS[name], json.dumps(given).encode("ascii"))
        session = self._memory.session(event.session, audience=self._audience)
        if name == COMPACTION:
            self._compacted.add(event.session)
        started = ""
        if name == PROMPT:
            session.begin_turn(event.prompt)  # first, because the program may end a slow hook
            started = self._start(session)
        answer = answer_hook(event, session, interactive=self._interactive)
        _log(answer.reasons)
        if answer.recalled is not None and self._on_recall is not None:
            self._report({"session": event.session, **recall_json(answer.recalled)})
        output = dict(answer.output or {})
        if started:
            specific = output.get("hookSpecificOutput", {"hookEventName": PROMPT, "additionalContext": ""})
            texts = (started, specific["additionalContext"])
            output["hookSpecificOutput"] = {**specific, "additionalContext": "\n\n".join(filter(None, texts))}
        return output

    def _report(self, recalled: dict[str, Any]) -> None:
        assert self._on_recall is not None
        try:
            self._on_recall(recalled)
        except Exception:
            log.exception("on_recall failed")

    def _start(self, session: Session) -> str:
        """Return the text of the session's start, once, and again after a compaction."""
        renew = session.key in self._compacted
        if session.key in self._started and not renew:
            return ""
        self._started.add(session.key)
        self._compacted.discard(session.key)
        context = session.start(renew=renew)
        _log(context.reasons)
        return context.text


def memory_hooks(
    memory: Memory, *, audience: Audience = "private", interactive: bool = True, on_recall: OnRecall | None = None
) -> dict[HookEvent, list[HookMatcher]]:
    """Return the hooks for `ClaudeAgentOptions.hooks`; the arguments are those of `MemoryHooks`."""
    hooks = MemoryHooks(memory, audience=audience, interactive=interactive, on_recall=on_recall)
    callback = cast("HookCallback", hooks)
    names: tuple[HookEvent, ...] = ("UserPromptSubmit", "Stop", "PreCompact")
    return {name: [HookMatcher(hooks=[callback])] for name in names}


def memory_server(memory: Memory, *, session: str | None = None) -> McpSdkServerConfig:
    """Return a server in the program's own process with the tools of a memory, for `ClaudeAgentOptions.mcp_servers`.

    `session` is the key of the conversation, for citations and the scope of searches; None: only the owner reads it.
    """
    return create_sdk_mcp_server(SERVER, tools=[_sdk_tool(calls) for calls in tool_calls(memory, session)])


def memory_options(
    memory: Memory, *, audience: Audience = "private", interactive: bool = True, on_recall: OnRecall | None = None
) -> dict[str, Any]:
    """Return the fields `hooks`, `mcp_servers` and `allowed_tools` of `ClaudeAgentOptions`.

    The arguments are those of `MemoryHooks`.
    """
    return {
        "hooks": memory_hooks(memory, audience=audience, interactive=interactive, on_recall=on_recall),
        "mcp_servers": {SERVER: memory_server(memory)},
        "allowed_tools": [f"mcp__{SERVER}__{tool.name}" for tool in memory.tools],
    }


def _sdk_tool(calls: ToolCalls) -> SdkMcpTool[Any]:
    async def run(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": await asyncio.to_thread(calls, arguments)}]}

    handler: Callable[[Any], Any] = run
    return SdkMcpTool(calls.tool.name, calls.tool.description, dict(calls.tool.input_schema), handler)


def _log(reasons: Sequence[Diagnostic]) -> None:
    for reason in reasons:
        log.info("%s %s", reason.message, reason.remedy)
