"""How the vectors of items are stored: short, near enough to what was computed, and sound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from memoriter.ids import text_key, vector_key
from memoriter.index.vectors._cache import decode
from memoriter.records import ChunkRecord, ItemRecord
from memoriter.short_vectors import full_bytes, short_bytes, shorten
from memoriter.types import Chunk, Item, ModelSpec

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memoriter.index import Index

DIMENSIONS = 384
SPEC = ModelSpec("fake", "wide", DIMENSIONS)
LINES = ("fed the cat", "paid the rent", "read a book")


def a_list(*lines: str) -> ChunkRecord:
    chunk = Chunk(1, len(lines), "\n".join(f"- {line}" for line in lines))
    items = tuple(ItemRecord(Item(place, place), text_key(line)) for place, line in enumerate(lines))
    return ChunkRecord(chunk, vector_key(chunk), " ".join(lines), len(lines), b"", 1, items=items)


def vectors(count: int) -> NDArray[np.float32]:
    rows = np.random.default_rng(count).standard_normal((count, DIMENSIONS)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def listed(index, make):
    """A list whose last item is also a chunk of its own, all with random vectors."""
    index.use_vectors(SPEC)
    index.put_file(make.source("list.md"), "h", [a_list(*LINES)])
    index.put_file(make.source("own.md"), "h", [make.entry(LINES[-1])])
    keys = [a_list(*LINES).key, *map(text_key, LINES)]
    index.put_vectors(keys, vectors(4))
    return index


def stored_bytes(index: Index) -> list[int]:
    with index._file.reading() as connection:
        return [int(size) for (size,) in connection.execute("SELECT length(vector) FROM embedding_cache ORDER BY id")]


def test_only_the_vectors_of_items_that_are_no_chunks_are_shortened(listed):
    full = full_bytes(DIMENSIONS)
    short = short_bytes(DIMENSIONS)
    assert stored_bytes(listed) == [full, short, short, full]
    assert short * 2.9 < full


def test_the_vectors_of_items_are_near_enough_and_those_of_chunks_are_exact(listed):
    ids = listed.all_ids()
    _, own = listed.vectors_at(ids)
    assert np.array_equal(own, vectors(4)[[0, 3]])
    *_, items = listed.item_vectors(ids)
    queries = vectors(50)
    order = np.argsort(items[:, 0])
    expected = vectors(4)[1:]
    expected = expected[np.argsort(expected[:, 0])]
    assert items[order] @ queries.T == pytest.approx(expected @ queries.T, abs=5e-4)


def test_an_item_that_becomes_a_chunk_keeps_its_vector(listed, make):
    (id_,) = make.put(listed, "new.md", LINES[0])
    assert listed.waiting() == 0
    (found, cosine), *_ = listed.vector_search(vectors(4)[1], limit=1)
    assert (found, cosine) == (id_, pytest.approx(1.0, abs=1e-4))


def test_the_size_limit_counts_the_bytes_that_vectors_take(listed):
    used = sum(stored_bytes(listed))
    listed.remove_files(["list.md"])
    assert listed.evict(max_entries=99, max_bytes=used) == 0
    assert listed.evict(max_entries=99, max_bytes=used - 1) == 1


UNIT_ROWS = st.integers(1, 70).flatmap(
    lambda dimensions: arrays.arrays(
        np.float32, (3, dimensions), elements=st.floats(-1, 1, width=32, allow_subnormal=False)
    ).filter(lambda rows: bool(np.all(np.linalg.norm(rows, axis=1) > 1e-3)))
)


@given(UNIT_ROWS)
def test_the_short_form_of_any_vector_has_length_one_and_nearly_the_same_direction(rows):
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    dimensions = rows.shape[1]
    blobs = [bytes(blob) for blob in shorten(rows)]
    assert {len(blob) for blob in blobs} == {short_bytes(dimensions)}
    assert short_bytes(dimensions) <= full_bytes(dimensions)
    restored = decode(blobs, dimensions)
    assert np.linalg.norm(restored, axis=1) == pytest.approx(np.ones(3), abs=1e-5)
    # Each integer is off by half a step at most, and a step is 1/1023 of the largest component.
    assert np.linalg.norm(restored - rows, axis=1).max() <= np.sqrt(dimensions) / 1000
