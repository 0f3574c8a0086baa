"""Known passages that are searched for by their rarest words: what only a deep look sees, and what repairs it."""

from __future__ import annotations

import os
import re
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.backends._status import CANARIES, WORDS, rarest_words
from memoriter.index._connection import vfs
from memory_env import MemoryEnv, codes, compatible
from servers.compatible import CompatibleServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoriter import Memory
    from memoriter.types import Canary, Status

EXAMPLES = Path(__file__).parents[2] / "examples" / "workspace"


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    env.many(30)
    yield env
    env.close()


def index_of(memory: Memory) -> Path:
    return Path(memory.status().index).resolve()


def tamper(memory: Memory, *statements: str) -> None:
    """Change the index behind the back of everybody, in SQL."""
    with closing(apsw.Connection(str(index_of(memory)), vfs=vfs())) as connection:
        for statement in statements:
            connection.execute(statement)


def lost(status: Status) -> set[tuple[str, ...]]:
    return {canary.lost for canary in status.canaries if not canary.found}


def citations(canaries: tuple[Canary, ...]) -> list[str]:
    return [canary.citation for canary in canaries]


# what is drawn


@pytest.mark.slow
def test_the_same_index_draws_the_same_passages_in_every_process_and_others_after_a_change(env: MemoryEnv) -> None:
    env.configure(provider="fake")
    first = env.open()
    second = env.open()
    first.sync()
    before = first.status(deep=True).canaries
    again = second.status(deep=True).canaries
    assert (len(before), before) == (CANARIES, again)
    env.write("memory/fruit.md", "Kiwi is the favourite fruit.\n")
    env.wait()
    assert citations(first.status(deep=True).canaries) != citations(before)


def test_a_deep_look_at_an_index_that_was_never_made_makes_it(env: MemoryEnv) -> None:
    env.configure(provider="fake")
    status = env.open().status(deep=True)
    assert (len(status.canaries), lost(status), status.health.ok) == (CANARIES, set(), True)


def test_a_deep_look_at_no_notes_finds_no_fault(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path, {})
    env.configure(provider="fake")
    status = env.open().status(deep=True)
    assert (status.canaries, codes(status)) == ((), ["no_notes"])
    env.close()


@given(st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta"]), max_size=20), st.integers(0, 9))
def test_the_rarest_words_are_words_of_the_text_and_none_that_is_left_is_rarer(words, seed):
    frequency = {word: (len(word) * 7 + seed * place) % 5 for place, word in enumerate(dict.fromkeys(words))}
    chosen = rarest_words(" ".join(words), {word: [word] for word in words}, frequency).split()
    assert len(chosen) == min(len(set(words)), WORDS)
    left = set(words) - set(chosen)
    assert all(frequency[word] >= max(frequency[other] for other in chosen) for word in left)


# passages that are hard to find, and are not lost


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["fake", "none"])
@pytest.mark.parametrize("scoring", ["calibrated", "rrf", "classic"])
def test_passages_that_are_like_others_or_hold_no_word_are_not_taken_for_lost(
    tmp_path: Path, provider: str, scoring: str
) -> None:
    notes = {f"memory/same-{n}.md": "# Standup\n\nNothing new.\n" for n in range(40)}
    odd = {
        "memory/signs.md": "---\n***\n",
        "memory/nul.md": "\0\0\n",
        "memory/one.md": "x\n",
        "memory/[a]*.md": "Heron.",
    }
    long = {
        "memory/long.md": "y" * 5_000 + "\n",
        "memory/cjk.md": "오사카여행은사월십이일에출발한다\n\n我们选择了数据库\n",
    }
    env = MemoryEnv.at(tmp_path, {**notes, **odd, **long})
    env.configure(provider=provider, query={"scoring": scoring})
    memory = env.open()
    for turn in range(4):
        env.write("memory/turn.md", f"Turn {turn}.\n")
        env.wait()
        status = memory.status(deep=True)
        assert [canary for canary in status.canaries if not canary.found] == []
    env.close()


# what is broken, in ways that a plain status does not see


def words_gone(memory: Memory) -> None:
    tamper(memory, "INSERT INTO chunks_fts(chunks_fts) VALUES ('delete-all')")


def words_of_others(memory: Memory) -> None:
    tamper(
        memory,
        "INSERT INTO chunks_fts(chunks_fts) VALUES ('delete-all')",
        "INSERT INTO chunks_fts(rowid, terms) SELECT id, 'lorem ipsum' FROM chunks",
    )


def vectors_of_chance(memory: Memory) -> None:
    with closing(apsw.Connection(str(index_of(memory)), vfs=vfs())) as connection:
        rows = connection.execute("SELECT id, length(vector) / 4 FROM embedding_cache").fetchall()
        draw = np.random.default_rng(7)
        for row, width in rows:
            vector = draw.normal(size=(1, int(str(width)))).astype("<f4")
            unit = (vector / np.linalg.norm(vector)).astype("<f4")
            connection.execute("UPDATE embedding_cache SET vector = ? WHERE id = ?", (unit.tobytes(), row))


def codes_turned_around(memory: Memory) -> None:
    with closing(apsw.Connection(str(index_of(memory)), vfs=vfs())) as connection:
        for row, codes in connection.execute("SELECT id, codes FROM code_segments").fetchall():
            assert isinstance(codes, bytes)
            turned = bytes(byte ^ 255 for byte in codes)
            connection.execute("UPDATE code_segments SET codes = ? WHERE id = ?", (turned, row))


Break = tuple["Callable[[Memory], None]", str, set[tuple[str, ...]], str]
BREAKS: dict[str, Break] = {
    "the words are gone": (words_gone, "exact", {("keyword",)}, "memoriter index --force"),
    "the words are those of other text": (words_of_others, "exact", {("keyword",)}, "memoriter index --force"),
    "the vectors are chance": (vectors_of_chance, "exact", {("vector",)}, "memoriter index --vectors"),
    "the codes are turned around": (codes_turned_around, "codes", {("vector",)}, "memoriter index --force"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("broken", "engine", "legs", "remedy"), BREAKS.values(), ids=BREAKS)
def test_a_deep_look_sees_what_a_plain_one_does_not_and_its_remedy_repairs_it(
    env: MemoryEnv, broken: Callable[[Memory], None], engine: str, legs: set[tuple[str, ...]], remedy: str
) -> None:
    if engine == "codes":
        draw = np.random.default_rng(5)
        for number in range(11):
            lines = [" ".join(f"{word:05x}z" for word in row) for row in draw.integers(10**6, size=(200, 12))]
            env.write(f"memory/more/{number}.md", "\n\n".join(f"# {line[:6]}\n\n{line}" for line in lines))
    # With fewer than 2,048 passages all vectors are compared, so the codes would not count.
    small = {"tokens": 32, "overlap": 0}
    env.configure(provider="fake", store={"vector": {"engine": engine}}, chunking=small)
    assert env.run("index").exit_code == 0
    sound = env.open()
    assert sound.status(deep=True).health.ok
    broken(sound)

    plain = env.run("status", "--json")
    deep = env.run("status", "--json", "--deep")
    (seen,) = deep.json
    (known,) = plain.json
    assert (plain.exit_code, known["health"]["ok"]) == (0, True)
    assert (deep.exit_code, seen["health"]["ok"]) == (1, False)
    missed = {tuple(canary["lost"]) for canary in seen["canaries"] if not canary["found"]}
    assert missed == legs
    assert {leg for leg, serves in seen["health"]["legs"].items() if not serves} == {
        leg for some in legs for leg in some
    }
    (diagnostic,) = [
        reason for reason in seen["health"]["reasons"] if reason["code"] in {"canaries_lost", "vectors_wrong"}
    ]
    assert remedy in diagnostic["remedy"]
    text = env.run("status", "--deep")
    assert (text.exit_code, "NOT FOUND" in text.out, diagnostic["remedy"] in text.err) == (1, True, True)
    doctor = env.run("doctor", "--json")
    (search,) = [finding for finding in doctor.json["findings"] if finding["check"] == "search"]
    assert (search["state"], search["remedy"]) == ("broken", diagnostic["remedy"])

    command = re.search(r"memoriter (.*)$", diagnostic["remedy"])
    assert command
    assert env.run(*command[1].rstrip("`.").split()).exit_code == 0
    repaired = env.run("status", "--json", "--deep")
    assert (repaired.exit_code, repaired.json[0]["health"]["ok"]) == (0, True)


def test_vectors_computed_anew_are_those_of_the_model_and_the_notes_are_searched_meanwhile(env: MemoryEnv) -> None:
    env.configure(provider="fake")
    memory = env.open()
    whole = memory.sync()
    vectors_of_chance(memory)
    report = memory.sync(vectors=True)
    assert (report.embedded, report.pending) == (whole.chunks, 0)
    assert memory.sync(force=True).embedded == 0
    assert memory.search("which database for the ledger").results[0].path == "MEMORY.md"


def test_where_there_are_no_links_the_vectors_are_computed_anew_too(
    env: MemoryEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(1, "no symbolic links here")

    monkeypatch.setattr(os, "symlink", refuse)
    env.configure(provider="fake")
    memory = env.open()
    chunks = memory.sync().chunks
    assert not Path(memory.status().index).is_symlink()
    vectors_of_chance(memory)
    other = env.open()
    assert codes(other.status(deep=True)) == ["vectors_wrong"]
    assert other.sync(vectors=True).embedded == chunks
    assert other.status(deep=True).health.ok


@pytest.mark.slow
def test_no_vector_is_thrown_away_while_nobody_can_make_another(env: MemoryEnv) -> None:
    with CompatibleServer() as server:
        env.configure(**compatible(server))
        memory = env.open()
        whole = memory.sync()
        server.down = server.quota()
        report = memory.sync(vectors=True)
        assert (report.embedded, report.pending) == (0, 0)
        assert "out_of_quota" in codes(report)
        assert memory.status().vectors == whole.chunks


@pytest.mark.slow
def test_a_passage_that_waits_for_its_vector_is_not_lost_and_a_service_that_fails_is_told(env: MemoryEnv) -> None:
    with CompatibleServer() as server:
        env.configure(**compatible(server))
        memory = env.open()
        memory.sync()
        env.write("memory/fruit.md", "Kiwi is the favourite fruit.\n")
        env.wait()
        server.down = server.quota()
        status = memory.status(deep=True)
        assert lost(status) == set()
        assert {"out_of_quota", "vectors_pending"} <= set(codes(status))
