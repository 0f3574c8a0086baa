"""An index that another version of memoriter made is built anew, with the vectors that it has."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import apsw
import numpy as np
import pytest

from memoriter import Memory
from memoriter.embed import _fake
from memoriter.errors import IndexUnavailable
from memoriter.index import Index, InspectedIndex
from memoriter.index._connection import connect
from memoriter.index._schema import VERSION
from memoriter.types import ModelSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

NOTES = {
    "MEMORY.md": "# Decisions\n\nWe chose PostgreSQL for the ledger.\n\n# Coffee\n\nFlat white, no sugar.\n",
    "memory/2026-02-10.md": "- Paid the dentist in cash.\n- The bike needs a new chain.\n",
}
QUESTIONS = ("which database for the ledger", "dentist", "what does the bike need")
SPEC = ModelSpec("fake", "tiny", 16)
SETTINGS = '{agents: {defaults: {memorySearch: {provider: "fake", query: {minScore: 0}}}}}'


class Workspace:
    """Notes and their index."""

    def __init__(self, folder: Path) -> None:
        self.notes = folder / "notes"
        self.home = folder / "home"
        for name, text in {
            **{f"notes/{name}": text for name, text in NOTES.items()},
            "home/memoriter.json5": SETTINGS,
        }.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")

    def open(self) -> Memory:
        return Memory.open(self.notes, home=self.home)

    def answers(self) -> list[list[tuple[str, int, float]]]:
        with self.open() as memory:
            found = [memory.search(question).hits for question in QUESTIONS]
        return [[(hit.path, hit.start_line, hit.score) for hit in hits] for hits in found]

    @property
    def index(self) -> Path:
        with self.open() as memory:
            return Path(memory.status().index)

    def change(self, *statements: str, version: int) -> None:
        """Make the index one of another version."""
        with closing(connect(self.index, network=False)) as connection:
            for statement in statements:
                connection.execute(statement).fetchall()
            connection.pragma("user_version", version)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    assert all(workspace.answers())
    return workspace


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every passage that is embedded."""
    texts: list[str] = []
    embed = _fake.FakeProvider.embed

    def record(self: _fake.FakeProvider, batch: Sequence[str], *, role: str) -> object:
        texts.extend(batch if role == "document" else ())
        return embed(self, batch, role=role)  # type: ignore[arg-type]

    monkeypatch.setattr(_fake.FakeProvider, "embed", record)
    return texts


@pytest.mark.parametrize(
    ("version", "statements"),
    [
        (VERSION - 1, ["DROP TABLE items", "DROP TABLE tags", "ALTER TABLE chunks DROP COLUMN term_counts"]),
        (VERSION + 1, ["ALTER TABLE embedding_cache ADD COLUMN note TEXT", "CREATE TABLE later(id INTEGER)"]),
    ],
    ids=["earlier", "later"],
)
def test_it_answers_the_same_and_embeds_nothing(
    workspace: Workspace, embedded: list[str], version: int, statements: list[str]
) -> None:
    before = workspace.answers()
    workspace.change(*statements, version=version)
    assert workspace.answers() == before
    with workspace.open() as memory:
        assert (memory.sync().pending, memory.status().health.ok) == (0, True)
    assert embedded == []
    assert [file.name for file in workspace.index.parent.iterdir() if ".new" in file.name] == []


def test_an_index_whose_vectors_have_another_form_is_built_from_the_notes_alone(
    workspace: Workspace, embedded: list[str]
) -> None:
    before = workspace.answers()
    workspace.change("ALTER TABLE embedding_cache RENAME COLUMN vector TO something", version=VERSION - 1)
    assert workspace.answers() == before
    assert len(embedded) == 5


def test_what_was_written_last_by_a_process_that_was_killed_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "main.sqlite"
    Index.open(path, clock=lambda: 0.0).close()
    with closing(connect(path, network=False)) as connection:
        connection.execute("INSERT INTO meta(key, value) VALUES ('batch:1', 'a paid job'), ('other', 'x')").fetchall()
        connection.pragma("user_version", VERSION - 1)
        killed = {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.suffix.startswith(".sqlite")}
        assert killed["main.sqlite-wal"]
    for name, content in killed.items():
        (tmp_path / name).write_bytes(content)
    with Index.open(path, clock=lambda: 0.0) as index:
        assert (index.get_meta("batch:1"), index.get_meta("other")) == ("a paid job", None)


def test_more_vectors_than_are_read_at_once_are_all_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoriter.index.vectors._transfer._AT_ONCE", 3)
    keys = [number.to_bytes(16, "big") for number in range(10)]
    path = tmp_path / "main.sqlite"
    with Index.open(path, clock=lambda: 0.0) as index:
        index.use_vectors(SPEC)
        index.put_vectors(keys, np.eye(10, 16, dtype=np.float32))
    with closing(connect(path, network=False)) as connection:
        connection.pragma("user_version", VERSION - 1)
    with Index.open(path, clock=lambda: 0.0) as index:
        index.use_vectors(SPEC)
        assert index.having_vectors(keys) == set(keys)


def test_on_a_full_disk_the_other_index_keeps_its_vectors_for_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "main.sqlite"
    with Index.open(path, clock=lambda: 0.0) as index:
        index.use_vectors(SPEC)
        index.put_vectors([b"k" * 16], np.eye(1, 16, dtype=np.float32))
    with closing(connect(path, network=False)) as connection:
        connection.pragma("user_version", VERSION - 1)

    def full(*_: object) -> None:
        raise apsw.FullError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("memoriter.index.vectors._transfer._copy_sets", full)
        with pytest.raises(IndexUnavailable, match="full"):
            Index.open(path, clock=lambda: 0.0)
    with Index.open(path, clock=lambda: 0.0) as index:
        index.use_vectors(SPEC)
        assert index.having_vectors([b"k" * 16]) == {b"k" * 16}


def test_several_processes_build_it_once(tmp_path: Path) -> None:
    path = tmp_path / "main.sqlite"
    with Index.open(path, clock=lambda: 0.0) as index:
        index.set_meta("batch:1", "a paid job")
    with closing(connect(path, network=False)) as connection:
        connection.pragma("user_version", VERSION - 1)
    kept: list[str | None] = []

    def read() -> None:
        with Index.open(path, clock=lambda: 0.0) as index:
            kept.append(index.get_meta("batch:1"))

    threads = [Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kept == ["a paid job"] * 6
    with Index.open(path, clock=lambda: 0.0) as index:
        assert index.generation == 2


def test_a_command_that_only_looks_names_it_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "main.sqlite"
    Index.open(path, clock=lambda: 0.0).close()
    with closing(connect(path, network=False)) as connection:
        connection.pragma("user_version", VERSION - 1)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with InspectedIndex.inspect(path, clock=lambda: 0.0) as index:
        assert [notice.code for notice in index.notices] == ["index_outdated"]
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
