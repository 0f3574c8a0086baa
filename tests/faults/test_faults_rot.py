"""Bytes of an index that change by themselves: no answer is wrong, and none is incomplete without saying so."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rot
from memoriter.backends._indexing import Indexing
from memory_env import QUESTION, MemoryEnv, codes, paths
from soak import factor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter import Memory

pytestmark = pytest.mark.slow

GOOD = {"right", "right, told", "incomplete, told, then right"}
BATCH = 60


def outcomes(shelf: rot.Shelf, first: int, last: int) -> list[tuple[int, str, str]]:
    """What came of each seed; a process that dies is what came of the first seed that it does not report."""
    command = [sys.executable, str(Path(rot.__file__)), str(shelf.folder), str(first), str(last)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    found = [tuple(json.loads(line)) for line in done.stdout.splitlines()]
    if len(found) < last - first:
        found.append((first + len(found), "process", f"DIED {done.returncode}: {done.stderr[-500:]}"))
    return found


def bad(found: list[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
    return [each for each in found if each[2] not in GOOD]


def test_each_kind_of_damage_leaves_every_answer_right_or_says_that_it_is_not(tmp_path: Path) -> None:
    shelf = rot.make(tmp_path)
    assert bad(outcomes(shelf, 0, len(rot.KINDS))) == []


@pytest.mark.soak
def test_damage_at_random_places_never_gives_a_wrong_answer(tmp_path: Path) -> None:
    shelf = rot.make(tmp_path)
    found: list[tuple[int, str, str]] = []
    for first in range(1_000, 1_000 + int(BATCH * max(1, factor() / 4)), BATCH):
        found += outcomes(shelf, first, first + BATCH)
    sys.stdout.write(f"{Counter(came for _, _, came in found)}\n")
    assert bad(found) == []


# What a damaged row looks like where no page tells of it.


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="fake")
    env.many(30)
    yield env
    env.close()


def execute(memory: Memory, statement: str, *values: Any) -> None:
    """Change the index as no command does, with checksums of pages that are right."""
    with memory._backend.index._file.writing() as connection:
        connection.execute(statement, values)


@pytest.mark.parametrize(
    "damage",
    [
        "text = replace(text, 'PostgreSQL', 'MariaDB 9')",
        "text = replace(text, 'ACID', 'AC\u2026')",
        "start_line = 9, end_line = 9",
        "end_line = start_line",
        "start_line = -4, end_line = 1 << 40",
    ],
)
def test_a_passage_that_is_not_what_its_note_says_is_read_again_and_told(env: MemoryEnv, damage: str) -> None:
    memory = env.open()
    (whole,) = (hit for hit in memory.search(QUESTION).results if hit.path == "MEMORY.md")
    execute(memory, f"UPDATE chunks SET {damage} WHERE text LIKE '%PostgreSQL%'")
    result = memory.search(QUESTION)
    assert (result.results[0].path, result.results[0].snippet) == ("MEMORY.md", whole.snippet)
    assert (result.results[0].start_line, result.results[0].end_line) == (whole.start_line, whole.end_line)
    assert codes(result) == ["index_repaired"]
    assert memory.search(QUESTION).health.ok


def test_a_passage_is_never_given_under_another_path(env: MemoryEnv) -> None:
    memory = env.open()
    memory.search(QUESTION)
    execute(memory, "UPDATE files SET path = 'memory/work/stylf.md' WHERE path = 'MEMORY.md'")
    assert paths(memory.search(QUESTION))[0] == "MEMORY.md"
    execute(memory, "UPDATE files SET path = 'x.md' WHERE path = 'MEMORY.md'")
    execute(memory, "UPDATE files SET path = 'MEMORY.md' WHERE path = 'memory/work/style.md'")
    assert paths(memory.search(QUESTION))[0] == "MEMORY.md"
    assert "Commits" in memory.search("commits in the imperative mood").results[0].snippet
    assert memory.search("commits in the imperative mood").results[0].path == "memory/work/style.md"


def test_where_the_index_cannot_be_written_a_damaged_passage_is_left_out_and_told(env: MemoryEnv) -> None:
    memory = env.open()
    other = env.open()
    memory.search(QUESTION)
    execute(memory, "UPDATE chunks SET text = replace(text, 'PostgreSQL', 'MariaDB')")
    with other._backend.index.lease():
        result = memory.search(QUESTION)
    assert "MEMORY.md" not in paths(result)
    assert codes(result) == ["index_damaged", "index_busy"]
    assert paths(memory.search(QUESTION))[0] == "MEMORY.md"


def test_a_note_that_changed_since_it_was_indexed_is_answered_from_the_note(env: MemoryEnv) -> None:
    env.configure(provider="fake", sync={"onSearch": False})
    memory = env.open()
    memory.sync()
    env.write("MEMORY.md", "# Decisions\n\nFirst another line.\n\n- We chose SQLite for the ledger because of size.\n")
    (hit,) = (hit for hit in memory.search(QUESTION).results if hit.path == "MEMORY.md" and "ledger" in hit.snippet)
    assert "SQLite" in hit.snippet


def test_a_passage_that_another_process_indexes_again_meanwhile_is_not_called_damaged(
    env: MemoryEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    env.configure(provider="fake", sync={"onSearch": False})
    memory = env.open()
    other = env.open()
    memory.sync()
    repair = Indexing.repair

    def repair_too_late(indexing: Indexing, *arguments: Any) -> Any:
        other.sync()
        return repair(indexing, *arguments)

    monkeypatch.setattr(Indexing, "repair", repair_too_late)
    env.write("MEMORY.md", "# Decisions\n\nFirst another line.\n\n- We chose SQLite for the ledger because of size.\n")
    result = memory.search(QUESTION)
    assert codes(result) == ["stale"]
    assert "SQLite" in next(hit.snippet for hit in result.results if hit.path == "MEMORY.md")


@pytest.mark.parametrize("engine", ["exact", "codes"])
@pytest.mark.parametrize("bit", [0, 63, 250, -1])
def test_a_damaged_vector_is_made_again(env: MemoryEnv, engine: str, bit: int) -> None:
    """One bit of the file is another one. Without the checksum of the page, the vector would only be a wrong one."""
    env.configure(provider="fake", store={"vector": {"engine": engine}})
    with env.open() as memory:
        whole = memory.search(QUESTION, min_score=0.0).results
        with memory._backend.index._file.reading() as connection:
            vector = bytes(connection.execute("SELECT vector FROM embedding_cache ORDER BY id LIMIT 1").get)
    (file,) = (env.home / "memory").glob("main*.sqlite")
    content = bytearray(file.read_bytes())
    start = content.index(vector)
    place = bit % (len(vector) * 8)
    content[start + place // 8] ^= 1 << place % 8
    file.write_bytes(content)
    cold = env.open()
    env.wait()
    first = cold.search(QUESTION, min_score=0.0)
    assert first.results == whole or "vectors_pending" in codes(first)
    env.wait()
    assert cold.search(QUESTION, min_score=0.0).results == whole
    assert [reason.code for reason in cold.status().health.reasons] == ["index_quarantined"]
    assert env.open().status(deep=True).health.ok
