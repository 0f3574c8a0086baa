"""LlamaIndex: a memory block that recalls notes, and keeps what leaves the short-term memory."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from memoriter.extras import require

require("llama-index", "The LlamaIndex adapter")

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemoryBlock
from pydantic import Field, PrivateAttr

from memoriter.agent import HookResult
from memoriter.integrations._notes import Conversation
from memoriter.integrations._passages import problems, recall_json, text_with_notices
from memoriter.memory import Memory
from memoriter.types import Diagnostic


class MemoriterBlock(BaseMemoryBlock[str]):
    """A block for `Memory(memory_blocks=[...])`.

    Before a turn, it gives the passages that certainly bear on the last message of the user, quoted with their
    citations, and what is wrong with the memory; `recalled` has the outcome for the program. Messages that leave the
    short-term memory are added to the note `memory/llama-index/SESSION.md`.
    """

    name: str = "memoriter"
    description: str | None = "Passages of the user's notes that bear on the conversation."
    memory: Memory
    session: str = "llama-index"
    """The id of the conversation; recall repeats nothing within it."""
    folder: str = "memory/llama-index"
    max_chars: int | None = Field(default=None, description="The size of the recalled text; None: as configured.")
    _recalled: HookResult = PrivateAttr(HookResult())

    @property
    def recalled(self) -> dict[str, Any]:
        """The last recall: `outcome`, `citations` of the passages that it gave, and `health`, with what was wrong."""
        return recall_json(self._recalled)

    @property
    def reasons(self) -> tuple[Diagnostic, ...]:
        """What was wrong at the last recall."""
        return problems(self._recalled)

    @property
    def conversation(self) -> Conversation:
        """The note of the messages that left the short-term memory."""
        return Conversation(self.memory, self.folder, self.session, "agent (LlamaIndex)")

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        prompt = next((_text(each) for each in reversed(messages or []) if each.role is MessageRole.USER), "")
        self._recalled = HookResult()
        if prompt.strip():
            session = self.memory.session(self.session, audience="private")
            self._recalled = await asyncio.to_thread(partial(session.recall, prompt, max_chars=self.max_chars))
        return text_with_notices(self._recalled)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        items = [(message.role.value, message.model_dump(mode="json")) for message in messages]
        await asyncio.to_thread(self.conversation.add, items)


def _text(message: ChatMessage) -> str:
    return message.content or ""
