"""LangChain: a retriever over the notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.extras import require

require("langchain", "The LangChain adapter")

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from memoriter.api_json import health_json, hit_json
from memoriter.memory import Memory

if TYPE_CHECKING:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun


class MemoriterRetriever(BaseRetriever):
    """Returns the passages that answer a question, best first, as documents with their citations."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    memory: Memory
    max_results: int | None = None
    """The maximum number of documents; None: as configured."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        result = self.memory.search(query, max_results=self.max_results)
        answer = {"outcome": result.outcome, "health": health_json(result.health)}
        return [
            Document(hit.text, id=hit.citation, metadata={**hit_json(hit, citations=True), **answer})
            for hit in result.hits
        ]
