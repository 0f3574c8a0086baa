"""Which lines go for a line number or a text, and that every other byte of the note stays."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.errors import UsageError, WriteConflict
from memoriter.folding import fold
from memoriter.ids import bytes_hash
from memoriter.workspace import Removal, Workspace, all_of, apply_removal, blocks_with, holds, lines_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter.workspace import RemovedPassage


def left_of(note: str, text: str) -> str:
    return without(note.encode(), blocks_with(note.encode(), text)).decode()


def without(content: bytes, passages: tuple[RemovedPassage, ...]) -> bytes:
    from memoriter.workspace import _forget

    return _forget.remove_passages(content, passages)


LIST = """\
# People

- Anna likes tea
  and the sea
  - she is from Lyon
- Ben has the code 4711
- Carl

Nobody knows Anna's brother.
He lives
far away.

Last words.
"""


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("4711", ["- Ben has the code 4711"]),
        ("she is from", ["  - she is from Lyon"]),
        ("the sea", ["- Anna likes tea", "  and the sea", "  - she is from Lyon"]),
        ("tea and   the sea", ["- Anna likes tea", "  and the sea", "  - she is from Lyon"]),
        ("brother", ["Nobody knows Anna's brother.", "He lives", "far away."]),
        ("People", ["# People"]),
        ("annas", []),
        (
            "ANNA",
            [
                "- Anna likes tea",
                "  and the sea",
                "  - she is from Lyon",
                "Nobody knows Anna's brother.",
                "He lives",
                "far away.",
            ],
        ),
        ("Carl Nobody", ["- Carl", "Nobody knows Anna's brother.", "He lives", "far away."]),
    ],
)
def test_the_blocks_that_hold_a_text_go_whole_and_no_other_line(text: str, gone: list[str]) -> None:
    assert left_of(LIST, text) == "".join(f"{line}\n" for line in LIST.splitlines() if line not in gone)


def test_of_a_table_and_of_front_matter_only_the_lines_go() -> None:
    table = "| name | code |\n|---|---|\n| Anna | 1 |\n| Ben | 4711 |\n"
    front = "---\ntitle: Codes\ncode: 4711\n---\n\nText.\n"

    assert left_of(table, "4711") == "| name | code |\n|---|---|\n| Anna | 1 |\n"
    assert left_of(front, "4711") == "---\ntitle: Codes\n---\n\nText.\n"
    toml = '+++\ntitle = "Codes"\ncode = 4711\n+++\n\nText.\n'
    assert left_of(toml, "4711") == '+++\ntitle = "Codes"\n+++\n\nText.\n'


def test_a_fence_goes_with_its_marks() -> None:
    assert left_of("Before.\n\n```sh\nexport KEY=4711\n```\n\nAfter.\n", "4711") == "Before.\n\n\nAfter.\n"


ENTRIES = "".join(f"- Entry {number} of the day.\n  It goes on.\n" for number in range(52))
UNCLOSED = {
    "a fence": "```\ntraceback\n",
    "a fence with a language": "```python\nprint(1)\n\n",
    "tildes": "~~~\n",
    "a fence inside an item": "- said:\n  ```\n  output\n",
    "an item that is a fence": "- ```\n  output\n",
    "an indented fence": "  ````md\n",
    "a comment": "<!-- to do\n",
    "raw text": "<pre>\noutput\n",
    "a script": '<script type="x">\n',
    "front matter": "---\ntitle: Day\ntags:\n  - a\n",
    "a fence before another": "```\noutput\n\n",
    "a fence and a comment": "```\n<!--\n\n",
}
BEHIND = ("", "\n```sh\nls\n```\n", "\n```\nls\n```\n", "\n<!-- a -->\n", "\n---\n", "\n<pre>a</pre>\n")


@pytest.mark.matrix
@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("opening", UNCLOSED.values(), ids=UNCLOSED)
def test_a_mark_that_is_never_closed_takes_no_other_entry_along(opening: str, behind: str) -> None:
    note = f"# Day\n\n{opening}{ENTRIES}{behind}" if not opening.startswith("---") else opening + ENTRIES + behind
    (passage,) = blocks_with(note.encode(), "Entry 17 of")
    if opening.startswith("---") and "---" in behind:  # then it is front matter, of which only the line goes
        assert passage.text == "- Entry 17 of the day."
    else:
        assert passage.text == "- Entry 17 of the day.\n  It goes on."


def test_an_unclosed_fence_leaves_the_paragraphs_after_it_and_a_closed_one_goes_whole() -> None:
    note = "Before.\n\n```\ncode\n\nAfter 4711.\nIt goes on.\n\nLast.\n"
    assert left_of(note, "4711") == "Before.\n\n```\ncode\n\n\nLast.\n"
    closed = "```\na 4711\n\nb\n```\n\n<!-- c\n\nd 4711 -->\n\nLast.\n"
    assert left_of(closed, "4711") == "\n\nLast.\n"


BETWEEN = ["- Owner fact 1", "- Owner fact 2", "  It goes on.", "- Owner fact 3"]
FROM = "<!-- from: agent, 2026-03-10 -->"
END = "<!-- end: agent -->"


def between(opening: str, closing: str = "") -> str:
    """A note in which two marked entries open something, and the owner's entries are around them."""
    opened = [FROM, opening, "output", *([closing] if closing else []), END]
    return "\n".join(["# Notes", "", *BETWEEN, *opened, *BETWEEN, *opened, *BETWEEN]) + "\n"


@pytest.mark.parametrize("opening", ["```", "~~~", "<!-- a", "<pre>", "- x\n  ```", "```\n- y", "<script>"])
def test_what_two_entries_leave_open_takes_nothing_that_is_between_them(opening: str) -> None:
    passages = blocks_with(between(opening).encode(), "Owner fact 2")
    assert [passage.text for passage in passages] == ["- Owner fact 2\n  It goes on."] * 3
    outputs = blocks_with(between(opening).encode(), "output")
    assert all("Owner" not in passage.text and "<!-- end" not in passage.text for passage in outputs)


def test_a_fence_of_an_entry_goes_whole_although_another_one_is_open() -> None:
    note = between("```") + between("```sh", "```").replace("output", "key 4711")
    assert [passage.text for passage in blocks_with(note.encode(), "4711")] == ["```sh\nkey 4711\n```"] * 2


def test_an_end_that_stands_in_a_fence_is_an_end() -> None:
    note = f"```\nopen\n{END}\n- Mine.\n```\n- Mine too.\n"
    assert left_of(note, "Mine.") == note.replace("- Mine.\n", "")


@pytest.mark.parametrize(
    "note",
    [
        "- one\n\n```\nopen\n\n- two\n- three\n\n```\nopen\n\n- four\n",
        "- 09:00 one\n```\nopen\n- 09:10 two\n- three\n```\nopen\n- **10:00** four\n",
        "<!--\nopen\n\n- [09:10] two\n- three\n\n-->\n",
    ],
)
def test_two_fences_that_nobody_closed_are_no_fence_around_what_is_between_them(note: str) -> None:
    (gone,) = [line for line in note.splitlines(keepends=True) if "two" in line]
    assert left_of(note, "two") == note.replace(gone, "")
    assert left_of(note, "three") == note.replace("- three\n", "")


@pytest.mark.parametrize("inner", ["<!-- 4711\n", "> 4711\n\n", "x: 4711\n\n  - y\n"])
def test_a_fence_with_markdown_in_it_that_is_closed_is_one_block(inner: str) -> None:
    assert left_of(f"- a\n\n```md\n{inner}```\n\n- b\n", "4711") == "- a\n\n\n- b\n"


@pytest.mark.parametrize(
    ("inner", "gone"), [("# make all\n\n- x 4711\n", "- x 4711\n"), ("- x\n- 4711\n\n## Title\n", "- 4711\n")]
)
def test_of_a_fence_that_may_be_two_open_ones_with_entries_between_only_the_entry_goes(inner: str, gone: str) -> None:
    note = f"- a\n```\n{inner}```\n\n- b\n"
    assert left_of(note, "4711") == note.replace(gone, "")


def test_the_line_of_somebody_else_below_a_marked_item_is_no_part_of_it() -> None:
    note = f"- Theirs. {FROM}\n  Still theirs.\nMine.\n- Theirs too. {FROM}\n<!-- mine -->\n"
    assert left_of(note, "Still theirs") == note.partition("Mine.")[1] + note.partition("Mine.")[2]
    assert left_of(note, "Theirs too") == note.replace(f"- Theirs too. {FROM}\n", "")


LARGE: dict[str, Callable[[int], str]] = {
    "items": lambda n: "- X item\n" * n,
    "nested items": lambda n: "- item\n" + "  - X inner\n" * n,
    "an item with many inside that holds it often": lambda n: f"- {'X ' * n}\n" + "  - inner\n" * n,
    "paragraphs": lambda n: "X text\n\n" * n,
    "one line": lambda n: "X " * n,
    "headings": lambda n: "# X\n" * n,
    "a table": lambda n: "| X | b |\n" * n,
    "fences": lambda n: "```\nX\n```\n" * n,
    "open fences": lambda n: "- ```\n  X\n" * n,
    "comments": lambda n: "<!-- X\n" * n,
    "blanks": lambda n: "X" + " " * 20 * n,
    "blanks between": lambda n: ("X" + " " * 40) * n,
    "combining marks": lambda n: "X" + "\u0301\u0323" * 4 * n,
    "no hit": lambda n: "- item\n" * n,
}


@pytest.mark.matrix
@pytest.mark.parametrize("form", LARGE.values(), ids=LARGE)
def test_the_time_to_find_what_goes_is_proportional_to_the_length_of_the_note(form: Callable[[int], str]) -> None:
    def seconds(lines: int) -> float:
        content = form(lines).encode()
        taken = list[float]()
        for _ in range(2):
            begun = time.process_time()
            blocks_with(content, "X")
            taken.append(time.process_time() - begun)
        return min(taken)

    short = max(seconds(200), 0.0005)
    assert seconds(1_600) < 3 * 8 * short  # the square would be 64 times as long


MARKS = st.sampled_from(("a", "ㅏ", "가", "\u0301", "\u0323", "\u1161", "\u11a8", " ", "é", "\u09c7", "\u09be"))


@pytest.mark.slow
@given(st.lists(MARKS, max_size=60), st.lists(MARKS, max_size=6))
def test_a_text_is_found_as_in_the_folded_whole(note: list[str], text: list[str]) -> None:
    def folded(parts: list[str]) -> str:
        return " ".join(fold("".join(parts)).split())

    wanted = folded(text)
    assert holds("".join(note), "".join(text)) == (bool(wanted) and wanted in folded(note))


@given(st.lists(st.sampled_from(("X", "ab", "X ab", "", "- X", "  ab X", "```", "# ab")), max_size=12))
def test_white_space_of_any_kind_stands_for_any_other(lines: list[str]) -> None:
    content = "\n".join(lines).encode()
    found = [(each.start_line, each.end_line) for each in blocks_with(content, "X \t ab")]
    hit = re.search(r"X\s+ab", content.decode()) is not None
    assert bool(found) == hit


def test_letters_of_every_form_are_the_same_text() -> None:
    note = normalize("NFD", "- 비밀은 서랍에\n- café\n") + "- rest\n"

    assert left_of(note, "비밀은 서랍") == normalize("NFD", "- café\n") + "- rest\n"
    assert holds(note, "café")
    assert holds(note, "CAFE")
    assert not holds(note, "caves")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("राम का घर", "राम"),
        ("Preis: 1.250 Euro", "1250"),
        ("Konto DE89 3704 0044 0532 0130 00", "de89370400440532013000"),
        ("Tel. +49 30 1234567", "+49301234567"),
        ("Tel. +49 30 1234567", "30 1234567"),
        ("İzmir'de", "izmir"),
        ("co\u00adoperate", "cooperate"),
        ("المدرسة", "المدرسه"),
    ],
)
def test_a_text_is_found_in_whatever_form_it_is_written(line: str, text: str) -> None:
    note = f"- {line}\n- रोम और 12,500 और 12500\n"
    assert left_of(note, text) == "- रोम और 12,500 और 12500\n"


def test_line_ends_wrong_bytes_and_a_byte_order_mark_stay_as_they_are() -> None:
    content = b"\xef\xbb\xbf---\r\na: 1\r\n---\r\n- one\r\n- two\r\n- \xff three\n- four"

    assert (
        without(content, lines_of(content, 5, 5)) == b"\xef\xbb\xbf---\r\na: 1\r\n---\r\n- one\r\n- \xff three\n- four"
    )
    assert without(content, blocks_with(content, "four")) == content.removesuffix(b"- four")
    assert without(content, blocks_with(content, "one")) == content.replace(b"- one\r\n", b"")
    assert blocks_with(content, "one")[0].text == "- one"


def test_lines_that_are_not_there_are_an_error_that_says_how_many_there_are() -> None:
    for first, last in ((0, 1), (2, 1), (1, 3), (3, 3)):
        with pytest.raises(UsageError, match="the note has 2 lines"):
            lines_of(b"one\ntwo\n", first, last)


def test_a_note_is_taken_only_as_it_was_seen_and_stays_as_an_empty_file_unless_it_was_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    workspace = Workspace(tmp_path)
    file.write_bytes(b"one\r\ntwo\r\n")
    content = file.read_bytes()

    with pytest.raises(WriteConflict):
        apply_removal(Removal("MEMORY.md", file, bytes_hash(b"other"), all_of(content), whole=True), workspace)
    with pytest.raises(WriteConflict):
        apply_removal(Removal("MEMORY.md", file, bytes_hash(b"other"), lines_of(content, 1, 2)), workspace)
    apply_removal(Removal("MEMORY.md", file, bytes_hash(content), lines_of(content, 1, 2)), workspace)
    assert file.read_bytes() == b""
    apply_removal(Removal("MEMORY.md", file, bytes_hash(b""), all_of(b""), whole=True), workspace)
    assert list(tmp_path.iterdir()) == []


LINES = st.sampled_from(
    (
        *("", "# Head", "text", "CANARY", "- item", "  - inner CANARY", "- CANARY x", "  more", "> said CANARY", "```"),
        *("---", "| a | b |", "| CANARY | b |", "1. one", "<!-- CANARY -->", "Anna: CANARY", "\ttab", "===", "\udcff"),
    )
)


@given(st.lists(LINES, max_size=20), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_afterwards_the_text_is_nowhere_and_the_rest_is_untouched_and_in_order(
    lines: list[str], end: str, closed: bool
) -> None:
    content = (end.join(lines) + (end if closed else "")).encode("utf-8", "surrogateescape")

    passages = blocks_with(content, "CANARY")
    left = without(content, passages)

    assert b"CANARY" not in left
    assert (left == content) == (b"CANARY" not in content)
    parts = content.split(b"\n")
    gone = {number for each in passages for number in range(each.start_line, each.end_line + 1)}
    kept = [part for number, part in enumerate(parts, 1) if number not in gone]
    assert left.rstrip(b"\n") == b"\n".join(kept).rstrip(b"\n")
