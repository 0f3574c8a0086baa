"""A disk that is full or cannot be written: what was indexed is still found, and all goes on once there is room."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from faults import answered, bound_by_permissions, contents, fill, found, health, read_only, refused, run, small_disk
from memory_env import QUESTION, MemoryEnv, codes, paths

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROOM = "import resource, sys; sys.dont_write_bytecode = True; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))"
"""Python after which no file of the process may grow over so many bytes; byte code would be cut short and kept."""


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="fake")
    yield env
    env.close()


@pytest.mark.slow
def test_a_disk_that_becomes_full_leaves_the_old_index_to_be_read_and_the_remedy_is_room(env: MemoryEnv) -> None:
    with small_disk(env.home, "12m"):
        env.configure(provider="fake")
        answered(env, "index")
        filler = fill(env.home)
        env.many(40)
        before = contents(env.notes)
        assert found(env, QUESTION)[0] == "MEMORY.md"
        reasons = {reason["code"]: reason for reason in answered(env, "search", QUESTION)["health"]["reasons"]}
        reason = reasons["index_read_only"]
        assert "full" in reason["message"]
        assert reason["remedy"].startswith("Free some disk space")
        for command in (("index",), ("index", "--force"), ("compact",)):
            assert "disk space" in refused(env, *command)["remedy"]
        answered(env, "remember", "Tea, not coffee.")
        assert {path: text for path, text in contents(env.notes).items() if path in before} == before
        filler.unlink()
        assert answered(env, "index")["files"] == 45
        assert found(env, "manyword33")[0] == "memory/many/033.md"
        assert health(env) == {}


@pytest.mark.matrix
@pytest.mark.parametrize("size", ["400k", "800k", "1500k"])
def test_a_disk_that_is_too_small_keeps_what_was_finished(env: MemoryEnv, size: str) -> None:
    with small_disk(env.home, size):
        env.configure(provider="fake")
        env.many(150)
        before = contents(env.notes)
        error = refused(env, "index")
        assert "disk space" in error["remedy"]
        outcome = run(env, "search", QUESTION)
        assert outcome.exit_code == 1 or outcome.json["results"][0]["path"] == "MEMORY.md"
        assert "disk space" in outcome.out
        assert contents(env.notes) == before


@pytest.mark.slow
def test_a_limit_on_the_size_of_files_is_told_as_what_it_is(env: MemoryEnv) -> None:
    env.many(150)
    before = contents(env.notes)
    error = refused(env, "index", before=ROOM.format(200_000))
    assert "free space" in error["remedy"]
    assert contents(env.notes) == before
    assert answered(env, "index")["files"] == 154
    assert health(env) == {}


@pytest.mark.slow
def test_an_entry_for_which_there_is_no_room_leaves_the_note_as_it_was(env: MemoryEnv) -> None:
    file = env.notes / "MEMORY.md"
    before = file.read_bytes()
    words = ("remember", "--to", "long-term", "word " * 400)
    error = refused(env, *words, before=ROOM.format(len(before) + 100))
    assert error["remedy"].startswith("Free some disk space")
    assert file.read_bytes() == before
    answered(env, *words)
    assert file.read_bytes().startswith(before)


def test_a_database_that_may_not_grow_is_searched_as_it_was_and_goes_on_when_it_may(env: MemoryEnv) -> None:
    memory = env.open()
    memory.sync()
    before = contents(env.notes)
    connection = memory._backend.index._file.opened.connection  # type: ignore[attr-defined]
    pages = connection.pragma("page_count")
    assert connection.pragma("max_page_count", pages) == pages
    env.many(100)
    env.wait()
    result = memory.search(QUESTION)
    assert paths(result)[0] == "MEMORY.md"
    (reason,) = (reason for reason in result.health.reasons if reason.code == "index")
    assert reason.remedy.startswith("Free some disk space")
    assert {path: contents(env.notes)[path] for path in before} == before
    connection.pragma("max_page_count", 1_000_000)
    env.wait()
    assert paths(memory.search("manyword77"))[0] == "memory/many/077.md"
    memory.sync()
    assert codes(memory.status()) == []


@pytest.mark.slow
def test_an_index_on_a_read_only_mount_is_searched_and_the_remedies_work(env: MemoryEnv, tmp_path: Path) -> None:
    answered(env, "index")
    env.write("memory/later.md", "The zanzibar key is under the mat.\n")
    with read_only(env.home):
        received = answered(env, "search", QUESTION)
        assert received["results"][0]["path"] == "MEMORY.md"
        assert {reason["code"] for reason in received["health"]["reasons"]} == {"index_read_only", "stale"}
        assert "memory/later.md" not in found(env, "zanzibar key")
        assert set(health(env)) == {"index_read_only"}
        for command in (("index",), ("compact",)):
            error = refused(env, *command)
            assert "or set memorySearch.store.path" in error["remedy"]
        # another index path
        other = MemoryEnv(env.notes, tmp_path / "elsewhere")
        other.home.mkdir()
        other.configure(provider="fake")
        assert found(other, "zanzibar key")[0] == "memory/later.md"
    # the folder can be written
    assert found(env, "zanzibar key")[0] == "memory/later.md"
    assert health(env) == {}


@pytest.mark.slow
@pytest.mark.parametrize("indexed", [True, False])
def test_a_folder_whose_permissions_forbid_writing_is_read_as_far_as_it_goes(env: MemoryEnv, *, indexed: bool) -> None:
    bound = bound_by_permissions()
    folder = env.home / "memory"
    if indexed:
        answered(env, "index")
    folder.mkdir(exist_ok=True)
    for file in (folder, *folder.iterdir()):
        if not file.is_symlink():
            file.chmod(0o555)
    if indexed:
        assert found(env, QUESTION, before=bound)[0] == "MEMORY.md"
        assert set(health(env, before=bound)) == {"index_read_only"}
    else:
        assert "can be written" in refused(env, "search", QUESTION, before=bound)["remedy"]
    for file in (folder, *folder.iterdir()):
        if not file.is_symlink():
            file.chmod(0o755)
    assert found(env, QUESTION, before=bound)[0] == "MEMORY.md"
    assert health(env, before=bound) == {}


def test_a_program_that_stays_writes_again_as_soon_as_it_can(env: MemoryEnv) -> None:
    with env.open() as first:
        first.sync()
    memory = env.open()
    with read_only(env.home):
        assert codes(memory.search(QUESTION)) == ["index_read_only"]
        env.write("memory/later.md", "The zanzibar key is under the mat.\n")
        env.wait()
        assert "memory/later.md" not in paths(memory.search("zanzibar"))
    result = memory.search("zanzibar")
    assert (paths(result)[0], result.health.ok) == ("memory/later.md", True)


@pytest.mark.slow
def test_a_log_that_a_killed_process_left_is_not_overlooked_when_the_index_can_only_be_read(env: MemoryEnv) -> None:
    die = "import os; memory.sync(); memory._backend.index.set_meta('written', 'last'); os._exit(9)"
    before = f"from memoriter import Memory; memory = Memory.open({str(env.notes)!r}); {die}"
    assert env.run("status", before=before).exit_code == 9
    assert [file for file in (env.home / "memory").iterdir() if file.name.endswith("-wal") and file.stat().st_size]
    with read_only(env.home):
        with env.open() as memory:
            assert memory.search(QUESTION).results[0].path == "MEMORY.md"
            assert memory._backend.index.get_meta("written") == "last"
        assert found(env, QUESTION)[0] == "MEMORY.md"
