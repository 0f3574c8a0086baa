"""Memories of one owner on a server: a text is embedded once for all of them."""

from __future__ import annotations

import os
from collections import Counter
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg
import pytest

from memoriter.extensions.postgres import _vectors
from memoriter.extensions.postgres._schema import partitions
from memoriter.extensions.postgres.api import PostgresStore, ServerSettings
from memoriter.ids import text_key, vector_key
from memoriter.records import ChunkRecord, ItemRecord
from memoriter.types import Chunk, Item, ModelSpec, Source
from memory_env import MemoryEnv, compatible
from postgres_server import postgres_dsn
from servers.compatible import CompatibleServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoriter.types import SearchResult

    Open = Callable[[str], MemoryEnv]

SPEC = ModelSpec("fake", "shared", 64)
NOTES = {
    "MEMORY.md": "# Log\n\n- Paid the rent on Monday.\n- Fed the cat twice.\n- Sold the old bicycle.\n",
    "memory/router.md": "# Router\n\nThe router keeps VLAN 10 for the printers.\n",
}
_NUMBERS = count()


@pytest.fixture
def schema() -> Iterator[str]:
    name = f"shared_{os.getpid()}_{next(_NUMBERS)}"
    yield name
    with psycopg.connect(postgres_dsn(), autocommit=True) as connection:
        connection.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE'.encode())


@pytest.fixture
def service() -> Iterator[CompatibleServer]:
    with CompatibleServer() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path, schema: str, service: CompatibleServer) -> Iterator[Open]:
    """Notes and a home of a name, as on a host of its own, with a memory of that name on the server."""
    made = dict[str, MemoryEnv]()

    def make(name: str) -> MemoryEnv:
        if name not in made:
            made[name] = MemoryEnv.at(tmp_path / name, NOTES)
            store = {
                "driver": "postgres",
                "postgres": {"dsn": postgres_dsn(), "schema": schema, "workspace": name, "statementTimeoutMs": 4000},
            }
            made[name].configure(**compatible(service), store=store, query={"scoring": "rrf"})
        return made[name]

    yield make
    for env in made.values():
        env.close()


def hits(result: SearchResult) -> list[tuple[str, Any]]:
    return [(hit.citation, pytest.approx(hit.score, abs=1e-3)) for hit in result.hits]


@pytest.mark.slow
def test_a_text_is_embedded_once_for_all_agents_and_workspaces_of_a_team(
    folder: Open, service: CompatibleServer
) -> None:
    first = folder("one").open()
    report = first.sync()
    assert (report.embedded, report.cached, report.pending) == (len(service.documents), 0, 0)
    expected = hits(first.search("who fed the cat", min_score=0.0))
    for name, agent in (("one", "work"), ("two", "main"), ("two", "work")):
        memory = folder(name).open(agent)
        again = memory.sync()
        assert (again.embedded, again.cached, again.pending) == (0, report.embedded, 0), (name, agent)
        assert hits(memory.search("who fed the cat", min_score=0.0)) == expected
    folder("two").write("memory/new.md", "# New\n\nA text that no other memory has.\n")
    assert folder("two").open().sync().embedded == 1
    assert set(Counter(service.documents).values()) == {1}


@pytest.mark.slow
def test_an_estimate_counts_no_text_that_another_memory_has(folder: Open) -> None:
    one = folder("one")
    two = folder("two")
    one.open().sync()
    before = two.open()
    before.search("cat")  # makes the model known; the text is indexed in the background
    assert before.estimate().tokens == 0
    two.write("memory/new.md", "# New\n\nA text that no other memory has.\n")
    assert 0 < two.open().estimate().tokens < 30


@pytest.mark.slow
def test_computing_every_vector_again_takes_none_from_others(folder: Open, service: CompatibleServer) -> None:
    texts = folder("one").open().sync().embedded
    two = folder("two").open()
    two.sync()
    report = two.sync(vectors=True)
    assert (report.embedded, service.documents.count(service.documents[0])) == (texts, 2)


@pytest.mark.slow
def test_a_forgotten_text_comes_back_from_another_memory_only_with_a_note(
    folder: Open, schema: str, service: CompatibleServer
) -> None:
    memories = {name: folder(name).open() for name in ("one", "two")}
    for memory in memories.values():
        memory.sync()
    forgotten = memories["one"].forget(memories["one"].plan_forget(match="VLAN 10"))
    assert forgotten.index is not None
    memories["one"].sync()

    def memories_with(text: str) -> set[str]:
        statement = "SELECT spaces.name FROM vectors JOIN spaces ON spaces.id = vectors.space WHERE vectors.key = %s"
        with psycopg.connect(postgres_dsn(), options=f"-c search_path={schema},public") as connection:
            return {name for (name,) in connection.execute(statement.encode(), (text_key(text),))}

    text = next(text for text in service.documents if "VLAN" in text)
    assert memories_with(text) == {"two/main"}
    sent = len(service.documents)
    folder("one").write("memory/router.md", NOTES["memory/router.md"])
    report = memories["one"].sync()
    assert (report.embedded, report.cached, len(service.documents)) == (0, 1, sent)
    assert memories_with(text) == {"one/main", "two/main"}


@pytest.mark.slow
def test_a_memory_that_is_being_compacted_delays_the_indexing_of_no_other_one(
    folder: Open, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """VACUUM FULL holds such locks. What the locked memory has is embedded again."""
    monkeypatch.setattr(_vectors, "LOCK_MILLISECONDS", 50)
    texts = folder("one").open().sync().embedded
    with psycopg.connect(postgres_dsn(), options=f"-c search_path={schema},public") as connection:
        row = connection.execute("SELECT id FROM spaces WHERE name = 'one/main'").fetchone()
        assert row is not None
        for table in partitions(row[0]):
            connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE".encode())
        two = folder("two").open()
        report = two.sync()
        assert (report.embedded, report.cached, report.pending) == (texts, 0, 0)
        folder("two").write("memory/router.md", "# Router\n\nThere is no router.\n")
        assert two.sync().changed == 1
        assert two.compact().vectors == 0


# forms


def passage(text: str, *items: str) -> ChunkRecord:
    """Return a chunk, with items whose texts are given."""
    chunk = Chunk(1, 1, text)
    records = tuple(ItemRecord(Item(line, line), text_key(item)) for line, item in enumerate(items))
    return ChunkRecord(chunk, vector_key(chunk), text, 1, b"", 1, items=records)


@pytest.fixture
def open_store(schema: str) -> Iterator[Callable[[str], PostgresStore]]:
    stores = list[PostgresStore]()

    def open_(name: str) -> PostgresStore:
        settings = ServerSettings(dsn=postgres_dsn(), schema=schema)
        stores.append(PostgresStore.open(settings, name, clock=lambda: 0.0))
        stores[-1].use_vectors(SPEC)
        return stores[-1]

    yield open_
    for store in stores:
        store.close()


def put(store: PostgresStore, *entries: ChunkRecord) -> None:
    with store.lease():
        store.put_file(Source("a.md", "memory", Path("/a.md"), 1, 1), "hash", entries)


def blobs(schema: str, store: PostgresStore) -> dict[bytes, tuple[Any, Any, Any]]:
    """Return what is stored of the vectors of a store, by key."""
    statement = "SELECT key, script, vector_send(vector), short FROM vectors WHERE space = %s"
    with psycopg.connect(postgres_dsn(), options=f"-c search_path={schema},public") as connection:
        return {bytes(key): tuple(rest) for key, *rest in connection.execute(statement, (store._state.space,))}


@pytest.mark.slow
def test_copied_vectors_are_stored_in_the_form_that_computed_ones_have(
    schema: str, open_store: Callable[[str], PostgresStore]
) -> None:
    """An item has its vector in the short form, a chunk in full precision, whatever the text was elsewhere."""
    one, two, computed = (open_store(name) for name in ("one", "two", "computed"))
    texts = ["both chunk", "both item", "chunk, then item", "item, then chunk"]
    draw = np.random.default_rng(5).normal(size=(len(texts) + 1, SPEC.dimensions)).astype(np.float32)
    vectors = {text_key(text): row for text, row in zip([*texts, "list"], draw, strict=True)}
    put(one, passage("both chunk"), passage("chunk, then item"), passage("list", "both item", "item, then chunk"))
    with one.lease():
        one.put_vectors(list(vectors), np.stack(list(vectors.values())))
    entries = passage("both chunk"), passage("item, then chunk"), passage("list", "both item", "chunk, then item")
    put(two, *entries)
    assert two.shared_vectors([*vectors, text_key("of nobody")]) == set(vectors)
    with two.storing():
        assert two.take_vectors(list(vectors)) == set(vectors)
        assert two.take_vectors(list(vectors)) == set()
    assert (two.waiting(), two.missing(9)) == (0, [])
    put(computed, *entries)
    with computed.lease():
        computed.put_vectors(list(vectors), np.stack(list(vectors.values())))
    expected = blobs(schema, computed)
    found = blobs(schema, two)
    rounded = text_key("item, then chunk")  # the other memory has it in the short form
    assert found[rounded][::2] == expected[rounded][::2]
    row = vectors[rounded] / np.linalg.norm(vectors[rounded])
    assert two.cosines(row, two.all_ids())[two.all_ids()[1]] == pytest.approx(1.0, abs=1e-3)
    del expected[rounded], found[rounded]
    assert found == expected


@pytest.mark.slow
def test_vectors_of_texts_that_no_note_contains_are_not_copied(open_store: Callable[[str], PostgresStore]) -> None:
    one = open_store("one")
    two = open_store("two")
    put(one, passage("kept"), passage("gone"))
    with one.lease():
        one.put_vectors([text_key("kept"), text_key("gone")], np.ones((2, SPEC.dimensions), dtype=np.float32))
    put(two, passage("kept"))
    with two.storing():
        assert two.take_vectors([text_key("kept"), text_key("gone")]) == {text_key("kept")}
    two.use_vectors(ModelSpec("fake", "another model", SPEC.dimensions))
    assert two.shared_vectors([text_key("kept")]) == set()
