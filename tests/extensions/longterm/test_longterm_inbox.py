"""The note of the inbox: people may edit it, and no write loses what they wrote."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from memoriter.extensions.longterm._inbox import Inbox, candidate_text, edited_inbox, parse_inbox
from memoriter.extensions.longterm._note import clean_text
from memoriter.extensions.longterm._records import EXPIRY_DAYS
from memoriter.extensions.longterm.api import Candidate, InboxFile, Span
from memoriter.workspace import Workspace, foreign_lines

if TYPE_CHECKING:
    from pathlib import Path

DAY = 86_400
NOW = 1_000.0 * DAY
PATH = "memory/inbox.md"
IDS = [str(uuid.UUID(int=number, version=4)) for number in range(1, 9)]


def candidate(text: str, number: int = 0, **fields: Any) -> Candidate:
    known: dict[str, Any] = {"category": "fact", "score": 0.7, "created_at": NOW}
    return Candidate(id=IDS[number], text=text, **(known | fields))


TEXTS = st.text(min_size=1).map(clean_text).filter(bool)
SPECIAL = st.sampled_from(
    ["<!-- candidate: x -->", "a <\\!-- b", "- [fact] c\n\n  d", "[fact] x", "# h\n- i", "```\n- j"]
)
CANDIDATES = st.builds(
    candidate,
    TEXTS | SPECIAL,
    category=st.sampled_from(["preference", "fact", "decision", "entity", "other"]),
    score=st.sampled_from([0.0, 0.7, 0.95, 1.0]),
    created_at=st.integers(0, 4_000_000_000_000).map(lambda number: number / 1000),
    origin=st.sampled_from(["owner", "agent", "tool", "web", "import"]),
    session=st.text(max_size=20),
    span=st.none() | st.builds(Span, st.sampled_from(["user", "tool"]), *[st.integers(0, 9)] * 3),
    supersedes=st.sampled_from(["", IDS[5]]),
)


@given(CANDIDATES)
def test_a_candidate_is_read_from_the_note_as_it_was_written(one: Candidate) -> None:
    assert parse_inbox(candidate_text(one), now=5.0).candidates == (one,)


@given(st.lists(CANDIDATES, max_size=4), st.sampled_from(["", "# Mine\n", "# Mine\n\nSome words.\n\n- by hand\n"]))
def test_candidates_are_added_without_a_change_of_any_other_line(some: list[Candidate], note: str) -> None:
    added = tuple(replace(each, id=IDS[number]) for number, each in enumerate(some))
    before = parse_inbox(note, now=NOW)
    after = edited_inbox(note, replace(before, candidates=(*before.candidates, *added)), now=NOW)
    assert parse_inbox(after, now=NOW).candidates == (*before.candidates, *added)
    assert after.startswith(note.rstrip("\n"))


@given(CANDIDATES)
def test_no_line_of_the_inbox_counts_as_the_owners(one: Candidate) -> None:
    lines = candidate_text(one).split("\n")
    written = [number for number, line in enumerate(lines) if line.strip()]
    assert all(foreign_lines(lines)[number] for number in written)


def test_an_item_without_a_comment_keeps_the_same_id() -> None:
    first, second = (parse_inbox("- [fact] I live in Bergen.\n- I live in Bergen.\n", now=now) for now in (1.0, 2.0))
    assert [each.id for each in first.candidates] == [each.id for each in second.candidates]
    assert len({each.id for each in first.candidates}) == 2
    assert [each.category for each in first.candidates] == ["fact", "other"]


def test_edited_words_are_no_quotation_any_more() -> None:
    text = candidate_text(candidate("I live in Bergen.", span=Span("user", 0, 0, 17)))
    (read,) = parse_inbox(text.replace("Bergen", "Oslo"), now=NOW).candidates
    assert (read.text, read.span) == ("I live in Oslo.", None)


class File:
    """An inbox in a folder of notes, with a clock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now = NOW
        (folder / "memory").mkdir()
        (folder / "MEMORY.md").write_text("", encoding="utf-8")
        self.inbox = InboxFile(Workspace(folder), wall=lambda: self.now)

    @property
    def text(self) -> str:
        return (self.folder / PATH).read_text(encoding="utf-8")


def test_a_candidate_expires_after_thirty_days(tmp_path: Path) -> None:
    file = File(tmp_path)
    file.inbox.propose([candidate("I live in Bergen.")])
    file.now += EXPIRY_DAYS * DAY - 1
    assert len(file.inbox.read().candidates) == 1
    file.now += 2
    assert file.inbox.read() == Inbox()
    file.inbox.propose([candidate("I prefer tea.", 1, created_at=file.now)])
    assert "Bergen" not in file.text


def test_what_waits_or_was_rejected_is_not_proposed_again(tmp_path: Path) -> None:
    file = File(tmp_path)
    file.inbox.propose([candidate("I live in Bergen.")])
    assert file.inbox.propose([candidate("i live in bergen", 1)]) == ()
    file.inbox.reject([IDS[0]])
    assert file.inbox.propose([candidate("I live in Bergen!", 1)]) == ()
    assert file.inbox.read().candidates == ()
    assert len(file.inbox.read().rejected) == 1


def test_an_edit_of_a_person_during_a_write_is_kept(tmp_path: Path) -> None:
    file = File(tmp_path)
    file.inbox.propose([candidate("I live in Bergen.")])
    note = tmp_path / PATH
    note.write_text(file.text + "\nA remark of mine.\n", encoding="utf-8")
    file.inbox.propose([candidate("I prefer tea.", 1)])
    assert "A remark of mine." in file.text
    assert [each.text for each in file.inbox.read().candidates] == ["I live in Bergen.", "I prefer tea."]
