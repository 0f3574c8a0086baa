"""Adapters of agent frameworks, one module each; to import one, install the extra of its framework.

>>> from memoriter.integrations.langchain import MemoriterRetriever
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoriter.integrations import (
        agent_framework,
        agno,
        anthropic,
        claude_agent_sdk,
        crewai,
        google_adk,
        langchain,
        langgraph,
        llama_index,
        openai_agents,
        pydantic_ai,
        smolagents,
        strands,
    )

__all__ = [
    "agent_framework",
    "agno",
    "anthropic",
    "claude_agent_sdk",
    "crewai",
    "google_adk",
    "langchain",
    "langgraph",
    "llama_index",
    "openai_agents",
    "pydantic_ai",
    "smolagents",
    "strands",
]
