"""Long-term memories in large tables, and of many writers."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pytest

import long_term_writer
from long_term_store import InMemoryStore
from long_term_writer import PRINCIPAL, Writers, table
from memoriter.errors import IndexUnavailable
from memoriter.extensions.longterm._lance_upkeep import create
from memoriter.extensions.longterm.api import LanceStore, LongTermMemory
from s3 import bucket_options

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROWS = 2_000
DIMENSIONS = 32
PLACES = ["disk", "s3", "indexed disk", "indexed s3"]
FILLED = 600
"""Rows that an indexed place has before."""


def memory(number: int, principal: str = "ann") -> LongTermMemory:
    key = str(uuid.UUID(int=number + 1))
    return LongTermMemory(id=key, text=f"Fact {number}.", principal=principal, origin="owner", created_at=float(number))


def random_vectors(count: int, seed: int, dimensions: int = DIMENSIONS) -> np.ndarray:
    """Return vectors of unit length (count, dimensions) around a few topics, as those of texts are."""
    drawn = np.random.default_rng(seed)
    topics = np.random.default_rng(0).standard_normal((50, dimensions))
    made = topics[drawn.integers(0, 50, count)] + 0.8 * drawn.standard_normal((count, 16)) @ topics[:16]
    made += 0.2 * drawn.standard_normal((count, dimensions))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module", params=[32, 384])
def indexed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LanceStore:
    """A table whose vectors are indexed, with a few memories of another principal."""
    place = str(tmp_path_factory.mktemp("indexed") / "lancedb")
    store = LanceStore(place, model="first", dimensions=request.param, exact_below=ROWS // 2)
    vectors = list(random_vectors(ROWS + 20, 1, request.param))
    store.store([memory(number) for number in range(ROWS)], vectors[:ROWS])
    store.store([memory(ROWS + number, "bob") for number in range(20)], vectors[ROWS:])
    store.maintain()
    return store


def test_a_search_with_the_index_finds_what_a_comparison_with_all_vectors_finds(indexed: LanceStore) -> None:
    twin = InMemoryStore(model="first")
    twin.store(
        [memory(number) for number in range(ROWS)], list(random_vectors(ROWS + 20, 1, indexed.dimensions))[:ROWS]
    )
    assert indexed.state().indexed == ROWS + 20
    shared = 0
    for query in random_vectors(50, 2, indexed.dimensions):
        right = {each.memory.id: each.similarity for each in twin.search(query, principal="ann", limit=10)}
        found = indexed.search(query, principal="ann", limit=10)
        assert [each.similarity for each in found] == sorted((each.similarity for each in found), reverse=True)
        for each in found:
            if each.memory.id in right:
                assert each.similarity == pytest.approx(right[each.memory.id], abs=1e-5)
        shared += len(right.keys() & {each.memory.id for each in found})
    assert shared / 500 >= 0.99


def test_few_memories_among_many_are_all_found_beside_an_index(indexed: LanceStore) -> None:
    found = indexed.search(random_vectors(1, 3, indexed.dimensions)[0], principal="bob", limit=50)
    assert {each.memory for each in found} == {memory(ROWS + number, "bob") for number in range(20)}


def test_a_memory_is_found_before_it_is_indexed_and_gone_once_it_is_erased(indexed: LanceStore) -> None:
    fresh = memory(ROWS + 500)
    vector = random_vectors(1, 4, indexed.dimensions)[0]
    indexed.store([fresh], [vector])
    assert indexed.search(vector, principal="ann", limit=1)[0].memory == fresh
    indexed.maintain()
    assert indexed.state().indexed == ROWS + 21
    assert indexed.search(vector, principal="ann", limit=1)[0].memory == fresh
    assert indexed.delete([fresh.id], principal="ann") == 1
    indexed.maintain(erase=True)
    assert indexed.search(vector, principal="ann", limit=1)[0].memory != fresh
    assert (indexed.state().indexed, indexed.state().versions) == (ROWS + 20, 1)


def test_the_threads_of_the_database_share_a_heap_so_that_freed_memory_is_used_again(tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("only the GNU C library gives each thread a heap")
    program = (
        "import ctypes, sys\n"
        "from long_term_writer import write\n"
        "write(sys.argv[1], {}, 0, 20)\n"
        "libc = ctypes.CDLL(None)\n"
        "libc.fopen.restype = ctypes.c_void_p\n"
        "file = ctypes.c_void_p(libc.fopen(sys.argv[2].encode(), b'w'))\n"
        "libc.malloc_info(0, file), libc.fclose(file)\n"
    )
    heaps = tmp_path / "heaps.xml"
    command = [sys.executable, "-c", program, str(tmp_path / "lancedb"), str(heaps)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=Path(long_term_writer.__file__).parent)
    assert heaps.read_text(encoding="utf-8").count("<heap nr=") <= 2


def test_a_merge_returns_freed_memory_to_the_system(tmp_path: Path) -> None:
    if sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("only the GNU C library keeps freed memory between pieces in use")
    program = (
        "import ctypes, sys\n"
        "from long_term_writer import memories, table\n"
        "def resident():\n"
        "    lines = open('/proc/self/status').readlines()\n"
        "    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith('VmRSS'))\n"
        "store = table(sys.argv[1], {})\n"
        "store.store(memories(1), [[1.0] + [0.0] * (store.dimensions - 1)])\n"
        "libc = ctypes.CDLL(None)\n"
        "libc.malloc.restype = libc.memset.restype = ctypes.c_void_p\n"
        "pieces = [ctypes.c_void_p(libc.malloc(64 * 1024)) for _ in range(2_000)]\n"
        "for piece in pieces: libc.memset(piece, 1, 64 * 1024)\n"
        "for piece in pieces[:-1]: libc.free(piece)\n"
        "before = resident()\n"
        "store.maintain()\n"
        "print(before - resident())\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "lancedb")]
    folder = Path(long_term_writer.__file__).parent
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=folder)
    assert float(done.stdout) > 100  # of 125 MB


def test_the_upkeep_of_an_index_of_many_parts_prints_nothing(tmp_path: Path) -> None:
    program = (
        "import sys, numpy as np\n"
        "from long_term_writer import memories, table\n"
        "store, count = table(sys.argv[1], {}, exact_below=20_000), 20_000\n"
        "vectors = np.random.default_rng(0).standard_normal((count + 1, store.dimensions), dtype=np.float32)\n"
        "vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)\n"
        "store.store(memories(count), [*vectors[:count]]), store.maintain()\n"
        "store.store(memories(count + 1)[count:], [vectors[count]]), store.maintain()\n"
        "assert store.state().indexed == count + 1\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "lancedb")]
    environment = {name: value for name, value in os.environ.items() if name != "LANCEDB_LOG"}
    folder = Path(long_term_writer.__file__).parent
    done = subprocess.run(command, check=False, capture_output=True, cwd=folder, env=environment, encoding="utf-8")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("given", ["", "1048576"])
def test_the_database_reads_no_gigabytes_ahead_unless_the_environment_says_so(given: str) -> None:
    variable = "LANCE_DEFAULT_IO_BUFFER_SIZE"
    program = (
        "import os\n"
        "from long_term_writer import table\n"
        "store = table('memory://', {})\n"
        "store.state()\n"
        f"print(os.environ['{variable}'])\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != variable}
    environment |= {variable: given} if given else {}
    folder = Path(long_term_writer.__file__).parent
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=folder, env=environment, encoding="utf-8")
    assert int(done.stdout) == int(given or 256 << 20)


def test_files_and_versions_do_not_grow_with_the_number_of_writes(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path / "lancedb"), model="first", dimensions=DIMENSIONS)
    most = [0, 0]
    for number, vector in enumerate(random_vectors(400, 5)):
        store.store([memory(number)], [vector])
        if number % 10 == 9:
            most[number // 200] = max(most[number // 200], store.state().fragments)
    assert most[1] <= 1.25 * most[0]


def test_a_table_with_an_index_of_ids_has_each_memory_once_and_as_it_was_stored_last(tmp_path: Path) -> None:
    where, _ = _place(tmp_path, "indexed disk")
    store = table(where, {})
    vectors = [*random_vectors(12, 6, long_term_writer.DIMENSIONS)]
    first = [memory(number) for number in range(10)]
    other = memory(3, "bob")
    store.store(first[:5], vectors[:5])  # new ones
    store.store([other], vectors[:1])  # an id that another principal has
    changed = [replace(each, text="Changed.") for each in first[3:]]
    store.store(changed, vectors[:7])  # new ones beside those that are there
    assert store.memories(principal="ann") == [*first[:3], *changed]
    assert store.memories(principal="bob") == [other]
    for store_again in (store, table(where, {})):
        store_again.maintain()
        store_again.store([replace(first[0], text=f"{store_again!r}")], vectors[:1])
        assert store.get([first[0].id], principal="ann")[0].text == f"{store_again!r}"
        assert [store.count(principal=each) for each in ("ann", "bob", "filler")] == [10, 1, FILLED]


def test_an_erased_memory_is_in_no_file_of_an_indexed_table_any_more(tmp_path: Path) -> None:
    where, _ = _place(tmp_path, "indexed disk")
    store = table(where, {}, exact_below=FILLED)
    erased = memory(FILLED)
    kept = memory(FILLED + 1)
    store.store([erased, kept], [*random_vectors(2, 6, long_term_writer.DIMENSIONS)])
    store.maintain()
    assert _in_files(where, erased.id, kept.id) == {erased.id, kept.id}
    store.delete([erased.id], principal="ann")
    store.maintain(erase=True)
    assert _in_files(where, erased.id, kept.id) == {kept.id}
    assert store.get([kept.id], principal="ann") == [kept]
    assert "id_idx" in _indexes(where, {})


def test_a_write_waits_for_that_of_another_process_and_fails_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = str(tmp_path / "lancedb")
    store = table(where, {})
    vector = random_vectors(1, 7, long_term_writer.DIMENSIONS)[0]
    store.store([memory(0)], [vector])
    program = (
        "import sys; from pathlib import Path; from memoriter.extensions.longterm._lance_upkeep import writers_lock\n"
        "with writers_lock(Path(sys.argv[1])): print('held', flush=True), sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", program, where]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        monkeypatch.setattr("memoriter.extensions.longterm._lance_upkeep.LOCK_SECONDS", 0.05)
        with pytest.raises(IndexUnavailable, match="Another process") as raised:
            store.store([memory(1)], [vector])
        assert raised.value.remedy == "Stop the other process, or try again."
        assert store.memories(principal="ann") == [memory(0)]
        process.kill()
        process.communicate()
        store.store([memory(1)], [vector])
    assert store.memories(principal="ann") == [memory(0), memory(1)]


class BetweenTwoLooks:
    """A database in which each table that is created was created by another process a moment before.

    LanceDB then replaces that table, as it does when the other process creates it between its two looks.
    """

    def __init__(self, database: Any) -> None:
        self._database = database

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def create_table(self, name: str, *, schema: Any, exist_ok: bool) -> Any:
        assert exist_ok
        return self._database.create_table(name, schema=schema, mode="overwrite")


def test_a_table_that_two_processes_create_at_once_keeps_the_memories_of_both(tmp_path: Path) -> None:
    where = str(tmp_path / "lancedb")
    vectors = [*random_vectors(4, 8, long_term_writer.DIMENSIONS)]
    first = table(where, {})
    created = lancedb.connect(where)
    first.store([memory(number) for number in range(3)], vectors[:3])
    name = f"memories_{first.model}"

    again = create(BetweenTwoLooks(created), name, created.open_table(name).schema)

    assert again.version > 1
    first.store([memory(3)], vectors[3:])
    assert first.memories(principal="ann") == [memory(number) for number in range(4)]
    assert create(created, name, again.schema).count_rows() == 4  # a table that exists is opened


@pytest.mark.parametrize("place", PLACES)
def test_four_processes_write_at_once_and_nothing_is_lost_or_double(tmp_path: Path, place: str) -> None:
    where, options = _place(tmp_path, place)
    count = 20 if place in ("disk", "s3") else 10
    writers = Writers(where, options, writers=4, count=count)
    assert writers.wait() == []
    assert [len(keys) for keys in writers.stored] == [count] * 4
    store = table(where, options)
    ids = [each.id for each in store.memories(principal=PRINCIPAL)]
    assert sorted(ids) == sorted(writers.all_stored)


@pytest.mark.parametrize("place", PLACES[:3])
def test_writers_that_are_killed_lose_nothing_that_they_reported(tmp_path: Path, place: str) -> None:
    where, options = _place(tmp_path, place)
    writers = Writers(where, options, writers=4, count=40)
    for process in writers.processes[:3]:
        for _ in range(12):
            assert writers.enough.acquire(timeout=300)
        process.kill()
    assert writers.wait() == []
    store = table(where, options)
    ids = [each.id for each in store.memories(principal=PRINCIPAL)]
    assert len(ids) == len(set(ids))
    assert writers.all_stored <= set(ids)
    assert len(writers.stored[3]) == 40
    store.maintain()
    assert {each.id for each in store.memories(principal=PRINCIPAL)} == set(ids)


def _place(folder: Path, place: str) -> tuple[str, dict[str, str]]:
    """Return a database and its options; an indexed one has memories of another principal, and indexes."""
    on_disk = place.endswith("disk")
    where, options = (str(folder / "lancedb"), {}) if on_disk else (f"s3://memories/{folder.name}", bucket_options())
    if place.startswith("indexed"):
        store = table(where, options, exact_below=FILLED)
        filler = [memory(number, "filler") for number in range(FILLED)]
        store.store(filler, [*random_vectors(FILLED, 8, long_term_writer.DIMENSIONS)])
        store.maintain()
        assert "id_idx" in _indexes(where, options)
    return where, options


def _indexes(where: str, options: dict[str, str]) -> set[str]:
    opened = lancedb.connect(where, storage_options=options or None)
    return {index.name for index in opened.open_table("memories_writers").list_indices()}


def _in_files(where: str, *texts: str) -> set[str]:
    """Return the texts that any file of a database contains."""
    files = [file.read_bytes() for file in Path(where).rglob("*") if file.is_file()]
    return {text for text in texts if any(text.encode() in content for content in files)}
