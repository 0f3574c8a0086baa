"""A note keeps its history, its authors and its undo when it is renamed, and forgetting it erases what it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoriter.errors import UsageError
from memoriter.ids import bytes_hash
from memoriter.journal import ChangedSince, History, Journal
from memoriter.pages._library import Library
from memoriter.pages._note_files import plan_rename, rename_note, take_back
from memoriter.workspace import Workspace
from memory_env import MemoryEnv

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoriter import Memory

OLD = "memory/plan.md"
NEW = "memory/work/goal.md"


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path, {"MEMORY.md": "# Memory\n", "memory/days/one.md": "# One\n"})
    env.configure(provider="none")
    yield env
    env.close()


@pytest.fixture
def memory(env: MemoryEnv) -> Memory:
    """A memory with a note that an agent and the owner wrote."""
    memory = env.open()
    memory.replace(OLD, "# Plan\n\nSee [the day](days/one.md).\n", expected=None)
    add(memory, OLD, "- By the agent.", origin="agent")
    add(memory, OLD, "- By the owner.")
    return memory


def add(memory: Memory, path: str, line: str, origin: str | None = None) -> str:
    before = memory.read(path)
    memory.replace(path, f"{before.text}{line}\n", expected=before.hash, origin=origin)
    return memory.history(path).changes[0].id


def move(memory: Memory, old: str, new: str) -> str:
    file = memory.file_of(old)
    assert file is not None
    return rename_note(memory, plan_rename(memory, Library(), file, old, new))


def writers(memory: Memory, path: str) -> list[tuple[str, str, str]]:
    """Return who wrote each line, by which act and under which name of the note."""
    count = memory.read(path).text.count("\n")
    found = [memory.line_origin(path, number) for number in range(1, count + 1)]
    assert [origin and origin.change for origin in found] == list(memory.line_origins(path))[:count]
    return [(each.change.who, each.change.act, each.change.path) for each in found if each]


def journaled(env: MemoryEnv) -> str:
    """Return all texts of the journal."""
    changes = env.open().history().changes
    return "\n".join(line for change in changes for line in (*change.added, *change.removed))


def test_the_changes_and_the_writer_of_each_line_follow_a_note_to_its_new_name(memory: Memory) -> None:
    move(memory, OLD, NEW)
    add(memory, NEW, "- Later.")
    move(memory, NEW, "memory/aim.md")

    changes = memory.history("memory/aim.md").changes
    assert [(change.path, change.act) for change in changes] == [
        ("memory/aim.md", "rename"),
        (NEW, "replace"),
        (NEW, "rename"),
        (OLD, "replace"),
        (OLD, "replace"),
        (OLD, "replace"),
    ]
    owner = ("owner", "replace", OLD)
    assert writers(memory, "memory/aim.md") == [
        owner,
        owner,
        ("owner", "rename", "memory/aim.md"),  # the link in it has changed
        ("agent", "replace", OLD),
        owner,
        ("owner", "replace", NEW),
    ]


def test_a_change_under_the_old_name_is_undone_in_the_note_as_it_is_called_now(env: MemoryEnv, memory: Memory) -> None:
    move(memory, OLD, NEW)
    agents = memory.history(NEW).changes[2]
    assert agents.who == "agent"
    plan = memory.undo(agents.id)

    assert [note.path for note in plan.notes] == [NEW]
    assert "By the agent" not in memory.read(NEW).text
    assert "By the owner" in memory.read(NEW).text
    assert not (env.notes / OLD).exists()
    with pytest.raises(UsageError, match="taken back already"):
        memory.undo(agents.id)
    memory.undo(memory.history(NEW).changes[0].id)
    assert writers(memory, NEW)[3] == ("agent", "replace", OLD)


def test_a_review_corrects_the_note_as_it_is_called_now(env: MemoryEnv, memory: Memory) -> None:
    move(memory, OLD, NEW)
    memory.amend(memory.unreviewed().changes[0], "- Corrected.")
    assert "- Corrected.\n- By the owner.\n" in memory.read(NEW).text
    assert not (env.notes / OLD).exists()


def test_what_was_written_under_both_names_is_taken_back_together(env: MemoryEnv, memory: Memory) -> None:
    move(memory, OLD, NEW)
    add(memory, NEW, "- The agent again.", origin="agent")
    changes = [change for change in memory.history().changes if change.who == "agent"]
    workspace = memory._notes.trusted_workspace
    history = History(workspace, workspace.journal)
    history.carry_out(history.plan(changes), "rollback")

    assert "gent" not in memory.read(NEW).text
    assert not (env.notes / OLD).exists()


@pytest.mark.parametrize("times", [1, 40])
def test_there_and_back_is_one_history_that_ends(memory: Memory, times: int) -> None:
    before = writers(memory, OLD)
    first = memory.history(OLD).changes[1]
    for _ in range(times):
        move(memory, OLD, "memory/goal.md")
        move(memory, "memory/goal.md", OLD)
    assert writers(memory, OLD) == before
    assert len(memory.history(OLD).changes) == 3 + 2 * times
    memory.undo(first.id)
    assert "By the agent" not in memory.read(OLD).text


def test_a_renaming_that_is_taken_back_leaves_the_history_of_the_old_name(memory: Memory) -> None:
    before = writers(memory, OLD)
    agents = memory.history(OLD).changes[1]
    name = move(memory, OLD, NEW)
    take_back(memory, Library(), name, OLD, NEW)
    assert writers(memory, OLD) == before
    memory.undo(agents.id)
    assert "By the agent" not in memory.read(OLD).text

    name = move(memory, OLD, NEW)
    add(memory, NEW, "- Meanwhile.")
    take_back(memory, Library(), name, OLD, NEW)
    assert writers(memory, OLD)[-1] == ("owner", "replace", NEW)


def test_a_renaming_with_all_before_it_is_rolled_back_at_once(env: MemoryEnv, memory: Memory) -> None:
    move(memory, OLD, NEW)
    add(memory, NEW, "- Later.")
    memory.rollback(memory.plan_rollback(since="2026-03-01"))
    assert not (env.notes / OLD).exists()
    assert not (env.notes / NEW).exists()


def test_another_note_with_the_old_name_keeps_a_history_of_its_own(env: MemoryEnv, memory: Memory) -> None:
    agents = memory.history(OLD).changes[1]
    move(memory, OLD, NEW)
    memory.replace(OLD, "# Another plan\n", expected=None)
    assert writers(memory, OLD) == [("owner", "replace", OLD)]
    assert OLD not in {note.path for note in memory.undo(agents.id).notes}
    assert memory.read(OLD).text == "# Another plan\n"

    memory.forget(memory.plan_forget(NEW))
    assert "Another plan" in journaled(env)
    assert "By the" not in journaled(env)


def test_forgetting_another_note_with_the_old_name_leaves_the_history_of_the_renamed_one(
    env: MemoryEnv, memory: Memory
) -> None:
    move(memory, OLD, NEW)
    memory.replace(OLD, "# Another plan\n", expected=None)
    memory.forget(memory.plan_forget(OLD))
    assert "Another plan" not in journaled(env)
    assert "By the agent." in journaled(env)
    assert writers(memory, NEW)[3] == ("agent", "replace", OLD)


def test_a_change_of_a_renamed_note_that_is_deleted_is_not_undone(env: MemoryEnv, memory: Memory) -> None:
    agents = memory.history(OLD).changes[1]
    move(memory, OLD, NEW)
    (env.notes / NEW).unlink()
    memory.sync()
    with pytest.raises(ChangedSince):
        memory.undo(agents.id)
    assert not (env.notes / OLD).exists()


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("ways", [1, 2, 3])
def test_forgetting_a_note_erases_what_it_was_under_its_other_names(
    env: MemoryEnv, memory: Memory, ways: int, *, whole: bool
) -> None:
    add(memory, OLD, "- The code is 471199.")
    before = memory.read(OLD)
    memory.replace(OLD, before.text.replace("471199", "581200"), expected=before.hash)
    path = OLD
    for other in (NEW, OLD, "memory/other.md")[:ways]:
        move(memory, path, other)
        path = other
    plan = memory.plan_forget(path) if whole else memory.plan_forget(match="The code is")
    memory.forget(plan)

    assert "The code is" not in journaled(env)
    assert ("(days/one.md)" in journaled(env)) is not whole
    assert memory.plan_forget(match="The code is").empty
    if not whole:
        assert writers(memory, path)[3] == ("agent", "replace", OLD)


def test_forgetting_erases_also_a_name_that_was_taken_back(env: MemoryEnv, memory: Memory) -> None:
    name = move(memory, OLD, NEW)
    take_back(memory, Library(), name, OLD, NEW)
    memory.forget(memory.plan_forget(OLD))
    assert "one.md" not in journaled(env)


def test_what_was_dropped_of_the_old_name_leaves_its_text_as_the_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoriter.journal._journal._CHECKED", 1)
    now = 0.0
    (tmp_path / "notes" / "memory").mkdir(parents=True)
    journal = Journal(tmp_path / "journal", wall=lambda: now, max_days=5)
    workspace = Workspace(tmp_path / "notes", layout="openclaw", journal=lambda: journal)
    workspace.append(OLD, "- one")
    now += 86_400
    content = workspace.look(OLD) or b""
    workspace.replace("memory/goal.md", content, expected=None, moved=OLD)
    workspace.remove(OLD, expected=bytes_hash(content), moved="memory/goal.md")
    now += 4.5 * 86_400
    journal.prune()

    origin = History(workspace, journal).line("memory/goal.md", 1)
    assert origin is not None
    assert (origin.change.act, origin.change.path) == ("found", OLD)


def test_the_lines_of_a_token_stay_its_own_without_their_marks(memory: Memory) -> None:
    before = memory.read(OLD)
    text = f"---\ntags: [x]\n---\n{before.text}- By the phone.\n"
    memory.replace(OLD, text, expected=before.hash, origin="phone via HTTP")
    written = memory.read(OLD)
    unmarked = written.text.replace(" <!-- from: phone via HTTP, 2026-03-10 -->", "")
    assert unmarked != written.text
    file = memory.file_of(OLD)
    assert file is not None
    file.write_text(unmarked, encoding="utf-8")  # as a program does that drops comments
    authors = memory.authors(OLD)
    assert authors.count("phone via HTTP, 2026-03-10") == 4
    name = move(memory, OLD, "memory/goal.md")
    assert memory.authors("memory/goal.md") == authors
    take_back(memory, Library(), name, OLD, "memory/goal.md")
    assert memory.authors(OLD) == authors


@pytest.mark.parametrize("first", ["an index", "its history", "a line"])
def test_a_renaming_by_another_program_is_followed_whatever_looks_at_the_note_first(
    env: MemoryEnv, memory: Memory, first: str
) -> None:
    before = memory.read(OLD)
    memory.replace(OLD, f"{before.text}- By the phone.\n", expected=before.hash, origin="phone via HTTP")
    unmarked = memory.read(OLD).text.replace(" <!-- from: phone via HTTP, 2026-03-10 -->", "")
    (env.notes / OLD).write_text(unmarked, encoding="utf-8")
    authors = memory.authors(OLD)
    memory.sync()
    (env.notes / OLD).rename(env.notes / "memory" / "goal.md")
    if first == "its history":
        memory.history("memory/goal.md")
    elif first == "a line":
        assert memory.line_origin("memory/goal.md", 1) is not None
    memory.sync()

    assert [(each.path, each.act) for each in memory.history("memory/goal.md").changes[:3]] == [
        ("memory/goal.md", "seen"),
        (OLD, "seen"),
        (OLD, "replace"),
    ]
    assert writers(memory, "memory/goal.md")[3] == ("agent", "replace", OLD)
    assert memory.authors("memory/goal.md") == authors
    assert "phone via HTTP, 2026-03-10" in authors
    agents = next(change for change in memory.history("memory/goal.md").changes if change.who == "agent")
    assert [note.path for note in memory.undo(agents.id).notes] == ["memory/goal.md"]


def test_of_two_notes_that_were_the_same_and_are_gone_none_is_followed(env: MemoryEnv, memory: Memory) -> None:
    memory.replace("memory/twin.md", memory.read(OLD).text, expected=None)
    memory.sync()
    (env.notes / "memory" / "twin.md").unlink()
    (env.notes / OLD).rename(env.notes / "memory" / "goal.md")
    memory.sync()
    assert {change.path for change in memory.history("memory/goal.md").changes} == {"memory/goal.md"}


def test_an_empty_note_is_not_followed(env: MemoryEnv, memory: Memory) -> None:
    env.write(OLD, "")
    memory.sync()
    (env.notes / OLD).rename(env.notes / "memory" / "goal.md")
    memory.sync()
    assert {change.path for change in memory.history("memory/goal.md").changes} == {"memory/goal.md"}
