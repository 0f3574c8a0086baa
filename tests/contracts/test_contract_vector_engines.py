"""What every vector engine must do, and that all of them give the same answers."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoriter.ids import vector_key
from memoriter.index import ENGINES, Index
from memoriter.records import ChunkRecord
from memoriter.types import Chunk, Filters, ModelSpec, Source

DIMENSIONS = 6
EVERYTHING = Filters()
SPEC = ModelSpec("fake", "contract", DIMENSIONS)
REAL_ENGINES = [name for name in ENGINES if name != "auto"]


def entry(text: str, day: int = 1) -> ChunkRecord:
    chunk = Chunk(1, 1, text)
    return ChunkRecord(chunk, vector_key(chunk), text, 1, b"", date(2026, 1, day).toordinal())


def put(index: Index, path: str, texts: list[str], day: int = 1) -> list[int]:
    kind = "sessions" if path.endswith(".jsonl") else "memory"
    index.put_file(Source(path, kind, Path("/x"), 0, 0), "h", [entry(text, day) for text in texts])
    return index.ids_at(path)


def vector_of(text: str) -> np.ndarray:
    """A unit vector that depends on the text only; texts that start alike are near each other, `=` texts are equal."""
    seed = np.frombuffer(text.split("=", 1)[0].encode().ljust(8)[:8], dtype=np.uint64)
    vector = np.random.default_rng(seed).standard_normal(DIMENSIONS)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def embed(index: Index, limit: int = 10_000) -> None:
    if waiting := index.missing(limit):
        index.put_vectors([key for key, _ in waiting], np.stack([vector_of(text) for _, text in waiting]))


def open_index(folder: Path, engine: str) -> Index:
    index = Index.open(folder / engine / "main.sqlite", clock=lambda: 0.0)
    index.use_vectors(SPEC)
    index.choose_engine(engine)
    assert index.engine == engine
    return index


def ask(index: Index, query: np.ndarray, limit: int, filters: Filters = EVERYTHING):
    return [(id_, round(score, 5)) for id_, score in index.vector_search(query, limit=limit, filters=filters)]


@pytest.fixture(params=REAL_ENGINES)
def index(request, tmp_path):
    with open_index(tmp_path, request.param) as index:
        yield index


QUERY = vector_of("query")


def test_an_empty_index_gives_nothing(index):
    assert index.vector_search(QUERY, limit=5) == []
    assert index.cosines(QUERY, [1, 2]) == {}
    assert index.vectors_at([1, 2])[1].shape == (0, DIMENSIONS)


def test_the_nearest_comes_first_with_its_cosine(index):
    texts = [f"t{i}" for i in range(50)]
    ids = put(index, "a.md", texts)
    embed(index)
    exact = sorted(((float(vector_of(text) @ QUERY), -id_) for text, id_ in zip(texts, ids, strict=True)), reverse=True)
    found = index.vector_search(QUERY, limit=10)
    assert [id_ for id_, _ in found] == [-id_ for _, id_ in exact[:10]]
    assert [score for _, score in found] == pytest.approx([score for score, _ in exact[:10]], abs=1e-6)


def test_a_limit_over_the_number_of_chunks_gives_all_and_a_limit_of_zero_none(index):
    put(index, "a.md", ["a", "b", "c"])
    embed(index)
    assert len(index.vector_search(QUERY, limit=5000)) == 3
    assert index.vector_search(QUERY, limit=0) == []


def test_chunks_without_a_vector_are_absent(index):
    ids = put(index, "a.md", ["a", "b", "c"])
    embed(index, limit=2)
    assert {id_ for id_, _ in index.vector_search(QUERY, limit=5)} == set(ids[:2])
    assert set(index.cosines(QUERY, ids)) == set(ids[:2])


def test_equal_vectors_are_ordered_by_id_even_at_the_cut(index):
    ids = put(index, "a.md", [f"same={i}" for i in range(300)])
    embed(index)
    assert [id_ for id_, _ in index.vector_search(vector_of("same"), limit=7)] == ids[:7]


def test_a_removed_chunk_is_not_found(index):
    put(index, "a.md", ["a"])
    ids = put(index, "b.md", ["b"])
    embed(index)
    index.vector_search(QUERY, limit=5)
    index.remove_files(["a.md"])
    assert [id_ for id_, _ in index.vector_search(QUERY, limit=5)] == ids


def test_a_replaced_file_is_found_under_its_new_ids(index):
    put(index, "a.md", ["a", "b"])
    embed(index)
    index.vector_search(QUERY, limit=5)
    ids = put(index, "a.md", ["b", "c"])
    assert [id_ for id_, _ in index.vector_search(vector_of("b"), limit=5)] == ids[:1]
    embed(index)
    assert {id_ for id_, _ in index.vector_search(QUERY, limit=5)} == set(ids)


def test_a_vector_put_again_replaces_the_one_before(index):
    (id_,) = put(index, "a.md", ["a"])
    embed(index)
    assert index.vector_search(vector_of("a"), limit=1)[0][1] == pytest.approx(1, abs=1e-6)
    index.put_vectors([entry("a").key], vector_of("b")[None, :])
    assert ask(index, vector_of("b"), 1) == [(id_, 1.0)]


def test_filters_hold_before_the_limit(index):
    put(index, "near.md", [f"query={i}" for i in range(100)])
    ids = put(index, "far.jsonl", ["zzz"], day=9)
    embed(index)
    for filters in (Filters(sources=frozenset({"sessions"})), Filters(since=date(2026, 1, 5)), Filters(path="far*")):
        assert [id_ for id_, _ in index.vector_search(QUERY, limit=1, filters=filters)] == ids
    assert index.vector_search(QUERY, limit=5, filters=Filters(path="nowhere")) == []


LEVELS = {"latin": (0.5, 0.1), "hangul": (-0.5, 0.3), "": (0.0, 0.2)}


def put_in_scripts(index: Index, path: str, texts: dict[str, str]) -> dict[int, str]:
    entries = [replace(entry(text), script=script) for text, script in texts.items()]
    index.put_file(Source(path, "memory", Path("/x"), 0, 0), "h", entries)
    return dict(zip(index.ids_at(path), texts, strict=True))


@pytest.mark.parametrize("filters", [EVERYTHING, Filters(path="*.md")], ids=["everything", "a filter"])
def test_with_levels_those_come_first_that_stand_out_most_in_their_script(index, filters):
    scripts = ("latin", "hangul", "thai")
    texts = {f"{number}": scripts[number % 3] for number in range(90)}
    of = put_in_scripts(index, "a.md", texts)
    embed(index)

    def standing_out(id_: int) -> float:
        unrelated, deviation = LEVELS.get(texts[of[id_]], LEVELS[""])
        return (float(vector_of(of[id_]) @ QUERY) - unrelated) / deviation

    for limit in (1, 7, 30, 200):
        found = index.vector_search(QUERY, limit=limit, filters=filters, levels=LEVELS)
        assert [id_ for id_, _ in found] == sorted(of, key=lambda id_: -standing_out(id_))[:limit]
        assert all(score == pytest.approx(float(vector_of(of[id_]) @ QUERY), abs=1e-6) for id_, score in found)


def test_levels_hold_for_chunks_that_come_later_too(index):
    put_in_scripts(index, "a.md", {"near": "latin"})
    embed(index)
    index.vector_search(QUERY, limit=1, levels=LEVELS)
    put_in_scripts(index, "b.md", {"query": "greek", "other": "hangul"})
    embed(index)
    found = index.vector_search(QUERY, limit=5, levels={"": (0.0, 0.2), "greek": (2.0, 0.01)})
    assert len(found) == 3
    assert found[-1][1] == pytest.approx(1, abs=1e-6)


def test_what_another_process_writes_is_seen(index):
    put(index, "a.md", ["a"])
    embed(index)
    index.vector_search(QUERY, limit=5)
    with Index.open(index.path, clock=lambda: 0.0) as other:
        other.use_vectors(SPEC)
        ids = put(other, "a.md", ["b", "c"])
        embed(other)
    assert {id_ for id_, _ in index.vector_search(QUERY, limit=5)} == set(ids)


def test_a_write_that_failed_is_not_seen(index):
    ids = put(index, "a.md", ["a"])
    embed(index)
    broken = entry("b")
    object.__setattr__(broken, "day", "never")
    with pytest.raises(Exception, match="day"):
        index.put_file(Source("a.md", "memory", Path("/x"), 0, 0), "h", [entry("c"), broken])
    assert [id_ for id_, _ in index.vector_search(QUERY, limit=5)] == ids


FILTERS = [
    Filters(),
    Filters(sources=frozenset({"memory"})),
    Filters(since=date(2026, 1, 2), until=date(2026, 1, 3)),
    Filters(path="[ab].md"),
]
TEXTS = st.lists(st.sampled_from(["a", "b", "c", "a=1", "a=2", "b=1", "d", "e", "f"]), max_size=6)
STEPS = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(["a.md", "b.md", "c.jsonl"]), TEXTS, st.integers(1, 4)),
    st.tuples(st.just("remove"), st.sampled_from(["a.md", "b.md", "c.jsonl"])),
    st.tuples(st.just("embed"), st.integers(1, 20)),
    st.tuples(st.just("ask"), st.sampled_from(["a", "query"]), st.integers(1, 30), st.sampled_from(FILTERS)),
    st.tuples(st.just("reopen")),
)


@pytest.fixture(scope="module")
def all_engines(tmp_path_factory):
    folder = tmp_path_factory.mktemp("engines")
    indexes = [open_index(folder, engine) for engine in REAL_ENGINES]
    yield indexes
    for index in indexes:
        index.close()


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, max_size=12))
def test_all_engines_agree_after_any_sequence_of_writes(all_engines, steps):
    for index in all_engines:
        index.remove_files(list(index.files()))
        index.evict(max_entries=0, max_bytes=0)
    first = [index.corpus() for index in all_engines]
    assert all(corpus == first[0] for corpus in first)
    for step in [*steps, ("embed", 99), ("ask", "query", 99, Filters())]:
        match step:
            case ("put", path, texts, day):
                answers = [put(index, path, texts, day) for index in all_engines]
            case ("remove", path):
                answers = [index.remove_files([path]) for index in all_engines]
            case ("embed", limit):
                answers = [embed(index, limit) for index in all_engines]
            case ("ask", text, limit, filters):
                answers = [ask(index, vector_of(text), limit, filters) for index in all_engines]
            case _:
                answers = [
                    index.choose_engine("exact") or index.choose_engine(name)
                    for index, name in zip(all_engines, REAL_ENGINES, strict=True)
                ]
        assert all(answer == answers[0] for answer in answers)
    assert {index.pending() for index in all_engines} == {0}


@pytest.mark.matrix
@pytest.mark.parametrize("seed", range(3))
def test_all_engines_agree_on_random_vectors_with_duplicates(tmp_path, seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((1500, DIMENSIONS)).astype(np.float32)
    rows[rng.integers(0, 1500, 400)] = rows[0]
    queries = [rows[0], *rng.standard_normal((5, DIMENSIONS)).astype(np.float32)]
    answers = []
    for engine in REAL_ENGINES:
        with open_index(tmp_path, engine) as index:
            for part in range(10):
                put(index, f"{part}.md", [f"{part}-{i}" for i in range(150)], day=part + 1)
            keys = [key for key, _ in index.missing(5000)]
            index.put_vectors(keys, rows)
            filters = [Filters(), Filters(until=date(2026, 1, 4)), Filters(path="[3-5].md")]
            found = [
                ask(index, query, limit, each) for query in queries for limit in (1, 60, 1490, 5000) for each in filters
            ]
            ids = index.all_ids()[::7]
            cosines = [{id_: round(score, 5) for id_, score in index.cosines(query, ids).items()} for query in queries]
            answers.append((found, cosines, index.vectors_at(ids)[1].tobytes()))
    assert all(answer == answers[0] for answer in answers)
