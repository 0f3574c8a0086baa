"""What happens when things go wrong, and what is never seen: a trace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.notes import Notes

if TYPE_CHECKING:
    from conftest import Program


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Any:
    def fail(error: BaseException) -> None:
        def read(*_: Any, **__: Any) -> None:
            raise error

        monkeypatch.setattr(Notes, "read", read)

    return fail


def test_a_mistake_of_ours_is_an_apology_and_the_trace_is_shown_when_asked_for(program: Program, failing: Any) -> None:
    failing(RuntimeError("boom"))
    outcome = program("get", "x")
    verbose = program("get", "x", "-v")
    answer = program("get", "x", "--json")
    assert [run.exit_code for run in (outcome, verbose, answer)] == [1, 1, 1]
    assert outcome.err == (
        "Error: This is a bug in memoriter (RuntimeError: boom).\n"
        "Your notes are untouched. Run the command again with -v, and report the bug with its output.\n"
    )
    assert "Traceback (most recent call last)" in verbose.err
    assert "RuntimeError: boom" in verbose.err
    assert answer.json["error"]["code"] == "internal"


def test_a_failure_of_the_system_names_the_file(program: Program, failing: Any) -> None:
    failing(PermissionError(13, "Permission denied", "/x/y"))
    outcome = program("get", "x")
    assert (outcome.exit_code, outcome.err.splitlines()[0]) == (
        1,
        "Error: The path '/x/y' cannot be used: Permission denied.",
    )


def test_an_interrupted_run_exits_with_130(program: Program, failing: Any) -> None:
    failing(KeyboardInterrupt())
    outcome = program("get", "x")
    answer = program("get", "x", "--json")
    assert (outcome.exit_code, answer.exit_code) == (130, 130)
    assert outcome.err.strip() == "Error: Stopped. What was finished is kept."
    assert answer.json == {
        "error": {"code": "interrupted", "message": "Stopped. What was finished is kept.", "remedy": ""}
    }


def test_an_unexpected_end_of_input_is_an_internal_error_and_no_interrupt(program: Program, failing: Any) -> None:
    failing(EOFError("marshal data too short"))
    result = program("get", "x", "--json")
    assert (result.exit_code, result.json["error"]["code"]) == (1, "internal")
    assert "EOFError: marshal data too short" in result.json["error"]["message"]


def test_a_workspace_that_is_not_there_is_said_with_what_to_do(program: Program) -> None:
    outcome = program("status", "-w", "/no/such")
    answer = program("status", "-w", "/no/such", "--json")
    assert (outcome.exit_code, answer.exit_code) == (2, 2)
    assert "/no/such" in outcome.err
    assert answer.json["error"]["code"] == "workspace"
    assert answer.json["error"]["remedy"] in outcome.err


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_failure_worth_a_word(program: Program) -> None:
    (program.workspace / "MEMORY.md").write_text("x" * 79 + "\n" + "y\n" * 49_000, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-m", "memoriter", "get", "MEMORY.md"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as reading:
        assert reading.stdout
        assert reading.stderr
        reading.stdout.read(1)
        reading.stdout.close()
        assert reading.stderr.read() == b""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for another process there")
def test_ctrl_c_stops_a_running_program_without_a_trace(program: Program) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "memoriter", "remember", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as waiting:
        assert waiting.stdin
        waiting.stdin.write(b"x" * 300_000)  # more than a pipe holds: this returns when the program reads
        waiting.stdin.flush()
        waiting.send_signal(signal.SIGINT)
        _, stderr = waiting.communicate(timeout=150)
    assert waiting.returncode == 130
    assert b"Traceback" not in stderr
    assert [file.name for file in sorted((program.workspace / "memory").glob("*.md"))] == ["2026-02-10.md", "travel.md"]


@pytest.mark.slow
def test_an_output_that_cannot_show_a_letter_does_not_stop_the_answer(program: Program) -> None:
    for words in (["get", "memory/travel.md"], ["get", "memory/travel.md", "--json"]):
        done = subprocess.run(
            [sys.executable, "-m", "memoriter", *words],
            capture_output=True,
            cwd=program.workspace,
            env=os.environ | {"PYTHONIOENCODING": "ascii"},
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"Travel" in done.stdout
