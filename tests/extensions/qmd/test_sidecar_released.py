"""The released QMD behind a memory: it fails in its own ways, and finds the same notes as the builtin engine."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from indexed_examples import indexed_examples
from memory_env import MemoryEnv, codes, paths
from qmd_backend import configure, engine_of, qmd_env
from qmd_programs import released_qmd

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[3]
IDENTIFIERS: list[dict[str, Any]] = [
    each
    for each in json.loads((ROOT / "tests" / "e2e" / "questions.json").read_text(encoding="utf-8"))
    if each["kind"] == "identifier"
]
QUESTION = "Omada printers"
NOTE = "memory/2026-02-10.md"
PATIENT = {"limits": {"timeoutMs": 60_000}}
"""Settings for a busy machine."""


@pytest.fixture(scope="module")
def program() -> Path:
    return released_qmd()


def database(env: MemoryEnv) -> Path:
    return env.home / "agents" / "main" / "qmd" / "xdg-cache" / "qmd" / "index.sqlite"


def test_both_engines_find_the_note_of_each_identifier_among_the_first_three(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, program: Path
) -> None:
    qmd = qmd_env(tmp_path / "qmd", program, {}, **PATIENT)
    shutil.copytree(ROOT / "examples" / "workspace", qmd.notes, dirs_exist_ok=True)
    examples = indexed_examples(tmp_path_factory)
    builtin = MemoryEnv(examples.workspace, examples.home(tmp_path / "home"))
    memories = [qmd.open(), builtin.open()]
    missed = []
    for question in IDENTIFIERS:
        results = [memory.search(question["question"], max_results=3) for memory in memories]
        assert [engine_of(result) for result in results] == ["qmd", "builtin"]
        missed += [(question["id"], paths(result)) for result in results if question["path"] not in paths(result)]
    assert missed == []


def test_a_damaged_database_leaves_the_answer_to_the_builtin_engine_until_it_is_deleted(
    tmp_path: Path, program: Path
) -> None:
    env = qmd_env(tmp_path / "env", program, **PATIENT)
    memory = env.open()
    assert engine_of(memory.search(QUESTION)) == "qmd"
    file = database(env)
    kept = file.read_bytes()
    for side in ("-wal", "-shm"):
        file.with_name(file.name + side).unlink(missing_ok=True)
    file.write_bytes(b"garbage" * 1_000)
    failed = memory.search(QUESTION)
    assert (engine_of(failed), paths(failed), codes(failed)[0]) == ("builtin", [NOTE], "qmd_crashed")
    file.write_bytes(kept)
    env.wait(31)
    assert (engine_of(memory.search(QUESTION)), codes(memory.search(QUESTION))) == ("qmd", [])


def test_a_database_that_is_locked_for_writing_is_searched(tmp_path: Path, program: Path) -> None:
    env = qmd_env(tmp_path / "env", program, **PATIENT)
    memory = env.open()
    memory.search(QUESTION)
    with closing(sqlite3.connect(database(env), isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        result = memory.search(QUESTION)
        holder.execute("ROLLBACK")
    assert (engine_of(result), paths(result)) == ("qmd", [NOTE])


@pytest.mark.parametrize(
    ("script", "code"),
    [
        pytest.param("kill -SEGV $$", "qmd_crashed", id="killed"),
        pytest.param("sleep 60", "qmd_timeout", id="hanging"),
        pytest.param("echo 'not json'; exit 0", "qmd_unreadable", id="garbage"),
        pytest.param('sleep 5; exec {program} "$@"', "qmd_timeout", id="slow"),
    ],
)
def test_a_search_that_fails_is_answered_by_the_builtin_engine_and_the_next_attempt_by_qmd(
    tmp_path: Path, program: Path, script: str, code: str
) -> None:
    wrapper = tmp_path / "qmd"
    fault = tmp_path / "fault"
    lines = [f'if [ -e {fault} ] && [ "$1" = search ]; then', script.format(program=program), "fi"]
    wrapper.write_text("\n".join(["#!/bin/sh", *lines, f'exec {program} "$@"\n']), encoding="utf-8")
    wrapper.chmod(0o755)
    env = qmd_env(tmp_path / "env", wrapper, **PATIENT)
    env.environ["PATH"] = f"{program.parent}{os.pathsep}{env.environ['PATH']}"  # the program's own Node
    memory = env.open()
    assert engine_of(memory.search(QUESTION)) == "qmd"
    configure(env, wrapper, limits={"timeoutMs": 3_000})
    hurried = env.open() if code == "qmd_timeout" else memory
    fault.touch()
    failed = hurried.search(QUESTION)
    assert (engine_of(failed), paths(failed), codes(failed)[0]) == ("builtin", [NOTE], code)
    fault.unlink()
    assert engine_of(memory.search(QUESTION)) == ("builtin" if hurried is memory else "qmd")
    env.wait(31)
    assert engine_of(memory.search(QUESTION)) == "qmd"


def test_text_that_was_forgotten_is_gone_from_the_database_of_qmd(tmp_path: Path, program: Path) -> None:
    env = qmd_env(tmp_path / "env", program, **PATIENT)
    memory = env.open()
    memory.remember("The door code is quetzalcoatl.")
    assert len(memory.search("quetzalcoatl").hits) == 1
    receipt = memory.forget(memory.plan_forget(match="quetzalcoatl"))
    assert receipt.left == ()
    held = [file.name for file in database(env).parent.glob("index.sqlite*") if b"quetzalcoatl" in file.read_bytes()]
    assert held == []
