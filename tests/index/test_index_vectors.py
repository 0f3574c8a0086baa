from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memoriter.errors import BadVector, EmbeddingError
from memoriter.index import _content
from memoriter.types import ModelSpec


def test_without_a_model_nothing_waits_and_nothing_is_found(index, make):
    ids = make.put(index, "a.md", "alpha")
    query = make.unit(1, 0, 0, 0)
    assert (index.missing(5), index.pending(), index.vectors(), index.failures()) == ([], 0, 0, 0)
    assert (index.vector_search(query, limit=5), index.cosines(query, ids)) == ([], {})
    with pytest.raises(EmbeddingError, match="No embedding model"):
        index.put_vectors([b"k" * 16], np.ones((1, 4), dtype=np.float32))


def test_what_waits_is_told_once_for_each_text_with_its_heading(index, make):
    index.use_vectors(make.spec)
    same = make.entry("alpha", heading=("A", "B"))
    other = make.entry("beta")
    index.put_file(make.source("a.md"), "h", [same, other, same])
    assert index.missing(5) == [(same.key, "A > B\nalpha"), (other.key, "beta")]
    assert index.missing(1) == [(same.key, "A > B\nalpha")]
    assert index.pending() == 3


def test_progress_is_counted_in_chunks(index, make):
    index.use_vectors(make.spec)
    make.put(index, "a.md", "alpha", "alpha", "beta", "gamma")
    keys = [key for key, _ in index.missing(5)]
    index.put_vectors(keys[:1], np.eye(1, 4, dtype=np.float32))
    index.put_failure(keys[1], "too long")
    assert (index.pending(), index.vectors(), index.failures()) == (1, 2, 1)
    assert [key for key, _ in index.missing(5)] == keys[2:]


def test_failures_can_be_tried_again_and_a_vector_ends_them(index, make):
    index.use_vectors(make.spec)
    make.put(index, "a.md", "alpha")
    ((key, _),) = index.missing(5)
    index.put_failure(key, "refused")
    assert (index.missing(5), index.pending()) == ([], 0)
    index.clear_failures()
    assert [waiting for waiting, _ in index.missing(5)] == [key]
    index.put_failure(key, "refused")
    index.put_vectors([key], np.eye(1, 4, dtype=np.float32))
    assert (index.failures(), index.vectors()) == (0, 1)


def test_a_chunk_that_another_process_adds_waits_too(index, opened, make):
    index.use_vectors(make.spec)
    make.put(index, "a.md", "alpha")
    make.embed(index)
    assert index.missing(5) == []
    make.put(opened(), "b.md", "beta")
    assert [text for _, text in index.missing(5)] == ["beta"]
    assert index.pending() == 1


def test_unchanged_text_takes_its_vector_from_the_cache(index, make):
    index.use_vectors(make.spec)
    make.put(index, "a.md", "alpha", "beta")
    make.embed(index)
    make.put(index, "a.md", "beta", "alpha", "gamma")
    assert [text for _, text in index.missing(5)] == ["gamma"]
    index.remove_files(["a.md"])
    make.put(index, "elsewhere.md", "alpha")
    assert index.pending() == 0


def test_switching_models_and_back_costs_nothing_and_never_mixes_two_sets(index, make):
    other = replace(make.spec, model="large", dimensions=3)
    make.put(index, "a.md", "alpha", "beta")
    index.use_vectors(make.spec)
    make.embed(index)
    index.use_vectors(other)
    assert (index.pending(), index.vectors()) == (2, 0)
    assert index.vector_search(np.ones(3, dtype=np.float32), limit=5) == []
    index.put_vectors([key for key, _ in index.missing(5)], np.eye(2, 3, dtype=np.float32))
    assert len(index.vector_search(np.ones(3, dtype=np.float32), limit=5)) == 2
    index.use_vectors(make.spec)
    assert (index.pending(), len(index.vector_search(make.unit(1, 0, 0, 0), limit=5))) == (0, 2)


def test_a_set_remembers_its_model_across_openings(opened, make):
    first = opened()
    first.use_vectors(make.spec)
    make.put(first, "a.md", "alpha")
    make.embed(first)
    first.close()
    again = opened()
    again.use_vectors(make.spec)
    assert (again.vectors(), again.pending()) == (1, 0)


def test_a_registered_set_of_another_length_is_an_error_with_both_numbers(index, make):
    index.use_vectors(make.spec)
    with index._file.writing() as connection:
        connection.execute("UPDATE sets SET dimensions = 768")
    with pytest.raises(EmbeddingError, match=r"768 dimensions.* gives 4"):
        index.use_vectors(make.spec)


def test_a_model_without_dimensions_is_refused(index):
    with pytest.raises(EmbeddingError, match="0 dimensions"):
        index.use_vectors(ModelSpec("fake", "unknown", 0))


@pytest.mark.parametrize(
    "rows",
    [np.zeros((1, 4)), np.full((1, 4), np.nan), np.full((1, 4), np.inf), np.ones((1, 5)), np.ones(4)],
    ids=["zero", "nan", "infinite", "too long", "flat"],
)
def test_what_is_no_vector_is_refused_and_nothing_is_written(index, make, rows):
    index.use_vectors(make.spec)
    make.put(index, "a.md", "alpha")
    ((key, _),) = index.missing(5)
    with pytest.raises(BadVector):
        index.put_vectors([key], rows.astype(np.float32))
    assert index.pending() == 1


def test_keys_and_vectors_must_be_as_many(index, make):
    index.use_vectors(make.spec)
    with pytest.raises(EmbeddingError, match=r"1 keys .* 2 vectors"):
        index.put_vectors([b"k" * 16], np.eye(2, 4, dtype=np.float32))


def test_a_query_of_another_length_is_refused_with_both_numbers(index, make):
    index.use_vectors(make.spec)
    with pytest.raises(BadVector, match=r"3 dimensions.* 4"):
        index.vector_search(np.ones(3, dtype=np.float32), limit=5)


def test_vectors_are_kept_with_length_one(index, make):
    index.use_vectors(make.spec)
    (id_,) = make.put(index, "a.md", "alpha")
    index.put_vectors([index.missing(1)[0][0]], np.array([[3, 0, 0, 4]], dtype=np.float32))
    assert index.cosines(np.array([10, 0, 0, 0], dtype=np.float32), [id_]) == pytest.approx({id_: 0.6})
    assert np.allclose(index.vectors_at([id_])[1], [[0.6, 0, 0, 0.8]])


def stored(index):
    with index._file.reading() as connection:
        return int(connection.execute("SELECT count(*) FROM embedding_cache").get)


def test_eviction_takes_only_vectors_that_no_chunk_needs_the_oldest_first(index, make, now):
    index.use_vectors(make.spec)
    for number in range(6):
        now.seconds += 1
        make.put(index, f"{number}.md", f"text {number}")
        make.embed(index)
    now.seconds += 1
    make.put(index, "again.md", "text 0")  # takes its vector from the cache, which makes that the youngest
    index.remove_files(["0.md", "1.md", "2.md", "again.md"])
    assert index.evict(max_entries=10, max_bytes=10_000) == 0
    assert index.evict(max_entries=5, max_bytes=10_000) == 1
    make.put(index, "back.md", "text 0", "text 2")
    assert index.pending() == 0
    assert index.evict(max_entries=0, max_bytes=0) == 0
    make.put(index, "back.md", "text 1")
    assert index.pending() == 1
    assert index.evict(max_entries=99, max_bytes=5 * 4 * 4 - 1) == 1
    assert stored(index) == 4


def test_eviction_looks_at_all_sets(index, make, now):
    make.put(index, "a.md", "alpha")
    for model in ("old", "new"):
        now.seconds += 1
        index.use_vectors(replace(make.spec, model=model))
        make.embed(index)
    assert index.evict(max_entries=0, max_bytes=0) == 0
    index.remove_files(["a.md"])
    assert index.evict(max_entries=1, max_bytes=1000) == 1
    make.put(index, "a.md", "alpha")
    assert index.pending() == 0
    index.use_vectors(replace(make.spec, model="old"))
    assert index.pending() == 1


@pytest.mark.parametrize("engine", ["exact", "codes"])
def test_a_sample_of_texts_depends_on_the_texts_only(index, make, engine):
    index.use_vectors(make.spec)
    index.choose_engine(engine)
    assert index.sample(5)[0] == []
    vectors = {"a": (1, 0, 0, 0), "b": (0, 1, 0, 0), "c": (0, 0, 1, 0)}
    make.put(index, "1.md", "a", "b", "a")
    make.put(index, "2.md", "c", "a")
    make.embed(index, vectors)
    texts, rows = index.sample(5)
    assert sorted(texts) == ["a", "b", "c"]
    assert np.array_equal(rows, [vectors[text] for text in texts])
    index.remove_files(["1.md"])
    make.put(index, "3.md", "b")
    assert index.sample(5)[0] == texts
    assert index.sample(2)[0] == texts[:2]


@pytest.mark.parametrize("engine", ["exact", "codes"])
def test_vectors_of_chunks_come_with_their_ids(index, make, engine):
    assert index.vectors_at([1])[0] == []
    index.use_vectors(make.spec)
    index.choose_engine(engine)
    ids = make.put(index, "a.md", "a", "b", "c")
    waiting = index.missing(2)
    index.put_vectors([key for key, _ in waiting], np.eye(2, 4, dtype=np.float32))
    found, rows = index.vectors_at([*reversed(ids), 99])
    assert found == ids[:2]
    assert np.array_equal(rows, np.eye(2, 4))


def test_auto_compares_all_of_a_small_set_and_lets_codes_choose_in_a_large_one(index, opened, make, monkeypatch):
    monkeypatch.setattr("memoriter.index.vectors._vectors.MOST_COMPARED", 2)
    index.use_vectors(make.spec)
    index.choose_engine("auto")
    make.put(index, "a.md", "alpha", "beta")
    make.embed(index)
    assert len(index.vector_search(make.unit(1, 0, 0, 0), limit=5)) == 2
    assert index.engine == "exact"
    make.put(opened(), "b.md", "alpha")
    assert len(index.vector_search(make.unit(1, 0, 0, 0), limit=5)) == 3
    assert index.engine == "codes"
    index.choose_engine("exact")
    assert index.engine == "exact"


def test_a_sample_leaves_out_what_another_process_deletes_meanwhile(index, opened, make, monkeypatch):
    index.use_vectors(make.spec)
    make.put(index, "a.md", "alpha")
    make.put(index, "b.md", "beta")
    make.embed(index)
    others = opened()
    texts = _content.texts

    def delete_first(connection, ids):
        others.remove_files(["a.md"])
        return texts(connection, ids)

    monkeypatch.setattr(_content, "texts", delete_first)
    found, vectors = index.sample(5)
    assert (found, len(vectors)) == (["beta"], 1)
