"""The released QMD with a model: real vectors of a model that the test makes, and searches by meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from memoriter.errors import QmdNoVectors
from memoriter.extensions.qmd.settings import QmdLimits, QmdUpdate
from qmd_programs import QmdMemory, bag_of_words_model, released_qmd

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[QmdMemory]:
    memory = QmdMemory(tmp_path, released_qmd())
    memory.environ = {"QMD_EMBED_MODEL": str(bag_of_words_model(tmp_path / "words.gguf"))}
    memory.write("MEMORY.md", "# Decisions\n\nledger postgres database\n")
    memory.write("memory/router.md", "# Router\n\nomada router network printer\n")
    yield memory
    memory.close()


def settings(**more: Any) -> dict[str, Any]:
    patient = QmdUpdate(embed_timeout_ms=300_000, command_timeout_ms=120_000)
    return {"limits": QmdLimits(timeout_ms=240_000), "update": patient, **more}


@pytest.mark.parametrize("transport", ["spawn", "mcp"])
def test_a_search_by_meaning_finds_the_nearest_file_first(memory: QmdMemory, transport: str) -> None:
    driver = memory.driver(**settings(search_mode="vsearch", transport=transport))
    with pytest.raises(QmdNoVectors):
        driver.search("postgres database")
    assert driver.embed()
    state = driver.status()
    assert (state.vectors, state.pending) == (2, 0)
    hits = driver.search("printer network").hits
    assert hits[0].path == "memory/router.md"
    assert hits[0].ranking == "fused"


@pytest.mark.parametrize("transport", ["spawn", "mcp"])
def test_words_and_meaning_are_fused(memory: QmdMemory, transport: str) -> None:
    driver = memory.driver(**settings(search_mode="query", transport=transport))
    driver.update()
    assert driver.embed()
    answer = driver.search("which postgres database")
    assert (answer.hits[0].path, answer.mode, answer.notices) == ("MEMORY.md", "typed", ())
    typed = driver.search("lex: omada\nvec: router network")
    assert typed.hits[0].path == "memory/router.md"


def test_a_model_that_is_missing_is_an_error_with_its_name(memory: QmdMemory) -> None:
    missing = str(memory.folder / "missing.gguf")
    memory.environ = {"QMD_EMBED_MODEL": missing}
    driver = memory.driver(**settings(search_mode="vsearch"))
    driver.update()
    with pytest.raises(QmdNoVectors, match=r"missing\.gguf"):
        driver.embed()
