"""`status`, `doctor` and the start of a server report which engine answers, and why."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.startup import start_parts
from memory_env import MemoryEnv, codes
from qmd_backend import configure, qmd_env
from qmd_programs import ScriptedQmd

if TYPE_CHECKING:
    from pathlib import Path


QUESTION = "Omada printers"


@pytest.fixture
def program(tmp_path: Path) -> ScriptedQmd:
    return ScriptedQmd.at(tmp_path / "bin")


@pytest.fixture
def env(tmp_path: Path, program: ScriptedQmd) -> MemoryEnv:
    return qmd_env(tmp_path / "env", program.program, paths=[{"path": str(tmp_path / "none"), "name": "docs"}])


def test_the_status_names_the_program_its_collections_and_which_engine_answers(
    env: MemoryEnv, program: ScriptedQmd
) -> None:
    memory = env.open()
    memory.search(QUESTION)
    status = memory.status()
    state = status.sidecar
    assert state is not None
    assert (status.backend, state.answering, state.reason) == ("qmd", "qmd", None)
    assert (state.binary, state.version, state.mode) == (str(program.program), "2.8.3", "search")
    counts = {each.name: (each.files, each.missing) for each in state.collections}
    assert counts["docs-main"][1] is True
    assert sum(files or 0 for files, _ in counts.values()) == 4
    assert state.last_update is not None
    program.break_(search="crash")
    memory.search(QUESTION)
    status = memory.status()
    assert status.sidecar is not None
    assert (status.sidecar.answering, status.sidecar.seconds_left) == ("builtin", 30.0)
    assert codes(status)[0] == "qmd_crashed"


@pytest.mark.slow
def test_the_command_shows_the_program_and_its_last_failure(env: MemoryEnv, program: ScriptedQmd) -> None:
    program.break_(search="crash")
    env.run("search", QUESTION)
    text = env.run("status").out
    assert f"{program.program} 2.8.3, mode search, transport spawn" in text
    assert "the folder does not exist" in text
    assert "last error" in text
    (state,) = json.loads(env.run("--json", "status").out)
    assert (state["backend"], state["sidecar"]["lastError"]["code"]) == ("qmd", "qmd_crashed")


def findings(env: MemoryEnv) -> list[tuple[str, str]]:
    found: list[dict[str, Any]] = json.loads(env.run("--json", "doctor").out)["findings"]
    return [(each["check"], each["state"]) for each in found if each["check"] in {"backend", "qmd_root_missing"}]


@pytest.mark.slow
def test_the_doctor_says_whether_the_program_works(env: MemoryEnv) -> None:
    env.run("search", QUESTION)
    assert findings(env) == [("backend", "good"), ("qmd_root_missing", "note")]
    configure(env, "no-such-qmd")
    outcome = env.run("doctor")
    assert (outcome.exit_code, findings(env)) == (1, [("backend", "broken")])
    assert "npm install -g @tobilu/qmd" in outcome.out


@pytest.mark.slow
def test_the_check_of_the_settings_names_a_missing_program_and_folder(env: MemoryEnv, tmp_path: Path) -> None:
    missing = [{"path": str(tmp_path / "none")}]
    configure(env, "no-such-qmd", paths=missing)
    checked = json.loads(env.run("--json", "config", "check").out)
    assert [each["code"] for each in checked["warnings"]] == ["qmd_missing", "qmd_root_missing"]


def test_a_server_logs_each_part_when_it_starts(env: MemoryEnv, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "memoriter")
    parts = start_parts(env.open())
    assert [(part.name, part.works) for part in parts] == [("builtin", True), ("qmd", True), ("plugins", True)]
    lines = [record.getMessage() for record in caplog.records if record.name == "memoriter.startup"]
    assert lines[1].startswith("memory: qmd is ready for the agent 'main': QMD 2.8.3 at ")
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("mode", "told"),
    [("search", ""), ("vsearch", "memoriter's own index answers"), ("query", "it searches by words only")],
)
def test_a_server_reports_at_its_start_that_there_are_no_vectors(
    env: MemoryEnv, program: ScriptedQmd, mode: str, told: str
) -> None:
    configure(env, program.program, searchMode=mode)
    (started,) = [part for part in start_parts(env.open()) if part.name == "qmd"]
    assert started.works
    assert ("It has no vectors yet" in started.message) is bool(told)
    assert told in started.message


def test_a_server_reports_a_broken_part_at_its_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    memory = qmd_env(tmp_path / "env", "no-such-qmd").open()
    assert [(part.name, part.works) for part in start_parts(memory)][1] == ("qmd", False)
    (line,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "qmd does not work for the agent 'main'" in line.getMessage()
    assert memory.search(QUESTION).fallback_from == "qmd"


def test_a_server_reports_a_provider_that_cannot_be_used_and_that_words_still_work(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="openai")
    parts = start_parts(env.open())
    assert [(part.name, part.works) for part in parts] == [
        ("builtin", True),
        ("vector search", False),
        ("plugins", True),
    ]
    env.close()
