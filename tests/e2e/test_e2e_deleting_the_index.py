"""The index is disposable: whatever happens to its file, the same question gets the same answer."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoriter import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoriter.types import SearchResult

EXAMPLES = Path(__file__).parents[2] / "examples" / "workspace"
QUESTIONS = (
    "Which database does the ledger use and why?",
    "When do I have to replace the RBC-17 again?",
    "왜 memorySearch.query.minScore 를 바꿨지?",
    "What did the dentist say about the submarine?",
)
CONFIG = '{agents: {defaults: {memorySearch: {provider: "fake", sync: {watchDebounceMs: 0}}}}}'


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    workspace = tmp_path_factory.mktemp("examples") / "workspace"
    shutil.copytree(EXAMPLES, workspace)
    return workspace


def open_memory(notes: Path, home: Path) -> Memory:
    home.mkdir(exist_ok=True)
    (home / "memoriter.json5").write_text(CONFIG, encoding="utf-8")
    return Memory.open(notes, home=home)


Answer = tuple[tuple[str, ...], tuple[float, ...], str, str]


def answer(result: SearchResult) -> Answer:
    hits = result.results
    return tuple(hit.citation for hit in hits), tuple(hit.score for hit in hits), result.outcome, result.mode


def answers(memory: Memory) -> list[Answer]:
    return [answer(memory.search(question, min_score=0.0)) for question in QUESTIONS]


def assert_same(found: list[Answer], expected: list[Answer]) -> None:
    for (citations, scores, outcome, mode), wanted in zip(found, expected, strict=True):
        assert (citations, outcome, mode) == (wanted[0], wanted[2], wanted[3])
        assert scores == pytest.approx(wanted[1], abs=1e-6)


@pytest.fixture(scope="module")
def built(notes: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Answer]]:
    """A home with a finished index, and what it answers."""
    home = tmp_path_factory.mktemp("built") / "home"
    with open_memory(notes, home) as memory:
        memory.sync()
        return home, answers(memory)


@pytest.fixture
def expected(built: tuple[Path, list[Answer]]) -> list[Answer]:
    return built[1]


@pytest.fixture
def home(built: tuple[Path, list[Answer]], tmp_path: Path) -> Path:
    """A copy of the home with the finished index."""
    return Path(shutil.copytree(built[0], tmp_path / "home", symlinks=True))


@pytest.fixture
def memory(notes: Path, home: Path) -> Iterator[Memory]:
    with open_memory(notes, home) as memory:
        yield memory


def index_of(memory: Memory) -> Path:
    return Path(memory.status().index)


def delete_path(index: Path) -> None:
    index.unlink()


def delete_target(index: Path) -> None:
    index.resolve().unlink()


def delete_folder(index: Path) -> None:
    for file in index.parent.iterdir():
        file.unlink()


def delete_folder_itself(index: Path) -> None:
    shutil.rmtree(index.parent)


DELETIONS = [delete_path, delete_target, delete_folder, delete_folder_itself]


def test_the_examples_are_answered_at_all(expected: list[Answer]) -> None:
    assert [len(citations) for citations, *_ in expected] == [6] * len(QUESTIONS)


@pytest.mark.matrix
@pytest.mark.parametrize("delete", DELETIONS)
def test_an_index_deleted_before_the_first_search_is_built_again(
    notes: Path, home: Path, expected: list[Answer], delete: Callable[[Path], None]
) -> None:
    with open_memory(notes, home) as memory:
        index = index_of(memory)
    delete(index)
    with open_memory(notes, home) as memory:
        assert_same(answers(memory), expected)


@pytest.mark.slow
@pytest.mark.matrix
@pytest.mark.parametrize("delete", DELETIONS)
def test_an_index_deleted_while_a_memory_is_open_is_built_again_by_the_next_search(
    memory: Memory, expected: list[Answer], delete: Callable[[Path], None]
) -> None:
    assert_same(answers(memory), expected)
    delete(index_of(memory))
    assert_same(answers(memory), expected)


@pytest.mark.slow
@pytest.mark.matrix
@pytest.mark.parametrize("delete", DELETIONS)
def test_an_index_deleted_between_any_two_searches_changes_no_answer(
    memory: Memory, expected: list[Answer], delete: Callable[[Path], None]
) -> None:
    index = index_of(memory)
    found: list[Answer] = []
    for question in QUESTIONS:
        found.append(answer(memory.search(question, min_score=0.0)))
        delete(index)
    assert_same(found, expected)


@pytest.mark.slow
@pytest.mark.matrix
@pytest.mark.parametrize("delete", DELETIONS)
def test_an_index_deleted_after_a_sync_is_built_again_by_search_sync_and_status(
    memory: Memory, expected: list[Answer], delete: Callable[[Path], None]
) -> None:
    whole = memory.status()
    delete(index_of(memory))
    assert memory.sync().added == whole.files
    delete(index_of(memory))
    assert_same(answers(memory), expected)
    delete(index_of(memory))
    assert (memory.status().files, memory.status().vectors) == (0, 0)
    memory.sync()
    again = memory.status()
    assert (again.files, again.chunks, again.vectors) == (whole.files, whole.chunks, whole.vectors)


@pytest.mark.slow
def test_two_open_memories_survive_the_deletion_and_agree(notes: Path, home: Path, expected: list[Answer]) -> None:
    with open_memory(notes, home) as one, open_memory(notes, home) as other:
        assert_same(answers(one), expected)
        assert_same(answers(other), expected)
        delete_folder(index_of(one))
        assert_same(answers(other), expected)
        assert_same(answers(one), expected)
        assert one.status().index_bytes == other.status().index_bytes > 0


def garbage(file: Path) -> None:
    file.write_bytes(bytes(range(256)) * 400)


def garbage_behind_a_good_header(file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + bytes(byte ^ 0x5A for byte in whole[4096:]))


def nothing_left(file: Path) -> None:
    file.write_bytes(b"")


def half_left(file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2 // 4096 * 4096])


def another_programs_database(file: Path) -> None:
    file.unlink()
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE photos (id INTEGER PRIMARY KEY, taken TEXT)")
    connection.execute("INSERT INTO photos (taken) VALUES ('2020-01-01')")
    connection.commit()
    connection.close()


DAMAGES = [garbage, garbage_behind_a_good_header, half_left, another_programs_database]


@pytest.mark.slow
@pytest.mark.matrix
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_broken_index_is_set_aside_and_the_answer_says_so(
    notes: Path, home: Path, expected: list[Answer], damage: Callable[[Path], None]
) -> None:
    with open_memory(notes, home) as memory:
        index = index_of(memory)
    damage(index.resolve())
    with open_memory(notes, home) as memory:
        first = memory.search(QUESTIONS[0], min_score=0.0)
        assert_same([answer(first)], expected[:1])
        assert "index_quarantined" in [reason.code for reason in first.health.reasons]
        assert all(reason.message and reason.remedy for reason in first.health.reasons)
        assert_same(answers(memory), expected)
    assert [file.name for file in index.parent.glob("*.damaged*")]


@pytest.mark.slow
def test_an_emptied_index_is_filled_again(notes: Path, home: Path, expected: list[Answer]) -> None:
    with open_memory(notes, home) as memory:
        index = index_of(memory)
    nothing_left(index.resolve())
    with open_memory(notes, home) as memory:
        assert_same(answers(memory), expected)


@pytest.mark.slow
@pytest.mark.matrix
@pytest.mark.parametrize("damage", [*DAMAGES, nothing_left])
def test_damage_under_an_open_memory_changes_no_answer_then_or_later(
    notes: Path, home: Path, expected: list[Answer], damage: Callable[[Path], None]
) -> None:
    with open_memory(notes, home) as memory:
        memory.search(QUESTIONS[0])
        damage(index_of(memory).resolve())
        assert_same(answers(memory), expected)
        assert "index_quarantined" in [reason.code for reason in memory.search(QUESTIONS[0]).health.reasons]
    with open_memory(notes, home) as memory:
        assert_same(answers(memory), expected)


@pytest.mark.slow
def test_another_programs_database_is_kept_as_it_was(notes: Path, home: Path) -> None:
    with open_memory(notes, home) as memory:
        index = index_of(memory)
    another_programs_database(index.resolve())
    with open_memory(notes, home) as memory:
        memory.search(QUESTIONS[0])
    (aside,) = index.parent.glob("*.damaged*")
    connection = sqlite3.connect(aside)
    assert connection.execute("SELECT * FROM photos").fetchall() == [(1, "2020-01-01")]
    connection.close()


@pytest.mark.slow
def test_the_broken_index_is_reported_by_sync_and_status_too(notes: Path, home: Path) -> None:
    with open_memory(notes, home) as memory:
        index = index_of(memory)
    garbage(index.resolve())
    with open_memory(notes, home) as memory:
        report = memory.sync()
        assert "index_quarantined" in [reason.code for reason in report.reasons]
        assert "index_quarantined" in [reason.code for reason in memory.status().health.reasons]
        assert (report.added, report.pending) == (report.files, 0)
