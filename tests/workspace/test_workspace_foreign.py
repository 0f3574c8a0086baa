"""Programs that take no lock of ours write while a note is replaced or removed: no line of theirs is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from memoriter.errors import WriteConflict, WriteError
from memoriter.ids import bytes_hash
from memoriter.workspace import Workspace, append, replace
from memoriter.workspace.writing import _exchange, _folder, remove
from memoriter.workspace.writing._folder import Folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BEFORE = "- one\n- two\n"
AFTER = "- two\n"
THEIRS = "- a line of another program\n"
SYSTEMS = ("exchange and leases", "exchange", "links", "no links")


@pytest.fixture(params=SYSTEMS)
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the system can do besides renaming; each of them must hold what the one before holds."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    able = SYSTEMS.index(request.param)
    if able >= 1:
        monkeypatch.setattr(_folder, "is_written", lambda _: None)
        monkeypatch.setattr("memoriter.workspace.writing._exchange.is_written", lambda _: None)
    if able >= 2:
        monkeypatch.setattr(_folder, "_exchange_function", lambda: None)
    if able >= 3:
        monkeypatch.setattr(os, "link", refuse)
    return str(request.param)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "memory" / "day.md"
    file.parent.mkdir()
    file.write_text(BEFORE, encoding="utf-8")
    return file


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object], *, after: bool = False) -> None:
    """Let another program act just before (or just after) the draft first takes the place of the file, `day.md`."""
    waiting = [act]
    for name in ("exchange", "rename"):
        original = getattr(Folder, name)

        def acting(folder: Folder, *names: str, original: Callable[..., object] = original) -> object:
            here, waiting[:] = (list(waiting), []) if "day.md" in names else ([], waiting)
            for each in here if not after else []:
                each()
            result = original(folder, *names)
            if result is False:
                waiting[:] = here if after else []
            else:
                for each in here if after else []:
                    each()
            return result

        monkeypatch.setattr(Folder, name, acting)


def appended(file: Path, text: str = THEIRS) -> None:
    with file.open("a", encoding="utf-8") as opened:
        opened.write(text)


def saved(file: Path, text: str) -> None:
    """As an editor does."""
    part = file.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(file)


def alone(file: Path) -> bool:
    return [entry.name for entry in file.parent.iterdir()] == [file.name]


def test_a_line_that_is_appended_just_before_the_exchange_is_in_the_new_file(
    file: Path, system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile(monkeypatch, lambda: appended(file))
    replace(file, AFTER, expected=bytes_hash(BEFORE.encode()))
    assert file.read_text(encoding="utf-8") == AFTER + THEIRS
    assert alone(file)


def test_a_line_that_is_appended_to_the_old_file_just_after_the_exchange_is_in_the_new_file(
    file: Path, system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = file.open("a", encoding="utf-8")

    def late() -> None:
        with opened:
            opened.write(THEIRS)

    meanwhile(monkeypatch, late, after=True)
    replace(file, AFTER, expected=bytes_hash(BEFORE.encode()))
    assert file.read_text(encoding="utf-8") == AFTER + THEIRS
    assert alone(file)


@pytest.mark.parametrize("new", ["- two", ""])
def test_such_a_line_starts_on_a_line_of_its_own(file: Path, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    meanwhile(monkeypatch, lambda: appended(file))
    replace(file, new, expected=bytes_hash(BEFORE.encode()))
    assert file.read_text(encoding="utf-8") == f"{new}\n{THEIRS}".removeprefix("\n")


@pytest.mark.matrix
def test_what_another_program_rewrites_in_place_comes_back(
    file: Path, system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile(monkeypatch, lambda: file.write_text("rewritten\n", encoding="utf-8"))
    with pytest.raises(WriteConflict):
        replace(file, AFTER, expected=bytes_hash(BEFORE.encode()))
    assert file.read_text(encoding="utf-8") == "rewritten\n"
    assert alone(file)


@pytest.mark.matrix
def test_the_rest_of_a_line_that_had_no_end_is_not_torn_off(
    file: Path, system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("- one\n- tw", encoding="utf-8")
    meanwhile(monkeypatch, lambda: appended(file, "o\n"))
    with pytest.raises(WriteConflict):
        replace(file, "- one\n", expected=bytes_hash(b"- one\n- tw"))
    assert file.read_text(encoding="utf-8") == BEFORE


def test_what_an_editor_saves_under_the_name_comes_back(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meanwhile(monkeypatch, lambda: saved(file, "saved\n"))
    with pytest.raises(WriteConflict):
        replace(file, AFTER, expected=bytes_hash(BEFORE.encode()))
    assert file.read_text(encoding="utf-8") == "saved\n"
    assert alone(file)


def test_what_is_appended_to_the_new_content_before_it_is_taken_back_is_kept_too(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled = _exchange.wait_for_no_writer
    meanwhile(monkeypatch, lambda: file.write_text("rewritten\n", encoding="utf-8"))
    seen: list[int] = []

    def settling(*arguments: object, **limits: object) -> bool:
        if not seen:
            seen.append(1)
            appended(file)
        return settled(*arguments, **limits)  # type: ignore[arg-type]

    monkeypatch.setattr(_exchange, "wait_for_no_writer", settling)
    with pytest.raises(WriteConflict):
        replace(file, AFTER, expected=bytes_hash(BEFORE.encode()))
    assert file.read_text(encoding="utf-8") == f"rewritten\n{THEIRS}"
    assert alone(file)


def test_a_change_while_the_draft_is_written_is_seen_before_the_exchange(
    file: Path, system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync
    acts = [lambda: appended(file)]
    monkeypatch.setattr(os, "fsync", lambda descriptor: (acts and acts.pop()(), fsync(descriptor)))
    with pytest.raises(WriteConflict, match="changed"):
        replace(file, AFTER, expected=bytes_hash(BEFORE.encode()))
    assert file.read_text(encoding="utf-8") == BEFORE + THEIRS
    assert alone(file)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who has a file open")
def test_while_a_program_keeps_the_file_open_for_writing_the_file_stays_its(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_exchange, "SETTLE_SECONDS", 0.05)
    with file.open("a", encoding="utf-8") as opened:
        for act in (
            lambda: replace(file, AFTER, expected=bytes_hash(BEFORE.encode())),
            lambda: remove(file, expected=bytes_hash(BEFORE.encode())),
        ):
            with pytest.raises(WriteConflict, match="another program"):
                act()
        opened.write(THEIRS)
    assert file.read_text(encoding="utf-8") == BEFORE + THEIRS
    assert alone(file)
    replace(file, AFTER, expected=bytes_hash((BEFORE + THEIRS).encode()))
    assert file.read_text(encoding="utf-8") == AFTER


@pytest.mark.parametrize("leases", [True, False])
def test_where_the_system_does_not_tell_who_writes_a_file_must_stand_still(
    file: Path, monkeypatch: pytest.MonkeyPatch, *, leases: bool
) -> None:
    pauses: list[float] = []

    def sleeping(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) < 12:
            appended(file, f"- line {len(pauses)}\n")
            os.utime(file, ns=(len(pauses), len(pauses)))

    monkeypatch.setattr(_folder.time, "sleep", sleeping)
    monkeypatch.setattr(_folder, "is_written", lambda _: None)
    with file.open("rb") as opened:
        assert _folder.wait_for_no_writer(opened.fileno(), leases=leases, seconds=2.0)
        assert sum(pauses[12:]) >= 0.08
        monkeypatch.setattr(_folder, "is_written", lambda _: True)
        assert not _folder.wait_for_no_writer(opened.fileno(), leases=True, seconds=0.5)


def test_a_note_that_was_appended_to_is_not_removed(file: Path, system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    meanwhile(monkeypatch, lambda: appended(file))
    with pytest.raises(WriteConflict):
        remove(file, expected=bytes_hash(BEFORE.encode()))
    assert file.read_text(encoding="utf-8") == BEFORE + THEIRS
    assert alone(file)


@pytest.mark.matrix
def test_a_note_that_is_made_anew_while_it_is_removed_has_all_lines(
    file: Path, system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = file.open("a", encoding="utf-8")

    def both() -> None:
        appended(file, "- new\n")
        with opened:
            opened.write(THEIRS)

    meanwhile(monkeypatch, both, after=True)
    with pytest.raises(WriteConflict):
        remove(file, expected=bytes_hash(BEFORE.encode()))
    assert sorted(file.read_text(encoding="utf-8").splitlines()) == sorted(
        [*BEFORE.splitlines(), "- new", THEIRS.strip()]
    )
    assert alone(file)


def test_a_note_that_nobody_else_writes_to_is_removed(file: Path, system: str) -> None:
    remove(file, expected=bytes_hash(BEFORE.encode()))
    assert list(file.parent.iterdir()) == []


def test_what_a_killed_process_took_out_and_somebody_appended_to_is_saved_by_the_next_one(file: Path) -> None:
    program = f"""
import os
from pathlib import Path
from memoriter.ids import bytes_hash
from memoriter.workspace import replace
from memoriter.workspace.writing import _exchange
file = Path({str(file)!r})
opened = file.open("a")
def die(*arguments, **limits):
    opened.write({THEIRS!r})
    opened.flush()
    os._exit(9)
_exchange.finish = die
replace(file, {AFTER!r}, expected=bytes_hash({BEFORE!r}.encode()))
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", program], env=environment).returncode == 9
    assert file.read_text(encoding="utf-8") == AFTER
    with pytest.raises(WriteConflict):
        replace(file, "- three\n", expected=bytes_hash(AFTER.encode()))
    assert file.read_text(encoding="utf-8") == AFTER + THEIRS
    assert alone(file)


def test_a_full_disk_after_the_exchange_brings_the_old_file_back(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    meanwhile(monkeypatch, lambda: appended(file))
    monkeypatch.setattr(_exchange, "add_lines", full)
    with pytest.raises(WriteError):
        replace(file, AFTER, expected=bytes_hash(BEFORE.encode()))
    assert file.read_text(encoding="utf-8") == BEFORE + THEIRS


APPENDING = """
import sys
file, writer, lines = sys.argv[1], sys.argv[2], int(sys.argv[3])
for number in range(lines):
    with open(file, "a") as opened:
        opened.write(f"- line {writer}.{number} of another program\\n")
print("done")
"""


@pytest.fixture
def programs(file: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    command = [sys.executable, "-c", APPENDING, str(file)]
    running = [subprocess.Popen([*command, str(writer), "300"], stdout=subprocess.PIPE) for writer in range(3)]
    yield running
    for program in running:
        program.kill()
        program.communicate()


def test_three_programs_append_at_full_speed_while_the_note_is_replaced_again_and_again(
    file: Path, programs: list[subprocess.Popen[bytes]]
) -> None:
    workspace = Workspace(file.parents[1])
    replaced = 0
    while any(program.poll() is None for program in programs) or not replaced:
        content = file.read_bytes()
        try:
            workspace.replace("memory/day.md", content + b"- ours\n", expected=bytes_hash(content))
            replaced += 1
        except WriteConflict:
            append(file, "- ours")
            replaced += 1
    # Where a line is read while it is being written, an empty one may keep the next apart from it.
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line]
    theirs = [f"- line {writer}.{number} of another program" for writer in range(3) for number in range(300)]
    assert sorted(lines) == sorted([*BEFORE.splitlines(), *["- ours"] * replaced, *theirs])
    assert alone(file)
