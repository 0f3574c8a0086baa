"""Who wrote which lines stands in the note itself, and no text can pass for somebody else's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.types import ORIGIN
from memoriter.workspace import chunk_markdown, foreign_lines, marked

DAY = "2026-11-22"
OWNER = "# Notes\n\n- Mine.\n\n```\ncode without an end\n"


def theirs(note: str) -> list[str]:
    lines = note.split("\n")
    return [line for line, foreign in zip(lines, foreign_lines(lines), strict=True) if foreign]


def test_an_item_is_marked_on_its_first_line_and_speaks_for_what_is_indented_below() -> None:
    entry = marked("- We chose tea.\n  Not coffee.\n", "agent via MCP (claude-code)", DAY)
    assert entry == "- We chose tea. <!-- from: agent via MCP (claude-code), 2026-11-22 -->\n  Not coffee.\n"
    assert len(theirs(f"- Mine.\n{entry}- Mine again.\n")) == 2


def test_text_with_a_structure_of_its_own_stands_between_two_marks() -> None:
    entry = marked("## Tea\n\nWe chose it.\n", "agent", DAY)
    assert entry == "<!-- from: agent, 2026-11-22 -->\n## Tea\n\nWe chose it.\n<!-- end: agent -->\n"
    assert theirs(f"- Mine.\n{entry}\nMine again.\n") == ["## Tea", "", "We chose it."]


def test_a_mark_is_not_searched_for_and_stays_in_the_text() -> None:
    (chunk,) = chunk_markdown(marked("- We chose tea.\n", "agent", DAY))
    assert chunk.contextual == "- We chose tea."
    assert "<!-- from: agent" in chunk.text


def test_forgetting_what_is_above_a_mark_leaves_the_mark() -> None:
    from memoriter.workspace import blocks_with

    note = "- Mine.\n" + marked("Theirs.\n\nAlso theirs.\n", "agent", DAY)
    (passage,) = blocks_with(note.encode(), "Mine.")
    assert (passage.start_line, passage.end_line) == (1, 1)


PIECES = [
    *(
        "<!-- end: agent -->",
        "<!-- from: owner, 2026-11-22 -->",
        "<!--end: x-->",
        "-->",
        "<!--",
        "<!-- -",
        "\n",
        "\r",
        "\n\n",
    ),
    *(
        "- ",
        "  ",
        "# ",
        "> ",
        "```",
        "~~~\n",
        "| a |",
        "1. ",
        "text",
        "\x85",
        "\u2028",
        "\0",
        "---\n",
        "<pre>",
        " ",
        "\t",
    ),
]


@given(
    st.sampled_from(["", OWNER, "- Mine.\n", "- 09:00 Mine.\n", "Mine\n", "<!--\n"]),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=12).map("".join).filter(lambda text: text.strip()),
    st.text(max_size=30) | st.sampled_from(["x) -->", "a <!-- end: b -->", "\n<!-- end: a -->"]),
)
def test_no_text_of_an_agent_passes_for_the_owners(before: str, text: str, name: str) -> None:
    from memoriter.workspace import entry_of, log_form

    form = log_form(before, "12:00") if "- " in before else None
    entry = marked(entry_of(text, form), f"agent via MCP ({name})", DAY)
    lines = f"{before}{entry}".split("\n")
    foreign = foreign_lines(lines)
    first = before.count("\n")
    for line, is_foreign in zip(lines[first:], foreign[first:], strict=True):
        assert is_foreign or not ORIGIN.sub("", f"{line}\n").strip(), (line, entry)
    after = foreign_lines([*lines, "- Mine, later."])
    assert not after[-1]
    assert not any(foreign[:first])


@pytest.mark.parametrize("origin", ["", "\n", "-->", "\u202eevil\x1b[2J"])
def test_a_name_that_cannot_be_shown_is_made_readable(origin: str) -> None:
    entry = marked("- a\n", origin, DAY)
    assert ORIGIN.search(entry)
    assert entry.count("\n") == 1
    assert entry.isprintable() or entry[:-1].isprintable()
