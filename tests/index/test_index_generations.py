from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path

import apsw
import numpy as np
import pytest

from memoriter.errors import IndexBusy, IndexDamaged, IndexUnavailable
from memoriter.index import Index, _connection
from memoriter.index._connection import snapshot


def found(index, word):
    return [index.rows([id_])[id_].path for id_, _ in index.keyword_search([word], limit=9)]


def names(path):
    return sorted(file.name for file in path.parent.iterdir())


def set_aside(path):
    return [name for name in names(path) if name.startswith("main.sqlite.damaged")]


def test_a_new_index_is_one_file_with_the_first_number(index, path):
    assert [name for name in names(path) if not name.endswith((".lock", ".lease", "-wal", "-shm"))] == ["main.sqlite"]
    assert (path.is_symlink(), index.generation) == (False, 1)


def test_what_was_put_is_there_after_opening_again(opened, make):
    first = opened()
    make.put(first, "a.md", "alpha")
    first.set_meta("settings", "x")
    first.close()
    again = opened()
    assert (found(again, "alpha"), again.get_meta("settings"), again.get_meta("other")) == (["a.md"], "x", None)


def test_a_closed_index_says_so(index):
    index.close()
    index.close()
    assert index.refresh() is False
    with pytest.raises(IndexUnavailable, match="not open"):
        index.files()


def test_an_index_closes_itself_at_the_end_of_a_with_block(path):
    with Index.open(path, clock=lambda: 0.0) as index:
        assert index.corpus().chunks == 0
    with pytest.raises(IndexUnavailable):
        index.corpus()


def test_a_rebuild_serves_the_old_content_until_it_is_done_and_keeps_all_vectors(index, opened, make):
    reader = opened()
    for each in (index, reader):
        each.use_vectors(make.spec)
    make.put(index, "a.md", "alpha", "gone")
    make.embed(index)
    before = index.all_ids()
    with index.rebuild() as fresh:
        assert (fresh.files(), fresh.generation) == ({}, 2)
        make.put(fresh, "a.md", "alpha")
        assert fresh.pending() == 0
        assert fresh.refresh() is False
        assert (found(index, "gone"), found(reader, "gone")) == (["a.md"], ["a.md"])
    assert (index.generation, found(index, "gone"), found(index, "alpha"), index.pending()) == (2, [], ["a.md"], 0)
    assert (reader.refresh(), reader.refresh()) == (True, False)
    assert (reader.generation, found(reader, "gone"), reader.vectors()) == (2, [], 1)
    assert not set(before) & set(index.all_ids())


def put_and_fail(make, index):
    make.put(index, "b.md", "beta")
    raise IndexUnavailable("stop")


def test_a_rebuild_that_fails_changes_nothing_and_leaves_no_file(index, make, path):
    make.put(index, "a.md", "alpha")
    with pytest.raises(IndexUnavailable, match="stop"), index.rebuild() as fresh:
        put_and_fail(make, fresh)
    assert (index.generation, found(index, "alpha"), found(index, "beta")) == (1, ["a.md"], [])
    assert not [name for name in names(path) if ".new" in name]


def test_a_rebuild_keeps_the_chosen_engine(index, make):
    index.use_vectors(make.spec)
    index.choose_engine("codes")
    with index.rebuild() as fresh:
        make.put(fresh, "a.md", "alpha")
        make.embed(fresh)
    assert index.engine == "codes"
    assert len(index.vector_search(make.unit(1, 0, 0, 0), limit=3)) == 1


def test_the_version_changes_with_a_new_generation(index):
    before = index.version()
    with index.rebuild():
        pass
    assert index.version() != before


def test_rebuilds_can_follow_each_other_and_the_old_files_go(index, make, path):
    for _ in range(3):
        with index.rebuild() as fresh:
            make.put(fresh, "a.md", "alpha")
    assert index.generation == 4
    assert [name for name in names(path) if ".sqlite" in name and "-" not in name] == [
        "main.sqlite",
        "main.sqlite.lease",
        "main.sqlite.lock",
    ]


def test_an_index_nobody_finished_is_removed_at_the_next_opening(index, opened, path):
    half = ["main.sqlite.12ab.new", "main.sqlite.12ab.new-shm", "main.sqlite.12ab.new-wal"]
    for name in (*half, "other.sqlite.12ab.new"):
        (path.parent / name).write_bytes(b"half")
    with index.lease():
        opened()
        assert [name for name in names(path) if "12ab" in name] == [*half, "other.sqlite.12ab.new"]
    opened()
    assert [name for name in names(path) if "12ab" in name] == ["other.sqlite.12ab.new"]


@pytest.mark.parametrize("what", ["the file", "everything", "the folder"])
def test_deleting_the_index_at_any_time_costs_nothing_but_its_content(index, opened, make, path, what):
    make.put(index, "a.md", "alpha")
    if what == "the file":
        path.unlink()
    elif what == "everything":
        for file in path.parent.iterdir():
            file.unlink()
    else:
        shutil.rmtree(path.parent)
    assert found(index, "alpha") == ["a.md"]
    assert index.refresh() is True
    assert (index.files(), index.notices) == ({}, ())
    make.put(index, "b.md", "beta")
    assert found(opened(), "beta") == ["b.md"]


def test_two_openings_of_a_deleted_index_agree_on_one_new_file(index, opened, make, path):
    other = opened()
    path.unlink()
    make.put(index, "lost.md", "lost")
    assert (index.refresh(), other.refresh()) == (True, True)
    make.put(index, "a.md", "alpha")
    assert found(other, "alpha") == ["a.md"]


def test_a_copy_of_the_file_alone_is_a_whole_index(opened, make, path):
    first = opened()
    make.put(first, "a.md", "alpha")
    first.close()
    backup = path.read_bytes()
    for file in path.parent.iterdir():
        file.unlink()
    path.write_bytes(backup)
    assert found(opened(), "alpha") == ["a.md"]


def test_a_log_of_a_replaced_file_is_not_taken_for_that_of_the_new_one(index, opened, make, path):
    """The reader keeps the log from being written back, and has it open when the file is replaced."""
    reader = opened()
    make.put(index, "a.md", "alpha")
    with reader._file.reading() as connection, snapshot(connection):
        reader.files()
        make.put(index, "a.md", "beta")
        assert path.with_name("main.sqlite-wal").stat().st_size
        with index.rebuild() as fresh:
            make.put(fresh, "a.md", "gamma")
        assert found(opened(), "gamma") == found(index, "gamma") == ["a.md"]
        make.put(index, "b.md", "delta")
    reader.close()  # SQLite deletes the log of a database that nobody has open any more
    assert path.with_name("main.sqlite-wal").stat().st_size
    again = opened()
    assert (found(again, "delta"), found(again, "beta")) == (["b.md"], [])
    again.check()


def test_a_link_of_the_users_own_is_followed_and_kept(tmp_path, make):
    disk = tmp_path / "disk"
    disk.mkdir()
    link = tmp_path / "main.sqlite"
    link.symlink_to("disk/big.sqlite")
    with Index.open(link, clock=lambda: 0.0) as index, index.rebuild() as fresh:
        make.put(fresh, "a.md", "alpha")
    assert link.readlink() == Path("disk/big.sqlite")
    assert not (disk / "big.sqlite").is_symlink()
    with Index.open(link, clock=lambda: 0.0) as index:
        assert found(index, "alpha") == ["a.md"]


def test_links_in_a_circle_are_an_error_with_a_remedy(tmp_path):
    (tmp_path / "a.sqlite").symlink_to("b.sqlite")
    (tmp_path / "b.sqlite").symlink_to("a.sqlite")
    with pytest.raises(IndexUnavailable, match="circle") as caught:
        Index.open(tmp_path / "a.sqlite", clock=lambda: 0.0)
    assert caught.value.remedy


GARBAGE = b"this is no database at all " * 1000


@pytest.mark.parametrize("before", ["an index", "nothing"])
def test_garbage_is_set_aside_and_a_new_index_begun(opened, make, path, before):
    if before == "an index":
        first = opened()
        make.put(first, "a.md", "alpha")
        first.close()
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(GARBAGE)
    index = opened()
    assert [notice.code for notice in index.notices] == ["index_quarantined"]
    assert index.notices[0].remedy
    (name,) = set_aside(path)
    assert (path.parent / name).read_bytes() == GARBAGE
    make.put(index, "b.md", "beta")
    assert found(index, "beta") == ["b.md"]


def test_a_database_of_another_program_is_refused_and_stays_as_it_is(opened, path):
    path.parent.mkdir()
    with sqlite3.connect(path) as foreign:
        foreign.execute("CREATE TABLE chunks(id, text)")
        foreign.execute("INSERT INTO chunks VALUES (1, 'theirs')")
    foreign.close()
    before = path.read_bytes()
    with pytest.raises(IndexUnavailable, match="belongs to another program"):
        opened()
    assert path.read_bytes() == before
    assert set_aside(path) == []


def test_an_index_of_ours_without_its_tables_is_set_aside(opened):
    first = opened()
    with first._file.writing() as connection:
        connection.execute("DROP TABLE embedding_cache")
    first.close()
    assert "is damaged" in opened().notices[0].message


@pytest.mark.parametrize("before", ["an index", "nothing"])
def test_an_empty_file_is_simply_new(opened, path, before):
    if before == "an index":
        opened().close()
    path.parent.mkdir(exist_ok=True)
    os.truncate(path, 0) if path.exists() else path.touch()
    index = opened()
    assert (index.files(), index.notices) == ({}, ())


def test_a_folder_in_its_place_is_an_error_with_a_remedy(opened, path):
    path.mkdir(parents=True)
    with pytest.raises(IndexUnavailable, match="is a folder") as caught:
        opened()
    assert caught.value.remedy


def test_a_folder_that_cannot_be_made_is_an_error_with_a_remedy(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(IndexUnavailable) as caught:
        Index.open(tmp_path / "file" / "main.sqlite", clock=lambda: 0.0)
    assert caught.value.remedy


def filled(opened, make):
    index = opened()
    index.use_vectors(make.spec)
    for number in range(60):
        make.put(index, f"{number}.md", *(f"word{number} text {i} " * 20 for i in range(10)))
    make.embed(index)
    index.close()


@pytest.mark.parametrize("seed", range(12))
def test_flipped_pages_are_noticed_or_harmless_and_quarantine_always_helps(opened, make, path, seed):
    filled(opened, make)
    rng = np.random.default_rng(seed)
    content = bytearray(path.read_bytes())
    for page in rng.integers(0, len(content) // 8192, size=12).tolist():
        content[page * 8192 : (page + 1) * 8192] = rng.bytes(8192)
    path.write_bytes(content)
    exercise(opened, make)


@pytest.mark.parametrize("part", [0.02, 0.3, 0.7, 0.999])
def test_a_file_cut_short_is_noticed_or_harmless_and_quarantine_always_helps(opened, make, path, part):
    filled(opened, make)
    os.truncate(path, int(path.stat().st_size * part))
    exercise(opened, make)


def exercise(opened, make):
    """Ask everything; the only error allowed is `IndexDamaged`, and after `quarantine` everything works."""
    index = opened()
    questions = [
        lambda: index.use_vectors(make.spec),
        index.files,
        index.corpus,
        index.all_ids,
        lambda: index.keyword_search(["word3", "text"], limit=50),
        lambda: index.document_frequency(["text"]),
        lambda: index.rows(range(1, 601)),
        lambda: index.scoring_rows(range(1, 601)),
        lambda: index.missing(1000),
        index.pending,
        lambda: index.vector_search(make.unit(1, 0, 0, 0), limit=5),
        lambda: make.put(index, "3.md", "new"),
        lambda: index.remove_files(["4.md"]),
        lambda: make.embed(index),
        lambda: index.evict(max_entries=1, max_bytes=1),
        index.purge,
    ]
    for question in questions:
        # Any other error fails the test.
        with suppress(IndexDamaged):
            question()
    index.quarantine()
    assert "index_quarantined" in {notice.code for notice in index.notices}
    index.use_vectors(make.spec)
    make.put(index, "a.md", "alpha")
    make.embed(index)
    assert (found(index, "alpha"), index.pending()) == (["a.md"], 0)


def test_an_index_that_another_process_writes_to_meanwhile_is_not_called_damaged(index, opened, make):
    writer = opened()
    make.put(index, "0.md", "common start")
    index.check()
    for number in range(40):  # FTS5 merges segments that the first connection still has in memory
        make.put(writer, f"{number % 4}.md", *(f"common round{number} part{part}" for part in range(5)))
        index.check()


def test_quarantine_spares_an_index_that_somebody_made_meanwhile(index, opened, make, path):
    other = opened()
    index.quarantine()
    make.put(index, "a.md", "alpha")
    other.quarantine()
    assert found(other, "alpha") == ["a.md"]
    assert len(set_aside(path)) == 1


def test_a_full_disk_is_an_error_with_a_remedy_and_loses_nothing(index, make):
    make.put(index, "a.md", "alpha")
    with index._file.reading() as connection:
        connection.pragma("max_page_count", int(connection.pragma("page_count")) + 2)
    with pytest.raises(IndexUnavailable, match="full") as caught:
        make.put(index, "b.md", *("beta " * 500 for _ in range(50)))
    assert "disk space" in caught.value.remedy
    assert set(index.files()) == {"a.md"}


def test_a_writer_that_takes_too_long_is_an_error_with_a_remedy(monkeypatch, opened, make):
    monkeypatch.setattr(_connection, "BUSY_MS", 20)
    index = opened()
    other = opened()
    with other._file.writing(), pytest.raises(IndexBusy) as caught:
        make.put(index, "a.md", "alpha")
    assert caught.value.remedy
    make.put(index, "a.md", "alpha")


def test_a_writer_whose_file_was_replaced_writes_to_the_new_one_after_a_refresh(opened, make, path):
    index = opened(network=True)
    make.put(index, "a.md", "alpha")
    path.unlink()
    with pytest.raises(IndexUnavailable, match="moved or deleted") as caught:
        make.put(index, "b.md", "beta")
    assert caught.value.remedy
    assert index.refresh() is True
    make.put(index, "b.md", "beta")
    assert set(index.files()) == {"b.md"}


def test_an_index_that_may_only_be_read_is_an_error_with_a_remedy(index, make):
    with index._file.reading() as connection:
        connection.pragma("query_only", 1)
    with pytest.raises(IndexUnavailable, match="readonly") as caught:
        make.put(index, "a.md", "alpha")
    assert "writable" in caught.value.remedy


def test_only_one_may_index_at_a_time_and_every_one_may_search(index, opened, make):
    other = opened()
    with index.lease(), index.lease():
        with pytest.raises(IndexBusy) as caught, other.lease():
            pass
        assert caught.value.remedy
        make.put(index, "a.md", "alpha")
        assert found(other, "alpha") == ["a.md"]
    with other.lease(wait=1.0):
        pass


def test_a_rebuild_needs_the_lease(index, opened):
    with opened().lease(), pytest.raises(IndexBusy), index.rebuild():
        pass


@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize("explicit", [True, False])
def test_the_log_is_written_ahead_on_local_disks_only(monkeypatch, opened, network, explicit):
    monkeypatch.setattr("memoriter.index._open_file.on_network", lambda _: network)
    index = opened(network=network) if explicit else opened()
    with index._file.reading() as connection:
        assert connection.pragma("journal_mode") == ("delete" if network else "wal")


def test_an_index_that_moved_to_the_network_changes_its_log(opened, make):
    first = opened(network=False)
    make.put(first, "a.md", "alpha")
    first.close()
    index = opened(network=True)
    with index._file.reading() as connection:
        assert connection.pragma("journal_mode") == "delete"
    assert found(index, "alpha") == ["a.md"]


def test_a_new_generation_that_already_serves_survives_what_goes_wrong_after(index, make, monkeypatch):

    make.put(index, "a.md", "alpha")
    from memoriter.index import _files

    put_in_place = _files.IndexFiles._put_in_place

    def failing(files, fresh, *, set_aside):
        put_in_place(files, fresh, set_aside=set_aside)
        raise apsw.IOError("the disk fails")

    def rebuilt():
        with index.rebuild() as fresh:
            make.put(fresh, "b.md", "beta")

    with monkeypatch.context() as broken:
        broken.setattr(_files.IndexFiles, "_put_in_place", failing)
        with pytest.raises(IndexUnavailable, match="the disk fails"):
            rebuilt()
    index.refresh()
    assert list(index.files()) == ["b.md"]
