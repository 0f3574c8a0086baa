"""LangChain on real notes."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from memoriter.errors import UsageError
from memoriter.integrations.langchain import MemoriterChatHistory, MemoriterRetriever, memory_tools

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter import Memory


def test_a_retriever_returns_passages_with_citation_outcome_and_health(memory: Memory) -> None:
    (document,) = MemoriterRetriever(memory=memory).invoke("which database has the ledger?")
    assert document.page_content == "- The ledger database is PostgreSQL."
    assert document.metadata["citation"] == document.id == "MEMORY.md#L1"
    assert document.metadata["outcome"] == "match"
    assert document.metadata["health"]["ok"] is True


def test_arguments_of_a_search_replace_the_fields_of_the_retriever(memory: Memory) -> None:
    retriever = MemoriterRetriever(memory=memory, since="2030-01-01")
    question = "which database has the ledger?"
    assert retriever.invoke(question) == []
    assert len(retriever.invoke(question, since=None)) == 1
    assert retriever.invoke(question, since=None, filter_tags=["absent"]) == []
    assert len(asyncio.run(retriever.ainvoke(question, since=None))) == 1
    with pytest.raises(UsageError, match="no argument 'k'"):
        retriever.invoke(question, k=3)


class Texts(BaseCallbackHandler):
    def __init__(self) -> None:
        self.texts = list[Any]()

    def on_text(self, text: str, **_: Any) -> None:
        self.texts.append(json.loads(text))


def test_an_empty_result_says_why_to_the_callbacks(memory: Memory) -> None:
    seen = Texts()
    retriever = MemoriterRetriever(memory=memory, since="2030-01-01")
    assert retriever.invoke("which database has the ledger?", {"callbacks": [seen]}) == []
    (answer,) = seen.texts
    assert answer["outcome"] == "none"
    assert answer["health"]["ok"] is True
    assert answer["reasons"]


def test_messages_of_every_kind_come_back_from_the_note_of_the_conversation(memory: Memory, tmp_path: Path) -> None:
    history = MemoriterChatHistory("team/trip", memory)
    call = {"name": "memory_search", "args": {"query": "x"}, "id": "call_1", "type": "tool_call"}
    messages = [
        SystemMessage("Be brief."),
        HumanMessage([{"type": "text", "text": "# Where to?\n\n- Osaka"}], name="ann"),
        AIMessage("", tool_calls=[call], usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
        ToolMessage("found", tool_call_id="call_1", status="error"),
    ]
    history.add_messages(messages[:2])
    history.add_messages(messages[2:])
    assert MemoriterChatHistory("team/trip", memory).messages == messages
    (file,) = (tmp_path / "notes" / "memory" / "langchain").iterdir()
    assert 'conversation: "team/trip"' in file.read_text(encoding="utf-8")
    with pytest.raises(UsageError, match="which JSON does not have"):
        history.add_messages([HumanMessage("x"), AIMessage("y", additional_kwargs={"raw": b"z"})])
    assert len(history.messages) == 4
    history.clear()
    assert history.messages == []


def test_tools_return_citations_outcome_and_health(memory: Memory) -> None:
    search = next(tool for tool in memory_tools(memory) if tool.name == "memory_search")
    found = json.loads(search.invoke({"query": "which database has the ledger?"}))
    assert (found["results"][0]["citation"], found["outcome"], found["health"]["ok"]) == ("MEMORY.md#L1", "match", True)
    assert json.loads(search.invoke({"query": ""}))["error"]
