"""Writes stay below the workspace, whatever the disk becomes meanwhile, and are on the disk with their names."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.errors import MemoriterError, PathRefused
from memoriter.ids import bytes_hash
from memoriter.workspace import Workspace, replace
from memoriter.workspace.writing import _folder
from memory_env import MemoryEnv

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoriter import Memory

NOTE = "memory/note.md"
TEXT = "- kept\n- the word is SECRET\n"
SWAPS = pytest.mark.skipif(not _folder.BY_DESCRIPTOR, reason="this system has no openat")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of somebody else, with files of the same names."""
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("note.md", "2026-03-10.md"):
        (outside / name).write_text(TEXT, encoding="utf-8")
    return outside


@pytest.fixture
def env(tmp_path: Path, outside: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="fake")
    env.write(NOTE, TEXT)
    yield env
    env.close()
    assert {file.name: file.read_text(encoding="utf-8") for file in outside.iterdir()} == {
        "note.md": TEXT,
        "2026-03-10.md": TEXT,
    }


ACTS: dict[str, Callable[[Memory], Any]] = {
    "remember": lambda memory: memory.remember("An entry."),
    "forget": lambda memory: memory.forget(memory.plan_forget(match="SECRET")),
    "forget the note": lambda memory: memory.forget(memory.plan_forget(NOTE)),
}
MOMENTS = ("_inner", "Folder.open", "Folder.stat", "Folder.names", "Folder.exchange", "Folder.rename", "Folder.unlink")


@pytest.mark.matrix
@SWAPS
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("act", ACTS)
def test_a_folder_that_becomes_a_link_in_the_middle_of_a_write_leads_nowhere(
    env: MemoryEnv, outside: Path, monkeypatch: pytest.MonkeyPatch, act: str, moment: str
) -> None:
    folder = env.notes / "memory"
    memory = env.open()
    memory.sync()
    holder, name = (_folder.Folder, moment.partition(".")[2]) if "." in moment else (_folder, moment)
    original = getattr(holder, name)

    def swapping(*arguments: Any, **named: Any) -> Any:
        if not folder.is_symlink():
            folder.rename(env.notes / "moved")
            folder.symlink_to(outside)
        return original(*arguments, **named)

    plan = memory.plan_forget(match="SECRET") if act == "forget" else None
    monkeypatch.setattr(holder, name, swapping)
    try:
        if plan:
            memory.forget(plan)
        else:
            ACTS[act](memory)
    except MemoriterError:
        pass
    assert (env.notes / "moved" if folder.is_symlink() else folder).is_dir()


@pytest.mark.parametrize("inner", ["", "deep/"])
def test_nothing_is_written_through_a_folder_that_is_a_link(env: MemoryEnv, outside: Path, inner: str) -> None:
    (env.notes / "memory" / "deep").mkdir()
    place = env.notes / "memory" / inner.rstrip("/") / "linked"
    place.symlink_to(outside)
    workspace = Workspace(env.notes)
    cited = f"memory/{inner}linked/note.md"
    for act in (
        lambda: workspace.append(cited, "x"),
        lambda: workspace.replace(cited, "x", expected=bytes_hash(TEXT.encode())),
        lambda: workspace.replace(f"memory/{inner}linked/new.md", "x", expected=None),
        lambda: workspace.remove(cited, expected=bytes_hash(TEXT.encode())),
    ):
        with pytest.raises(PathRefused, match="link"):
            act()


@pytest.mark.parametrize("by_descriptor", [True, False])
def test_the_workspace_itself_may_be_a_link_and_folders_are_made(
    env: MemoryEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, by_descriptor: bool
) -> None:
    monkeypatch.setattr(_folder, "BY_DESCRIPTOR", by_descriptor and _folder.BY_DESCRIPTOR)
    (tmp_path / "link").symlink_to(env.notes)
    workspace = Workspace(tmp_path / "link")
    cited = "memory/a/b/new.md"
    assert workspace.append(cited, "- one\n- two").end_line == 2
    workspace.replace(cited, "- two\n", expected=bytes_hash(b"- one\n- two\n"))
    assert (env.notes / cited).read_text(encoding="utf-8") == "- two\n"
    workspace.remove(cited, expected=bytes_hash(b"- two\n"))
    assert list((env.notes / "memory" / "a" / "b").iterdir()) == []
    (env.notes / "memory" / "c").symlink_to(env.notes / "memory" / "a")
    with pytest.raises(PathRefused, match="link"):
        workspace.append("memory/c/new.md", "x")


def test_a_link_that_changes_while_it_is_followed_fails_no_scan_and_no_write(
    env: MemoryEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changing(path: str) -> str:
        raise OSError(22, "Invalid argument", path)

    workspace = Workspace(env.notes)
    expected = [source.path for source in workspace.scan().sources]
    monkeypatch.setattr(os.path, "realpath", changing)
    assert [source.path for source in workspace.scan().sources] == expected
    assert workspace.append("memory/new.md", "- one").end_line == 1


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (f"memory/{'d/' * 32}x.md", "more than 32 folders"),
        (f"memory/{'d/' * 250}x.md", "more than 32 folders"),
        (f"memory/new/{'d' * 256}/x.md", "more than 255 bytes"),
        (f"memory/new/{'日' * 90}.md", "more than 255 bytes"),
    ],
)
def test_a_path_that_is_too_deep_or_too_long_is_refused_and_no_folder_of_it_is_made(
    env: MemoryEnv, path: str, why: str
) -> None:
    before = sorted(env.notes.rglob("*"))
    with pytest.raises(PathRefused, match=why):
        env.open().replace(path, "too deep\n", expected=None)
    assert sorted(env.notes.rglob("*")) == before


def test_a_path_of_32_folders_is_written_and_a_deeper_note_of_another_program_is_read_and_changed(
    env: MemoryEnv,
) -> None:
    deep = f"memory/{'d/' * 31}x.md"
    deeper = f"memory/{'e/' * 60}x.md"
    env.write(deeper, "theirs\n")
    memory = env.open()
    memory.replace(deep, "ours\n", expected=None)
    assert memory.read(deep).text == "ours\n"
    theirs = memory.read(deeper)
    assert theirs.text == "theirs\n"
    memory.replace(deeper, "changed\n", expected=theirs.hash)
    assert (env.notes / deeper).read_text(encoding="utf-8") == "changed\n"


def test_only_memory_is_written(env: MemoryEnv, tmp_path: Path) -> None:
    workspace = Workspace(env.notes)
    for path in ("../outside/note.md", str(tmp_path / "outside" / "note.md"), "other.md", "memory/a.txt", "", "\0"):
        with pytest.raises(PathRefused):
            workspace.append(path, "x")
        with pytest.raises(PathRefused):
            workspace.replace(path, "x", expected=None)
        with pytest.raises(PathRefused):
            workspace.remove(path, expected=bytes_hash(TEXT.encode()))


SWAPPING = """
import ctypes, os, sys
folder, outside = sys.argv[1:]
os.symlink(outside, folder + ".other")
exchange = ctypes.CDLL(None).renameat2
one, other = folder.encode(), (folder + ".other").encode()
print("begun", flush=True)
while os.getppid() != 1:
    exchange(-100, one, -100, other, 2)
"""


@pytest.fixture
def swapping(env: MemoryEnv, outside: Path) -> Iterator[subprocess.Popen[bytes]]:
    """While it lasts, `memory` is by turns the folder and a link to the one outside."""
    if _folder._exchange_function() is None or sys.platform != "linux":
        pytest.skip("nothing here exchanges two names in one step")
    command = [sys.executable, "-c", SWAPPING, str(env.notes / "memory"), str(outside)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        yield process
        process.kill()


def test_against_a_program_that_swaps_the_folder_without_end_every_entry_is_in_the_notes(
    env: MemoryEnv, swapping: subprocess.Popen[bytes]
) -> None:
    memory = env.open()
    written = list[str]()
    until = time.monotonic() + 1.0
    number = 0
    while number < 400 and (time.monotonic() < until or not written):
        number += 1
        try:
            memory.remember(f"Entry {number}.")
        except MemoriterError:
            continue
        written.append(f"- 12:00 Entry {number}.")
    swapping.kill()
    swapping.wait()
    kept = [folder for folder in env.notes.iterdir() if folder.name.startswith("memory") and not folder.is_symlink()]
    lines = {line for folder in kept for file in folder.iterdir() if file.is_file() for line in _lines(file)}
    assert [line for line in written if line not in lines] == []


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is made to last through a power cut, in its order; `write` among it."""
    done = list[str]()
    fsync = os.fsync
    write = os.write

    def path_of(descriptor: int) -> str:
        return Path(f"/proc/self/fd/{descriptor}").readlink().name

    def syncing(descriptor: int) -> None:
        done.append(path_of(descriptor))
        fsync(descriptor)

    def writing(descriptor: int, content: bytes) -> int:
        done.append(f"write {path_of(descriptor)}")
        return write(descriptor, content)

    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(os, "write", writing)
    return done


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the path of a descriptor")
def test_the_folder_of_a_new_note_and_the_folders_above_last_before_the_entry_does(
    tmp_path: Path, synced: list[str]
) -> None:
    root = tmp_path / "notes"
    root.mkdir()
    workspace = Workspace(root)

    workspace.append("memory/2026-03-10.md", "- one")
    first = list(synced)
    synced.clear()
    workspace.append("memory/2026-03-10.md", "- two")

    assert first[: first.index("write 2026-03-10.md")][-2:] == ["memory", "notes"]
    assert first[-2:] == ["write 2026-03-10.md", "2026-03-10.md"]
    assert synced == ["write 2026-03-10.md", "2026-03-10.md"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the path of a descriptor")
def test_an_empty_file_that_somebody_just_made_is_made_to_last_by_whoever_writes_first(
    tmp_path: Path, synced: list[str]
) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "day.md").touch()
    Workspace(tmp_path).append("memory/day.md", "- one")
    assert synced == ["memory", tmp_path.name, "write day.md", "day.md"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the path of a descriptor")
def test_a_created_replaced_or_removed_file_lasts_with_its_folder(tmp_path: Path, synced: list[str]) -> None:
    workspace = Workspace(tmp_path)
    workspace.replace("memory/a.md", "one", expected=None)
    assert synced[0] == tmp_path.name
    assert synced[-2:] == ["memory", tmp_path.name]
    for act in (
        lambda: workspace.replace("memory/a.md", "two", expected=bytes_hash(b"one")),
        lambda: workspace.remove("memory/a.md", expected=bytes_hash(b"two")),
    ):
        synced.clear()
        act()
        assert synced[-1] == "memory"
    synced.clear()
    replace(tmp_path / "new" / "state" / "a.json", "{}", expected=None)
    assert synced[:2] == [tmp_path.name, "new"]
    assert synced[-1] == "state"
