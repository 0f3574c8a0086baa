"""A look writes nothing: `status`, `doctor`, `config`, `index --dry-run`, and the library's `status` and `estimate`."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from memoriter import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOTE = "# Decisions\n\nWe chose PostgreSQL for the ledger.\n"
LOOKS = [
    ("status",),
    ("status", "--json"),
    ("doctor",),
    ("doctor", "--json"),
    ("config", "show"),
    ("config", "path"),
    ("config", "check"),
    ("index", "--dry-run"),
    ("cost",),
]
WRITER = """
import os, signal, sys
from memoriter import Memory
memory = Memory.open(sys.argv[1], home=sys.argv[2])
memory.sync()
print("ready", flush=True)
if sys.argv[3] == "die":
    with open(os.path.join(sys.argv[1], "MEMORY.md"), "a") as note:
        note.write("More.\\n")
    from memoriter.index import Index
    index = memory._backend.index
    with index.lease():
        index.set_meta("test", "written")
        os.kill(os.getpid(), signal.SIGKILL)
sys.stdin.read()
"""

State = dict[str, tuple[int, int, int, str]]


class CliEnv:
    """A folder of notes, a user's folder, and the installed program."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes = folder / "notes"
        self.user = folder / "user"
        self.notes.mkdir()
        self.user.mkdir(mode=0o700)
        (self.notes / "MEMORY.md").write_text(NOTE, encoding="utf-8")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORITER_")}
        self.environ = {**kept, "HOME": str(self.user), "MEMORITER_BACKGROUND": "off"}
        self.home = self.user / ".memoriter"

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "memoriter", *words]
        return subprocess.run(command, cwd=self.folder, env=self.environ, capture_output=True, text=True)

    def writer(self, end: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", WRITER, str(self.notes), str(self.home), end]
        pipe = subprocess.PIPE
        started = subprocess.Popen(command, env=self.environ, stdin=pipe, stdout=pipe, text=True)
        assert started.stdout
        assert started.stdout.readline() == "ready\n"
        return started

    @property
    def state(self) -> State:
        """Every file and folder with its permissions, size, time of change and content."""
        return {str(path): _state(path) for path in [self.folder, *self.folder.rglob("*")]}


def _state(path: Path) -> tuple[int, int, int, str]:
    status = os.lstat(path)
    content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    return status.st_mode, status.st_size, status.st_mtime_ns, content


@pytest.fixture
def env(tmp_path: Path) -> CliEnv:
    return CliEnv(tmp_path)


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_a_look_at_notes_that_were_never_indexed_creates_nothing(env: CliEnv, words: tuple[str, ...]) -> None:
    before = env.state
    done = env.run("-w", str(env.notes), *words)
    assert (done.returncode, env.state) == (0, before), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_a_look_at_an_index_changes_nothing(env: CliEnv, words: tuple[str, ...]) -> None:
    assert env.run("-w", str(env.notes), "index").returncode == 0
    before = env.state
    done = env.run("-w", str(env.notes), *words)
    assert (done.returncode, env.state) == (0, before), done.stderr


@pytest.mark.parametrize("words", [("status",), ("doctor",)], ids=" ".join)
def test_a_look_does_not_create_the_default_workspace(env: CliEnv, words: tuple[str, ...]) -> None:
    before = env.state
    done = env.run(*words)
    assert (done.returncode, env.state) == (0, before), done.stderr
    assert str(env.home / "workspace") in done.stdout


def test_the_default_workspace_is_created_when_something_is_remembered(env: CliEnv) -> None:
    assert env.run("remember", "Tea, not coffee.").returncode == 0
    assert "Tea, not coffee." in env.run("search", "tea").stdout


def test_status_says_that_no_note_is_indexed_yet(env: CliEnv) -> None:
    done = env.run("-w", str(env.notes), "status")
    assert "1 note is there, and none is indexed yet." in done.stderr
    assert "(none yet)" in done.stdout


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_that_cannot_be_written_can_be_looked_at(env: CliEnv) -> None:
    assert env.run("-w", str(env.notes), "index").returncode == 0
    _set_writable(env.home, allowed=False)
    try:
        before = env.state
        done = env.run("-w", str(env.notes), "status")
        assert (done.returncode, env.state) == (0, before), done.stderr
        assert "notes     1 file, 1 chunk" in done.stdout
    finally:
        _set_writable(env.home, allowed=True)


def _set_writable(folder: Path, *, allowed: bool) -> None:
    for path in [folder, *(path for path in folder.rglob("*") if not path.is_symlink())]:
        path.chmod((0o700 if path.is_dir() else 0o600) if allowed else (0o500 if path.is_dir() else 0o400))


@pytest.mark.slow
def test_a_look_beside_a_process_that_has_the_index_open_changes_nothing(env: CliEnv) -> None:
    with env.writer("wait") as other:
        try:
            before = env.state
            done = env.run("-w", str(env.notes), "status")
            assert (done.returncode, env.state) == (0, before), done.stderr
            assert "notes     1 file, 1 chunk" in done.stdout
        finally:
            other.kill()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
@pytest.mark.parametrize("shared", [True, False], ids=["with -shm", "without -shm"])
def test_a_look_at_an_index_whose_writer_was_killed_changes_nothing(env: CliEnv, *, shared: bool) -> None:
    with env.writer("die") as other:
        assert other.wait() == -signal.SIGKILL
    assert any(path.stat().st_size for path in _logs(env.home, "-wal"))
    if not shared:
        for path in _logs(env.home, "-shm"):
            path.unlink()
    before = env.state
    done = env.run("-w", str(env.notes), "status")
    assert (done.returncode, env.state) == (0, before), done.stderr
    assert "1 changed and not indexed yet" in done.stdout


def _logs(home: Path, suffix: str) -> Iterator[Path]:
    return (path for path in home.rglob(f"*{suffix}"))


@pytest.mark.slow
def test_a_look_at_a_damaged_index_reports_it_and_leaves_it(env: CliEnv) -> None:
    assert env.run("-w", str(env.notes), "index").returncode == 0
    (index,) = (path for path in env.home.rglob("*.sqlite") if not path.is_symlink() and "-" in path.name)
    index.write_bytes(b"not a database" * 4096)
    before = env.state
    done = env.run("-w", str(env.notes), "status")
    assert env.state == before
    assert "is damaged; the next search begins a new index." in done.stderr
    assert "PostgreSQL" in env.run("-w", str(env.notes), "search", "PostgreSQL").stdout


def test_the_library_looks_without_writing(env: CliEnv) -> None:
    before = env.state
    with Memory.open(env.notes, home=env.home) as memory:
        status = memory.status()
        estimate = memory.estimate()
    assert (status.files, status.stale, estimate.added, env.state) == (0, 1, 1, before)
    with Memory.open(env.notes, home=env.home) as memory:
        memory.sync()
    before = env.state
    with Memory.open(env.notes, home=env.home) as memory:
        status = memory.status()
        estimate = memory.estimate()
    assert (status.files, status.vectors, estimate.added, env.state) == (1, 1, 0, before)


def test_a_memory_that_was_looked_at_can_search(env: CliEnv) -> None:
    with Memory.open(env.notes, home=env.home) as memory:
        assert memory.status().files == 0
        assert memory.search("PostgreSQL").results
        assert memory.status().files == 1
