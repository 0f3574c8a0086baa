"""`memoriter compact`, through its front door."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Program

KEYS = {
    "bytesBefore",
    "bytesAfter",
    "vectors",
    "unused",
    "damaged",
    "damagedBytes",
    "damagedRemoved",
    "seconds",
    "reasons",
}


def edit(program: Program) -> None:
    program("index")
    (program.workspace / "memory" / "travel.md").write_text("# Travel\n\nWe stay at home.\n", encoding="utf-8")
    program("index")


def test_it_says_how_large_the_index_was_and_is(program: Program) -> None:
    edit(program)
    outcome = program("compact")
    assert (outcome.exit_code, outcome.err) == (0, "")
    first, second, third = outcome.out.splitlines()
    assert " MB before, " in first
    assert second == "0 unused vectors dropped."
    assert third == "1 unused vector kept; --unused drops them."


@pytest.mark.slow
def test_unused_vectors_go_when_told_and_never_one_in_use(program: Program) -> None:
    edit(program)
    before = program("search", "home", "--json").json
    kept = program("compact", "--json").json
    gone = program("compact", "--unused", "--json").json
    (state,) = program("status", "--json").json
    after = program("search", "home", "--json").json
    assert kept.keys() == KEYS
    assert (kept["vectors"], kept["unused"]) == (0, 1)
    assert (gone["vectors"], gone["unused"]) == (1, 0)
    assert after["results"] == before["results"] != []
    assert (state["pending"], state["vectors"]) == (0, state["chunks"])


def test_damaged_indexes_are_mentioned_and_removed_when_told(program: Program) -> None:
    program("index")
    (state,) = program("status", "--json").json
    from pathlib import Path

    index = Path(state["index"])
    index.resolve().write_bytes(b"not a database" * 1000)
    program("index")
    mentioned = program("compact").out.splitlines()[-1]
    assert mentioned.endswith("kept; --damaged removes them.")
    assert program("compact", "--damaged").out.splitlines()[-1].endswith("removed.")
    assert list(index.parent.glob("*.damaged*")) == []


def test_a_workspace_without_an_index_is_fine(program: Program) -> None:
    assert program("compact", "--json").json["vectors"] == 0
