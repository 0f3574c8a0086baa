"""The number of characters that a search returns to an agent."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from memoriter.api_json import with_footer
from memoriter.config import Configuration, MemorySearch, Place, with_values
from memoriter.tools import SEARCH, clamped
from memoriter.types import Health, Hit, SearchResult

TEXT = st.text(min_size=1, max_size=60).filter(str.strip)


class Long:
    """A memory with six long hits."""

    settings = MemorySearch()
    place = Place(Path("/notes"), "-w")

    def __init__(self, limit: float | None = None) -> None:
        values = {} if limit is None else {"memory.qmd.limits.maxInjectedChars": limit}
        self.configuration = with_values(Configuration(), values)

    def authors(self, path: str) -> list[str]:
        return [""] * (100 if path else 0)

    def search(self, query: str, **_: object) -> SearchResult:
        hits = tuple(Hit(f"memory/{n}.md", 1, 9, 0.9, f"{n}" * 700, "memory") for n in range(6))
        return SearchResult(hits, "match", "fake", "hashed", "hybrid", Health({"keyword": True, "vector": True}))


def test_an_agent_gets_four_thousand_characters_at_most_and_learns_that_there_is_more() -> None:
    answer = SEARCH.run(Long(), {"query": "x"})
    texts = [hit["snippet"] for hit in answer["results"]]
    assert sum(map(len, texts)) == 4000
    assert answer["truncatedBy"] == "maxInjectedChars"
    assert texts[-1].endswith("\n\nSource: memory/5.md#L1-L9")


def test_the_limit_is_a_setting_and_an_answer_within_it_is_whole() -> None:
    assert "truncatedBy" not in SEARCH.run(Long(5000), {"query": "x"})
    assert len(SEARCH.run(Long(100), {"query": "x"})["results"]) == 1


@given(st.lists(st.tuples(TEXT, st.integers(1, 9999))), st.integers(1, 300), st.booleans())
def test_the_budget_holds_the_order_stays_and_every_source_is_whole(
    parts: list[tuple[str, int]], budget: int, citations: bool
) -> None:
    hits = [Hit("MEMORY.md", line, line, 0.5, text, "memory") for text, line in parts]
    kept = clamped(hits, budget, citations=citations)
    shown = [with_footer(hit.snippet, hit.citation) if citations else hit.snippet for hit in kept]
    assert sum(map(len, shown)) <= budget
    assert [hit.citation for hit in kept] == [hit.citation for hit in hits][: len(kept)]
    assert all(text.snippet.strip().startswith(cut.snippet.strip()) for text, cut in zip(hits, kept, strict=False))
    assert list(kept[:-1]) == hits[: len(kept[:-1])]
