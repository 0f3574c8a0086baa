"""A query that is the name of a note asks for this note."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memory_env import MemoryEnv, paths

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OWN = "areas/Heating contract.md"
NOTES = {
    f"memory/{OWN}": "# Heating contract\n\nGas from Nordwind, customer 88. It runs until March and can be cancelled"
    " six weeks before. The boiler was serviced by Mr Pohl, who also knows the old pump in the cellar.\n",
    **{f"memory/{name}.md": f"- [[Heating contract]]: the heating contract, {name}\n" for name in ("a", "b", "c")},
}


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path, NOTES)
    yield env
    env.close()


@pytest.mark.parametrize("query", ["Heating contract", "heating_contract", "HEATING  CONTRACT!"])
@pytest.mark.parametrize("provider", ["none", "fake"])
def test_the_note_with_the_name_comes_before_those_that_link_to_it(env: MemoryEnv, query: str, provider: str) -> None:
    env.configure(provider=provider)
    assert paths(env.open().search(query))[0] == f"memory/{OWN}"


@pytest.mark.parametrize("query", ["Heating contract a", "contract", "x" * 500])
def test_other_words_ask_for_no_name(env: MemoryEnv, query: str) -> None:
    env.configure(provider="none")
    found = env.open().search(query, min_score=0.0).hits
    assert all(hit.score < 0.95 for hit in found)
    assert not query.startswith("Heating") or found[0].path == "memory/a.md"


@pytest.mark.parametrize("query", ["heronry", "Bird count", "2026 storks"])
@pytest.mark.parametrize("provider", ["none", "fake"])
def test_an_alias_and_a_title_are_names_too(env: MemoryEnv, query: str, provider: str) -> None:
    front = "---\naliases: [Heronry, 2026 storks]\n---\n"
    env.write("memory/areas/nests.md", f"{front}# Bird count\n\nThere were nine nests in May, and one fell down.\n")
    for name in ("d", "e"):
        env.write(f"memory/{name}.md", f"- [[{query}]]: {query}, {query}, {name}\n")
    env.configure(provider=provider)
    assert paths(env.open().search(query))[0] == "memory/areas/nests.md"
