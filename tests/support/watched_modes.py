"""A day's work with memoriter in one process of a given umask, and a watcher who notes every mode that it sees."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

from hook_inputs import hook_input, write_transcript

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memory_env import MemoryEnv

COMMANDS = """
import glob, json, os, sys
steps, umask = json.loads(sys.argv[1]), int(sys.argv[2], 8)
os.umask(umask)
from click.testing import CliRunner
from memoriter.cli import main
failed = []
for words, typed in steps:
    if words[0] == "damage":
        for file in glob.glob(words[1]):
            open(file, "r+b").write(b"no database any more" * 300)
        continue
    done = CliRunner().invoke(main, words, input=typed)
    if done.exit_code:
        failed.append([words, done.output])
print(json.dumps(failed))
"""
"""Runs command lines one after the other in one process."""


def loose(folder: Path, but: str = "") -> Iterator[str]:
    """The files and folders below a folder, itself included, that others than the owner may use, with their modes."""
    for inside, names, files in os.walk(folder):
        names[:] = [name for name in names if name != but]
        for path in (inside, *(f"{inside}/{name}" for name in files)):
            try:
                found = os.lstat(path)
            except OSError:
                continue
            if not stat.S_ISLNK(found.st_mode) and found.st_mode & 0o077:
                yield f"{path} {stat.S_IMODE(found.st_mode):o}"


def work(
    steps: list[tuple[list[str], str]], *, umask: int, environ: dict[str, str], cwd: Path
) -> subprocess.Popen[str]:
    """Begin the steps in a process of their own."""
    words = [sys.executable, "-c", COMMANDS, json.dumps(steps), f"{umask:o}"]
    return subprocess.Popen(
        words, cwd=cwd, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    )


def watched(process: subprocess.Popen[str], folder: Path, but: str = "") -> set[str]:
    """Every loose mode that is seen below a folder, but for one name, while a process works."""
    seen: set[str] = set()
    while process.poll() is None:
        seen.update(loose(folder, but))
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert json.loads(out.splitlines()[-1]) == [], out
    return seen | set(loose(folder, but))


def day(env: MemoryEnv, folder: Path) -> list[tuple[list[str], str]]:
    """Commands and hooks that write everything that memoriter writes."""
    transcript = write_transcript(folder / "transcript.jsonl", "claude-code", 163_000)

    def hook(event: str) -> tuple[list[str], str]:
        typed = hook_input("claude-code", event, cwd=env.notes, transcript=transcript, prompt="Which database?")
        return ["hook", event], typed

    def run(*words: str) -> tuple[list[str], str]:
        return list(words), ""

    return [
        hook("session-start"),
        run("remember", "The vault opens with 4711."),
        run("search", "which database"),
        hook("user-prompt"),
        hook("stop"),
        hook("pre-compact"),
        run("index", "--force"),
        run("status", "--deep"),
        run("cost"),
        (["damage", str(env.home / "memory" / "main*.sqlite")], ""),
        run("search", "which database"),
        run("compact"),
    ]
