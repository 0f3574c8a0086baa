"""`memoriter tidy`: it shows what it proposes, changes nothing unasked, and each accepted change can be taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Program

DAY = "memory/2026-01-05.md"
FENCE = "```\nThe rent is 900 euros.\n```\n"


@pytest.fixture
def notes(program: Program) -> Callable[[], dict[str, bytes]]:
    """A folder with a repeated, a lasting, an outdated and a fuller statement; returns the content of its notes."""
    files = {
        "MEMORY.md": f"# Memory\n\n- The rent is 900 euros.\n- Ben is allergic to peanuts.\n\n{FENCE}",
        DAY: (
            "# 2026-01-05\r\n\r\n- Ben is allergic to peanuts.\r\n- The rent is now 950 euros.\r\n"
            "- Decision: we deploy on Tuesdays. <!-- from: agent, 2026-01-05 -->\r\n- [ ] Call Ben\r\n"
        ),
    }
    for path in (*program.workspace.rglob("*.md"),):
        path.unlink()
    for path, text in files.items():
        (program.workspace / path).parent.mkdir(exist_ok=True)
        (program.workspace / path).write_bytes(text.encode())
    return lambda: {path: (program.workspace / path).read_bytes() for path in files}


def review(program: Program, monkeypatch: pytest.MonkeyPatch, keys: str, edited: str = "") -> None:
    """Run a review on a terminal at which these keys are pressed."""
    pressed = iter(keys)
    monkeypatch.setattr("memoriter.cli._history.is_interactive", lambda _: True)
    monkeypatch.setattr("click.getchar", lambda echo: next(pressed))
    monkeypatch.setattr("click.edit", lambda text, extension: edited)
    assert program("review", "--tidy").exit_code == 0


def kinds(program: Program) -> list[str]:
    return [each["kind"] for each in program("tidy", "--json").json["proposals"]]


def test_proposals_are_shown_with_reasons_and_nothing_is_changed(
    program: Program, notes: Callable[[], dict[str, bytes]]
) -> None:
    before = notes()
    shown = program("tidy").out

    assert "- The rent is 900 euros.  MEMORY.md#L3" in shown
    assert "+ The rent is now 950 euros.  MEMORY.md" in shown
    assert f"{DAY}#L4 says otherwise since 2026-01-05." in shown
    assert "It is a decision." in shown
    assert kinds(program) == ["outdated", "merge", "move"]
    assert notes() == before
    assert program("review", "--tidy").exit_code == 2


def test_accepted_changes_are_taken_back_by_one_command_each(
    program: Program, notes: Callable[[], dict[str, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = notes()
    review(program, monkeypatch, "aaa")

    after = notes()
    assert after[DAY] == b"# 2026-01-05\r\n\r\n- [ ] Call Ben\r\n"
    text, _, mark = after["MEMORY.md"].decode().partition(" <!-- from: agent, ")
    assert text == (
        "# Memory\n\n- The rent is now 950 euros.\n- Ben is allergic to peanuts.\n\n"
        f"{FENCE}- Decision: we deploy on Tuesdays."
    )
    assert mark.endswith(" -->\n")
    assert kinds(program) == []
    assert program("review", "--json").json["changes"] == []
    sessions = {change["session"] for change in program("history", "--json").json["changes"]} - {""}
    assert len(sessions) == 3
    for session in sessions:
        assert program("rollback", "--session", session, "--yes").exit_code == 0
    assert notes() == before


def test_a_proposal_is_edited_skipped_or_never_made_again(
    program: Program, notes: Callable[[], dict[str, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    review(program, monkeypatch, "esn", edited="The rent is 950 euros, since January.\n")

    assert b"- The rent is 950 euros, since January.\n" in notes()["MEMORY.md"]
    assert kinds(program) == ["merge"]
    review(program, monkeypatch, "q")
    assert kinds(program) == ["merge"]


def test_a_note_that_was_changed_meanwhile_stays_as_it_is(
    program: Program, notes: Callable[[], dict[str, bytes]]
) -> None:
    from memoriter import Memory, WriteConflict

    with Memory.open(program.workspace, home=program.home) as memory:
        proposal = next(each for each in memory.tidy().proposals if each.kind == "merge")
        (program.workspace / DAY).write_text("- Something else.\n", encoding="utf-8")
        before = notes()
        with pytest.raises(WriteConflict):
            memory.accept_proposal(proposal)
    assert notes() == before
