"""Searches go on while QMD fails in any way, and QMD answers again when it works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memory_env import codes, paths
from qmd_backend import engine_of, qmd_env
from qmd_programs import ScriptedQmd

if TYPE_CHECKING:
    from pathlib import Path

    from memory_env import MemoryEnv

QUESTION = "Omada printers"
NOTE = "memory/2026-02-10.md"
PAUSE = 31.0
"""Seconds after which a program that failed once is asked again."""


@pytest.fixture
def program(tmp_path: Path) -> ScriptedQmd:
    return ScriptedQmd.at(tmp_path / "bin")


@pytest.fixture
def env(tmp_path: Path, program: ScriptedQmd) -> MemoryEnv:
    return qmd_env(tmp_path / "env", program.program, limits={"timeoutMs": 1000})


def test_qmd_answers_with_paths_and_lines_of_the_notes(env: MemoryEnv) -> None:
    result = env.open().search(QUESTION)
    assert (engine_of(result), result.outcome, result.mode, codes(result)) == ("qmd", "weak", "keyword", [])
    assert [hit.citation for hit in result.hits] == [f"{NOTE}#L3"]
    assert result.hits[0].text.strip() in env.open().read(NOTE).text


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        pytest.param("crash", "qmd_crashed", id="killed"),
        pytest.param("hang", "qmd_timeout", id="hanging", marks=pytest.mark.slow),
        pytest.param("garbage", "qmd_unreadable", id="garbage", marks=pytest.mark.slow),
        pytest.param("trace", "qmd_crashed", id="stack-trace", marks=pytest.mark.slow),
        pytest.param("locked", "qmd_busy", id="locked", marks=pytest.mark.slow),
        pytest.param("wait 3", "qmd_timeout", id="slow", marks=pytest.mark.slow),
    ],
)
def test_the_builtin_engine_answers_while_qmd_fails(
    env: MemoryEnv, program: ScriptedQmd, fault: str, code: str
) -> None:
    memory = env.open()
    assert engine_of(memory.search(QUESTION)) == "qmd"
    program.break_(search=fault)
    failed = memory.search(QUESTION)
    assert (engine_of(failed), paths(failed), codes(failed)[0]) == ("builtin", [NOTE], code)
    assert failed.fallback is not None
    assert (failed.fallback.code, failed.fallback_from) == (code, "qmd")
    started = len(program.calls)
    assert (engine_of(memory.search(QUESTION)), len(program.calls)) == ("builtin", started)


def test_a_program_that_does_not_exist_is_told_with_the_way_to_install_it(tmp_path: Path) -> None:
    env = qmd_env(tmp_path / "env", "no-such-qmd")
    result = env.open().search(QUESTION)
    assert (engine_of(result), paths(result), codes(result)[0]) == ("builtin", [NOTE], "qmd_missing")
    assert "npm install -g @tobilu/qmd" in result.health.reasons[0].remedy


@pytest.mark.slow
def test_a_version_without_an_option_is_asked_in_another_way(env: MemoryEnv, program: ScriptedQmd) -> None:
    program.break_(search="refuses")
    memory = env.open()
    result = memory.search(QUESTION)
    assert (engine_of(result), "query" in program.commands) == ("qmd", True)
    program.break_(search="refuses", query="refuses")
    assert (engine_of(memory.search(QUESTION)), paths(memory.search(QUESTION))) == ("builtin", [NOTE])


@pytest.mark.slow
def test_the_same_memory_uses_qmd_again_when_it_works(env: MemoryEnv, program: ScriptedQmd) -> None:
    memory = env.open()
    program.break_(search="crash")
    assert engine_of(memory.search(QUESTION)) == "builtin"
    env.wait(PAUSE)
    assert engine_of(memory.search(QUESTION)) == "builtin"
    program.break_()
    env.wait(PAUSE)
    assert engine_of(memory.search(QUESTION)) == "builtin"  # the second failure doubled the pause
    env.wait(PAUSE)
    assert (engine_of(memory.search(QUESTION)), codes(memory.search(QUESTION))) == ("qmd", [])


@pytest.mark.slow
def test_another_memory_tries_qmd_at_once_because_the_broken_one_is_not_kept(
    env: MemoryEnv, program: ScriptedQmd
) -> None:
    program.break_(search="crash")
    assert engine_of(env.open().search(QUESTION)) == "builtin"
    program.break_()
    assert engine_of(env.open().search(QUESTION)) == "qmd"


def test_a_note_that_was_just_written_is_found(env: MemoryEnv) -> None:
    memory = env.open()
    memory.search(QUESTION)
    memory.remember("The zebrawood shelf belongs to the studio.")
    result = memory.search("zebrawood")
    assert (engine_of(result), len(result.hits)) == ("qmd", 1)


def test_a_question_that_qmd_cannot_restrict_is_answered_by_the_builtin_engine(env: MemoryEnv) -> None:
    memory = env.open()
    result = memory.search(QUESTION, path="memory", since="2026-01-01")
    assert (engine_of(result), paths(result), codes(result)) == ("builtin", [NOTE], [])
    assert result.fallback is not None
    assert result.fallback.message == (
        "The builtin engine answered, because qmd cannot restrict a search to since 2026-01-01, path 'memory'."
    )
    assert engine_of(memory.search(QUESTION)) == "qmd"


@pytest.mark.slow
def test_an_answer_has_as_many_hits_and_characters_as_the_limits_of_qmd_allow(
    tmp_path: Path, program: ScriptedQmd
) -> None:
    limits = {"maxResults": 2, "maxSnippetChars": 20}
    env = qmd_env(tmp_path / "other", program.program, limits=limits)
    env.many(5)
    memory = env.open()
    assert [len(hit.snippet) <= 20 for hit in memory.search("lies beside").hits] == [True, True]
    assert len(memory.search("lies beside", max_results=4).hits) == 4


def test_a_file_outside_the_workspace_is_cited_and_read_and_nothing_beside_its_folder(
    tmp_path: Path, program: ScriptedQmd
) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "zebra.md").write_text("# Zebras\n\nThe quagga was a zebra.\n", encoding="utf-8")
    (tmp_path / "secret.md").write_text("The quagga is secret.\n", encoding="utf-8")
    paths_of_qmd = [{"path": str(tmp_path / "papers"), "name": "papers"}]
    memory = qmd_env(tmp_path / "other", program.program, paths=paths_of_qmd).open()
    (hit,) = memory.search("quagga").hits
    assert hit.path == "qmd/papers-main/zebra.md"
    assert "The quagga was a zebra." in memory.read(hit.citation).text
    (tool,) = [tool for tool in memory.tools if tool.name == "memory_get"]
    assert tool.run(memory, {"path": hit.path, "from": 3, "lines": 1})["text"].strip() == "The quagga was a zebra."
    for path in ("qmd/papers-main/../secret.md", "qmd/unknown/zebra.md"):
        answer = tool.run(memory, {"path": path})
        assert "secret" not in answer["text"], path
        assert answer.get("error") or answer.get("reasons"), path
