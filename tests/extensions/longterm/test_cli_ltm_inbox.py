"""`memoriter ltm inbox`, `accept`, `reject` and `edit`, through the program, with a note that people may edit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from program import Program

INBOX = "memory/inbox.md"
NOTE = "memory/long-term.md"
SETTINGS = '{agents: {defaults: {memorySearch: {provider: "fake"}}}, plugins: {slots: {memory: "memory-lancedb"}}}'


@pytest.fixture(autouse=True)
def long_term(program: Program) -> None:
    pytest.importorskip("lancedb")  # imported before a test is timed
    (program.home / "memoriter.json5").write_text(SETTINGS, encoding="utf-8")


def ltm(program: Program, *words: str) -> Any:
    return program("-w", str(program.workspace), "ltm", *words)


def write(program: Program, *lines: str) -> None:
    (program.workspace / "memory").mkdir(exist_ok=True)
    (program.workspace / INBOX).write_text("# My inbox\n\n" + "".join(f"{line}\n" for line in lines), encoding="utf-8")


def text(program: Program, note: str) -> str:
    file = program.workspace / note
    return file.read_text(encoding="utf-8") if file.exists() else ""


def ids(program: Program) -> list[str]:
    return [each["id"] for each in ltm(program, "inbox", "--json").json]


def test_an_accepted_candidate_becomes_a_memory_and_leaves_the_inbox(program: Program) -> None:
    write(program, "- [fact] I live in Bergen.", "- [preference] I prefer tea.")
    first, _ = ids(program)
    accepted = ltm(program, "accept", first[:8])
    assert accepted.exit_code == 0, accepted
    assert accepted.out.startswith("Stored: [fact] I live in Bergen.")
    assert "- [fact] I live in Bergen. <!-- memory: " in text(program, NOTE)
    assert text(program, INBOX) == "# My inbox\n\n- [preference] I prefer tea.\n"
    assert ltm(program, "inbox").out.startswith("[preference] I prefer tea.  (until ")


def test_a_rejected_candidate_is_gone_and_only_a_hash_of_it_stays(program: Program) -> None:
    write(program, "- [fact] I live in Bergen.")
    assert ltm(program, "reject", "--all").out.startswith("Dropped: [fact] I live in Bergen.")
    assert "Bergen" not in text(program, INBOX)
    assert "<!-- rejected: " in text(program, INBOX)
    assert text(program, NOTE) == ""
    assert ltm(program, "inbox").err == "The inbox is empty.\n"


def test_an_edited_candidate_is_stored_in_its_new_words(program: Program) -> None:
    write(program, "- [fact] I live in Bergen.")
    (identifier,) = ids(program)
    changed = ltm(program, "edit", identifier, "I live in Oslo.", "--category", "entity", "--json").json
    assert (changed["id"], changed["text"], changed["category"]) == (identifier, "I live in Oslo.", "entity")
    ltm(program, "accept", "--all")
    assert "- [entity] I live in Oslo. <!-- memory: " in text(program, NOTE)


def test_an_unknown_id_changes_nothing_and_names_what_to_do(program: Program) -> None:
    write(program, "- [fact] I live in Bergen.")
    for command in ("accept", "reject"):
        outcome = ltm(program, command, "ffffffff")
        assert outcome.exit_code == 2
        assert "no candidate with an id that begins with 'ffffffff'" in outcome.err
        assert "memoriter ltm inbox" in outcome.err
    assert "Bergen" in text(program, INBOX)


@pytest.mark.parametrize("words", [("accept",), ("reject", "--all", "abcd"), ("edit", "abcd")])
def test_a_command_without_a_choice_is_a_usage_error(program: Program, words: tuple[str, ...]) -> None:
    assert ltm(program, *words).exit_code == 2
