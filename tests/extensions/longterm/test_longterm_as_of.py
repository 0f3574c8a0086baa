"""The memories as they were at an earlier time: the view of now is the present one, and a replacement has its day."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter import UsageError
from memoriter.extensions.longterm._records import memories_at, moment_of, replacements
from memoriter.extensions.longterm.api import LongTermMemory

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter import Memory
    from memory_env import MemoryEnv

IDS = [str(uuid.UUID(int=number)) for number in range(1, 9)]
NOW = datetime(2026, 3, 10, 12, tzinfo=UTC).timestamp()


@st.composite
def histories(draw: st.DrawFn) -> list[LongTermMemory]:
    """Memories of which later ones replace earlier ones; some replacements are forgotten, some are taken back."""
    memories = list[LongTermMemory]()
    gone = draw(st.sets(st.sampled_from(IDS)))
    restored = draw(st.sets(st.sampled_from(IDS)))
    replaced = set[str]()
    times = sorted(draw(st.lists(st.integers(1, 60), min_size=1, max_size=len(IDS))))
    for identifier, at in zip(IDS, times, strict=False):
        older = draw(st.sampled_from(["", *(memory.id for memory in memories)]))
        replaced |= {older}
        fields: dict[str, Any] = {"origin": "owner", "principal": "ann", "supersedes": older}
        memories.append(LongTermMemory(id=identifier, text=f"Version {identifier}.", created_at=float(at), **fields))
    return [
        LongTermMemory(
            **{name: getattr(each, name) for name in each.__slots__}
            | {"status": "superseded" if each.id in replaced - restored else "active"}
        )
        for each in memories
        if each.id not in gone
    ]


@given(histories(), st.floats(60, 100))
def test_the_view_as_of_now_is_the_present_one(memories: list[LongTermMemory], now: float) -> None:
    assert memories_at(memories, now, memories) == memories == memories_at(memories, None, memories)
    assert replacements(memories, now) == replacements(memories, None)


@given(histories(), st.integers(0, 61))
def test_before_its_replacement_a_memory_was_current_and_later_ones_were_not_there(
    memories: list[LongTermMemory], at: int
) -> None:
    view = {each.id: each for each in memories_at(memories, at, memories)}
    assert set(view) == {each.id for each in memories if each.created_at <= at}
    newer = replacements(memories, at)
    for each in memories:
        if each.supersedes in view and each.created_at <= at:
            older = next(memory for memory in memories if memory.id == each.supersedes)
            assert view[older.id].status == older.status
            assert older.status == "active" or newer[older.id] in view
        since = [other.created_at for other in memories if other.supersedes == each.id]
        if each.id in view and since and min(since) > at:
            assert view[each.id].status == "active"
            assert each.id not in newer


@pytest.mark.parametrize(
    ("given_day", "end"),
    [
        ("2026-02-10", datetime(2026, 2, 10, 23, 59, 59, 999_000, tzinfo=UTC)),
        (date(2026, 2, 10), datetime(2026, 2, 10, 23, 59, 59, 999_000, tzinfo=UTC)),
        ("yesterday", datetime(2026, 3, 9, 23, 59, 59, 999_000, tzinfo=UTC)),
        ("7d", datetime(2026, 3, 3, 23, 59, 59, 999_000, tzinfo=UTC)),
        (datetime(2026, 2, 10, 8, tzinfo=UTC), datetime(2026, 2, 10, 8, tzinfo=UTC)),
        (1_770_000_000.5, datetime.fromtimestamp(1_770_000_000.5, tz=UTC)),
    ],
)
def test_a_day_means_its_end(given_day: Any, end: datetime) -> None:
    assert moment_of(given_day, NOW) == pytest.approx(end.timestamp(), abs=1e-6)


def test_search_list_and_the_tool_show_an_earlier_view_with_its_chain(
    env: MemoryEnv, memory: Memory, call: Callable[..., dict[str, Any]]
) -> None:
    ids = list[str]()
    for name in ("MySQL", "PostgreSQL", "DuckDB"):
        text = f"The ledger runs on {name}."
        older = ids[-1] if ids else ""
        ids.append(memory.long_term.store(text, origin="owner", category="decision", supersedes=older).memory.id)
        env.wait(86_400)

    def views(day: str) -> list[tuple[str, str, str]]:
        found = call("memory_recall", query="what does the ledger run on", asOf=day)["memories"]
        listed = memory.long_term.memories(as_of=day)
        assert {(each["id"], each["status"]) for each in found} == {(each.id, each.status) for each in listed}
        return [(each["id"], each["status"], each.get("supersededBy", "")) for each in found]

    assert views("2026-03-09") == []
    assert views("2026-03-10") == [(ids[0], "active", "")]
    assert views("2026-03-11") == [(ids[1], "active", ""), (ids[0], "superseded", ids[1])]
    assert views("2026-03-12")[0] == (ids[2], "active", "")
    assert set(views("2030-01-01")) == {
        (ids[2], "active", ""),
        (ids[1], "superseded", ids[2]),
        (ids[0], "superseded", ids[1]),
    }
    assert "not a day such as" in call("memory_recall", query="ledger", asOf="soon")["error"]
    with pytest.raises(UsageError, match="'soon' is not a day such as 2026-02-10"):
        memory.long_term.memories(as_of="soon")


@pytest.mark.slow
def test_many_later_memories_do_not_hide_an_earlier_one(env: MemoryEnv, memory: Memory) -> None:
    old = memory.long_term.store("The ledger runs on MySQL.", origin="owner").memory
    env.wait(2 * 86_400)
    for name in range(20):
        memory.long_term.store(f"The ledger runs on MySQL {name} in office {name * 7}.", origin="agent")
    (hit,) = memory.long_term.search("the ledger runs on MySQL", limit=1, floor=0.0, as_of="2026-03-10").hits
    assert hit.memory.id == old.id
