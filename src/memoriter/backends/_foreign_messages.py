"""The foreign questions and tasks with their vectors under one model, for texts that are compared with messages."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from memoriter.backends._foreign_vectors import (
    dumps,
    embedded,
    loads,
    questions,
    shipped_task_vectors,
    shipped_vectors,
    tasks,
)
from memoriter.ids import fingerprint
from memoriter.permissions import make_private_folder, replace_private

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed import EmbeddingProvider
    from memoriter.search import EmbeddedTexts
    from memoriter.types import ModelSpec


class ForeignMessages:
    """Messages that hardly any note or memory bears on: those of the package, or measured ones in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loaded: dict[str, list[EmbeddedTexts]] = {}

    def load(self, spec: ModelSpec) -> list[EmbeddedTexts] | None:
        """Return the questions and the tasks under a model, or None if their vectors are not known."""
        model = fingerprint(spec)
        if model not in self._loaded and (found := self._read(spec)) is not None:
            self._loaded[model] = found
        return self._loaded.get(model)

    def _read(self, spec: ModelSpec) -> list[EmbeddedTexts] | None:
        asked, told = shipped_vectors(spec), shipped_task_vectors(spec)
        if asked is None or told is None:
            asked, told = self._stored(spec, "questions", questions()), self._stored(spec, "tasks", tasks())
        if asked is None or told is None:
            return None
        from memoriter.search import EmbeddedTexts

        return [EmbeddedTexts(questions(), asked), EmbeddedTexts(tasks(), told)]

    def measure(self, provider: EmbeddingProvider) -> None:
        """Embed the messages and store their vectors, unless they are known.

        Raises:
            EmbeddingError: the provider failed; what it returned until then is kept.
            OSError: the vectors cannot be stored.
        """
        spec = provider.spec
        if self.load(spec) is not None:
            return
        for kind, texts in (("questions", questions()), ("tasks", tasks())):
            if self._stored(spec, kind, texts) is None:
                self._keep(spec, kind, texts, embedded(provider, texts))

    def _stored(self, spec: ModelSpec, kind: str, texts: Sequence[str]) -> NDArray[np.float32] | None:
        with suppress(OSError, ValueError, KeyError, TypeError):
            return loads(self._path(spec, kind).read_text(encoding="utf-8"), spec, texts)
        return None

    def _keep(self, spec: ModelSpec, kind: str, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        make_private_folder(self._folder)
        replace_private(self._path(spec, kind), dumps(spec, texts, vectors).encode())

    def _path(self, spec: ModelSpec, kind: str) -> Path:
        return self._folder / f"foreign-{kind}-{fingerprint(spec)}.json"
