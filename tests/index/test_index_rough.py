"""Vectors remembered in a byte a dimension: what they tell, and what is read again."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoriter.index.vectors import _codes_engine
from memoriter.index.vectors._codes_engine import QuarterPrecision


class Shelf:
    """Stored vectors by their numbers, and which of them were read."""

    def __init__(self, rows: np.ndarray, gone: tuple[int, ...] = ()) -> None:
        self.rows = rows
        self.gone = gone
        self.read: list[int] = []

    def __call__(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = np.array([number for number in numbers.tolist() if number not in self.gone], dtype=np.int64)
        self.read += numbers.tolist()
        return found, self.rows[found]


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def ids(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 400), st.floats(0.1, 8), st.integers(0, 10**6))
def test_a_cosine_that_is_remembered_is_off_by_no_more_than_is_said(dimensions, sharpness, seed):
    draw = np.random.default_rng(seed)
    drawn = draw.standard_normal((60, dimensions))
    rows = unit(np.sign(drawn) * np.abs(drawn) ** sharpness + 1e-9)
    query = unit(draw.standard_normal(dimensions))
    everything = np.arange(60)
    rough = QuarterPrecision(dimensions)
    first, _ = rough.cosines(everything, query, Shelf(rows))
    again, error = rough.cosines(everything, query, Shelf(rows))
    assert first == pytest.approx(rows @ query, abs=1e-5)
    assert np.abs(again - rows @ query).max() <= error


def test_what_was_read_is_not_read_again_until_it_is_forgotten():
    rows = unit(np.random.default_rng(0).standard_normal((5000, 8)))
    shelf = Shelf(rows)
    rough = QuarterPrecision(8)
    rough.cosines(ids(7, 3), rows[0], shelf)
    rough.cosines(ids(3, 4000, 7), rows[0], shelf)
    assert shelf.read == [3, 7, 4000]
    shelf.rows = -rows
    rough.forget(ids(3, 4999))
    cosines, error = rough.cosines(ids(4000, 3), rows[0], shelf)
    assert shelf.read == [3, 7, 4000, 3]
    assert cosines == pytest.approx([rows[4000] @ rows[0], -rows[3] @ rows[0]], abs=error)


def test_a_vector_that_is_gone_is_behind_all_others():
    rows = unit(np.random.default_rng(0).standard_normal((9, 8)))
    rough = QuarterPrecision(8)
    for _ in range(2):
        cosines, _ = rough.cosines(ids(5, 2, 8), rows[5], Shelf(rows, gone=(2,)))
        assert (cosines[1], cosines[0]) == (-2, pytest.approx(1, abs=0.05))


def test_vectors_without_room_are_read_each_time():
    rows = unit(np.random.default_rng(0).standard_normal((40, 8)))
    with patch.object(_codes_engine, "MOST_BYTES", 80):
        rough = QuarterPrecision(8)
        shelf = Shelf(rows)
    for _ in range(2):
        cosines, error = rough.cosines(ids(30, 2), rows[1], shelf)
        assert cosines == pytest.approx(rows[[30, 2]] @ rows[1], abs=error)
    assert shelf.read == [2, 30, 30]
