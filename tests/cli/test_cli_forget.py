"""`memoriter forget`, through its front door."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import memoriter

if TYPE_CHECKING:
    from conftest import Program

PLAN = {"dryRun", "notes", "transcripts", "indexed", "journaled", "kept", "unfinished", "unreached", "recovered"}
RECEIPT = {"notes", "transcripts", "journaled", "kept", "index", "left", "unreached", "recovered"}


def notes(program: Program) -> str:
    return (program.workspace / "MEMORY.md").read_text(encoding="utf-8")


def test_a_dry_run_shows_the_lines_and_changes_nothing(program: Program) -> None:
    program("index")
    before = notes(program)

    outcome = program("forget", "--match", "flat white", "--dry-run")

    assert outcome.exit_code == 0
    assert outcome.out.splitlines()[:2] == ["MEMORY.md#L4", "  - Coffee: flat white."]
    assert "Backups, snapshots" in outcome.out
    assert notes(program) == before
    assert program("forget", "MEMORY.md#L4", "--dry-run", "--json").json.keys() == PLAN


def test_every_line_is_shown_before_it_goes(program: Program) -> None:
    item = ["- The list:", *(f"  - part {number}" for number in range(30))]
    (program.workspace / "MEMORY.md").write_text("\n".join(["# List", "", *item, ""]), encoding="utf-8")

    shown = program("forget", "--match", "The list", "--dry-run").out.splitlines()
    gone = program("forget", "--match", "The list", "--yes").out.splitlines()

    assert shown[:32] == gone[:32] == ["MEMORY.md#L3-L33", *(f"  {line}" for line in item)]
    assert gone[32] == "Gone: 31 lines of MEMORY.md"
    assert notes(program) == "# List\n\n"


def test_where_nobody_can_be_asked_nothing_goes_and_it_says_what_to_give(program: Program) -> None:
    before = notes(program)

    outcome = program("forget", "MEMORY.md#L4")
    as_json = program("forget", "MEMORY.md#L4", "--json")

    assert (outcome.exit_code, as_json.exit_code) == (2, 2)
    assert "--yes" in outcome.err
    assert as_json.json["error"]["code"] == "usage"
    assert notes(program) == before


@pytest.mark.slow
def test_with_yes_it_goes_and_the_receipt_says_from_where(program: Program) -> None:
    program("index")

    outcome = program("forget", "MEMORY.md#L4", "--yes")
    again = program("forget", "--match", "Omada", "--yes", "--json").json

    assert outcome.exit_code == 0, outcome.err
    assert outcome.out.splitlines()[:6] == [
        "MEMORY.md#L4",
        "  - Coffee: flat white.",
        "In the journal: 1 change",
        "Gone: 1 line of MEMORY.md",
        "Gone: the text in 1 change of the journal",
        "Gone: its words, vectors and free space in the index",
    ]
    assert "flat white" not in notes(program)
    assert "PostgreSQL" in notes(program)
    assert again.keys() == RECEIPT
    assert [note["path"] for note in again["notes"]] == ["memory/2026-02-10.md"]
    assert again["left"] == []
    assert program("search", "Omada", "--json").json["results"] == []
    assert program("search", "PostgreSQL ledger", "--json").json["results"][0]["path"] == "MEMORY.md"


def test_a_file_goes_whole(program: Program) -> None:
    text = (program.workspace / "memory" / "travel.md").read_text(encoding="utf-8")
    lines = program("forget", "memory/travel.md", "--yes").out.splitlines()
    assert lines[0] == "memory/travel.md (the whole file)"
    assert lines[1 : lines.index("Gone: the file of memory/travel.md")] == [
        f"  {line}".rstrip() for line in text.splitlines()
    ]
    assert not (program.workspace / "memory" / "travel.md").exists()


def test_what_nothing_holds_is_said(program: Program) -> None:
    outcome = program("forget", "--match", "nobody wrote this", "--yes")

    assert outcome.exit_code == 0
    assert outcome.out.splitlines()[0] == "Nothing contains it: no note, no transcript and no index of this memory."


@pytest.mark.parametrize(
    "words",
    [(), ("MEMORY.md", "--match", "ACID"), ("MEMORY.md#L99",), ("--session", "none"), ("../x.md",), ("--match", "a")],
)
def test_what_cannot_be_forgotten_is_a_clear_refusal(program: Program, words: tuple[str, ...]) -> None:
    before = notes(program)

    outcome = program("forget", *words, "--yes")

    assert outcome.exit_code == 2
    assert outcome.err.startswith("Error: ")
    assert len(outcome.err.splitlines()) == 2
    assert notes(program) == before


def at_a_keyboard(*flags: str, answer: str = "", stderr_too: bool = True) -> tuple[str, str, int]:
    """Run the program with a keyboard, and stdout in a pipe; return stderr, stdout and the exit code."""
    keyboard, terminal = os.openpty()
    environment = {**os.environ, "PYTHONPATH": str(Path(memoriter.__file__).parents[1]), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "memoriter", "forget", "--match", "flat white", *flags]
    stderr = terminal if stderr_too else subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdin=terminal, stdout=subprocess.PIPE, stderr=stderr) as process:
        os.close(terminal)
        os.write(keyboard, answer.encode())
        shown = b""
        with suppress(OSError):  # the other end was closed
            while part := os.read(keyboard, 1_000):
                shown += part
        out, err = process.communicate(timeout=150)
    os.close(keyboard)
    return (shown if stderr_too else err).decode(), out.decode(), process.returncode


@pytest.mark.matrix
@pytest.mark.skipif(os.name == "nt", reason="terminals are opened in another way there")
@pytest.mark.parametrize(("answer", "gone"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_on_a_terminal_it_shows_and_asks_wherever_the_receipt_goes(program: Program, answer: str, gone: bool) -> None:
    shown, out, exit_code = at_a_keyboard(answer=answer)

    assert "  - Coffee: flat white." in shown.splitlines()
    assert "Remove this for good?" in shown
    assert ("Gone: " in out) is gone
    assert ("flat white" not in notes(program)) is gone
    assert exit_code == (0 if gone else 130)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="terminals are opened in another way there")
def test_where_no_question_would_be_seen_nothing_is_asked_and_nothing_goes(program: Program) -> None:
    unseen, out, exit_code = at_a_keyboard(answer="y\n", stderr_too=False)
    assert unseen.startswith("Error: Confirmation is needed, and there is no terminal.")
    assert (out, exit_code) == ("", 2)

    quiet, _, exit_code = at_a_keyboard("--quiet", answer="y\n")
    assert "Confirmation is needed, and --json or --quiet is given." in quiet
    assert exit_code == 2
    assert "flat white" in notes(program)
