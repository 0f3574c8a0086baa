"""A disk that is full or cannot be written: what was indexed is still found, and all goes on once there is room."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from desk import QUESTION, MemoryEnv, codes, paths
from faults import answered, bound_by_permissions, contents, fill, found, health, read_only, refused, run, small_disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROOM = "import resource, sys; sys.dont_write_bytecode = True; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))"
"""Python after which no file of the process may grow over so many bytes; byte code would be cut short and kept."""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[MemoryEnv]:
    desk = MemoryEnv.at(tmp_path)
    desk.configure(provider="fake")
    yield desk
    desk.close()


@pytest.mark.slow
def test_a_disk_that_becomes_full_leaves_the_old_index_to_be_read_and_the_remedy_is_room(desk: MemoryEnv) -> None:
    with small_disk(desk.home, "12m"):
        desk.configure(provider="fake")
        answered(desk, "index")
        filler = fill(desk.home)
        desk.many(40)
        before = contents(desk.notes)
        assert found(desk, QUESTION)[0] == "MEMORY.md"
        reasons = {reason["code"]: reason for reason in answered(desk, "search", QUESTION)["health"]["reasons"]}
        reason = reasons["index_read_only"]
        assert "full" in reason["message"]
        assert reason["remedy"].startswith("Free some disk space")
        for command in (("index",), ("index", "--force"), ("compact",)):
            assert "disk space" in refused(desk, *command)["remedy"]
        answered(desk, "remember", "Tea, not coffee.")
        assert {path: text for path, text in contents(desk.notes).items() if path in before} == before
        filler.unlink()
        assert answered(desk, "index")["files"] == 45
        assert found(desk, "manyword33")[0] == "memory/many/033.md"
        assert health(desk) == {}


@pytest.mark.matrix
@pytest.mark.parametrize("size", ["400k", "800k", "1500k"])
def test_a_disk_that_is_too_small_keeps_what_was_finished(desk: MemoryEnv, size: str) -> None:
    with small_disk(desk.home, size):
        desk.configure(provider="fake")
        desk.many(150)
        before = contents(desk.notes)
        error = refused(desk, "index")
        assert "disk space" in error["remedy"]
        told = run(desk, "search", QUESTION)
        assert told.exit_code == 1 or told.json["results"][0]["path"] == "MEMORY.md"
        assert "disk space" in told.out
        assert contents(desk.notes) == before


@pytest.mark.slow
def test_a_limit_on_the_size_of_files_is_told_as_what_it_is(desk: MemoryEnv) -> None:
    desk.many(150)
    before = contents(desk.notes)
    error = refused(desk, "index", before=ROOM.format(200_000))
    assert "free space" in error["remedy"]
    assert contents(desk.notes) == before
    assert answered(desk, "index")["files"] == 154
    assert health(desk) == {}


@pytest.mark.slow
def test_an_entry_for_which_there_is_no_room_leaves_the_note_as_it_was(desk: MemoryEnv) -> None:
    file = desk.notes / "MEMORY.md"
    before = file.read_bytes()
    words = ("remember", "--to", "long-term", "word " * 400)
    error = refused(desk, *words, before=ROOM.format(len(before) + 100))
    assert error["remedy"].startswith("Free some disk space")
    assert file.read_bytes() == before
    answered(desk, *words)
    assert file.read_bytes().startswith(before)


def test_a_database_that_may_not_grow_is_searched_as_it_was_and_goes_on_when_it_may(desk: MemoryEnv) -> None:
    memory = desk.open()
    memory.sync()
    before = contents(desk.notes)
    connection = memory._backend.index._file.opened.connection  # type: ignore[attr-defined]
    pages = connection.pragma("page_count")
    assert connection.pragma("max_page_count", pages) == pages
    desk.many(100)
    desk.wait()
    result = memory.search(QUESTION)
    assert paths(result)[0] == "MEMORY.md"
    (reason,) = (reason for reason in result.health.reasons if reason.code == "index")
    assert reason.remedy.startswith("Free some disk space")
    assert {path: contents(desk.notes)[path] for path in before} == before
    connection.pragma("max_page_count", 1_000_000)
    desk.wait()
    assert paths(memory.search("manyword77"))[0] == "memory/many/077.md"
    memory.sync()
    assert codes(memory.status()) == []


@pytest.mark.slow
def test_an_index_on_a_read_only_mount_is_searched_and_the_remedies_work(desk: MemoryEnv, tmp_path: Path) -> None:
    answered(desk, "index")
    desk.write("memory/later.md", "The zanzibar key is under the mat.\n")
    with read_only(desk.home):
        told = answered(desk, "search", QUESTION)
        assert told["results"][0]["path"] == "MEMORY.md"
        assert {reason["code"] for reason in told["health"]["reasons"]} == {"index_read_only", "stale"}
        assert "memory/later.md" not in found(desk, "zanzibar key")
        assert set(health(desk)) == {"index_read_only"}
        for command in (("index",), ("compact",)):
            error = refused(desk, *command)
            assert "or set memorySearch.store.path" in error["remedy"]
        # another index path
        other = MemoryEnv(desk.notes, tmp_path / "elsewhere")
        other.home.mkdir()
        other.configure(provider="fake")
        assert found(other, "zanzibar key")[0] == "memory/later.md"
    # the folder can be written
    assert found(desk, "zanzibar key")[0] == "memory/later.md"
    assert health(desk) == {}


@pytest.mark.slow
@pytest.mark.parametrize("indexed", [True, False])
def test_a_folder_whose_permissions_forbid_writing_is_read_as_far_as_it_goes(desk: MemoryEnv, *, indexed: bool) -> None:
    bound = bound_by_permissions()
    folder = desk.home / "memory"
    if indexed:
        answered(desk, "index")
    folder.mkdir(exist_ok=True)
    for file in (folder, *folder.iterdir()):
        if not file.is_symlink():
            file.chmod(0o555)
    if indexed:
        assert found(desk, QUESTION, before=bound)[0] == "MEMORY.md"
        assert set(health(desk, before=bound)) == {"index_read_only"}
    else:
        assert "can be written" in refused(desk, "search", QUESTION, before=bound)["remedy"]
    for file in (folder, *folder.iterdir()):
        if not file.is_symlink():
            file.chmod(0o755)
    assert found(desk, QUESTION, before=bound)[0] == "MEMORY.md"
    assert health(desk, before=bound) == {}


def test_a_program_that_stays_writes_again_as_soon_as_it_can(desk: MemoryEnv) -> None:
    with desk.open() as first:
        first.sync()
    memory = desk.open()
    with read_only(desk.home):
        assert codes(memory.search(QUESTION)) == ["index_read_only"]
        desk.write("memory/later.md", "The zanzibar key is under the mat.\n")
        desk.wait()
        assert "memory/later.md" not in paths(memory.search("zanzibar"))
    result = memory.search("zanzibar")
    assert (paths(result)[0], result.health.ok) == ("memory/later.md", True)


@pytest.mark.slow
def test_a_log_that_a_killed_process_left_is_not_overlooked_when_the_index_can_only_be_read(desk: MemoryEnv) -> None:
    die = "import os; desk.sync(); desk._backend.index.set_meta('written', 'last'); os._exit(9)"
    before = f"from memoriter import Memory; desk = Memory.open({str(desk.notes)!r}); {die}"
    assert desk.run("status", before=before).exit_code == 9
    assert [file for file in (desk.home / "memory").iterdir() if file.name.endswith("-wal") and file.stat().st_size]
    with read_only(desk.home):
        with desk.open() as memory:
            assert memory.search(QUESTION).results[0].path == "MEMORY.md"
            assert memory._backend.index.get_meta("written") == "last"
        assert found(desk, QUESTION)[0] == "MEMORY.md"
