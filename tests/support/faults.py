"""Faults, and what must be true after each: unchanged notes, a reason, a remedy that works."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from memoriter.cli import main
from memory_env import Outcome

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from memory_env import MemoryEnv

_DROP = """
import ctypes, struct
assert ctypes.CDLL(None).capset(struct.pack("Ii", 0x20080522, 0), bytes(24)) == 0
"""
"""Python after which root has to obey the permissions of files as everybody else has (Linux)."""


def contents(folder: Path) -> dict[str, bytes]:
    """Every note with its bytes; what is no plain file is not looked into."""
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def run(env: MemoryEnv, *words: str, before: str = "") -> Outcome:
    """Run the program; in a process of its own only where something has to be done to that first."""
    if before:
        return env.run("--json", *words, before=before)
    done = CliRunner(env=env.environment()).invoke(main, ["-w", str(env.notes), "--json", *words])
    return Outcome(done.exit_code, done.stdout, done.stderr)


def answered(env: MemoryEnv, *words: str, before: str = "") -> Any:
    """The JSON that a run of the program printed, which must have gone well and without a trace."""
    done = run(env, *words, before=before)
    assert "Traceback" not in done.err, done.err
    assert done.exit_code == 0, done.out + done.err
    return done.json


def health(env: MemoryEnv, *, before: str = "") -> dict[str, dict[str, str]]:
    """The reasons of `memoriter status`, by their codes; each has a remedy."""
    reasons = answered(env, "status", before=before)[0]["health"]["reasons"]
    assert all(reason["remedy"] for reason in reasons), reasons
    return {reason["code"]: reason for reason in reasons}


def refused(env: MemoryEnv, *words: str, before: str = "") -> dict[str, str]:
    """The error of a run that fails as it should: with a code, a message and a remedy, and without a trace."""
    done = run(env, *words, before=before)
    assert done.exit_code in {1, 2}, done.out
    assert "Traceback" not in done.err, done.err
    error = done.json["error"]
    assert error["remedy"], error
    return error


def follow(env: MemoryEnv, remedy: str) -> Any:
    """Run the command that a remedy names, as it stands there."""
    found = re.search(r"memoriter ((?:index|compact|status)(?: --[a-z]+)*)", remedy)
    assert found, f"no command in {remedy!r}"
    return answered(env, *shlex.split(found[1]))


def found(env: MemoryEnv, question: str, *, before: str = "") -> list[str]:
    """The paths that a search names."""
    return [hit["path"] for hit in answered(env, "search", question, before=before)["results"]]


@contextmanager
def _mounted(folder: Path, *commands: tuple[str, ...]) -> Generator[None]:
    for number, command in enumerate(commands):
        try:
            done = subprocess.run(["mount", *command, str(folder)], capture_output=True, check=False)
        except FileNotFoundError:
            pytest.skip("there is no mount command")
        if done.returncode:
            if number:
                subprocess.run(["umount", str(folder)], check=True)
            pytest.skip("nothing can be mounted here")
    try:
        yield
    finally:
        # Lazily: whoever has a file open there keeps it.
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def small_disk(folder: Path, size: str) -> Generator[None]:
    """A file system of that size at the folder; skips where none can be mounted."""
    with _mounted(folder, ("-t", "tmpfs", "-o", f"size={size}", "tmpfs")):
        yield


@contextmanager
def read_only(folder: Path) -> Generator[None]:
    """The folder on a mount that cannot be written; skips where none can be made."""
    with _mounted(folder, ("--bind", str(folder)), ("-o", "remount,ro,bind")):
        yield


def bound_by_permissions() -> str:
    """Python that a process runs first so that permissions hold for it; skips where that cannot be."""
    if not hasattr(os, "getuid"):
        pytest.skip("permissions of another kind")
    if os.getuid() != 0:
        return ""
    if sys.platform != "linux":
        pytest.skip("root may do everything here")
    return _DROP


def fill(folder: Path) -> Path:
    """A file that takes all the room that is left on the folder's disk."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return filler
