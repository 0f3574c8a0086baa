"""Arrays of `.npz` files, read without Python's parser.

`numpy.load` parses the header of each array as Python code. CPython before 3.11.8 and 3.12.1 may raise SystemError if
two threads do that at once (python/cpython#106905), and memoriter loads models beside the code of its callers.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_HEADER = re.compile(
    rb"\{'descr': '(?P<type>[<>|][fiuUb]\d+)', 'fortran_order': (?P<fortran>True|False),"
    rb" 'shape': \((?P<shape>[\d, ]*)\)"
)


def read_arrays(file: Path | BinaryIO) -> dict[str, NDArray[Any]]:
    """Return the arrays of numbers and texts by their names; they cannot be written to.

    Raises:
        OSError: the file cannot be read.
        zipfile.BadZipFile: it is no `.npz` file, or is damaged.
        ValueError: an array of it is damaged, or has objects of Python.
    """
    from zipfile import BadZipFile, ZipFile
    from zlib import error

    try:
        with ZipFile(file) as archive:
            return {name.removesuffix(".npy"): _array(archive.read(name)) for name in archive.namelist()}
    except (RuntimeError, EOFError, error) as damage:  # one wrong byte may say "encrypted" or "compressed"
        raise BadZipFile(str(damage)) from damage


def _array(content: bytes) -> NDArray[Any]:
    """Return an array in NumPy's `.npy` format."""
    import numpy as np

    start = 10 if content[6:7] == b"\x01" else 12
    at = start + int.from_bytes(content[8:start], "little")
    header = _HEADER.match(content, start)
    if content[:6] != b"\x93NUMPY" or header is None:
        raise ValueError("an array has no header that can be read")
    shape = tuple(map(int, re.findall(rb"\d+", header["shape"])))
    kind = np.dtype(header["type"].decode())
    if len(content) - at != math.prod(shape) * kind.itemsize:
        raise ValueError("an array is longer or shorter than its header says")
    return np.ndarray(shape, kind, content, at, order="F" if header["fortran"] == b"True" else "C")
