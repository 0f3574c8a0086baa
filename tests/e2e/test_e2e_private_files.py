"""Nobody but their owner can read what memoriter keeps, whatever the umask is and whatever an older version left."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from faults import contents
from memoriter import Memory
from memoriter.permissions import make_private_file, make_private_folder
from memory_env import MemoryEnv
from watched_modes import day, loose, watched, work

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="these are the modes of POSIX")

SETTINGS = '{agents: {defaults: {memorySearch: {provider: "fake"}}}}'


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def env(tmp_path: Path) -> MemoryEnv:
    env = MemoryEnv(tmp_path / "notes", tmp_path / "user" / ".memoriter", {"HOME": str(tmp_path / "user")})
    env.write("MEMORY.md", "# Decisions\n\n- PostgreSQL for the ledger, because of ACID.\n")
    (tmp_path / "memoriter.json5").write_text(SETTINGS, encoding="utf-8")
    env.environ["MEMORITER_CONFIG"] = str(tmp_path / "memoriter.json5")
    return env


def opened(env: MemoryEnv) -> None:
    """As an older version left it: readable for everybody."""
    for path in (env.home, *env.home.rglob("*")):
        if not path.is_symlink() and "workspace" not in path.parts:
            path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.mark.matrix
@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_nothing_is_readable_for_others_from_its_first_byte_on(env: MemoryEnv, tmp_path: Path, umask: int) -> None:
    env.environ["MEMORITER_WORKSPACE"] = str(env.notes)
    process = work(day(env, tmp_path), umask=umask, environ=env.environment(), cwd=env.notes)

    assert watched(process, env.home) == set()
    names = {path.name for path in env.home.rglob("*")}
    assert {"contexts", "flushes", "sessions.json"} - names == set()
    assert {name.rpartition(".")[2].partition("-")[0] for name in names} >= {"sqlite", "lease", "lock", "damaged"}
    assert mode(env.notes / "MEMORY.md") == 0o644, "the owner's notes are the owner's business"


@pytest.mark.matrix
@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_notes_of_the_default_workspace_keep_the_umask_of_their_owner(
    env: MemoryEnv, tmp_path: Path, umask: int
) -> None:
    steps = [(["remember", "The vault opens with 4711."], "")]
    watched(work(steps, umask=umask, environ=env.environment(), cwd=tmp_path), env.home, but="workspace")

    (note,) = (env.home / "workspace").rglob("*.md")
    assert mode(env.home) == 0o700
    assert (mode(note), mode(note.parent)) == (0o666 & ~umask, 0o777 & ~umask)


@pytest.mark.slow
def test_an_open_home_of_an_older_version_is_closed_and_told_once(env: MemoryEnv) -> None:
    env.run("search", "ledger")
    (env.home / "memory" / "main.sqlite.damaged-20260101T000000Z").write_text("text of notes", encoding="utf-8")
    before = contents(env.home)
    opened(env)

    first = env.run("search", "ledger")
    second = env.run("search", "ledger")

    assert "Other users of this machine could read" in first.err
    assert "Other users" not in second.err
    assert list(loose(env.home)) == []
    assert contents(env.home).keys() == before.keys()


@pytest.mark.slow
@pytest.mark.matrix
@pytest.mark.parametrize("words", [("status",), ("doctor",)])
def test_status_and_doctor_name_it_in_json(env: MemoryEnv, words: tuple[str, ...]) -> None:
    env.run("index")
    opened(env)

    outcome = env.run(*words, "--json").json
    notes = [each["check"] for each in outcome["findings"] if each["state"] == "note"] if "doctor" in words else []

    assert "home_was_open" in (notes or [each["code"] for each in outcome[0]["notices"]])


@pytest.mark.slow
def test_an_index_elsewhere_is_private_and_its_folder_is_left_alone(env: MemoryEnv, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o777)
    shared.chmod(0o777)
    (shared / "of another program.txt").touch(0o644)
    env.home.mkdir(parents=True)
    del env.environ["MEMORITER_CONFIG"]
    env.configure(provider="fake", store={"path": str(shared / "{agentId}.sqlite")})

    env.run("index", before="import os; os.umask(0)")
    with Memory.open(env.notes, home=env.home):
        assert [path for path in loose(shared) if "of another" not in path] == [f"{shared} 777"]
    for path in shared.glob("main*"):
        path.chmod(0o644)

    assert "could read" in env.run("search", "ledger").err
    assert mode(shared) == 0o777
    assert {mode(path) for path in shared.glob("main*")} == {0o600}
    assert mode(shared / "of another program.txt") == 0o644


def test_a_folder_with_other_things_in_it_is_never_closed(env: MemoryEnv, tmp_path: Path) -> None:
    for name, sticky in (("with letters", False), ("like tmp", True)):
        home = tmp_path / name
        home.mkdir()
        (home / "letter.txt").touch()
        home.chmod(0o1777 if sticky else 0o755)
        (home / "memoriter.json5").write_text(SETTINGS, encoding="utf-8")
        with Memory.open(env.notes, home=home) as memory:
            memory.search("ledger")

        assert mode(home) == (0o1777 if sticky else 0o755)
        assert mode(home / "letter.txt") == 0o644
        assert mode(home / "memory") == 0o700
        assert list(loose(home / "memory")) == []


@pytest.mark.slow
def test_a_workspace_in_the_home_and_notes_in_its_memory_folder_keep_their_permissions(env: MemoryEnv) -> None:
    env.run("index")
    note = env.home / "memory" / "2026-01-01.md"
    own = env.home / "workspace" / "MEMORY.md"
    own.parent.mkdir(exist_ok=True)
    for file in (note, own):
        file.write_text("# A note\n", encoding="utf-8")
    opened(env)
    (env.home / "workspace").chmod(0o755)

    env.run("index")

    assert [mode(path) for path in (note, own, own.parent)] == [0o644, 0o644, 0o755]
    assert {mode(file) for file in (env.home / "memory").glob("main*")} == {0o600}


@pytest.mark.slow
def test_a_server_announces_itself_for_nobody_else(env: MemoryEnv) -> None:
    from serving import serving

    with serving(env):
        assert (env.home / "serve").is_dir()
        assert list(loose(env.home)) == []


def test_private_files_and_folders_are_made_once(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b" / "c"
    before = os.umask(0)
    try:
        make_private_folder(folder)
        make_private_file(folder / "f")
        (folder / "f").write_text("kept", encoding="utf-8")
        make_private_folder(folder)
        make_private_file(folder / "f")
    finally:
        os.umask(before)

    assert [mode(path) for path in (tmp_path / "a", folder, folder / "f")] == [0o700, 0o700, 0o600]
    assert (folder / "f").read_text(encoding="utf-8") == "kept"
    assert list(folder.iterdir()) == [folder / "f"]
    with pytest.raises(FileExistsError):
        make_private_folder(folder / "f")
