"""Whose memories they are: no surface shows the memories of another principal, whatever it is asked."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from long_term import NOTE
from mcp_endpoints import over_stdio
from memoriter import PathRefused
from memoriter.agent import Message
from memoriter.extensions.longterm.api import inbox_of, rebuild
from memory_env import MemoryEnv, paths
from principals import QUESTION, SAYS, SURFACES, Principal, act, env_of, principals_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def principals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Principal]]:
    with principals_in(tmp_path_factory.mktemp("principals"), 20) as all_of_them:
        yield all_of_them


def check_shown(principals: list[Principal], own: Principal, other: Principal, shown: str) -> None:
    """No canary of anybody else was shown, and the other one still has what it had."""
    assert [each.canary for each in principals if each is not own and each.canary in shown] == [], shown
    memories = {memory.id: memory for memory in other.memory.long_term.memories()}
    kept = memories[other.id]
    assert (kept.text, kept.status) == (SAYS.format(other.canary), "active")
    waiting = {each.id: each.text for each in inbox_of(other.memory.long_term).read().candidates}
    assert other.canary in waiting[other.candidate]


@pytest.mark.slow
@pytest.mark.parametrize("surface", SURFACES)
def test_a_surface_shows_no_principal_the_canary_of_another_one(principals: list[Principal], surface: str) -> None:
    actions = SURFACES[surface]
    others = len(principals) - 1
    groups = min(4, len(actions))  # each principal does every fourth thing
    for number, action in enumerate(actions):
        for n in range(number % groups, len(principals), groups):
            own = principals[n]
            other = principals[(n + 1 + (n + number) % others) % len(principals)]
            check_shown(principals, own, other, act(own, other, action))


@pytest.mark.slow
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_order_of_what_principals_do_shows_the_canary_of_another_one(
    principals: list[Principal], data: st.DataObject
) -> None:
    which = st.integers(0, len(principals) - 1)
    actions = st.sampled_from(sorted(SURFACES)).flatmap(
        lambda surface: st.tuples(st.just(surface), st.integers(0, len(SURFACES[surface]) - 1))
    )
    for n, m, (surface, number) in data.draw(st.lists(st.tuples(which, which, actions), min_size=4, max_size=8)):
        if n != m:
            own = principals[n]
            other = principals[m]
            check_shown(principals, own, other, act(own, other, SURFACES[surface][number]))


@pytest.mark.slow
def test_each_principal_gets_its_own_memories_on_every_surface(tmp_path: Path) -> None:
    first = {"library": 0, "command": 0, "tool": 0, "mcp": 0, "http": 0, "hook": 1, "export": 0}
    assert first.keys() == SURFACES.keys()
    with principals_in(tmp_path, len(first) + 1) as principals:
        for (surface, number), own, other in zip(first.items(), principals, principals[1:], strict=False):
            shown = act(own, other, SURFACES[surface][number])
            assert own.canary in shown, (surface, shown)


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_client_of_the_program_over_mcp_gets_its_own_memories_only(principals: list[Principal]) -> None:
    own = principals[0]
    other = principals[-1]
    async with over_stdio(own.env).connect() as client:
        recalled = (await client.call_tool("memory_recall", {"query": QUESTION})).model_dump_json()
        forgotten = (await client.call_tool("memory_forget", {"memoryId": other.id})).model_dump_json()
    assert own.canary in recalled
    check_shown(principals, own, other, recalled + forgotten)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@contextmanager
def shared_folder(tmp_path: Path, first: str | None, second: str | None) -> Iterator[tuple[MemoryEnv, MemoryEnv]]:
    """Two homes with different principals on the same folder of notes."""
    one = env_of(tmp_path / "one", tmp_path / "db1", first)
    two = env_of(tmp_path / "two", tmp_path / "db2", second, notes=one.notes)
    yield one, two
    one.close()
    two.close()


@pytest.mark.parametrize("second", ["bob", None])
def test_in_a_shared_folder_the_note_of_another_principal_is_no_memory(tmp_path: Path, second: str | None) -> None:
    with shared_folder(tmp_path, "ann", second) as (ann, other):
        mine = ann.open()
        mine.long_term.store(SAYS.format("Kanari"), origin="owner")
        mine.session("s", audience="private").capture([Message("user", "I live in Kanariville.")])
        theirs = other.open()
        assert NOTE in paths(mine.search("favourite framework Kanari"))
        assert paths(theirs.search("favourite framework Kanari")) == []
        skipped = {each.path: each.reason for each in theirs.status().skipped}
        assert skipped == {NOTE: "other_principal", "memory/inbox.md": "other_principal"}
        for path in (NOTE, "memory/inbox.md", str(ann.notes / NOTE), f"{NOTE}#L5"):
            with pytest.raises(PathRefused, match="holds long-term memories of the principal 'ann'"):
                theirs.read(path)
        with pytest.raises(PathRefused, match="holds long-term memories"):
            theirs.long_term.memories()
        before = (ann.notes / NOTE).read_bytes()
        with pytest.raises(PathRefused):
            theirs.long_term.store("I like tea.", origin="owner")
        assert (ann.notes / NOTE).read_bytes() == before


def test_a_note_that_became_somebody_elses_is_not_found_in_an_index_from_before(tmp_path: Path) -> None:
    with shared_folder(tmp_path, None, None) as (one, _):
        one.write(NOTE, f"- {SAYS.format('Kanari')}\n")
        assert paths(one.open().search("favourite framework Kanari")) == [NOTE]
        mark = "<!-- memory: 0b4e9c1e-6f1c-4f0e-9d0e-3c1b7f6f2a11 0.7 2026-01-01T00:00:00.000Z principal=ann -->"
        one.write(NOTE, f"- {SAYS.format('Kanari')} {mark}\n")
        one.wait()
        assert paths(one.open().search("favourite framework Kanari", update=False)) == []
        assert paths(one.open().search("favourite framework Kanari")) == []


def test_a_rebuild_from_the_note_keeps_the_principal(tmp_path: Path) -> None:
    env = env_of(tmp_path / "one", tmp_path / "db", "김/철수 o'x")
    env.write(NOTE, "- I like tea.\n")
    memory = env.open()
    rebuild(memory.long_term)
    (kept,) = memory.long_term.memories()
    assert (kept.principal, kept.text) == ("김/철수 o'x", "I like tea.")
    assert " principal=%EA%B9%80%2F%EC%B2%A0%EC%88%98%20o%27x -->" in (env.notes / NOTE).read_text(encoding="utf-8")
    again = env_of(tmp_path / "two", tmp_path / "other", "김/철수 o'x", notes=env.notes).open()
    rebuild(again.long_term)
    assert again.long_term.opened().memories(principal="김/철수 o'x")[0].text == "I like tea."


@pytest.mark.parametrize("name", ["notes:0123456789abcdef", "x" * 201, "a\nb"])
def test_a_principal_that_could_be_that_of_a_folder_is_refused(tmp_path: Path, name: str) -> None:
    env = env_of(tmp_path / "one", tmp_path / "db", name)
    outcome = env.run("ltm", "list")
    assert "plugins.entries.memory-lancedb.config.principal is " in outcome.err
    assert "Give a name, such as 'team'." in outcome.err
