"""The picture of the passages: what is near to what, which are the same, and how much of that two dimensions show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memory_env import MemoryEnv

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SAME = "# Ledger\n\nThe ledger is kept in PostgreSQL, because of its transactions.\n"


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    yield env
    env.close()


@pytest.mark.slow
def test_passages_with_the_same_text_are_near_duplicates_at_one_place(env: MemoryEnv) -> None:
    for name in ("a", "b"):
        env.write(f"memory/{name}.md", SAME)
    env.many(12)
    with env.open() as memory:
        memory.sync()
        picture = memory.backend.draw_map(similarity=0.999)
    assert picture.chunks == picture.vectors == len(picture.points)
    same = {number for number, point in enumerate(picture.points) if point.path in {"memory/a.md", "memory/b.md"}}
    (found,) = (each for each in picture.duplicates if same & {*each.points})
    assert {*found.points} == same
    assert found.similarity > 0.999
    first, second = (picture.points[number] for number in same)
    assert (first.x, first.y, first.group) == (second.x, second.y, second.group)
    assert sum(group.size for group in picture.groups) == len(picture.points)
    assert 0.0 < sum(picture.variance) <= 1.0
    assert picture.reasons == ()


@pytest.mark.slow
def test_a_large_index_is_drawn_from_a_sample(env: MemoryEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoriter.backends._map.MOST_POINTS", 5)
    env.many(12)
    with env.open() as memory:
        memory.sync()
        picture = memory.backend.draw_map(similarity=0.97)
    assert len(picture.points) == 5
    assert picture.vectors == picture.chunks >= 12


def test_without_vectors_the_reason_is_given(env: MemoryEnv) -> None:
    env.many(2)
    with env.open() as memory:
        assert [each.code for each in memory.backend.draw_map(similarity=0.97).reasons] == ["not_indexed"]
    env.configure(provider="none")
    with env.open() as memory:
        memory.sync()
        assert [each.code for each in memory.backend.draw_map(similarity=0.97).reasons] == ["no_vectors"]
