"""The vectors of the foreign questions under the bundled model, which the package contains."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.ids import content_hash, fingerprint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memoriter.types import ModelSpec

FILE = Path(__file__).with_name("foreign_vectors.json")


def questions() -> list[str]:
    """Return all foreign questions, script after script."""
    from memoriter.search import FOREIGN_QUESTIONS

    return [question for group in FOREIGN_QUESTIONS.values() for question in group]


def dumps(spec: ModelSpec, vectors: NDArray[np.float32]) -> str:
    """Return the content of the file: the model, the questions, and their vectors (n, dims)."""
    from memoriter.search import pack_vectors

    fields = {"model": fingerprint(spec), "questions": content_hash("\n".join(questions())), **pack_vectors(vectors)}
    return json.dumps(fields, indent=1) + "\n"


def shipped_vectors(spec: ModelSpec) -> NDArray[np.float32] | None:
    """Return the vectors of all foreign questions (n, dims), or None if the file is for another model."""
    from memoriter.search import unpack_vectors

    fields = json.loads(FILE.read_text(encoding="utf-8"))
    same = fields["model"] == fingerprint(spec) and fields["questions"] == content_hash("\n".join(questions()))
    return unpack_vectors(fields) if same else None
