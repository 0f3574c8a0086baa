"""Large sets of vectors are searched through graphs, which find what comparing all would; status shows them."""

from __future__ import annotations

from datetime import date
from os import getpid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg
import pytest

from memoriter.extensions.postgres import _editions, _nearest
from memoriter.extensions.postgres.api import PostgresStore, ServerSettings
from memoriter.ids import vector_key
from memoriter.records import ChunkRecord
from memoriter.types import Chunk, Filters, ModelSpec, Source
from postgres_server import postgres_dsn

if TYPE_CHECKING:
    from collections.abc import Iterator

SPEC = ModelSpec("fake", "graphs", 32)
SCRIPTS = ("latin", "han", "greek")
COUNTS = (700, 500, 40)
LIMIT = 10


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresStore]:
    """Give a store with two large scripts and a small one, whose bounds are small enough for a test."""
    monkeypatch.setattr(_nearest, "MOST_COMPARED", 500)
    monkeypatch.setattr(_nearest, "LARGE", 100)
    monkeypatch.setattr(_nearest, "LEAST", 50)
    monkeypatch.setattr(_nearest, "COST", 0.1)
    settings = ServerSettings(dsn=postgres_dsn(), schema=f"graphs_{getpid()}")
    store = PostgresStore.open(settings, str(tmp_path), clock=lambda: 0.0)
    store.use_vectors(SPEC)
    for script, count in zip(SCRIPTS, COUNTS, strict=True):
        add(store, script, count)
    yield store
    store.close()


def add(store: PostgresStore, script: str, count: int, name: str = "") -> None:
    chunks = [Chunk(line, line, f"{script} {name} {line}") for line in range(1, count + 1)]
    day = date(2026, 1, 2 if name else 1).toordinal()
    entries = [ChunkRecord(each, vector_key(each), each.text, 3, b"", day, script) for each in chunks]
    draw = np.random.default_rng([len(script), len(name), count])
    centres = draw.standard_normal((20, SPEC.dimensions))
    rows = centres[draw.integers(0, 20, count)] + 0.5 * draw.standard_normal((count, SPEC.dimensions))
    with store.lease():
        store.put_file(
            Source(f"{script}{name}.md", "memory", Path("/x"), 1, 0), f"{script}{name}", entries, tags=[name]
        )
        store.put_vectors([entry.key for entry in entries], rows.astype(np.float32))


def graphs_of(store: PostgresStore) -> list[str]:
    with psycopg.connect(postgres_dsn()) as connection:
        names = connection.execute(
            "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE nspname = %s AND starts_with(relname, 'graph_of_') ORDER BY relname",
            (f"graphs_{getpid()}",),
        ).fetchall()
    return [str(name).rsplit("_", 1)[1] for (name,) in names if f"_{store.generation}_" in str(name)]


@pytest.mark.slow
def test_graphs_of_large_scripts_find_what_comparing_all_finds(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whether a graph is faster depends on the machine, and with so few vectors it is not.
    monkeypatch.setattr(_nearest, "MOST_TIME", 1e9)
    assert (store.engine, store.oversampling, store.recall) == ("exact", None, None)
    store.purge()
    assert graphs_of(store) == ["han", "latin"]
    assert store.engine == "hnsw"
    assert store.oversampling in {_nearest.MARGIN * step for step in _nearest.STEPS} | {_nearest.STEPS[-1]}
    draw = np.random.default_rng(3)
    levels = {"": (0.0, 0.1), "latin": (0.05, 0.1), "han": (0.1, 0.2), "greek": (-0.2, 0.1)}
    shares = list[float]()
    for baselines in (None, levels):
        for query in draw.standard_normal((20, SPEC.dimensions)).astype(np.float32):
            found = store.vector_search(query, limit=LIMIT, levels=baselines)
            monkeypatch.setattr(store, "may_use_graphs", False)
            truth = store.vector_search(query, limit=LIMIT, levels=baselines)
            monkeypatch.setattr(store, "may_use_graphs", True)
            assert len(found) == len(truth) == LIMIT
            shares.append(len(set(found) & set(truth)) / LIMIT)
    assert np.mean(shares) >= 0.99 - 0.01
    # What is added, removed or filtered afterwards is right, too.
    add(store, "latin", 30, "later")
    with store.lease():
        store.remove_files(["greek.md"])
    rows = store.vector_search(np.ones(SPEC.dimensions, np.float32), limit=1_300)
    assert len(rows) == 700 + 500 + 30
    only = store.vector_search(np.ones(SPEC.dimensions, np.float32), limit=50, filters=Filters(path="latinlater.md"))
    assert len(only) == 30


def compared_scripts(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that gets, for each search that compares passages with filters, the scripts; None: all."""
    compared = list[Any]()
    compare = _nearest._of_chunks

    def recorded(connection: Any, search: Any, scripts: Any = None) -> Any:
        compared.append(scripts)
        return compare(connection, search, scripts)

    monkeypatch.setattr(_nearest, "_of_chunks", recorded)
    return compared


FILTERED: dict[str, tuple[Filters, list[list[str] | None]]] = {
    "a note about other things": (Filters(path="latinlater.md"), [["greek", "han"]]),
    "two notes of one script": (Filters(path="latin*.md"), [["greek", "han"]]),
    "two scripts": (Filters(path="?a*.md"), [["greek"]]),
    "a tag": (Filters(tags=frozenset({"later"})), [["greek", "han"]]),
    "days": (Filters(since=date(2026, 1, 2)), [["greek", "han"]]),
    "phrases": (Filters(without=("later",)), [["greek"]]),
    "the only kind": (Filters(sources=frozenset({"memory"})), []),
    "few passages": (Filters(path="greek.md"), [None]),
    "nothing": (Filters(path="none.md"), [None]),
}
"""Filters, and the scripts of which what passes is compared, because it is little; None: all scripts."""


@pytest.mark.slow
def test_graphs_lead_to_what_filters_leave(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_nearest, "MOST_TIME", 1e9)
    add(store, "latin", 300, "later")
    store.purge()
    _editions.analyze(store._server, store._state.space)
    compared = compared_scripts(monkeypatch)
    draw = np.random.default_rng(5)
    near = store.vectors_at(store.ids_at("latin.md"))[1][:3]
    queries = [*draw.standard_normal((3, SPEC.dimensions)).astype(np.float32), *near]
    levels = {"": (0.0, 0.1), "latin": (0.05, 0.1), "han": (0.1, 0.2), "greek": (-0.2, 0.1)}
    shares = list[float]()
    for name, (filters, expected) in FILTERED.items():
        for query, baselines in zip(queries, [None, levels] * 3, strict=True):
            compared.clear()
            found = store.vector_search(query, limit=LIMIT, filters=filters, levels=baselines)
            assert compared == expected, name
            monkeypatch.setattr(store, "may_use_graphs", False)
            truth = store.vector_search(query, limit=LIMIT, filters=filters, levels=baselines)
            monkeypatch.setattr(store, "may_use_graphs", True)
            assert len(found) == len(truth), name
            shares += [len(set(found) & set(truth)) / len(truth)] if truth else []
    assert np.mean(shares) >= 0.99


@pytest.mark.slow
def test_all_that_passes_is_compared_when_a_graph_ends_before_enough_passes(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_nearest, "MOST_TIME", 1e9)
    add(store, "latin", 60, "later")
    store.purge()

    def always(share: _nearest.Share, limit: int, graphs: _nearest.Graphs) -> bool:
        return share.chunks > 0 < limit * len(graphs.scripts)

    monkeypatch.setattr(_nearest, "_leads", always)
    monkeypatch.setattr(_nearest, "MOST_VISITED", LIMIT)
    compared = compared_scripts(monkeypatch)
    only = Filters(path="latinlater.md")
    for query in store.vectors_at(store.ids_at("latin.md"))[1][:3]:
        found = store.vector_search(query, limit=LIMIT, filters=only)
        monkeypatch.setattr(store, "may_use_graphs", False)
        assert found == store.vector_search(query, limit=LIMIT, filters=only)
        monkeypatch.setattr(store, "may_use_graphs", True)
        assert len(found) == LIMIT
    assert compared == [None] * 6


@pytest.mark.slow
def test_graphs_that_are_slower_than_comparing_all_are_not_used(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_nearest, "MOST_TIME", 0.0)
    store.purge()
    assert (store.engine, graphs_of(store)) == ("exact", [])


def test_graphs_are_renewed_when_a_set_has_grown_by_half() -> None:
    known = _nearest.Graphs(("latin",), 8, 0.995, 100_000)
    assert _nearest.loads(known.dumps()) == known
    assert [_nearest.is_due(known, count) for count in (49_000, 100_000, 149_000, 151_000)] == [
        True,
        False,
        False,
        True,
    ]
    assert [_nearest.is_due(_nearest.NO_GRAPHS, count) for count in (50_000, 50_001)] == [False, True]
