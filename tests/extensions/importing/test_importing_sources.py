"""A source never replaces the notes of another one, and a source that has grown is recognised."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from exports import archive, database, written
from memoriter.errors import UsageError
from memoriter.extensions.importing.api import plan_undo, undo
from memoriter.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Target


def claude_mem(file: Path, *facts: str, session: str, at: str = "2025-10-01T10:00:00Z") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    with database(file) as opened:
        columns = "memory_session_id TEXT, project TEXT, title TEXT, created_at TEXT"
        opened.execute(f"CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, {columns})")
        for fact in facts:
            row = (session, "home", fact, at)
            opened.execute(
                "INSERT INTO observations (memory_session_id, project, title, created_at) VALUES (?,?,?,?)", row
            )
    return file


def json_lines(file: Path, *facts: str) -> Path:
    lines = [json.dumps({"id": str(number), "text": fact, "date": "2025-10-01"}) for number, fact in enumerate(facts)]
    return written(file, "\n".join(lines))


def vault(file: Path, **notes: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    return archive(file, {f"{name}.md": text for name, text in notes.items()})


def test_databases_of_two_machines_are_both_imported(target: Target, tmp_path: Path) -> None:
    first = claude_mem(tmp_path / "a" / "claude-mem.db", "Fact of A", session="s-a")
    second = claude_mem(tmp_path / "b" / "claude-mem.db", "Fact of B", session="s-b")
    target.run("claude-mem", first)
    assert target.run("claude-mem", second).records == 1
    assert "Fact of A" in target.text
    assert "Fact of B" in target.text


def test_a_database_that_has_grown_adds_what_is_new_from_any_place(target: Target, tmp_path: Path) -> None:
    target.run("claude-mem", claude_mem(tmp_path / "a" / "claude-mem.db", "One", session="s"))
    grown = target.run("claude-mem", claude_mem(tmp_path / "copy" / "claude-mem.db", "One", "Two", session="s"))
    assert (grown.records, grown.present, grown.updated) == (1, 1, 0)


@pytest.mark.parametrize(
    ("source", "make"),
    [
        ("jsonl", lambda folder, fact: json_lines(folder / "x.jsonl", fact)),
        ("obsidian", lambda folder, fact: vault(folder / "notes.zip", House=fact)),
        ("claude-mem", lambda folder, fact: claude_mem(folder / "claude-mem.db", fact, session="")),
    ],
)
class TestSourcesWithTheSameIds:
    def test_the_second_one_is_refused_until_it_has_a_name(
        self, target: Target, tmp_path: Path, source: str, make: object
    ) -> None:
        assert callable(make)
        first = make(tmp_path / "a", "Fact of A")
        second = make(tmp_path / "b", "Fact of B")
        done = target.run(source, first)
        before = target.texts()
        with pytest.raises(UsageError, match=f"another file, which was imported as {done.id}") as refused:
            target.run(source, second)
        assert "--source NAME" in str(refused.value.remedy)
        assert target.texts() == before
        named = target.run(source, second, name="laptop")
        assert named.records == 1
        assert "Fact of A" in target.text
        assert "Fact of B" in target.text
        again = target.run(source, make(tmp_path / "c", "Fact of B"), name="laptop")
        assert (again.records, again.present, again.id) == (0, 1, named.id)
        undo(Workspace(target.root), plan_undo(target.root, named.id, target.records), target.records)
        assert target.texts() == before

    def test_a_newer_state_at_the_same_place_changes_the_notes(
        self, target: Target, tmp_path: Path, source: str, make: object
    ) -> None:
        assert callable(make)
        first = target.run(source, make(tmp_path / "a", "Old fact"))
        second = target.run(source, make(tmp_path / "a", "New fact"))
        assert second.updated == 1
        assert second.id not in {"", first.id}
        assert "Old fact" not in target.text


def test_a_name_tells_folders_of_the_same_name_apart(target: Target, tmp_path: Path) -> None:
    for each in "ab":
        written(tmp_path / each / "Vault" / "House.md", f"Fact of {each}")
    target.run("obsidian", tmp_path / "a" / "Vault")
    target.run("obsidian", tmp_path / "b" / "Vault", name="work: b")
    assert sorted(target.texts()) == ["obsidian/Vault/House.md", "obsidian/work b/Vault/House.md"]
    with pytest.raises(UsageError, match="cannot name a source"):
        target.run("obsidian", tmp_path / "b" / "Vault", name="..")


def test_an_id_that_occurs_twice_with_other_text_loses_neither(target: Target, tmp_path: Path) -> None:
    lines = [{"id": "1", "text": text, "date": "2025-10-01"} for text in ("One", "Two", "One")]
    file = written(tmp_path / "x.jsonl", "\n".join(map(json.dumps, lines)))
    first = target.run("jsonl", file)
    assert (first.records, first.present) == (2, 1)
    assert "One" in target.text
    assert "Two" in target.text
    second = target.run("jsonl", file)
    assert (second.records, second.present, second.updated) == (0, 3, 0)


@pytest.mark.parametrize("source", ["obsidian", "jsonl"])
def test_a_line_that_somebody_adds_while_an_import_is_repeated_stays(
    target: Target, tmp_path: Path, source: str
) -> None:
    def export(*facts: str) -> Path:
        if source == "obsidian":
            return vault(tmp_path / "vault.zip", **{f"n{at}": f"- {fact}\n" for at, fact in enumerate(facts)})
        return json_lines(tmp_path / "facts.jsonl", *facts)

    def add(done: int, total: int) -> None:
        if done == 0 < total:
            for file in (target.root / "memory" / "imported").rglob("*.md"):
                with file.open("a", encoding="utf-8") as opened:
                    opened.write("- a line of another program\n")

    target.run(source, export("Tea.", "Coffee."))
    report = target.run(source, export("Green tea.", "Black coffee."), progress=add)
    assert all(text.endswith("- a line of another program\n") for text in target.texts().values())
    assert (report.updated, sorted({*report.kept})) == (0, sorted(f"memory/imported/{path}" for path in target.texts()))
