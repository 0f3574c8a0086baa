"""The codes: what they tell of vectors, how they are kept in step with the chunks, and how they are used."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoriter.index import Index
from memoriter.index.vectors import _binary_quantization, _segments
from memoriter.types import Filters, ModelSpec

DIMENSIONS = 96
SPEC = ModelSpec("fake", "codes", DIMENSIONS)
MEAN = np.random.default_rng(1).standard_normal(DIMENSIONS) / np.sqrt(DIMENSIONS)


def rows_of(rng: np.random.Generator, count: int, *, clusters: int = 40) -> np.ndarray:
    """Unit vectors in clusters around a common mean, as embedding models give them."""
    centres = np.random.default_rng(2).standard_normal((clusters, DIMENSIONS)) / np.sqrt(DIMENSIONS)
    noise = rng.standard_normal((count, DIMENSIONS)) / np.sqrt(DIMENSIONS)
    rows = 2 * MEAN + centres[rng.integers(0, clusters, count)] + 0.7 * noise
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def fill(index: Index, make, name: str, count: int, *, seed: int, rows: np.ndarray | None = None) -> list[int]:
    ids = make.put(index, name, *(f"{name} {number}" for number in range(count)))
    keys = [key for key, _ in index.missing(count)]
    made = rows_of(np.random.default_rng(seed), count) if rows is None else rows
    index.put_vectors(keys, made[: len(keys)])
    return ids


def cells(index: Index, statement: str) -> list[tuple]:
    with index._file.reading() as connection:
        return connection.execute(statement).fetchall()


EVERYTHING = Filters()


def found(index: Index, query: np.ndarray, limit: int = 10, filters: Filters = EVERYTHING) -> list[int]:
    return [chunk for chunk, _ in index.vector_search(query, limit=limit, filters=filters)]


@pytest.fixture
def codes(index):
    index.use_vectors(SPEC)
    index.choose_engine("codes")
    return index


@pytest.mark.parametrize("dimensions", [1, 6, 64, 96, 384, 1000])
def test_the_nearest_codes_are_those_with_the_fewest_differing_signs_the_first_of_equals(dimensions):
    rng = np.random.default_rng(dimensions)
    rows = rng.standard_normal((700, dimensions)).astype(np.float32)
    means = np.zeros(dimensions, dtype=np.float32)
    query = rng.standard_normal(dimensions).astype(np.float32)
    excluded = rng.random(700) < 0.2
    bits, _ = _binary_quantization.encode(rows, means)
    differing = np.where(excluded, 1 << 20, ((rows > 0) != (query > 0)).sum(axis=1))
    for count in (1, 25, 400):
        expected = np.sort(np.argsort(differing, kind="stable")[:count])
        for block in (32 * 1024, 50):
            with patch.object(_binary_quantization, "_BLOCK", block):
                assert np.array_equal(_binary_quantization.nearest(bits, excluded, query, count), expected)
    assert _binary_quantization.nearest(bits, excluded, query, 5000).size == np.count_nonzero(~excluded)


def test_bits_are_counted_alike_with_an_old_numpy():
    words = np.random.default_rng(0).integers(0, 1 << 63, 500, dtype=np.uint64)
    expected = [int(word).bit_count() for word in words]
    assert _binary_quantization._count_by_table(words).tolist() == expected
    assert _binary_quantization._bit_counter()(words).tolist() == expected


def test_estimates_are_right_on_average_up_to_a_constant():
    rows = rows_of(np.random.default_rng(3), 4000)
    means = rows.mean(axis=0)
    query = rows[7]
    bits, factors = _binary_quantization.encode(rows, means)
    guessed = _binary_quantization.estimates(bits, factors, query - means) + means @ query
    errors = guessed - rows @ query
    assert abs(float(errors.mean())) < 0.01
    assert float(errors.std()) < 0.06


def test_a_vector_that_is_the_mean_has_a_code_too():
    rows = np.tile(np.eye(1, DIMENSIONS, dtype=np.float32), (3, 1))
    bits, factors = _binary_quantization.encode(rows, rows.mean(axis=0))
    assert not bits.any()
    assert np.all(np.isfinite(factors))


@pytest.mark.slow
def test_a_large_corpus_is_searched_with_the_oversampling_that_was_measured(codes, opened, make):
    ids = fill(codes, make, "a.md", 3000, seed=5)
    assert codes.oversampling is None
    with codes.lease():
        pass
    assert codes.oversampling in {2, 4, 8, 16, 32}
    ((measured, recall),) = cells(codes, "SELECT measured, recall FROM code_sets")
    assert measured == 3000
    assert recall >= 0.99
    exact = opened()
    exact.use_vectors(SPEC)
    exact.choose_engine("exact")
    queries = rows_of(np.random.default_rng(6), 40)
    for filters in (Filters(), Filters(path="a.md")):
        shares = [
            len({*found(codes, query, 10, filters)} & {*found(exact, query, 10, filters)}) / 10 for query in queries
        ]
        assert np.mean(shares) >= 0.97
    shares = [len({*found(codes, query, 60)} & {*found(exact, query, 60)}) / 60 for query in queries]
    assert np.mean(shares) >= 0.97
    assert exact.oversampling is None
    assert codes.vector_search(codes.vectors_at(ids[:1])[1][0], limit=1)[0] == (ids[0], pytest.approx(1, abs=1e-6))


@pytest.mark.slow
def test_codes_find_what_stands_out_in_each_script_as_a_comparison_of_all_does(codes, opened, make):
    draw = np.random.default_rng(8)
    scripts = draw.choice(["latin", "hangul", "thai"], 6000, p=[0.7, 0.2, 0.1]).tolist()
    shifts = {"latin": 0.0, "hangul": 1.5, "thai": -1.0}
    rows = rows_of(draw, 6000) + np.array([[shifts[script]] for script in scripts]) / np.sqrt(DIMENSIONS)
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    entries = [replace(make.entry(f"{row}"), script=script) for row, script in enumerate(scripts)]
    codes.put_file(make.source("a.md"), "h", entries)
    codes.put_vectors([each.key for each in entries], rows)
    with codes.lease():
        pass
    exact = opened()
    exact.use_vectors(SPEC)
    exact.choose_engine("exact")
    means = {script: rows[[each == script for each in scripts]].mean(axis=0) for script in shifts}
    shares: list[float] = []
    for query in rows_of(draw, 40):
        levels = {script: (float(mean @ query), 0.1) for script, mean in means.items()} | {"": (0.5, 0.1)}
        ours, theirs = (
            {id_ for id_, _ in engine.vector_search(query, limit=10, levels=levels)} for engine in (codes, exact)
        )
        shares.append(len(ours & theirs) / 10)
    assert np.mean(shares) >= 0.97


@pytest.mark.slow
def test_a_vector_in_the_place_of_one_that_is_gone_is_not_taken_for_it(codes, make):
    rows = rows_of(np.random.default_rng(9), 3001)
    fill(codes, make, "a.md", 2999, seed=0, rows=rows[:2999])
    (old,) = fill(codes, make, "gone.md", 1, seed=0, rows=rows[2999:3000])
    with codes.lease():
        pass
    assert codes.oversampling < 128
    assert found(codes, rows[2999], 1) == [old]
    codes.remove_files(["gone.md"])
    codes.evict(max_entries=0, max_bytes=0)
    ((last,),) = cells(codes, "SELECT max(id) FROM embedding_cache")
    (new,) = fill(codes, make, "new.md", 1, seed=0, rows=rows[3000:])
    assert cells(codes, "SELECT max(id) FROM embedding_cache") == [(last + 1,)]
    assert found(codes, rows[3000], 1) == [new]


@pytest.mark.parametrize(
    ("limit", "expected"), [(1, 80), (10, 80), (40, 160), (1000, 2000)], ids=["one", "measured", "more", "many"]
)
def test_more_results_need_fewer_comparisons_each_but_always_twice_as_many(limit, expected):
    assert _binary_quantization.breadth(8, limit) == expected


@pytest.mark.slow
def test_the_oversampling_is_measured_again_when_the_corpus_has_grown_by_half(codes, make):
    fill(codes, make, "a.md", 2400, seed=1)
    for name, count, measured in (("b.md", 600, 2400), ("c.md", 700, 3700)):
        codes.settle()
        fill(codes, make, name, count, seed=2)
        codes.settle()
        assert cells(codes, "SELECT measured FROM code_sets") == [(measured,)]


def alike(codes, make):
    """Vectors along an arc of a few degrees: their signs say next to nothing."""
    rows = np.zeros((3000, DIMENSIONS), dtype=np.float32)
    angles = np.random.default_rng(0).random(3000) * np.pi / 40
    rows[:, 0] = np.cos(angles)
    rows[:, 1] = np.sin(angles)
    fill(codes, make, "a.md", 3000, seed=0, rows=rows)
    return rows[0]


@pytest.mark.slow
def test_vectors_that_codes_cannot_tell_apart_are_a_notice(codes, make):
    assert len(found(codes, alike(codes, make))) == 10
    assert [notice.code for notice in codes.notices] == ["vector_recall"]


@pytest.mark.slow
def test_auto_compares_every_vector_where_codes_were_measured_to_miss_some(codes, make, monkeypatch):
    monkeypatch.setattr("memoriter.index.vectors._vectors.MOST_COMPARED", 2500)
    query = alike(codes, make)
    codes.choose_engine("auto")
    assert codes.engine == "codes"
    first = found(codes, query)
    assert (codes.engine, codes.oversampling, list(codes.notices)) == ("exact", None, [])
    codes.choose_engine("exact")
    assert found(codes, query) == first
    fill(codes, make, "b.md", 1600, seed=1)
    codes.choose_engine("auto")
    assert codes.engine == "codes"


@pytest.mark.slow
def test_auto_keeps_codes_where_the_vectors_would_not_fit_into_memory(codes, make, monkeypatch):
    monkeypatch.setattr("memoriter.index.vectors._vectors.MOST_COMPARED", 2500)
    monkeypatch.setattr("memoriter.index.vectors._vectors.LARGEST_MATRIX", 4 * DIMENSIONS * 2999)
    query = alike(codes, make)
    codes.choose_engine("auto")
    assert len(found(codes, query)) == 10
    assert (codes.engine, [notice.code for notice in codes.notices]) == ("codes", ["vector_recall"])


def test_codes_are_centred_again_when_the_corpus_has_doubled(codes, opened, make):
    fill(codes, make, "a.md", 100, seed=1)
    reader = opened()
    reader.use_vectors(SPEC)
    reader.choose_engine("codes")
    query = rows_of(np.random.default_rng(9), 1)[0]
    found(reader, query)
    for name, count, epoch in (("b.md", 150, 1), ("c.md", 50, 2)):
        fill(codes, make, name, count, seed=count)
        assert found(codes, query) == found(reader, query)
        assert cells(codes, "SELECT epoch FROM code_sets") == [(epoch,)]


def test_segments_stay_few_and_a_half_dead_one_is_written_again(codes, make):
    for number in range(60):
        fill(codes, make, f"{number}.md", 5, seed=number)
        found(codes, rows_of(np.random.default_rng(0), 1)[0])
    assert len(cells(codes, "SELECT id FROM code_segments")) <= 9
    codes.remove_files([f"{number}.md" for number in range(0, 60, 3)])
    assert cells(codes, "SELECT count(*) FROM code_tombs") != [(0,)]
    codes.remove_files([f"{number}.md" for number in range(0, 60, 2)])
    held, dead = cells(codes, "SELECT sum(size), (SELECT count(*) FROM code_tombs) FROM code_segments")[0]
    assert held - dead == codes.vectors() == 100
    assert dead * 2 <= held


def test_a_model_that_is_not_in_use_catches_up_when_it_is_used_again(codes, make):
    ids = fill(codes, make, "a.md", 5, seed=0)
    query = rows_of(np.random.default_rng(0), 1)[0]
    assert set(found(codes, query)) == set(ids)
    codes.use_vectors(ModelSpec("fake", "other", DIMENSIONS))
    codes.remove_files(["a.md"])
    more = fill(codes, make, "b.md", 4, seed=1)
    assert set(found(codes, query)) == set(more)
    codes.use_vectors(SPEC)
    assert found(codes, query) == []
    fill(codes, make, "b.md", 4, seed=1)
    assert set(found(codes, query)) == set(codes.ids_at("b.md"))


def test_a_rebuilt_index_is_published_with_its_codes(codes, make):
    fill(codes, make, "a.md", 50, seed=0)
    with codes.rebuild() as fresh:
        make.put(fresh, "a.md", *(f"a.md {number}" for number in range(50)))
    assert cells(codes, "SELECT sum(size) FROM code_segments") == [(50,)]


def test_what_failed_half_way_is_read_again(codes, make):
    query = rows_of(np.random.default_rng(0), 1)[0]
    fill(codes, make, "a.md", 5, seed=0)
    found(codes, query)
    fill(codes, make, "b.md", 5, seed=1)
    with patch.object(_segments, "read", side_effect=ZeroDivisionError), pytest.raises(ZeroDivisionError):
        found(codes, query)
    assert set(found(codes, query)) == set(codes.all_ids())


NAMES = ("a.md", "b.md", "c.md")
STEPS = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(NAMES), st.integers(0, 9)),
    st.tuples(st.just("elsewhere"), st.sampled_from(NAMES), st.integers(0, 9)),
    st.tuples(st.just("again"), st.sampled_from(NAMES), st.integers(0, 3)),
    st.tuples(st.just("remove"), st.sampled_from(NAMES), st.just(0)),
    st.tuples(st.just("ask"), st.just(""), st.just(0)),
)


def check(index: Index, query: np.ndarray) -> None:
    """Every chunk with a vector has the code of that vector, and nothing else has one."""
    found(index, query)
    held = index._file.vectors._engine._codes
    known = _means(index)
    ids, rows = index.vectors_at(index.all_ids())
    alive = ~held.excluded
    assert held.ids[alive].tolist() == ids
    assert np.all(held.ids[1:] > held.ids[:-1])
    bits, factors = _binary_quantization.encode(rows, known)
    assert np.array_equal(held.bits[:, alive], bits)
    assert np.array_equal(held.factors[:, alive], factors)


def _means(index: Index) -> np.ndarray:
    ((blob,),) = cells(index, "SELECT means FROM code_sets ORDER BY set_id LIMIT 1")
    return np.frombuffer(blob, dtype="<f4")


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, max_size=14))
def test_after_any_sequence_of_writes_a_warm_and_a_new_process_hold_the_codes_of_the_vectors(
    tmp_path_factory, make, steps
):
    path = tmp_path_factory.mktemp("codes") / "main.sqlite"
    query = rows_of(np.random.default_rng(0), 1)[0]
    small = (
        patch.multiple(_segments, MAX_CODES=8, _MIN_GROWTH=2),
        patch("memoriter.index.vectors._codes_engine._ROOM", 1),
    )
    with small[0], small[1], Index.open(path, clock=lambda: 0.0) as index, Index.open(path, clock=lambda: 0.0) as other:
        for each in (index, other):
            each.use_vectors(SPEC)
            each.choose_engine("codes")
        for number, (step, name, count) in enumerate(steps):
            match step:
                case "put" | "elsewhere":
                    fill(index if step == "put" else other, make, name, count, seed=number)
                case "again":
                    keys = [make.entry(f"{name} {each}").key for each in range(count)]
                    index.put_vectors(keys, rows_of(np.random.default_rng(number), count))
                case "remove":
                    other.remove_files([name])
                case _:
                    check(index, query)
        check(index, query)
        check(other, query)
        with Index.open(path, clock=lambda: 0.0) as cold:
            cold.use_vectors(SPEC)
            cold.choose_engine("codes")
            check(cold, query)
