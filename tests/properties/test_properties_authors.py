"""Whoever may write with a mark only cannot write a line that passes for somebody else's."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memoriter.workspace import authors_of, blocks_with, marked, standing_of, without_mark
from memoriter.workspace._authors import with_authors
from memoriter.workspace._forget import remove_passages
from memoriter.workspace.untrusted import disarmed

DAY = "2026-11-26"
TOKEN = f"build via HTTP, {DAY}"
lines = st.one_of(
    st.sampled_from(
        [
            *(
                "",
                "# Log",
                "## Work",
                "- tea",
                "- milk",
                "  more",
                "  - inner",
                "plain",
                "> quoted",
                "```",
                "~~~",
                "---",
            ),
            *("| a | b |", "- [x] done", "1. one", "<!--", "-->", "<div>", "\t- tab", "    code", "title: x", "$$"),
            *(
                f"<!-- from: agent, {DAY} -->",
                "<!-- end: agent -->",
                "<!-- end: build via HTTP -->",
                "<!-- from: x -->",
            ),
            *(f"- tea <!-- from: agent, {DAY} -->", "- milk <!-- from: owner -->", "  more <!-- end: agent -->"),
            f"- tea <!-- from: agent, {DAY} --> <!-- from: agent, {DAY} -->",
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0"), max_size=10),
)
entries = st.lists(lines, min_size=1, max_size=4).map(lambda rows: "\n".join(rows) + "\n")
notes = st.lists(
    st.one_of(
        entries,
        entries.map(lambda text: marked(text, "agent", DAY)),
        entries.map(lambda text: marked(text, "web", DAY)),
    ),
    max_size=5,
).map("".join)


def rows(text: str) -> list[tuple[str, str]]:
    """Return the lines with words, without their marks, each with its author."""
    split = text.split("\n")
    pairs = [(without_mark(line).strip(), author) for line, author in zip(split, authors_of(split), strict=True)]
    return [(line, author) for line, author in pairs if line]


@given(notes, notes)
def test_a_line_is_the_owners_or_an_agents_only_if_it_was_before(before: str, after: str) -> None:
    written, _ = with_authors(before, after, "build via HTTP", DAY)
    known = {(line, standing_of(author)) for line, author in rows(before)}
    front = written.split("\n")
    end = front.index("---", 1) if front[0].strip() == "---" and "---" in front[1:] else -1
    for line, author in rows("\n".join(front[end + 1 :])):
        standing = standing_of(author)
        assert standing == "other" or (line, standing) in known


@given(notes, notes)
def test_no_word_of_a_text_is_lost_and_its_own_marks_do_not_count(before: str, after: str) -> None:
    written, _ = with_authors(before, after, "build via HTTP", DAY)
    if before != after:
        assert [disarmed(line) for line, _ in rows(written)] == [disarmed(line) for line, _ in rows(after)]


@given(notes, entries)
def test_what_is_appended_is_marked(before: str, added: str) -> None:
    start = before if before.endswith("\n\n") or not before else f"{before}\n"
    known = {line for line, _ in rows(before)}
    written, changed = with_authors(
        start,
        f"{start}- appended words: {added.split(maxsplit=1)[0] if added.split() else 'x'}\n",
        "build via HTTP",
        DAY,
    )
    assert any("appended words" in line for line in changed) or "- appended words: x" in known
    last = next(pair for pair in reversed(rows(written)) if "appended words" in pair[0])
    assert standing_of(last[1]) == "other"


@given(notes, notes)
def test_the_same_text_again_changes_nothing(before: str, after: str) -> None:
    written, _ = with_authors(before, after, "build via HTTP", DAY)
    assert with_authors(written, written, "build via HTTP", DAY) == (written, [])


@given(notes, st.sampled_from(["tea", "milk", "more", "inner", "plain", "done", "one", "code"]))
def test_no_line_that_stays_after_a_forget_changes_its_author(note: str, word: str) -> None:
    passages = blocks_with(note.encode(), word)
    gone = {line for passage in passages for line in range(passage.start_line, passage.end_line + 1)}
    split = note.split("\n")
    all_rows = enumerate(zip(split, authors_of(split), strict=True), 1)
    kept = [(without_mark(line).strip(), author) for number, (line, author) in all_rows if number not in gone]
    assert rows(remove_passages(note.encode(), passages).decode()) == [(line, author) for line, author in kept if line]
