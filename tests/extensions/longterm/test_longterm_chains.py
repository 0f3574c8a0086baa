"""Memories that replaced each other: a chain has one end, and forgetting one of them mends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_term import NOTE
from memoriter.errors import UsageError
from memoriter.extensions.longterm._records import after_forgetting, check_replaceable, current_replacement
from memoriter.extensions.longterm.api import LongTermMemory, rebuild, stats

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from memoriter import Memory
    from memory_env import MemoryEnv

NAMES = ("MySQL", "PostgreSQL", "DuckDB")


@pytest.fixture
def chain(env: MemoryEnv, memory: Memory) -> list[str]:
    """The ids of three memories, each of which replaced the one before, a day apart: from 2026-03-10 on."""
    ids = list[str]()
    for name in NAMES:
        text = f"The ledger runs on {name}."
        older = ids[-1] if ids else ""
        ids.append(memory.long_term.store(text, origin="owner", category="decision", supersedes=older).memory.id)
        env.wait(86_400)
    return ids


def views(memory: Memory, as_of: str | None = None) -> dict[str, str]:
    """The status of each memory by its database, the same in the note, the database and a search."""
    store = memory.long_term.opened()
    principal = memory.long_term.parts.principal
    listed = {each.text[19:-1]: each.status for each in memory.long_term.memories(as_of=as_of)}
    found = memory.long_term.search("what does the ledger run on", limit=10, floor=0.0, as_of=as_of).hits
    assert {hit.memory.text[19:-1]: hit.memory.status for hit in found} == listed
    if as_of is None:
        assert {row.text[19:-1]: row.status for row in store.memories(principal=principal)} == listed
    assert not stats(memory.long_term).reasons
    return dict(listed)


def test_what_is_replaced_already_is_not_replaced_again(memory: Memory, chain: list[str]) -> None:
    before = views(memory)
    for older in chain[:2]:
        with pytest.raises(UsageError, match=rf"{older} is replaced already, and {chain[2]} is current: .*DuckDB"):
            memory.long_term.store("The ledger runs on Oracle.", origin="owner", supersedes=older)
    assert views(memory) == before
    newest = memory.long_term.store("The ledger runs on Oracle.", origin="owner", supersedes=chain[2]).memory
    assert newest.supersedes == chain[2]


def test_the_tool_names_what_is_current_instead_of_a_replaced_memory(
    call: Callable[..., dict[str, Any]], chain: list[str]
) -> None:
    answer = call("memory_store", text="The ledger runs on Oracle.", supersedes=chain[0])
    assert (answer["stored"], chain[2] in answer["action"]) == (False, True)


def test_forgetting_a_replacement_makes_what_it_replaced_current_again(
    env: MemoryEnv, memory: Memory, chain: list[str]
) -> None:
    receipt = memory.long_term.forget_id(chain[2])
    assert [(each.id, each.status) for each in receipt.restored] == [(chain[1], "active")]
    assert views(memory) == {"MySQL": "superseded", "PostgreSQL": "active"}
    assert views(memory, "2026-03-10") == {"MySQL": "active"}
    shown = env.run("ltm", "forget", chain[1], "--yes").out
    assert "Current again: [decision] The ledger runs on MySQL." in shown
    assert views(memory) == {"MySQL": "active"}
    recalled = memory.session("s", audience="private").recall("The ledger runs on MySQL.").prepend_context
    assert "[decision] The ledger runs on MySQL." in recalled


def test_forgetting_the_middle_of_a_chain_links_its_ends(memory: Memory, chain: list[str]) -> None:
    assert memory.long_term.forget_id(chain[1]).restored == ()
    assert views(memory) == {"MySQL": "superseded", "DuckDB": "active"}
    assert memory.long_term.replaced() == {chain[0]: chain[2]}
    assert views(memory, "2026-03-11") == {"MySQL": "active"}, "what is forgotten has replaced nothing"
    assert views(memory, "2026-03-12") == {"MySQL": "superseded", "DuckDB": "active"}
    assert [each.id for each in memory.long_term.forget_id(chain[2]).restored] == [chain[0]]
    assert views(memory) == {"MySQL": "active"}


def test_forgetting_the_first_of_a_chain_leaves_no_trace_of_it(
    env: MemoryEnv, memory: Memory, chain: list[str]
) -> None:
    assert memory.long_term.forget_id(chain[0]).restored == ()
    assert chain[0] not in (env.notes / NOTE).read_text(encoding="utf-8")
    assert views(memory) == {"PostgreSQL": "superseded", "DuckDB": "active"}


def test_a_memory_that_two_have_replaced_stays_replaced_until_both_are_forgotten(
    env: MemoryEnv, memory: Memory, chain: list[str]
) -> None:
    note = (env.notes / NOTE).read_text(encoding="utf-8")
    env.write(NOTE, note.replace(f"supersedes={chain[1]}", f"supersedes={chain[0]}"))
    rebuild(memory.long_term, everything=True)
    assert memory.long_term.forget_id(chain[2]).restored == ()
    assert [each.id for each in memory.long_term.forget_id(chain[1]).restored] == [chain[0]]


@given(st.lists(st.integers(0, 6), max_size=7), st.permutations(range(8)))
def test_forgetting_in_any_order_never_leaves_a_memory_replaced_by_nothing(links: list[int], order: list[int]) -> None:
    ids = [f"{n:08x}-0000-4000-8000-000000000000" for n in range(len(links) + 1)]
    held = {
        each: LongTermMemory(
            id=each,
            text=each,
            created_at=float(n),
            origin="owner",
            principal="ann",
            supersedes=ids[links[n - 1] % n] if n else "",
            status="superseded" if any(links[m - 1] % m == n for m in range(n + 1, len(ids))) else "active",
        )
        for n, each in enumerate(ids)
    }
    for number in order:
        if number >= len(ids):
            continue
        forgotten = held.pop(ids[number])
        held |= {each.id: each for each in after_forgetting(forgotten, held.values())}
        replaced = {each.supersedes for each in held.values()}
        assert {each.id for each in held.values() if each.status == "superseded"} == replaced - {""}
        assert replaced - {""} <= held.keys()
        for each in held.values():
            current = current_replacement(each, held.values())
            assert (current is None) == (each.status == "active")
            assert current is None or current.status == "active"


def test_links_in_a_circle_have_an_end() -> None:
    ids = [f"{n:08x}-0000-4000-8000-000000000000" for n in range(2)]
    circle = [
        LongTermMemory(
            id=ids[n],
            text="x",
            created_at=1.0,
            origin="owner",
            principal="a",
            status="superseded",
            supersedes=ids[1 - n],
        )
        for n in range(2)
    ]
    with pytest.raises(UsageError, match=f"{ids[0]} is replaced already, and {ids[1]} is current"):
        check_replaceable(circle[0], circle)
