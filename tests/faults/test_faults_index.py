"""An index that is broken, cut short or somebody else's: it is set aside, said so, and made again from the notes."""

from __future__ import annotations

import shutil
import sqlite3
from random import Random
from typing import TYPE_CHECKING

import pytest

from faults import answered, contents, follow, found, health, refused
from memory_env import QUESTION, MemoryEnv, codes, paths
from soak import factor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

HEADER = (0, 1, 16, 18, 20, 24, 28, 40, 44, 52, 56, 60, 68, 96, 100, 101, 103, 105, 108)
"""Bytes of SQLite's header and of the first page after it that each mean something else."""
RANDOM_PLACES = 40


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="fake")
    env.many(30)
    with env.open() as memory:
        memory.sync()
    yield env
    env.close()


def index_of(env: MemoryEnv) -> Path:
    """The file of the index."""
    (file,) = (env.home / "memory").glob("main*.sqlite")
    return file


def overwrite(env: MemoryEnv, content: bytes) -> None:
    """Put other bytes in the place of the index, with no log beside it."""
    folder = env.home / "memory"
    for file in folder.iterdir():
        if "damaged" in file.name or file.name.endswith(("-wal", "-shm")):
            file.unlink()
    index_of(env).write_bytes(content)


def works_again(env: MemoryEnv) -> None:
    """Whatever was done to the index, each way of using it works, and the notes are found."""
    with env.open() as memory:
        result = memory.search(QUESTION)
        assert paths(result)[0] == "MEMORY.md"
        assert set(codes(result)) <= {"index_quarantined", "vectors_pending"}
        assert all(reason.remedy for reason in result.health.reasons)
        memory.status()
        memory.sync()
        memory.sync(force=True)
        memory.compact()
        assert paths(memory.search(QUESTION))[0] == "MEMORY.md"
    with env.open() as memory:
        assert memory.status().health.ok


def test_a_broken_header_is_set_aside_wherever_it_is_broken(env: MemoryEnv) -> None:
    whole = index_of(env).read_bytes()
    before = contents(env.notes)
    for place in HEADER:
        broken = bytearray(whole)
        for position in range(place, place + 4):
            broken[position] ^= 0x5A
        overwrite(env, bytes(broken))
        works_again(env)
    assert contents(env.notes) == before


def test_bytes_that_change_anywhere_and_cuts_at_any_place_cost_no_answer(env: MemoryEnv) -> None:
    whole = index_of(env).read_bytes()
    before = contents(env.notes)
    draw = Random(3)
    for number in range(int(RANDOM_PLACES * min(factor(), 20))):
        broken = bytearray(whole)
        place = draw.randrange(len(whole))
        length = draw.choice([1, 4, 64, 600, 5_000])
        if number % 2:
            broken[place : place + length] = draw.randbytes(min(length, len(whole) - place))
        else:
            del broken[place:]
        overwrite(env, bytes(broken))
        works_again(env)
    assert contents(env.notes) == before


def text(file: Path) -> None:
    file.write_text("# A note that somebody saved here\n" * 500, encoding="utf-8")


def empty(file: Path) -> None:
    file.write_bytes(b"")


def somebody_elses(file: Path) -> None:
    file.unlink()
    other = sqlite3.connect(file)
    other.execute("CREATE TABLE accounts(name)")
    other.execute("INSERT INTO accounts VALUES ('theirs')")
    other.commit()
    other.close()


@pytest.mark.parametrize("make", [text, somebody_elses, empty])
def test_what_is_no_index_is_set_aside_whole_with_a_reason_whose_remedy_works(
    env: MemoryEnv, make: Callable[[Path], None]
) -> None:
    target = index_of(env)
    make(target)
    theirs = target.read_bytes()
    received = answered(env, "search", QUESTION)
    assert received["results"][0]["path"] == "MEMORY.md"
    reasons = {reason["code"]: reason for reason in received["health"]["reasons"]}
    assert set(reasons) == (set() if make is empty else {"index_quarantined"})
    aside = [file for file in (env.home / "memory").iterdir() if ".damaged" in file.name]
    assert [file.read_bytes() for file in aside] == ([] if make is empty else [theirs])
    for reason in reasons.values():
        assert follow(env, reason["remedy"])["files"] == 34
    assert health(env) == {}
    follow(env, "memoriter compact --damaged")
    assert not [file for file in (env.home / "memory").iterdir() if ".damaged" in file.name]


def test_a_folder_in_the_place_of_the_index_is_an_error_until_it_is_moved_away(env: MemoryEnv) -> None:
    target = index_of(env)
    target.unlink()
    target.mkdir()
    (target / "theirs.txt").write_text("keep me", encoding="utf-8")
    for command in (("search", QUESTION), ("index",), ("status",), ("compact",)):
        error = refused(env, *command)
        assert "is a folder" in error["message"]
        assert error["remedy"].startswith("Move it away")
    assert (target / "theirs.txt").read_text(encoding="utf-8") == "keep me"
    target.rename(env.home / "theirs")
    assert found(env, QUESTION)[0] == "MEMORY.md"
    assert health(env) == {}


@pytest.mark.parametrize("damage", [b"\xff" * 1024, b"\x00" * 1024, b"\x7f" * 1024, b"short"])
def test_damaged_vectors_are_found_and_replaced_by_the_rebuild_that_every_remedy_names(
    env: MemoryEnv, damage: bytes
) -> None:
    file = sqlite3.connect(index_of(env))
    (wanted,) = file.execute("SELECT key FROM chunks WHERE text LIKE '%PostgreSQL%'").fetchone()
    whole = file.execute("SELECT vector FROM embedding_cache WHERE key = ?", (wanted,)).fetchone()
    file.execute("UPDATE embedding_cache SET vector = ? WHERE key = ?", (damage, wanted))
    file.commit()
    file.close()
    report = follow(env, "memoriter index --force")
    # The page that another program wrote is lost as a whole; the vectors of all others are taken over.
    assert report["cached"] + report["embedded"] == 34
    assert report["cached"] >= 24
    file = sqlite3.connect(index_of(env))
    assert file.execute("SELECT vector FROM embedding_cache WHERE key = ?", (wanted,)).fetchone() == whole
    file.close()
    assert found(env, QUESTION)[0] == "MEMORY.md"
    assert health(env) == {}


def test_the_whole_home_may_go_between_any_two_questions(env: MemoryEnv) -> None:
    with env.open() as memory:
        assert paths(memory.search(QUESTION))[0] == "MEMORY.md"
        shutil.rmtree(env.home / "memory")
        assert paths(memory.search(QUESTION))[0] == "MEMORY.md"
        assert memory.status().health.ok
