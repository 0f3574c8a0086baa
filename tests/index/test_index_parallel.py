"""Threads that share one index read at the same time, and read what one thread alone would read."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from memoriter.index import _opening
from memoriter.index.store import _connection
from memoriter.types import Filters

NOTES = Filters(path="*.md")
WAIT = 30.0
DESCRIPTORS = Path("/proc/self/fd")


class Meeting:
    """Lets `threads` threads meet inside a function of SQLite, once each."""

    def __init__(self, threads, monkeypatch):
        self.barrier = threading.Barrier(threads)
        self.seen = set()
        self.wanted = False
        self.matches = _connection.path_matches
        monkeypatch.setattr(_connection, "path_matches", self)

    def __call__(self, path, pattern):
        if self.wanted and threading.get_ident() not in self.seen:
            self.seen.add(threading.get_ident())
            self.barrier.wait(WAIT)
        return self.matches(path, pattern)


def search(index, ready=None):
    """A search as `Memory` makes it: of one state of the index."""

    def read():
        if ready is not None:
            ready()
        ids = [each for each, _ in index.keyword_search(["alpha"], limit=9, filters=NOTES)]
        near = [each for each, _ in index.vector_search([1, 0, 0, 0], limit=9, filters=NOTES)]
        return ids, near, sorted(row.chunk.text for row in index.rows(ids).values())

    return index.at_one_state(read)


@pytest.fixture
def filled(opened, make):
    def fill():
        index = opened()
        index.use_vectors(make.spec)
        make.put(index, "a.md", "alpha one", "beta")
        make.put(index, "b.md", "alpha two")
        make.embed(index)
        return index

    return fill


@pytest.mark.parametrize("threads", [2, 5])
def test_searches_of_threads_are_inside_sqlite_at_the_same_time(filled, monkeypatch, threads):
    meeting = Meeting(threads, monkeypatch)
    index = filled()
    alone = search(index)
    together = threading.Barrier(threads)
    meeting.wanted = True
    with ThreadPoolExecutor(threads) as pool:
        searches = [pool.submit(search, index, ready=lambda: together.wait(WAIT)) for _ in range(threads)]
        assert [each.result(WAIT) for each in searches] == [alone] * threads
    assert len(meeting.seen) == threads


def test_a_read_does_not_wait_for_a_thread_that_writes_and_sees_what_is_committed(filled, make):
    index = filled()
    inside, read = threading.Event(), threading.Event()

    def write():
        with index._file.writing() as connection:
            connection.execute("DELETE FROM meta")
            connection.execute("INSERT INTO meta(key, value) VALUES ('key', 'new')")
            own = index.get_meta("key")
            inside.set()
            assert read.wait(WAIT)
        return own

    index.set_meta("key", "old")
    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        assert inside.wait(WAIT)
        before = index.get_meta("key")
        read.set()
        assert (before, writer.result(WAIT), index.get_meta("key")) == ("old", "new", "new")


def test_one_thread_opens_no_second_connection(filled, make, monkeypatch):
    opened = []
    connect = _connection.connect
    for module in (_connection, _opening, __import__("memoriter.index.store._read_pool", fromlist=["_"])):
        monkeypatch.setattr(module, "connect", lambda *a, **k: opened.append(a) or connect(*a, **k))
    index = filled()
    made = len(opened)
    with index.lease():
        make.put(index, "c.md", "alpha three")
    assert len(search(index)[0]) == 3
    assert len(opened) == made


def test_an_index_that_cannot_be_written_is_searched_with_a_filter_by_path(filled, opened, monkeypatch):
    filled().close()

    def refuse(*_, **__):
        raise apsw.CantOpenError("unable to open database file")

    monkeypatch.setattr(_opening, "connect", refuse)
    index = opened()
    assert index.read_only
    assert index.count(NOTES) == 3


@pytest.mark.skipif(not DESCRIPTORS.exists(), reason="this system does not list open files")
def test_closing_the_index_closes_what_the_threads_used(filled, monkeypatch):
    meeting = Meeting(3, monkeypatch)
    index = filled()
    together = threading.Barrier(3)
    meeting.wanted = True
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: search(index, ready=lambda: together.wait(WAIT)), range(3)))
    file = str(index.path.resolve())

    def held():
        return [each for each in DESCRIPTORS.iterdir() if each.is_symlink() and str(each.readlink()) == file]

    assert len(held()) > 1
    index.close()
    assert held() == []


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["exact", "codes"])
def test_threads_get_whole_answers_while_the_same_index_is_rebuilt_and_compacted(filled, make, engine):
    index = filled()
    index.choose_engine(engine)
    done = threading.Event()

    def write():
        for number in range(12):
            with index.rebuild() as fresh:
                make.put(fresh, "b.md", "alpha two")
                make.put(fresh, "a.md", "alpha one", f"gamma{number}")
                make.embed(fresh)
            index.compact(max_entries=99, max_bytes=10**6)
        done.set()

    def read(_):
        answers = []
        while not done.is_set():
            index.refresh()
            _, near, texts = search(index)
            answers.append((len(near), texts))
        return answers

    with ThreadPoolExecutor(6) as pool:
        readers = [pool.submit(read, number) for number in range(5)]
        pool.submit(write).result()
        answers = [each for reader in readers for each in reader.result()]
    assert answers
    assert [each for each in answers if each != (3, ["alpha one", "alpha two"])] == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_uses_no_connection_of_its_parents_threads(filled, monkeypatch):
    meeting = Meeting(2, monkeypatch)
    index = filled()
    together = threading.Barrier(2)
    meeting.wanted = True
    with ThreadPoolExecutor(2) as pool:
        (alone, _) = pool.map(lambda _: search(index, ready=lambda: together.wait(WAIT)), range(2))
    meeting.wanted, before = False, index._file._pool
    child = os.fork()
    if child == 0:
        same = index.get_meta("none") is None and search(index) == alone
        os._exit(0 if same and index._file._pool is not before else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert search(index) == alone
