"""Fixtures of the tests of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoriter.embed import open_provider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.embed import EmbeddingProvider


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddingProvider]:
    opened = open_provider("bundled", cache_dir=tmp_path_factory.mktemp("cache"), threads=1)
    yield opened
    opened.close()
