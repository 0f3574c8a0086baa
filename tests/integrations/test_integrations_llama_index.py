"""LlamaIndex's memory with a block of real notes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory as ShortTermMemory
from llama_index.core.storage.chat_store.sql import MessageStatus

from memoriter import Memory
from memoriter.integrations.llama_index import MemoriterBlock

if TYPE_CHECKING:
    from pathlib import Path


# Its own chat store leaves a connection open.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")


def test_what_bears_on_the_last_message_comes_before_the_turn_with_its_citation(memory: Memory) -> None:
    block = MemoriterBlock(memory=memory, session="s")
    short_term = ShortTermMemory.from_defaults(session_id="s", memory_blocks=[block])
    short_term.put(ChatMessage(role="user", content="Which database has the ledger?"))
    messages = short_term.get()
    text = "\n".join(message.content or "" for message in messages)
    assert "[MEMORY.md#L1]" in text
    assert "The ledger database is PostgreSQL." in text
    assert block.reasons == ()
    assert block.recalled == {
        "outcome": "match",
        "citations": ["MEMORY.md#L1"],
        "health": {"ok": True, "reasons": []},
    }


def test_a_block_has_the_outcome_of_its_last_recall(memory: Memory) -> None:
    block = MemoriterBlock(memory=memory, session="s")
    texts = list[str]()
    outcomes = list[str]()
    for prompt in ("Which database has the ledger?", "hi", "Kubernetes autoscaling thresholds", " "):
        texts.append(asyncio.run(block.aget([ChatMessage(role="user", content=prompt)])))
        outcomes.append(block.recalled["outcome"])
    assert outcomes[:2] + outcomes[3:] == ["match", "skipped", "skipped"]
    assert outcomes[2] in {"weak", "none"}
    assert texts[1:] == ["", "", ""]
    assert block.recalled["citations"] == []


def test_a_memory_that_cannot_be_searched_is_no_memory_without_an_answer(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise OSError("The disk is gone")

    monkeypatch.setattr(memory.backend, "search", broken)
    block = MemoriterBlock(memory=memory, session="s")
    text = asyncio.run(block.aget([ChatMessage(role="user", content="Which database has the ledger?")]))
    assert "do not say that nothing is known" in text
    assert "The disk is gone" in text
    assert block.recalled["outcome"] == "unavailable"
    assert block.recalled["health"]["ok"] is False


def test_a_memory_that_is_turned_off_says_so_to_the_program_only(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "memoriter.json5").write_text('{plugins: {slots: {memory: "none"}}}', encoding="utf-8")
    with Memory.open(tmp_path / "notes", home=tmp_path / "home") as memory:
        block = MemoriterBlock(memory=memory, session="s")
        text = asyncio.run(block.aget([ChatMessage(role="user", content="Which database has the ledger?")]))
    assert (text, block.recalled["outcome"]) == ("", "disabled")


def test_what_does_not_fit_into_the_short_term_memory_is_kept_in_a_note(memory: Memory, tmp_path: Path) -> None:
    block = MemoriterBlock(memory=memory, session="long")
    short_term = ShortTermMemory.from_defaults(
        session_id="long", memory_blocks=[block], token_limit=60, token_flush_size=30, chat_history_token_ratio=0.5
    )

    async def program() -> list[ChatMessage]:
        for n in range(12):
            await short_term.aput(ChatMessage(role="user", content=f"Message number {n} of a long talk about trains."))
            await short_term.aput(ChatMessage(role="assistant", content=f"Answer {n}."))
        return await short_term.aget_all(status=MessageStatus.ACTIVE)

    left = [message.content for message in asyncio.run(program())]
    kept = [ChatMessage.model_validate(item) for item in block.conversation.items()]
    assert kept
    assert [message.content for message in kept] + left == [
        text for n in range(12) for text in (f"Message number {n} of a long talk about trains.", f"Answer {n}.")
    ]
    note = (tmp_path / "notes" / "memory" / "llama-index" / "long.md").read_text(encoding="utf-8")
    assert "Message number 0 of a long talk about trains." in note
