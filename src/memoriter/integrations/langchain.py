"""LangChain: a retriever over the notes, the history of a chat as a note, and the tools of the memory."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from memoriter.extras import require

require("langchain", "The LangChain adapter")

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import run_in_executor
from langchain_core.tools import StructuredTool
from pydantic import ConfigDict

from memoriter.api_json import health_json, hit_json, reason_json
from memoriter.errors import UsageError
from memoriter.integrations._notes import Conversation
from memoriter.memory import Memory

if TYPE_CHECKING:
    from memoriter.tools import Tool
    from memoriter.types import SearchResult


_ARGUMENTS = {
    **{name: name for name in ("max_results", "min_score", "since", "until", "path")},
    "filter_tags": "tags",
}
"""Fields of a retriever and arguments of `invoke`, by what `Memory.search` calls them."""


class MemoriterRetriever(BaseRetriever):
    """Returns the passages that answer a question, best first, as documents.

    The metadata of a document are its citation, place, score and date, and the outcome and health of the search. If
    nothing is found, the callbacks of the run receive the outcome, its reasons and the health as text (`on_text`).
    `invoke` takes the fields below as arguments for one search: `invoke("…", max_results=3)`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    memory: Memory
    max_results: int | None = None
    """The maximum number of documents; None: as configured."""
    min_score: float | None = None
    """The minimum score, 0..1; None: as configured."""
    since: date | str | None = None
    until: date | str | None = None
    path: str | None = None
    """A file, a folder or a glob, as in citations."""
    filter_tags: Collection[str] | None = None
    """Only notes with all of these tags."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        if unknown := given.keys() - _ARGUMENTS.keys():
            message = f"A search has no argument {min(unknown)!r}."
            raise UsageError(message, remedy=f"Use {', '.join(_ARGUMENTS)}.")
        wanted = {name: given.get(name, getattr(self, name)) for name in _ARGUMENTS}
        result = self.memory.search(query, **{_ARGUMENTS[name]: value for name, value in wanted.items()})
        answer = _answer(result)
        if not result.hits:
            run_manager.on_text(json.dumps(answer, ensure_ascii=False))
        return [
            Document(hit.text, id=hit.citation, metadata={**hit_json(hit, citations=True), **answer})
            for hit in result.hits
        ]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        search = partial(self._get_relevant_documents, query, run_manager=run_manager.get_sync(), **given)
        return await run_in_executor(None, search)


def _answer(result: SearchResult) -> dict[str, Any]:
    answer = {"outcome": result.outcome, "health": health_json(result.health)}
    return answer | ({"reasons": [reason_json(each) for each in result.reasons]} if result.reasons else {})


class MemoriterChatHistory(BaseChatMessageHistory):
    """The messages of a conversation in one note, `memory/langchain/SESSION.md`, which searches find like any other."""

    def __init__(self, session_id: str, memory: Memory, *, folder: str = "memory/langchain") -> None:
        """Open a conversation; `session_id` is any text, and `folder` is as in citations."""
        super().__init__()
        self._conversation = Conversation(memory, folder, session_id, "agent (LangChain)")

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The messages, in order."""
        return messages_from_dict(self._conversation.items())

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages, all or none. Raises UsageError if one has a value that JSON does not have."""
        self._conversation.add([(message.type, message_to_dict(message)) for message in messages])

    def clear(self) -> None:
        """Delete the note of the conversation."""
        self._conversation.clear()


def memory_tools(memory: Memory, *, session: str | None = None) -> list[StructuredTool]:
    """Return the tools of the memory for `bind_tools`; results are JSON with citations, outcome and health.

    `session` is the key of the conversation, which decides about citations; None: only the owner reads it.
    """
    return [_structured_tool(memory, tool, session) for tool in memory.tools]


def _structured_tool(memory: Memory, tool: Tool, session: str | None) -> StructuredTool:
    run = partial(tool.run, memory, session_key=session)

    def call(**params: Any) -> str:
        return json.dumps(run(params), ensure_ascii=False)

    schema = cast("dict[str, Any]", {"title": tool.name, **tool.input_schema})
    return StructuredTool(name=tool.name, description=tool.description, args_schema=schema, func=call)
