"""Arrays of `.npz` files are read as NumPy wrote them, and never by Python's parser."""

from __future__ import annotations

import ast
import io
from zipfile import BadZipFile, ZipFile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from memoriter.array_file import read_arrays

KINDS = ["<f4", "<f2", "<f8", "<i8", ">i4", "|u1", "|b1", "<U3"]
ARRAYS = st.sampled_from(KINDS).flatmap(
    lambda kind: arrays.arrays(kind, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
)


def saved(**given_arrays: np.ndarray) -> io.BytesIO:
    file = io.BytesIO()
    np.savez(file, **given_arrays)  # type: ignore[arg-type]
    file.seek(0)
    return file


@given(first=ARRAYS, second=ARRAYS, transposed=st.booleans())
def test_arrays_are_read_as_they_were_saved(first: np.ndarray, second: np.ndarray, *, transposed: bool) -> None:
    first = np.asfortranarray(first) if transposed else first
    found = read_arrays(saved(first=first, second=second))
    assert list(found) == ["first", "second"]
    for name, array in (("first", first), ("second", second)):
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()


def test_no_header_is_parsed_as_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ast, "parse", lambda *_, **__: pytest.fail("it was parsed"))
    assert read_arrays(saved(a=np.arange(3)))["a"].tolist() == [0, 1, 2]


@given(cut=st.integers(1, 200), at=st.integers(0, 200), byte=st.binary(min_size=1, max_size=1))
def test_a_damaged_file_is_an_error_of_its_own_kind(cut: int, at: int, byte: bytes) -> None:
    whole = saved(a=np.arange(3)).getvalue()
    for damaged in (whole[:-cut], whole[:at] + byte + whole[at + 1 :]):
        try:
            found = read_arrays(io.BytesIO(damaged))
        except (BadZipFile, ValueError, OSError):
            continue
        assert [array.tolist() for array in found.values()] == [[0, 1, 2]]


def test_objects_of_python_are_refused() -> None:
    with pytest.raises(ValueError, match="no header"):
        read_arrays(saved(a=np.array([{}], dtype=object)))
    file = io.BytesIO()
    with ZipFile(file, "w") as archive:
        archive.writestr("a.npy", b"")
    with pytest.raises(ValueError, match="no header"):
        read_arrays(file)
