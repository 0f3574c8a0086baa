"""The Markdown form of long-term memories: it loses nothing, and people may edit it."""

from __future__ import annotations

import uuid
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memoriter.extensions.longterm._note import HEADER, NoteRules, clean_text, edited_note, entry_text, parse_note
from memoriter.extensions.longterm.api import LongTermMemory, Span
from memoriter.workspace import foreign_lines

IDS = [str(uuid.UUID(int=number)) for number in range(1, 9)]


def rules(**fields: Any) -> NoteRules:
    fresh = iter(str(uuid.UUID(int=1000 + number)) for number in range(99))
    return NoteRules(**({"principal": "ann", "note": "n", "new_id": lambda: next(fresh), "now": 5.0} | fields))


def memory(text: str, number: int = 0, **fields: Any) -> LongTermMemory:
    known: dict[str, Any] = {"origin": "owner", "created_at": 1.5, "principal": "ann", "note": "n"}
    return LongTermMemory(id=IDS[number], text=text, **(known | fields))


TEXTS = st.text(min_size=1).map(clean_text).filter(bool)
MEMORIES = st.builds(
    memory,
    TEXTS
    | st.sampled_from(["<!-- memory: x -->", "a <\\!-- b", "- [fact] c\n\n  d", "[fact] x", "# h\n- i", "```\n- j"]),
    importance=st.sampled_from([0.0, 0.25, 0.7, 1.0]),
    category=st.sampled_from(["preference", "fact", "decision", "entity", "other"]),
    created_at=st.integers(0, 4_000_000_000_000).map(lambda number: number / 1000),
    origin=st.sampled_from(["owner", "agent", "tool", "token", "web", "import"]),
    session=st.text(max_size=20),
    span=st.none() | st.builds(Span, st.sampled_from(["user", "tool"]), *[st.integers(0, 9)] * 3),
    status=st.sampled_from(["active", "superseded"]),
    supersedes=st.sampled_from(["", IDS[5]]),
)


@given(MEMORIES, MEMORIES)
def test_a_memory_is_read_from_the_note_as_it_was_written(first: LongTermMemory, second: LongTermMemory) -> None:
    second = LongTermMemory(**{name: getattr(second, name) for name in second.__slots__} | {"id": IDS[1]})
    text = HEADER + entry_text(first) + entry_text(second)
    entries = parse_note(text, rules())
    assert [entry.memory for entry in entries] == [first, second]
    assert all(entry.complete for entry in entries)


@given(MEMORIES)
def test_all_lines_of_what_the_owner_did_not_write_are_marked_as_such(written: LongTermMemory) -> None:
    lines = entry_text(written).split("\n")[:-1]
    marked = foreign_lines(lines)
    assert all(marked[at] == (written.origin != "owner") for at, line in enumerate(lines) if line.strip())


@given(st.text())
def test_any_file_can_be_read(text: str) -> None:
    for entry in parse_note(text, rules()):
        assert entry.memory.text


def test_a_line_that_a_person_adds_is_a_memory_without_an_id() -> None:
    (entry,) = parse_note("# Long-term memory\n\nSome words.\n\n* I moved to Seoul.\n", rules())
    assert (entry.memory.text, entry.memory.category, entry.memory.origin) == ("I moved to Seoul.", "other", "owner")
    assert (entry.complete, entry.memory.created_at) == (False, 5.0)


def test_a_category_in_front_of_a_line_is_its_category() -> None:
    first, second = parse_note("- [decision] We use uv.\n- [x] a task\n", rules())
    assert (first.memory.category, first.memory.text) == ("decision", "We use uv.")
    assert (second.memory.category, second.memory.text) == ("other", "[x] a task")


def test_an_edited_line_keeps_its_id() -> None:
    text = entry_text(memory("I like tea.")).replace("tea", "green tea")
    (entry,) = parse_note(text, rules())
    assert (entry.memory.id, entry.memory.text) == (IDS[0], "I like green tea.")


def test_a_copied_line_gets_an_id_of_its_own() -> None:
    first, second = parse_note(entry_text(memory("tea")) * 2, rules())
    assert first.memory.id == IDS[0]
    assert second.memory.id == str(uuid.UUID(int=1000))
    assert not second.complete


def test_what_cannot_be_read_of_a_comment_has_its_usual_value() -> None:
    text = f"- tea <!-- memory: {IDS[0]} nan yesterday span=x supersedes=y --> <!-- from: somebody, 2026 -->\n"
    (entry,) = parse_note(text, rules())
    assert (entry.memory.importance, entry.memory.created_at, entry.memory.span) == (0.7, 5.0, None)
    assert (entry.memory.supersedes, entry.memory.origin) == ("", "import")


def test_in_a_folder_of_somebody_else_no_line_is_the_owners() -> None:
    entries = parse_note(
        entry_text(memory("a")) + "- b\n- c <!-- from: agent, 2026-01-01 -->\n", rules(origin="import")
    )
    assert [entry.memory.origin for entry in entries] == ["import"] * 3


def test_single_memories_are_replaced_and_removed_and_the_rest_stays() -> None:
    text = HEADER + entry_text(memory("one\n\nmore")) + "A paragraph.\n\n" + entry_text(memory("two", 1)) + "- three\n"
    entries = parse_note(text, rules())
    changed = edited_note(text, entries, {IDS[0]: None, IDS[1]: memory("2", 1)})
    assert changed == HEADER + "A paragraph.\n\n" + entry_text(memory("2", 1)) + "- three\n"


def test_a_code_block_that_somebody_else_leaves_open_hides_no_memory() -> None:
    theirs = "<!-- from: build via HTTP, 2026-01-01 -->\n```\n- theirs\n<!-- end: build via HTTP -->\n"
    text = f"- mine\n{theirs}- mine too\n"
    assert [entry.memory.text for entry in parse_note(text, rules())] == ["mine", "mine too"]


def test_items_of_a_code_block_are_no_memories() -> None:
    note = "- [fact] a\n\n```\n- [fact] b\n```\n~~~~\n- [fact] c\n~~~\n- [fact] d\n~~~~\n- [fact] e\n"
    assert [entry.memory.text for entry in parse_note(note, rules())] == ["a", "e"]
