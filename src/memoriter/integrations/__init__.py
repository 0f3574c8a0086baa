"""Adapters of agent frameworks, one module each; to import one, install the extra of its framework.

>>> from memoriter.integrations.langchain import MemoriterRetriever
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoriter.integrations import langchain, langgraph, llama_index, openai_agents, pydantic_ai

__all__ = ["langchain", "langgraph", "llama_index", "openai_agents", "pydantic_ai"]
