"""How Markdown becomes chunks."""

from __future__ import annotations

from itertools import pairwise
from textwrap import dedent

import pytest

from memoriter.workspace import chunk_markdown, estimate_tokens, read_note, scan_blocks

SENTENCE = "We chose PostgreSQL over MySQL for the ledger service because of its guarantees."


def chunks(text: str, **options: int) -> list[tuple[int, int, tuple[str, ...]]]:
    found = chunk_markdown(dedent(text), **options)
    return [(chunk.start_line, chunk.end_line, chunk.heading) for chunk in found]


def texts(text: str, **options: int) -> list[str]:
    return [chunk.text for chunk in chunk_markdown(dedent(text), **options)]


def test_a_list_item_is_a_chunk_under_its_heading_path() -> None:
    note = f"# Memory\n\n## Decisions\n- {SENTENCE}\n- {SENTENCE}\n\n## People\n- {SENTENCE}\n"
    assert chunks(note, merge=48) == [
        (1, 4, ("Memory", "Decisions")),
        (5, 5, ("Memory", "Decisions")),
        (7, 8, ("Memory", "People")),
    ]


def test_what_continues_an_item_or_is_nested_in_it_stays_with_it() -> None:
    note = """\
        - first
          goes on
        lazily

          a second paragraph
          ```sh
          - not an item

          # not a heading
          ```
          - nested
            1. deeper
        - second
        """
    assert chunks(note, merge=0) == [(1, 12, ()), (13, 13, ())]


def test_an_item_over_the_limit_is_cut_between_its_inner_items() -> None:
    note = "- head\n" + "".join(f"  - {SENTENCE}\n" for _ in range(5))
    assert chunks(note, tokens=60, merge=0) == [(line, line, ()) for line in range(1, 7)]


def test_tiny_items_of_a_section_are_put_together_and_sentences_stay_alone() -> None:
    note = f"# Shopping\n- milk\n- eggs\n- bread\n\n# Work\n- {SENTENCE}\n- {SENTENCE}\n- ok\n"
    assert chunks(note, merge=48) == [(1, 4, ("Shopping",)), (6, 7, ("Work",)), (8, 9, ("Work",))]
    assert len(chunks(note, merge=0)) == 6


def test_a_heading_without_a_body_is_found_by_its_words() -> None:
    assert texts("# A\n\n## B\n\n## C\ntext\n") == ["# A\n\n## B", "## C\ntext"]
    assert chunks("# A\n\n## B\n\n## C\ntext\n") == [(1, 3, ("A", "B")), (5, 6, ("A", "C"))]
    assert chunks("text\n# Last\n") == [(1, 1, ()), (2, 2, ("Last",))]


def test_a_heading_over_a_block_that_is_cut_stays_with_the_first_piece() -> None:
    note = "# Title\n" + "".join(f"line {number} of a long paragraph\n" for number in range(40))
    found = chunk_markdown(note, tokens=50, overlap=0)
    assert found[0].text.startswith("# Title\nline 0")
    assert {chunk.heading for chunk in found} == {("Title",)}
    assert all(estimate_tokens(chunk.text) <= 50 for chunk in found)


def test_underlined_titles_are_headings_and_a_line_under_prose_is_not() -> None:
    assert chunks("Title\n=====\ntext\n\nPart\n---\nmore\n", merge=0) == [
        (1, 3, ("Title",)),
        (5, 7, ("Title", "Part")),
    ]
    assert chunks("some prose\nin two lines\n---\n", merge=0) == [(1, 3, ())]


def test_titles_lose_their_marks() -> None:
    note = "# **Bold** and `code` [link](http://x) [[page|shown]] [[other]] ##\ntext\n"
    assert chunk_markdown(note)[0].heading == ("Bold and code link shown other",)


def test_a_tag_is_no_heading_and_a_level_may_be_left_out() -> None:
    assert chunks("#tag\n# A\n### B\nx\n## C\ny\n", merge=0) == [
        (1, 1, ()),
        (2, 4, ("A", "B")),
        (5, 6, ("A", "C")),
    ]


def test_a_fence_is_one_chunk_and_hides_what_looks_like_structure() -> None:
    note = """\
        before

        ```python
        # not a heading

        - not an item
        ```
        ~~~
        ```
        still inside
        ~~~
        after
        """
    assert chunks(note, merge=0) == [(1, 1, ()), (3, 7, ()), (8, 11, ()), (12, 12, ())]


def test_a_fence_in_an_item_ends_with_the_item_and_one_without_end_with_the_text() -> None:
    assert chunks("- ```\n  code\n\n  more\n- next\n", merge=0) == [(1, 4, ()), (5, 5, ())]
    assert chunks("```\ncode\n\n# no heading\n\n", merge=0) == [(1, 4, ())]


def test_after_a_fence_that_shows_marks_of_origin_code_is_code_and_text_is_text() -> None:
    note = "```\n- a <!-- from: agent, 2026-03-10 -->\n- b\n```\n\nText.\n\n```sh\n# code\n```\n"
    kinds = [(block.kind, block.start, block.end) for block in scan_blocks(note.split("\n"))]
    assert kinds == [("fence", 0, 1), ("item", 1, 2), ("item", 2, 3), ("rule", 3, 4), ("text", 5, 6), ("fence", 7, 10)]
    assert chunks(note, merge=0)[-2:] == [(6, 6, ()), (8, 10, ())]


def test_a_large_fence_is_kept_whole_up_to_the_limit_and_then_cut_at_lines() -> None:
    code = "```\n" + "".join(f"value_{number} = {number}\n" for number in range(30)) + "```\n"
    assert len(chunks(code)) == 1
    pieces = chunk_markdown(code, tokens=60, overlap=20)
    first, second = pieces[:2]
    assert first.start_line < second.start_line <= first.end_line < second.end_line
    shared = "\n".join(first.text.split("\n")[second.start_line - first.start_line :])
    assert second.text.startswith(shared)
    assert estimate_tokens(shared) <= 20


def test_a_table_a_quotation_and_a_paragraph_are_one_chunk_each() -> None:
    note = "| a | b |\n|---|---|\n| - x | y |\n\n> quoted\nlazily\n> - still\n\npara\ngoes on\n"
    assert chunks(note, merge=0) == [(1, 3, ()), (5, 7, ()), (9, 10, ())]


def test_front_matter_is_one_chunk_and_a_rule_at_the_top_is_not_front_matter() -> None:
    assert chunks("---\ntitle: x\n\ntags: [a]\n---\n# H\ntext\n", merge=0) == [(1, 5, ()), (6, 7, ("H",))]
    assert chunks("---\n\n# H\ntext\n\n---\n", merge=0)[0] == (1, 1, ())


def test_a_comment_stays_with_its_neighbour() -> None:
    assert chunks("one\n<!-- importance: 8 -->\n\ntwo\n", merge=0) == [(1, 2, ()), (4, 4, ())]
    assert chunks("one\n\n<!--\n# hidden\n\n-->\n\ntwo\n", merge=0) == [(1, 1, ()), (3, 8, ())]
    assert chunks("one\n\n<!-- end -->\n", merge=0) == [(1, 3, ())]
    assert chunks("one\n\n<!-- a --> text\n", merge=0) == [(1, 1, ()), (3, 3, ())]


def test_a_line_that_introduces_a_list_stays_with_it() -> None:
    assert chunks(f"Preferences:\n\n- {SENTENCE}\n- {SENTENCE}\n", merge=20) == [(1, 3, ()), (4, 4, ())]


def test_each_turn_of_a_conversation_is_a_block() -> None:
    spoken = [f"{speaker} {SENTENCE}" for speaker in ("**A:**", "**B:**", "**A:**")]
    for joint in ("\n", "\n\n"):
        assert texts(joint.join(spoken), merge=48) == spoken
        assert texts(joint.join(f"- {turn}" for turn in spoken), merge=48) == [f"- {turn}" for turn in spoken]
    timed = [f"[14:15] Zeb K.: {SENTENCE}", f"[14:16] 민수: {SENTENCE}"]
    assert texts("\n".join(timed), merge=48) == timed


def test_a_number_in_prose_starts_no_list() -> None:
    assert chunks("We met in the year\n1986. It was cold.\n1. first\n2. second\n", merge=0) == [
        (1, 2, ()),
        (3, 3, ()),
        (4, 4, ()),
    ]


def test_a_long_line_is_cut_after_sentences_with_an_overlap() -> None:
    line = " ".join(f"Sentence number {number} says something." for number in range(30))
    pieces = chunk_markdown(line, tokens=60, overlap=15)
    assert all(piece.start_line == piece.end_line == 1 for piece in pieces)
    assert all(piece.text.rstrip().endswith(".") for piece in pieces)
    assert all(after.text[:10] in before.text for before, after in pairwise(pieces))


def test_a_long_line_of_chinese_is_cut_after_its_full_stops() -> None:
    pieces = chunk_markdown("我们选择了数据库。备份在凌晨运行！" * 20, tokens=40, overlap=0)
    assert len(pieces) > 3
    assert all(piece.text[-1] in "。！" for piece in pieces)


def test_carriage_returns_stay_and_only_a_newline_ends_a_line() -> None:
    assert texts("- a\r\n- b\r\n\r\n# T\r\nx\x0cy\x85z\r\n", merge=0) == ["- a\r", "- b\r", "# T\r\nx\x0cy\x85z\r"]
    assert chunk_markdown("# T\r\nx\r\n")[0].heading == ("T",)


def test_blank_texts_have_no_chunks() -> None:
    for text in ("", "\n", " \n\t\r\n\x0c\n"):
        assert chunk_markdown(text) == ()


def test_the_estimate_knows_scripts() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("abcd" * 100) == 100
    assert 40 <= estimate_tokens("데이터베이스를 선택했습니다. " * 5) <= 60
    assert 60 <= estimate_tokens("我们选择了关系数据库。" * 8) <= 75
    assert estimate_tokens("🎉" * 10) == 10
    assert estimate_tokens("\ud800" * 2) == 1


@pytest.mark.parametrize(
    ("label", "heading"),
    [
        ("Alice: ", ()),
        ("- **Alice:** ", ()),
        ("[14:15] Alice: ", ()),
        ("Alice:\n", ("Alice",)),
        ("- Alice:\n  ", ("Alice",)),
        ("What Alice says:\n", ("What Alice says",)),
    ],
)
def test_each_piece_of_a_long_line_has_its_label(label: str, heading: tuple[str, ...]) -> None:
    words = " ".join(f"word{number}" for number in range(900))
    chunks = [chunk for chunk in chunk_markdown(f"# Talk\n\n{label}{words}\n") if "word" in chunk.text]
    assert len(chunks) > 3
    assert chunks[0].heading == ("Talk", *heading)
    assert all("Alice" in chunk.heading[-1] for chunk in chunks[1:])


def test_pieces_of_a_long_line_without_a_label_have_no_other_heading() -> None:
    words = " ".join(f"word{number}" for number in range(900))
    for text in (f"# Talk\n\n{words}\n", f"# Talk\n\nShort.\n{words}\n", f"# Talk\n\nAlice: hello.\n{words}\n"):
        assert {chunk.heading for chunk in chunk_markdown(text)} == {("Talk",)}


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("Public key: {}", ["Public key:"]),
        ("- Token: {}", ["- Token:"]),
        ("TOKEN={}", ["TOKEN="]),
        ("공개키: {}", ["공개키:"]),
        ("Server certificate: {} (expires in March 2027)", ["Server certificate:", "(expires in March 2027)"]),
        ("https://example.org/{}", []),
        ("![logo](data:image/png;base64,{})", []),
        ("{}", []),
    ],
)
def test_a_label_before_data_stays_text(line: str, kept: list[str]) -> None:
    note = read_note("memory/keys.md", line.format("A1b" * 500) + "\n")
    assert [chunk.text for chunk in note.chunks] == kept
