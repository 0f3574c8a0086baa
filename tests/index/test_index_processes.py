"""What happens when other processes write, read or die."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

import memoriter
from memoriter.errors import IndexBusy

pytestmark = pytest.mark.slow

SOURCES = str(Path(memoriter.__file__).parents[1])

PRELUDE = """
import sys, json
from pathlib import Path
import numpy as np
from memoriter.ids import vector_key
from memoriter.index import Index
from memoriter.records import ChunkRecord
from memoriter.types import Chunk, ModelSpec, Source
def entry(text):
    chunk = Chunk(1, 1, text)
    return ChunkRecord(chunk, vector_key(chunk), text, len(text.split()), b"", 738000)
def put(index, number, round_):
    texts = [f"round{round_} note{number} part{i} common" for i in range(5)]
    source = Source(f"{number}.md", "memory", Path("/x"), round_, round_)
    index.put_file(source, str(round_), [entry(text) for text in texts])
index = Index.open(Path(sys.argv[1]), clock=lambda: 0.0)
index.use_vectors(ModelSpec("fake", "small", 4))
def embed():
    waiting = index.missing(64)
    if waiting:
        index.put_vectors([key for key, _ in waiting], np.tile(np.eye(1, 4, dtype=np.float32), (len(waiting), 1)))
"""

WRITER_FOREVER = """
index.choose_engine(sys.argv[2])
round_ = 1 + max((file.size for file in index.files().values()), default=0)
with index.lease(wait=5):
    print("ready", flush=True)
    while True:
        for number in range(8):
            put(index, number, round_)
            embed()
            print(json.dumps([number, round_]), flush=True)
        round_ += 1
"""

WRITER = """
for round_ in range(int(sys.argv[2])):
    with index.lease(wait=20):
        for number in range(8):
            put(index, number, round_)
            embed()
        index.remove_files(["7.md"])
print("done")
"""

READER = """
index.choose_engine(sys.argv[2])
print("ready", flush=True)
count = 0
while True:
    index.refresh()
    found = index.keyword_search(["common", "part3"], limit=20)
    rows = index.rows([id_ for id_, _ in found])
    near = index.vector_search(np.eye(1, 4, dtype=np.float32)[0], limit=20)
    index.scoring_rows([id_ for id_, _ in near]), index.pending(), index.document_frequency(["common"])
    for row in rows.values():
        assert row.chunk.text.startswith("round"), row
    count += 1
    if count % 20 == 0:
        print(count, flush=True)
"""


def start(script, *arguments):
    command = [
        sys.executable,
        "-c",
        f"import sys; sys.path.insert(0, {SOURCES!r})\n{PRELUDE}{script}",
        *map(str, arguments),
    ]
    # A pipe that stays open: what waits for input waits until it is killed, however the tests are run.
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("engine", ["exact", "codes"])
def test_a_writer_that_is_killed_loses_nothing_it_had_finished(path, opened, make, engine):
    finished = {}
    for steps in (1, 5, 11, 17, 30):
        writer = start(WRITER_FOREVER, path, engine)
        assert writer.stdout.readline() == "ready\n", writer.stderr.read()
        for _ in range(steps):
            number, round_ = json.loads(writer.stdout.readline())
            finished[f"{number}.md"] = round_
        writer.kill()
        writer.communicate()
        index = opened()
        index.use_vectors(make.spec)
        index.choose_engine(engine)
        assert index.notices == ()
        for name, file in index.files().items():
            assert file.size >= finished.get(name, 0)
            rows = index.rows(index.ids_at(name)).values()
            assert [row.chunk.text.split()[0] for row in rows] == [f"round{file.size}"] * 5
        assert finished.keys() <= index.files().keys()
        assert len(index.vector_search(make.unit(1, 0, 0, 0), limit=99)) == index.vectors() > 0
        with index._file.reading() as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            connection.execute("INSERT INTO chunks_fts(chunks_fts) VALUES ('integrity-check')")
        index.close()


def test_the_lease_of_a_killed_process_is_free(path, opened):
    writer = start(WRITER_FOREVER, path, "exact")
    assert writer.stdout.readline() == "ready\n", writer.stderr.read()
    index = opened()
    with pytest.raises(IndexBusy), index.lease():
        pass
    writer.kill()
    writer.communicate()
    with index.lease(wait=5):
        pass


def test_an_index_whose_builder_was_killed_is_cleaned_away(path, opened):
    builder = start(
        "with index.rebuild() as fresh:\n    put(fresh, 1, 1)\n    print('ready', flush=True)\n    sys.stdin.read()",
        path,
    )
    assert builder.stdout.readline() == "ready\n", builder.stderr.read()
    builder.kill()
    builder.communicate()
    assert opened().generation == 1
    assert [file.name for file in path.parent.iterdir() if ".new" in file.name] == []


def test_one_writer_and_four_readers_never_meet_a_locked_database(path, opened):
    opened()
    readers = [start(READER, path, engine) for engine in ("exact", "codes", "codes", "exact")]
    for reader in readers:
        assert reader.stdout.readline() == "ready\n", reader.stderr.read()
    writer = start(WRITER, path, 12)
    _, problems = writer.communicate(timeout=150)
    assert problems == ""
    for reader in readers:
        assert reader.stdout.readline().strip().isdigit(), reader.stderr.read()
        assert reader.poll() is None, reader.stderr.read()
        reader.kill()
        assert reader.communicate()[1] == ""


def test_many_processes_may_open_a_new_index_at_once(path):
    openers = [start("put(index, int(sys.argv[2]), 1); print(index.generation)", path, number) for number in range(5)]
    for opener in openers:
        output, problems = opener.communicate(timeout=150)
        assert (output, problems) == ("1\n", "")


def test_threads_may_share_an_index(index, make):
    index.use_vectors(make.spec)
    stop = threading.Event()

    def read():
        count = 0
        while not stop.is_set():
            index.keyword_search(["alpha"], limit=5)
            index.vector_search(make.unit(1, 0, 0, 0), limit=5)
            count += 1
        return count

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        for number in range(30):
            make.put(index, f"{number}.md", f"alpha {number}")
            make.embed(index)
        stop.set()
        assert all(reader.result() > 0 for reader in readers)
    assert index.corpus().chunks == 30


def test_another_program_may_hold_the_file_for_a_moment(index, path, make):
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.05, lambda: other.execute("ROLLBACK"))
    timer.start()
    make.put(index, "a.md", "alpha")
    timer.join()
    other.close()
    assert index.corpus().chunks == 1
