"""Stored vectors: those of chunks in full precision, those of items alone in the short form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.short_vectors import full_bytes, read_stored, short_bytes, shorten

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy as np
    from numpy.typing import NDArray


def encode(keys: Sequence[bytes], rows: NDArray[np.float32], short: Collection[bytes]) -> list[bytes]:
    """Return vectors as they are stored, those with a key in `short` in the short form."""
    import numpy as np

    blobs = list(map(bytes, np.ascontiguousarray(rows, dtype="<f4").view(np.uint8)))
    places = [place for place, key in enumerate(keys) if key in short]
    if places:
        for place, blob in zip(places, shorten(rows[places]), strict=True):
            blobs[place] = bytes(blob)
    return blobs


def decode(blobs: Sequence[bytes], dimensions: int) -> NDArray[np.float32]:
    """Return stored vectors as they are compared, (n, dims). Each has the length of one of the two forms."""
    import numpy as np

    sizes = list(map(len, blobs))
    different = set(sizes)
    if len(different) == 1:
        return _decode_equal(blobs, sizes[0], dimensions)
    rows = np.empty((len(blobs), dimensions), dtype=np.float32)
    for size in different:
        places = [place for place, each in enumerate(sizes) if each == size]
        rows[places] = _decode_equal([blobs[place] for place in places], size, dimensions)
    return rows


def _decode_equal(blobs: Sequence[bytes], size: int, dimensions: int) -> NDArray[np.float32]:
    """Return stored vectors of one form."""
    import numpy as np

    stored = np.frombuffer(b"".join(blobs), dtype=np.uint8).reshape(len(blobs), size)
    return read_stored(stored, dimensions)


def known_sizes(dimensions: int) -> set[int]:
    """Return the bytes that a vector has in either form."""
    return {full_bytes(dimensions), short_bytes(dimensions)}
