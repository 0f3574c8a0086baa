"""A memory store for Strands Agents: `Agent(memory_manager=MemoryManager(stores=[NotesStore(memory)]))`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal

from memoriter.extras import require

require("strands", "The Strands adapter")

from strands.memory import MemoryEntry, MemoryStore
from strands.tools.tools import PythonAgentTool

from memoriter.integrations._notes import with_metadata
from memoriter.integrations._passages import find_passages
from memoriter.integrations._tool_calls import ToolCalls
from memoriter.tools import GET

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strands.memory import ExtractionConfig, SearchOptions
    from strands.types.tools import AgentTool, ToolResult, ToolSpec, ToolUse

    from memoriter import Memory

DESCRIPTION = "Notes about the user and their work: decisions, preferences, people, dates, plans, what happened."


class NotesStore(MemoryStore):
    """Searches notes, and adds entries to them."""

    def __init__(
        self,
        memory: Memory,
        *,
        name: str = "notes",
        description: str = DESCRIPTION,
        max_search_results: int | None = None,
        writable: bool = True,
        extraction: ExtractionConfig | bool | None = None,
        to: Literal["daily", "long-term"] = "daily",
        session: str | None = None,
    ) -> None:
        """Prepare the store.

        Args:
            memory: an open memory; the program closes it.
            name: the name of the store in the tools of the manager.
            description: what the store holds, for the model.
            max_search_results: the maximum number of passages of a search; None: the manager's default.
            writable: whether entries are added.
            extraction: whether facts are extracted from conversations with the agent's model, and then added.
            to: where entries are added: `daily`, the note of the day, or `long-term`, MEMORY.md.
            session: the key of the conversation, for citations and the scope of searches; None: only the owner
                reads it.
        """
        self.name = name
        self.description: str | None = description
        self.max_search_results = max_search_results
        self.writable = writable
        self.extraction: ExtractionConfig | bool | None = extraction
        self._memory = memory
        self._to: Literal["daily", "long-term"] = to
        self._session = session

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Return the passages that answer a question, best first; their metadata has outcome, citation and health."""
        limit = (options or {}).get("max_search_results", self.max_search_results)
        passages = await asyncio.to_thread(find_passages, self._memory, query, limit=limit, session=self._session)
        return [MemoryEntry(passage.text, self.name, passage.metadata) for passage in passages]

    async def add(self, content: str, metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Add an entry, marked as written by an agent, and return its place and whether searches find it.

        Args:
            content: the entry. An entry that is already there is not written again.
            metadata: written after the entry, in parentheses.

        Raises:
            MemoriterError: nothing was written.
        """
        written = await asyncio.to_thread(
            self._memory.remember,
            with_metadata(content.rstrip(), metadata or {}),
            to=self._to,
            origin="agent (Strands)",
        )
        reasons = [f"{reason.message} {reason.remedy}".strip() for reason in written.reasons]
        place = f"{written.path}#L{written.start_line}-L{written.end_line}"
        return {"citation": place, "existing": written.existing, "findable": not reasons, "reasons": reasons}

    def get_tools(self) -> list[AgentTool]:
        """Return the tool that reads the lines around a passage."""
        return [_agent_tool(ToolCalls(self._memory, GET, self._session))]


def _agent_tool(calls: ToolCalls) -> AgentTool:
    def run(use: ToolUse, **_: Any) -> ToolResult:
        return {"toolUseId": use["toolUseId"], "status": "success", "content": [{"text": calls(use["input"])}]}

    schema = {"json": dict(calls.tool.input_schema)}
    specification: ToolSpec = {
        "name": calls.tool.name,
        "description": calls.tool.description,
        "inputSchema": schema,
    }
    return PythonAgentTool(calls.tool.name, specification, run)
