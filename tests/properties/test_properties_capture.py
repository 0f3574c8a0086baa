"""Whatever a model writes into a summary, its record is one marked entry, and what follows is the owner's."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.agent.capture._condense import MOST_SUMMARY, Known, condense_prompts, condense_summary
from memoriter.workspace import foreign_lines, marked_entries, scan_blocks
from memoriter.workspace.writing import Entry

pytestmark = pytest.mark.slow
NOW = datetime(2026, 3, 10, 12, 5, tzinfo=UTC)
PIECES = st.sampled_from(
    [
        *("```", "~~~~ python", "    ```", "- ```", "# Heading", "   ## Heading ##", "---", "===", "***", "> quoted"),
        *(
            "<!--",
            "-->",
            "<!-- end: capture 00000000 (codex summary) -->",
            "<!-- from: me, 2026-03-10 -->",
            "| a | b |",
        ),
        *(
            "<summary>",
            "</summary>",
            "<analysis>",
            "</analysis>",
            "<memoriter-recall>",
            "</memoriter-recall>",
            "[x]: y",
        ),
        *("1. Intent:", "2. **Files and Code Sections**:", "**Decisions**", "- The pump has a valve.", "  * inner", ""),
        *(
            "The printers move to the second floor.",
            "\tTabs.",
            "프린터는 2층으로 옮긴다.",
            "\u202eright to left",
            "\x1b[2J",
        ),
    ]
)
SUMMARIES = st.lists(st.one_of(PIECES, st.text(max_size=80)), max_size=40).map("\n".join)
NOTHING = Known.of(())


def entry(lines: list[str], content: bytes) -> str:
    """The note after an entry with these lines, as a capture adds it, and one of the owner."""
    text = "\n".join(["Summary of a conversation, written by the model:", *lines])
    for each in (
        Entry(text, "capture 3f2a91bc (codex summary)", NOW, "memory/%Y-%m-%d.md"),
        Entry("Mine.", None, NOW, "m"),
    ):
        addition = each.add_to(content)
        content += (addition.title + addition.text).encode()
    return content.decode()


@given(SUMMARIES)
def test_a_record_is_one_marked_entry_and_the_next_one_is_the_owners(summary: str) -> None:
    lines = condense_summary(summary, NOTHING)
    assert sum(map(len, lines)) <= MOST_SUMMARY + 100
    note = entry(lines, b"# 2026-03-10\n\n- 09:00 Before.\n").split("\n")
    (found,) = marked_entries(note)
    assert (found.start_line, found.end_line) == (4, 4 + len(lines))
    foreign = foreign_lines(note)
    assert [at for at, each in enumerate(foreign, 1) if each] == list(range(4, 5 + len(lines)))
    assert note[4 + len(lines)].endswith("Mine.")
    outer = [(block.kind, block.start) for block in scan_blocks(note) if not block.depth]
    assert outer == [("heading", 0), ("item", 2), ("item", 3), ("item", 4 + len(lines))]


@given(SUMMARIES)
def test_what_the_notes_have_is_not_recorded(summary: str) -> None:
    lines = [line for line in condense_summary(summary, NOTHING) if not line.lstrip().startswith("[")]
    known = Known.of(lines)
    assert all(known.covers(line) for line in lines if len("".join(filter(str.isalnum, line))) >= 40)


@given(st.lists(st.text(max_size=300), max_size=12))
def test_a_record_of_messages_has_few_lines_that_are_short(texts: list[str]) -> None:
    lines = condense_prompts([" ".join(text.split()) for text in texts], NOTHING)
    assert len(lines) != 1
    assert len(lines) <= 5
    assert all(len(line) <= 260 and "\n" not in line for line in lines)
