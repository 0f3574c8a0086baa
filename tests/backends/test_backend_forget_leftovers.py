"""What a killed process left next to a note is found by every command, finished, and reached by forgetting."""

from __future__ import annotations

import signal
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.backends import ForgetRequest
from memoriter.errors import PathRefused, WriteConflict
from memoriter.workspace.writing import _exchange
from memoriter.workspace.writing._exchange import Hidden, Version, kept_name
from memory_env import MemoryEnv

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "The code of the door is qxzj4711."
BEFORE = f"# Door\n\n- {SECRET}\n- We met at ten.\n"
AFTER = "# Door\n\n- We met at ten.\n"
NOTE = "memory/door.md"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who has a file open")
KILLED = """
import os, signal
usual = os.unlink
def unlink(path, **more):
    if ".old-" in str(path):
        os.kill(os.getpid(), signal.SIGKILL)
    usual(path, **more)
os.unlink = unlink
"""
"""Ends the process after a note was replaced or removed, just before its old text is deleted."""


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    env.write(NOTE, BEFORE)
    env.write("MEMORY.md", "- We like tea.\n")
    yield env
    env.close()


def holding(env: MemoryEnv, text: str = "qxzj4711") -> list[str]:
    """The names of all files of the notes and the state that hold the text."""
    files = [file for folder in (env.notes, env.home) for file in folder.rglob("*") if file.is_file()]
    return sorted(file.name for file in files if text.encode() in file.read_bytes())


def left(env: MemoryEnv, content: str = BEFORE, note: str = NOTE) -> Path:
    """The old text of a note, as a killed replacement leaves it; the note has the new text."""
    file = env.notes / note
    file.parent.mkdir(exist_ok=True)
    made = file.with_name("made")
    made.write_text(content, encoding="utf-8")
    file.write_text(AFTER, encoding="utf-8")
    versions = Version.of(BEFORE.encode()), Version.of(AFTER.encode())
    return made.rename(file.with_name(Hidden.out(file.name, made.stat().st_ino, *versions).file))


def codes(reasons: Any) -> list[str]:
    return [reason.code for reason in reasons]


@pytest.mark.parametrize("way", ["match", "lines", "note"])
@pytest.mark.slow
def test_a_killed_forget_leaves_nothing_that_the_next_one_does_not_find(env: MemoryEnv, way: str) -> None:
    words = {"match": ["--match", "qxzj4711"], "lines": [f"{NOTE}#L3"], "note": [NOTE]}[way]
    env.run("index")
    assert env.run("forget", *words, "--yes", before=KILLED).exit_code == -signal.SIGKILL
    (hidden,) = [name for name in holding(env) if name.endswith(".tmp")]
    for command in ("status", "doctor"):
        outcome = env.run(command)
        assert hidden in outcome.out + outcome.err
        assert "memoriter index" in outcome.out + outcome.err
    again = env.run("forget", *(words if way == "note" else ["--match", "qxzj4711"]), "--yes")
    assert again.exit_code == 0
    assert "Finished first:" in again.out
    assert NOTE.rpartition("/")[2] in again.out
    assert holding(env) == []
    assert env.open().status().health.reasons == ()


@pytest.mark.parametrize("place", [NOTE, "MEMORY.md", "memory/deep/door.md"])
def test_index_and_compact_finish_it_with_a_receipt(env: MemoryEnv, place: str) -> None:
    memory = env.open()
    for finish in (memory.sync, memory.compact):
        file = left(env, note=place)
        assert str(file) in next(each.message for each in memory.status().health.reasons if "killed" in each.message)
        (receipt,) = [reason for reason in finish().reasons if reason.code == "recovered"]
        assert str(env.notes / place) in receipt.message
        assert not file.exists()
        assert "write_unfinished" not in codes(memory.status().health.reasons)


def test_what_was_left_next_to_the_settings_is_found_and_finished_too(env: MemoryEnv) -> None:
    hidden = env.home / Hidden.draft("memoriter.json5").file
    hidden.write_text("{ key: 'sk-1234' }", encoding="utf-8")
    memory = env.open()
    assert str(hidden) in next(each.message for each in memory.status().health.reasons)
    assert "recovered" in codes(memory.sync().reasons)
    assert not hidden.exists()


def test_a_receipt_is_no_fault_of_the_memory(env: MemoryEnv) -> None:
    left(env)
    report = env.open().sync()
    assert report.health is not None
    assert "recovered" in codes(report.reasons)
    assert "recovered" not in codes(report.health.reasons)


@LINUX
def test_a_file_that_a_writer_has_open_stays_and_the_plan_names_it(
    env: MemoryEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_exchange, "SETTLE_SECONDS", 0.02)
    memory = env.open()
    file = left(env)
    (env.notes / NOTE).write_text("- Another text.\n", encoding="utf-8")
    with file.open("a", encoding="utf-8") as opened:
        (reason,) = [each for each in memory.plan_forget(match="qxzj4711").unreached if each.code == "write_unfinished"]
        assert f"{str(file)!r} holds it." in reason.message
        opened.write("- Their line.\n")
    memory.forget(memory.plan_forget(match="qxzj4711"))
    assert holding(env) == []
    assert (env.notes / NOTE).read_text(encoding="utf-8") == "- Another text.\n- Their line.\n"


@LINUX
@pytest.mark.slow
def test_forgetting_does_not_say_that_nothing_holds_a_text_that_a_writer_keeps_there(env: MemoryEnv) -> None:
    file = left(env)
    (env.notes / NOTE).write_text("- Another text.\n", encoding="utf-8")
    with file.open("a", encoding="utf-8"):
        shown = env.run("forget", "--match", "qxzj4711", "--dry-run").out
    assert "Nothing contains it" not in shown
    assert str(file) in shown
    env.run("forget", "--match", "qxzj4711", "--yes")
    assert holding(env) == []


def test_what_is_kept_for_the_owner_is_named_and_forgetting_cuts_the_text_from_it(env: MemoryEnv) -> None:
    memory = env.open()
    kept = env.notes / "memory" / kept_name("door.md")
    kept.write_text(BEFORE, encoding="utf-8")
    (env.notes / NOTE).write_text(AFTER, encoding="utf-8")
    assert str(kept) in next(each.message for each in memory.sync().reasons if each.code == "write_unfinished")
    plan = memory.plan_forget(match="qxzj4711")
    assert (plan.kept, plan.empty) == ((kept,), False)
    assert memory.forget(plan).left == ()
    assert kept.read_text(encoding="utf-8") == AFTER
    assert holding(env) == []


@LINUX
def test_a_text_in_a_kept_file_that_another_program_has_open_is_not_lost(
    env: MemoryEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_exchange, "SETTLE_SECONDS", 0.02)
    memory = env.open()
    kept = env.notes / "memory" / kept_name("door.md")
    kept.write_text(BEFORE, encoding="utf-8")
    with kept.open("a", encoding="utf-8") as opened:
        receipt = memory.forget(memory.plan_forget(match="qxzj4711"))
        opened.write("- Their line.\n")
    assert str(kept) in next(each.message for each in receipt.left if each.message.startswith("A copy still holds it"))
    assert kept.read_text(encoding="utf-8") == f"{BEFORE}- Their line.\n"


def test_lines_of_a_note_that_changes_when_a_write_is_finished_are_not_forgotten(env: MemoryEnv) -> None:
    memory = env.open()
    left(env, "# Door\n\n- We met at noon, and not at ten.\n- And at one.\n")
    with pytest.raises(WriteConflict, match="was finished first"):
        memory.plan_forget(f"{NOTE}#L3")
    assert "at noon" in (env.notes / NOTE).read_text(encoding="utf-8")
    assert memory.plan_forget(f"{NOTE}#L4").notes[0].passages[0].text == "- And at one."


def test_a_path_that_is_not_there_is_refused_whatever_was_finished(env: MemoryEnv) -> None:
    left(env)
    with pytest.raises(PathRefused):
        env.open().plan_forget("memory/other.md")


def test_in_a_folder_that_is_not_trusted_nothing_is_finished_and_it_is_named(env: MemoryEnv) -> None:
    file = left(env)
    memory = env.open()
    settings = replace(memory.backend.settings, recovers=False)  # type: ignore[attr-defined]
    with memory.backend._with_settings(settings) as untrusted:  # type: ignore[attr-defined]
        assert "recovered" not in codes(untrusted.sync().reasons)
        plan = untrusted.plan_forget(ForgetRequest(match="qxzj4711"))
    assert file.exists()
    assert str(file) in next(each.message for each in plan.unreached if each.code == "write_unfinished")


def test_what_was_left_among_the_versions_of_imports_and_the_copies_of_flushes_goes_too(env: MemoryEnv) -> None:
    (env.notes / NOTE).write_text(AFTER, encoding="utf-8")
    memory = env.open()
    flushes = env.home / "agents" / "main" / "flushes"
    imports = env.home / "imports" / "2026-11"
    for folder in (flushes, imports):
        folder.mkdir(parents=True)
        versions = Version.of(BEFORE.encode()), Version.of(AFTER.encode())
        file = folder / "copy.md"
        file.write_text(BEFORE, encoding="utf-8")
        file.rename(folder / Hidden.out("copy.md", file.stat().st_ino, *versions).file)
        file.write_text(AFTER, encoding="utf-8")
    assert len(memory.plan_forget(match="qxzj4711").recovered) == 2
    assert holding(env) == []


def test_what_a_program_saved_into_a_note_that_was_read_empty_is_not_added_to_a_newer_save(env: MemoryEnv) -> None:
    file = env.notes / NOTE
    saved = "".join(f"- line {number}\n" for number in range(100))
    file.write_text("- saved since\n- edited\n", encoding="utf-8")
    place = file.with_name(".unnamed")
    place.write_text(saved, encoding="utf-8")
    new = Version.of(b"- edited\n")
    hidden = file.with_name(Hidden.out(file.name, place.stat().st_ino, Version.of(b""), new).file)
    place.rename(hidden)
    env.open().sync()
    assert file.read_text(encoding="utf-8") == "- saved since\n- edited\n"
    assert saved in [each.read_text(encoding="utf-8") for each in file.parent.glob(".*.kept")]
