"""A copy of the vectors of one folder of notes, for processes that answer a single prompt.

Importing LanceDB takes seconds of CPU time, which a coding agent does not wait for before each prompt. The copy has no
text, can be deleted at any time, and is made again from the database.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

from memoriter.array_file import read_arrays
from memoriter.ids import text_key
from memoriter.permissions import make_private_folder

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from memoriter.extensions.longterm._results import Vector

    Rows = dict[str, tuple[str, Vector]]


def key_of(text: str) -> str:
    """Return the key of a text whose vector is kept."""
    return text_key(text).hex()


class VectorFile:
    """Vectors by the ids of their memories, each with the key of its text; one file for each model."""

    def __init__(self, folder: Path, note: str) -> None:
        self._folder = folder
        self._note = note

    def read(self, model: str) -> Rows:
        """Return the vectors of a model; none if the file is missing or damaged."""
        try:
            stored = read_arrays(self._path(model))
            ids = stored["ids"]
            keys = stored["keys"]
            vectors = stored["vectors"]
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return {}
        return {str(ids[at]): (str(keys[at]), vectors[at]) for at in range(min(len(ids), len(keys), len(vectors)))}

    def write(self, model: str, rows: Mapping[str, tuple[str, Vector]]) -> None:
        """Replace the vectors of a model. Raises OSError."""
        import numpy as np

        make_private_folder(self._folder)
        draft = self._folder / f".{os.getpid()}-{self._path(model).name}"
        try:
            with draft.open("wb") as file:
                np.savez(
                    file,
                    ids=np.array(list(rows), dtype="U36"),
                    keys=np.array([key for key, _ in rows.values()], dtype="U32"),
                    vectors=np.array([vector for _, vector in rows.values()], dtype=np.float32),
                )
            draft.replace(self._path(model))
        finally:
            draft.unlink(missing_ok=True)

    def add(self, model: str, rows: Mapping[str, tuple[str, Vector]]) -> None:
        """Add vectors. Raises OSError."""
        self.write(model, self.read(model) | dict(rows))

    def remove(self, ids: Collection[str]) -> None:
        """Remove the vectors of memories, of every model. Raises OSError."""
        for file in Path(self._folder).glob(f"{self._note}-*.npz"):
            model = file.stem.removeprefix(f"{self._note}-")
            rows = self.read(model)
            if any(key in rows for key in ids):
                self.write(model, {key: row for key, row in rows.items() if key not in ids})

    def _path(self, model: str) -> Path:
        return self._folder / f"{self._note}-{model}.npz"
