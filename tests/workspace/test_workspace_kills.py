"""Processes that are killed while they replace or remove a note: nothing of others is lost, nothing stays hidden."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import killed_writes
from memoriter.ids import bytes_hash
from memoriter.workspace import recover, replace, unfinished
from memoriter.workspace.writing import _exchange, _folder
from memoriter.workspace.writing._exchange import Hidden, Version, hidden_files, kept_name
from memoriter.workspace.writing._folder import open_folder

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who has a file open")

OLD = "- one\n- two\n"
NEW = "- two\n"
THEIRS = "- a line of another program\n"


@pytest.fixture
def note(tmp_path: Path) -> Path:
    note = tmp_path / "day.md"
    note.write_text(NEW, encoding="utf-8")
    return note


def left_by(note: Path, content: str, *, old: str = OLD, new: str | None = NEW, inode: int | None = None) -> Path:
    """The file that a killed replacement (or removal, if `new` is None) of the note leaves, with some content."""
    made = note.with_name("made")
    made.write_text(content, encoding="utf-8")
    versions = Version.of(old.encode()), None if new is None else Version.of(new.encode())
    hidden = Hidden.out(note.name, made.stat().st_ino if inode is None else inode, *versions)
    return made.rename(note.with_name(hidden.file))


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def killed(operation: str, writer: str, system: str, recovery: str) -> dict[str, object]:
    command = [sys.executable, killed_writes.__file__, operation, writer, system, recovery]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, timeout=150, check=True)
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("writer", ["append", "save in place"])
def test_a_replacement_that_is_killed_at_any_step_loses_nothing_that_others_write(writer: str) -> None:
    report = killed("replace", writer, "leases", "replace")
    assert report["faults"] == []
    assert report["kills"] == 9


@pytest.mark.slow
@pytest.mark.matrix
@pytest.mark.parametrize("recovery", killed_writes.RECOVERIES)
@pytest.mark.parametrize("system", killed_writes.SYSTEMS)
@pytest.mark.parametrize("writer", killed_writes.WRITERS)
@pytest.mark.parametrize("operation", killed_writes.OPERATIONS)
def test_nothing_is_lost_whoever_writes_and_however_it_is_recovered(
    operation: str, writer: str, system: str, recovery: str
) -> None:
    report = killed(operation, writer, system, recovery)
    assert report["faults"] == []
    assert report["kills"]


def test_the_old_text_of_a_killed_replacement_is_deleted_with_a_receipt(note: Path) -> None:
    left_by(note, OLD)
    (receipt,) = recover([str(note.parent)])
    assert receipt.code == "recovered"
    assert str(note) in receipt.message
    assert "its old text was deleted." in receipt.message
    assert (names(note.parent), note.read_text(encoding="utf-8")) == (["day.md"], NEW)


def test_lines_that_were_added_to_the_old_text_are_added_to_the_note(note: Path) -> None:
    left_by(note, OLD + THEIRS)
    (receipt,) = recover([str(note.parent)])
    assert "lines that another program had added meanwhile" in receipt.message
    assert (names(note.parent), note.read_text(encoding="utf-8")) == (["day.md"], NEW + THEIRS)


@pytest.mark.parametrize("saved", ["- one\n- TWO\n", "- less\n"])
def test_a_save_in_place_of_the_old_text_becomes_the_note_again(note: Path, saved: str) -> None:
    left_by(note, saved)
    (receipt,) = recover([str(note.parent)])
    assert "the note has that text again" in receipt.message
    assert (names(note.parent), note.read_text(encoding="utf-8")) == (["day.md"], saved)


def test_lines_that_were_added_to_the_new_text_stay_when_the_old_one_comes_back(note: Path) -> None:
    left_by(note, "- saved\n")
    with note.open("a", encoding="utf-8") as opened:
        opened.write(THEIRS)
    recover([str(note.parent)])
    assert (names(note.parent), note.read_text(encoding="utf-8")) == (["day.md"], f"- saved\n{THEIRS}")


def test_where_both_changed_one_is_kept_and_named_until_the_owner_deletes_it(note: Path) -> None:
    left_by(note, "- saved\n")
    note.write_text("- another text\n", encoding="utf-8")
    (receipt,) = recover([str(note.parent)])
    (kept,) = unfinished([str(note.parent)])
    assert kept.kept
    assert str(kept.file) in receipt.message
    assert str(kept.file) in kept.diagnostic.message
    assert kept.file.read_text(encoding="utf-8") == "- saved\n"
    assert note.read_text(encoding="utf-8") == "- another text\n"
    assert recover([str(note.parent)]) == []
    assert kept.file.exists()


@pytest.mark.parametrize("save", [THEIRS, "- saved, and not by us\n"])
def test_what_has_a_writer_stays_and_is_named_and_the_note_stays_usable(
    note: Path, monkeypatch: pytest.MonkeyPatch, save: str
) -> None:
    monkeypatch.setattr(_exchange, "SETTLE_SECONDS", 0.02)
    left = left_by(note, OLD)
    note.write_text("- another text\n", encoding="utf-8")
    with left.open("a" if save == THEIRS else "w", encoding="utf-8") as opened:
        assert recover([str(note.parent)]) == []
        (each,) = unfinished([str(note.parent)])
        assert (each.file, each.note, each.kept, each.active) == (left, note, False, False)
        replace(note, "- a third text\n", expected=bytes_hash(b"- another text\n"))
        opened.write(save)
    recover([str(note.parent)])
    texts = [file.read_text(encoding="utf-8") for file in note.parent.iterdir()]
    assert sorted(texts) == sorted([f"- a third text\n{THEIRS}"] if save == THEIRS else ["- a third text\n", save])


def test_a_killed_removal_is_completed_unless_another_program_wrote(note: Path) -> None:
    note.unlink()
    left_by(note, OLD, new=None)
    (receipt,) = recover([str(note.parent)])
    assert "the note is removed now." in receipt.message
    assert names(note.parent) == []
    left_by(note, OLD + THEIRS, new=None)
    recover([str(note.parent)])
    assert (names(note.parent), note.read_text(encoding="utf-8")) == (["day.md"], OLD + THEIRS)
    left_by(note, "- saved\n", new=None)
    recover([str(note.parent)])
    assert (names(note.parent), note.read_text(encoding="utf-8")) == (["day.md"], f"{OLD}{THEIRS}- saved\n")


def test_a_draft_that_was_never_in_its_place_is_deleted(note: Path) -> None:
    draft = note.with_name(Hidden.draft(note.name).file)
    draft.write_text("- hal", encoding="utf-8")
    (receipt,) = recover([str(note.parent)])
    assert "the new text had not been put in place" in receipt.message
    assert names(note.parent) == ["day.md"]


def test_what_a_process_at_work_has_hidden_is_left_to_it(note: Path) -> None:
    import fcntl

    left = left_by(note, OLD)
    with left.open("rb") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        assert recover([str(note.parent)]) == []
        (each,) = unfinished([str(note.parent)])
    assert each.active
    assert left.exists()


def test_a_hidden_file_of_an_earlier_version_is_named_and_left(note: Path) -> None:
    for name in (".day.md.1f-c.0123456789ab.tmp", ".day.md.0123456789ab.tmp", ".day.md.0123456789ab.kept"):
        note.with_name(name).write_text(OLD, encoding="utf-8")
    assert recover([str(note.parent)]) == []
    assert {each.note for each in unfinished([str(note.parent)])} == {note}
    assert all(each.kept for each in unfinished([str(note.parent)]))
    assert len(names(note.parent)) == 4


def test_files_of_other_programs_are_none_of_ours(note: Path) -> None:
    for name in (
        ".day.md.swp",
        ".syncthing.day.md.tmp",
        ".day.md.k3F9aZ",
        ".goutputstream-Q1W2E3",
        "x.0123456789ab.tmp",
    ):
        note.with_name(name).write_text(OLD, encoding="utf-8")
    assert (recover([str(note.parent)]), unfinished([str(note.parent)])) == ([], [])


@pytest.mark.parametrize("name", ["a.md", "weird .new-name.md", "日" * 60 + ".md", "日" * 80 + ".md"])
def test_a_hidden_name_leads_back_to_its_note(tmp_path: Path, name: str) -> None:
    note = tmp_path / name
    note.write_text(NEW, encoding="utf-8")
    versions = Version.of(OLD.encode()), Version.of(NEW.encode())
    hidden = [Hidden.draft(name), Hidden.out(name, 2**63, *versions), Hidden.out(name, 1, versions[0], None)]
    for each in hidden:
        note.with_name(each.file).write_text("", encoding="utf-8")
    note.with_name(kept_name(name)).write_text("", encoding="utf-8")
    with open_folder(str(tmp_path), ()) as folder:
        assert {each.name for each in hidden_files(folder)} == {name}
        assert set(hidden) < set(hidden_files(folder))
        assert hidden_files(folder, "other.md") == []


def test_where_names_cannot_be_exchanged_the_second_name_of_a_note_is_dropped(
    note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_folder, "_exchange_function", lambda: None)
    versions = Version.of(NEW.encode()), Version.of(b"- three\n")
    os.link(note, note.with_name(Hidden.out(note.name, note.stat().st_ino, *versions).file))
    with note.open("a", encoding="utf-8") as opened:
        opened.write(THEIRS)
    recover([str(note.parent)])
    assert (names(note.parent), note.read_text(encoding="utf-8")) == (["day.md"], NEW + THEIRS)
