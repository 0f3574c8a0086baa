"""LangChain on real notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter import Memory
from memoriter.integrations.langchain import MemoriterRetriever

if TYPE_CHECKING:
    from pathlib import Path


def test_a_retriever_returns_passages_with_citation_outcome_and_health(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "MEMORY.md").write_text("- The ledger database is PostgreSQL.\n", encoding="utf-8")
    with Memory.open(tmp_path / "notes", home=tmp_path / "home") as memory:
        (document,) = MemoriterRetriever(memory=memory).invoke("which database has the ledger?")
    assert document.page_content == "- The ledger database is PostgreSQL."
    assert document.metadata["citation"] == document.id == "MEMORY.md#L1"
    assert document.metadata["outcome"] == "match"
    assert document.metadata["health"]["ok"] is True
