"""LangChain's own standard tests of a retriever and of tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from memoriter import Memory
from memoriter.integrations.langchain import MemoriterRetriever, memory_tools

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from langchain_core.tools import BaseTool

pytestmark = pytest.mark.anyio
QUESTION = "which tea does Ann drink?"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class OnNotes:
    """Opens a memory of four notes for each test."""

    @pytest.fixture(autouse=True)
    def memory(self, tmp_path: Path) -> Iterator[None]:
        (tmp_path / "notes" / "memory").mkdir(parents=True)
        for day in range(1, 5):
            note = tmp_path / "notes" / "memory" / f"2026-03-0{day}.md"
            note.write_text(f"- Ann drank green tea, cup {day} of the week.\n", encoding="utf-8")
        with Memory.open(tmp_path / "notes", home=tmp_path / "home") as self.opened:
            yield


class TestRetriever(OnNotes, RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[MemoriterRetriever]:
        return MemoriterRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self.opened}

    @property
    def retriever_query_example(self) -> str:
        return QUESTION

    @property
    def num_results_arg_name(self) -> str:
        return "max_results"


class SearchTool(OnNotes):
    @property
    def tool_constructor(self) -> BaseTool:
        return next(tool for tool in memory_tools(self.opened) if tool.name == "memory_search")

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"query": QUESTION}


class TestTool(SearchTool, ToolsIntegrationTests):
    pass


class TestToolUnit(SearchTool, ToolsUnitTests):
    pass
