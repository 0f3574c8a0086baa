"""A picture of vectors: it shows what it claims to show, every vector is in one group, and equal ones are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from memoriter.search._projection import MOST_GROUPS, group, near_duplicates, project

if TYPE_CHECKING:
    from numpy.typing import NDArray

MATRICES = st.tuples(st.integers(0, 40), st.integers(1, 24)).flatmap(
    lambda shape: arrays(np.float32, shape, elements=st.floats(-1, 1, width=16))
)


@given(vectors=MATRICES)
def test_the_share_of_the_variance_is_that_of_a_singular_value_decomposition(
    vectors: NDArray[np.float32],
) -> None:
    places, variance = project(vectors)
    assert places.shape == (len(vectors), 2)
    assert np.abs(places).max(initial=0.0) <= 1.0
    assert np.array_equal(places, project(vectors).places)
    if len(vectors) < 2 or variance == (0.0, 0.0):
        return
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    values = np.square(np.linalg.svd(centred, compute_uv=False))
    expected = [*(values / values.sum()), 0.0][:2]
    assert variance == pytest.approx(expected, abs=1e-6)


@given(vectors=MATRICES)
def test_places_have_the_distances_that_two_components_can_show(vectors: NDArray[np.float32]) -> None:
    places, variance = project(vectors)
    centred = vectors.astype(np.float64) - (vectors.mean(axis=0, dtype=np.float64) if len(vectors) else 0.0)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    exact = (left * values)[:, :2]
    distances = np.linalg.norm(exact[:, None] - exact[None], axis=2)
    shown = np.linalg.norm(places[:, None].astype(np.float64) - places[None], axis=2)
    if sum(variance) > 0.0 and distances.max(initial=0.0) > 1e-3 and _is_separate(values):
        assert shown / shown.max() == pytest.approx(distances / distances.max(), abs=1e-3)


def _is_separate(values: NDArray[np.float64]) -> bool:
    """Whether the second component differs from the third; otherwise either of them is right."""
    return len(values) < 3 or values[1] - values[2] > 0.01 * values[0]


@given(vectors=MATRICES)
def test_every_vector_is_in_one_group_and_the_largest_is_first(vectors: NDArray[np.float32]) -> None:
    groups, middles = group(vectors)
    sizes = [int((groups == number).sum()) for number in range(len(middles))]
    assert sum(sizes) == len(vectors)
    assert sizes == sorted(sizes, reverse=True)
    assert all(sizes)
    assert len(sizes) <= MOST_GROUPS
    assert [int(groups[middle]) for middle in middles] == [*range(len(middles))]


@given(vectors=MATRICES, similarity=st.floats(0.5, 1.0))
def test_near_duplicates_are_the_sets_that_pairs_connect(vectors: NDArray[np.float32], similarity: float) -> None:
    sets = near_duplicates(vectors, similarity)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    cosines = unit @ unit.T
    where = {row: number for number, (rows, _) in enumerate(sets) for row in rows}
    assert len(where) == sum(len(rows) for rows, _ in sets)
    for first in range(len(vectors)):
        partners = [other for other in range(len(vectors)) if other != first]
        if any(cosines[first, other] >= similarity + 1e-5 for other in partners):
            assert first in where
        for other in partners:
            if cosines[first, other] >= similarity + 1e-5:
                assert where[first] == where[other]
        if all(cosines[first, other] < similarity - 1e-5 for other in partners):
            assert first not in where
    for rows, lowest in sets:
        assert len(rows) > 1
        assert lowest >= similarity - 1e-5
