"""Every program that is QMD gives the same answers over every transport."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoriter.extensions.qmd.settings import QmdLimits, QmdPath
from qmd_programs import QmdMemory, ScriptedQmd, released_qmd

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoriter.extensions.qmd.api import QmdAnswer, QmdDriver

PROGRAMS = ["scripted", pytest.param("released", marks=[pytest.mark.slow, pytest.mark.timeout(600)])]


@pytest.fixture(params=PROGRAMS)
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[QmdMemory]:
    program = ScriptedQmd.at(tmp_path / "bin").program if request.param == "scripted" else released_qmd()
    memory = QmdMemory(tmp_path, program)
    memory.write("MEMORY.md", "# Decisions\n\n- We chose PostgreSQL for the ledger because of ACID.\n")
    memory.write("memory/2026-02-10.md", "# Router\n\nThe Omada ER605 keeps VLAN 10 for the printers.\n")
    yield memory
    memory.close()


@pytest.fixture(params=[pytest.param("spawn", marks=pytest.mark.slow), "mcp"])  # the other tests of QMD spawn
def transport(request: pytest.FixtureRequest) -> str:
    return request.param


def opened(memory: QmdMemory, transport: str, **settings: object) -> QmdDriver:
    return memory.driver(transport=transport, limits=QmdLimits(timeout_ms=60_000), **settings)


def cited(answer: QmdAnswer) -> list[str]:
    return [hit.path for hit in answer.hits]


def test_a_file_with_all_words_is_found_at_its_lines(memory: QmdMemory, transport: str) -> None:
    (hit,) = opened(memory, transport).search("ledger ACID").hits
    assert (hit.path, hit.start_line, hit.end_line, hit.title) == ("MEMORY.md", 3, 3, "Decisions")
    assert hit.snippet == "- We chose PostgreSQL for the ledger because of ACID."
    assert (hit.file, hit.score, hit.ranking) == (memory.notes / "MEMORY.md", 1.0, "words")


def test_a_question_finds_files_with_any_of_its_words(memory: QmdMemory, transport: str) -> None:
    answer = opened(memory, transport).search("what is the reason for choosing PostgreSQL or Omada")
    assert set(cited(answer)) == {"MEMORY.md", "memory/2026-02-10.md"}
    assert {hit.ranking for hit in answer.hits} == {"any_word"}
    assert all(0.35 <= hit.score <= 0.6 for hit in answer.hits)


@pytest.mark.parametrize("text", ["-printers", "--version", "-vlan"])
def test_a_query_that_looks_like_an_option_is_a_query(memory: QmdMemory, transport: str, text: str) -> None:
    assert opened(memory, transport).search(text).hits == ()


@pytest.mark.parametrize("text", ["", "  ", "?!", '"', "\0"])
def test_a_query_without_words_finds_nothing(memory: QmdMemory, transport: str, text: str) -> None:
    assert opened(memory, transport).search(text).hits == ()


def test_control_characters_and_open_quotes_are_no_errors(memory: QmdMemory, transport: str) -> None:
    driver = opened(memory, transport)
    assert cited(driver.search("ledger\0\nACID")) == ["MEMORY.md"]
    assert cited(driver.search('lex: "ledger')) == ["MEMORY.md"]


def test_typed_lines_are_searched_as_they_are(memory: QmdMemory, transport: str) -> None:
    answer = opened(memory, transport).search("lex: ledger\nlex: omada")
    assert set(cited(answer)) == {"MEMORY.md", "memory/2026-02-10.md"}
    assert answer.mode == "typed"


def test_changes_are_found_by_the_next_search(memory: QmdMemory, transport: str) -> None:
    driver = opened(memory, transport)
    assert cited(driver.search("zebra")) == []
    note = memory.write("memory/zoo.md", "# Zoo\n\nThe zebra is striped.\n")
    assert cited(driver.search("zebra")) == ["memory/zoo.md"]
    note.unlink()
    assert cited(driver.search("zebra")) == []


def test_further_folders_are_cited_by_their_collection_and_can_be_read(memory: QmdMemory, transport: str) -> None:
    name = "Net work (v1) #2 & ünï.md"
    memory.write(f"../papers/{name}", "# Cables\n\nThe blue cable leads to the attic.\n")
    driver = opened(memory, transport, paths=(QmdPath(path="../papers", name="papers"),))
    (hit,) = driver.search("blue cable").hits
    assert hit.path == f"qmd/papers-main/{name}"
    assert driver.cites(hit.path)
    assert driver.read(hit.path, start=3, lines=1).text == "The blue cable leads to the attic."


def test_a_file_of_two_collections_is_one_hit(memory: QmdMemory, transport: str) -> None:
    driver = opened(memory, transport, paths=(QmdPath(path="memory", name="again"),))
    assert cited(driver.search("omada")) == ["memory/2026-02-10.md"]


def test_a_folder_that_is_configured_no_more_is_forgotten(memory: QmdMemory, transport: str) -> None:
    memory.write("../papers/cables.md", "# Cables\n\nThe blue cable leads to the attic.\n")
    with_papers = opened(memory, transport, paths=(QmdPath(path="../papers", name="papers"),))
    assert cited(with_papers.search("blue cable")) == ["qmd/papers-main/cables.md"]
    with_papers.close()
    without = opened(memory, transport)
    without.update(force=True)
    assert cited(without.search("blue cable")) == []
    assert b"attic" not in (memory.home / "xdg-cache" / "qmd" / "index.sqlite").read_bytes()
    assert {each.name: each.files for each in without.status().collections} == {
        "memory-root-main": 1,
        "memory-alt-main": 0,
        "memory-dir-main": 1,
    }


def test_the_number_of_hits_is_limited(memory: QmdMemory, transport: str) -> None:
    for number in range(5):
        memory.write(f"memory/{number}.md", f"# Zoo {number}\n\nThe zebra number {number}.\n")
    driver = opened(memory, transport)
    assert len(driver.search("zebra", limit=3).hits) == 3
    assert len(driver.search("zebra").hits) == 5
