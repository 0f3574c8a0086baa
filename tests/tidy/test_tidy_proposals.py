"""What is proposed for notes: of many families of statements, and in the cases that each rule is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from benchmarks.tidy import KINDS, measure

from memoriter import Memory

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.tidy import Proposal


def proposals(folder: Path, notes: dict[str, str]) -> list[Proposal]:
    """Write notes and return what is proposed for them."""
    for path, text in notes.items():
        file = folder / "notes" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    with Memory.open(folder / "notes", home=folder / "home") as memory:
        return list(memory.tidy().proposals)


@pytest.mark.slow
@pytest.mark.parametrize("half", ["fit", "held"])
def test_of_180_families_in_five_languages_all_that_may_be_proposed_is_and_nothing_else(half: str) -> None:
    figures = measure(half)

    assert figures.wrong == []
    assert sum(figures.found.values()) == sum(map(figures.wanted, KINDS)) >= 40
    assert figures.wanted("none") >= 40


@pytest.mark.slow
def test_of_freer_statements_four_of_five_are_found_and_one_decision_is_proposed_twice() -> None:
    figures = measure("blind")

    assert figures.wrong == ["move: We chose Stripe for card payments."]  # MEMORY.md says so, in other words
    assert sum(figures.found.values()) >= 0.8 * sum(map(figures.wanted, KINDS))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Take the red pill before breakfast.", "Take the red pill after breakfast."),
        ("The pump is above the tank.", "The pump is below the tank."),
        ("We can ship to Norway.", "We cannot ship to Norway."),
        ("Ben is allergic to peanuts.", "Ben is allergic to hazelnuts."),
        ("Ida owes Olaf 40 crowns.", "Olaf owes Ida 40 crowns."),
        ("The lamp needs 40 watts.", "The lamp needs 60 watts."),
        ("小李比小张高。", "小张比小李高。"),
        ("지훈이 수진을 초대했다.", "수진이 지훈을 초대했다."),
    ],
)
def test_statements_that_differ_in_a_word_or_in_their_order_are_not_the_same(
    one: str, other: str, tmp_path: Path
) -> None:
    notes = {"MEMORY.md": f"- {one}\n", "memory/2026-01-05.md": f"- {other}\n"}
    assert proposals(tmp_path, notes) == []


def test_the_fuller_of_two_statements_comes_into_the_long_term_memory(tmp_path: Path) -> None:
    notes = {
        "MEMORY.md": "- We deploy on Tuesdays.\n",
        "memory/2026-01-05.md": "- We deploy on Tuesdays, because support is there then.\n",
    }
    (found,) = proposals(tmp_path, notes)

    assert found.added == "We deploy on Tuesdays, because support is there then."
    assert [each.citation for each in found.removed] == ["MEMORY.md#L1", "memory/2026-01-05.md#L1"]


def test_a_number_that_differs_later_makes_a_fact_outdated_but_not_an_entry_of_a_log(tmp_path: Path) -> None:
    notes = {
        "MEMORY.md": "- The rent is 900 euros. <!-- from: agent, 2026-01-02 -->\n",
        "memory/2026-01-05.md": "- The tank level is 900 litres.\n",
        "memory/2026-02-05.md": "- The tank level is 700 litres.\n- The rent is 950 euros.\n",
        "memory/2026-03-05.md": "- The tank level is now 500 litres.\n",
    }
    (found,) = proposals(tmp_path, notes)

    assert (found.kind, found.removed[0].citation, found.added) == (
        "outdated",
        "MEMORY.md#L1",
        "The rent is 950 euros.",
    )


def test_what_came_with_a_token_of_somebody_else_replaces_nothing(tmp_path: Path) -> None:
    notes = {
        "MEMORY.md": "- The door code is 4711.\n",
        "memory/2026-01-05.md": "- The door code is now 9999. <!-- from: phone via HTTP, 2026-01-05 -->\n",
    }
    assert proposals(tmp_path, notes) == []


def test_the_file_of_long_term_memories_and_the_inbox_are_left_alone(tmp_path: Path) -> None:
    text = "- Decision: we deploy on Tuesdays.\n"
    notes = {"memory/long-term.md": text, "memory/inbox.md": text, "MEMORY.md": text}
    assert proposals(tmp_path, notes) == []


@pytest.mark.parametrize("text", ["We decided to keep it.", "This is how we decided to do it from now on."])
def test_what_is_not_clear_without_the_note_of_its_day_stays_there(text: str, tmp_path: Path) -> None:
    assert proposals(tmp_path, {"memory/2026-01-05.md": f"- {text}\n"}) == []


def test_lines_of_their_own_in_one_paragraph_are_not_moved_together(tmp_path: Path) -> None:
    notes = {
        "memory/2026-01-05.md": "Decision: we deploy on Tuesdays\nLunch with Ben\n",
        "memory/2026-01-06.md": "Decision: we keep the old\ndomain name.\n",
    }
    assert [each.added for each in proposals(tmp_path, notes)] == ["Decision: we keep the old domain name."]


def test_an_item_that_has_others_below_it_stays_and_its_parts_belong_to_it(tmp_path: Path) -> None:
    notes = {
        "MEMORY.md": "- Server alpha:\n  - The port is 8080 for all clients\n- Server beta:\n",
        "memory/2026-01-05.md": "- Server beta:\n  - The port is 8080 for all clients\n",
    }
    assert proposals(tmp_path, notes) == []
