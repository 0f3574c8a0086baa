"""What holds for the chunks of every text."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from memoriter.workspace import chunk_lines, chunk_markdown, estimate_tokens

if TYPE_CHECKING:
    from memoriter.types import Chunk

SMALLEST = 8

words = st.sampled_from(
    [
        "note",
        "database",
        "데이터베이스를",
        "数据库。",
        "メモリ",
        "naïve",
        "**bold**",
        "`code`",
        "[[link|shown]]",
        "e\u0301",
        "👩‍👩‍👧",
        "🇰🇷",
        "1.",
        "a828e60",
    ]
)
sentences = st.lists(words, max_size=30).map(" ".join)
MARKS = ["", "# ", "## ", "###### ", "#", "- ", "* ", "  - ", "\t- ", "    ", "1. ", "7) ", "> ", ">> ", "```", "~~~"]
MARKS += ["---", "===", "***", "| a | ", "<!-- ", "-->", "<pre>", "</pre>", "Alice: ", "- **Bob:** ", "key: "]
marks = st.sampled_from(MARKS)
ends = st.sampled_from(["\n", "\n", "\n", "\n\n", "\r\n", "\r", "\f\n", "\x85", "\u2028", "\n \t\n"])
markdown = st.lists(st.tuples(marks, sentences, ends).map("".join), max_size=40).map("".join)
anything = st.text(st.characters(), max_size=300)
texts = st.one_of(markdown, anything, st.text(st.sampled_from(" \t\r\n\x0c-#>*`~|:a1.é가\u0301🇰"), max_size=200))
limits = st.integers(1, 60)


def lines_of(text: str) -> list[str]:
    return text.split("\n")


def whole(chunk: Chunk, lines: list[str]) -> bool:
    return chunk.text == "\n".join(lines[chunk.start_line - 1 : chunk.end_line])


@pytest.mark.slow
@given(texts, limits, st.integers(0, 40), st.integers(0, 60))
def test_a_chunk_is_its_lines_or_a_slice_of_one_of_them(text: str, tokens: int, overlap: int, merge: int) -> None:
    lines = lines_of(text)
    for chunk in chunk_markdown(text, tokens=tokens, overlap=overlap, merge=merge):
        assert 1 <= chunk.start_line <= chunk.end_line <= len(lines)
        assert chunk.text.strip()
        if not whole(chunk, lines):
            assert chunk.start_line == chunk.end_line
            assert chunk.text in lines[chunk.start_line - 1]


@pytest.mark.slow
@given(texts, limits, st.integers(0, 40))
def test_every_line_that_is_not_blank_is_in_a_chunk_and_the_spans_are_in_order(
    text: str, tokens: int, overlap: int
) -> None:
    chunks = chunk_markdown(text, tokens=tokens, overlap=overlap)
    covered = {line for chunk in chunks for line in range(chunk.start_line, chunk.end_line + 1)}
    assert {at for at, line in enumerate(lines_of(text), 1) if line.strip()} <= covered
    spans = [(chunk.start_line, chunk.end_line) for chunk in chunks]
    assert spans == sorted(spans)


@pytest.mark.slow
@given(texts, limits)
def test_without_overlap_the_chunks_and_the_blank_lines_are_the_file(text: str, tokens: int) -> None:
    lines = lines_of(text)
    rebuilt: dict[int, str] = {}
    for chunk in chunk_markdown(text, tokens=tokens, overlap=0):
        for at, line in enumerate(chunk.text.split("\n"), chunk.start_line):
            assert at not in rebuilt or chunk.start_line == chunk.end_line
            rebuilt[at] = rebuilt.get(at, "") + line
    for at, line in enumerate(lines, 1):
        assert rebuilt.get(at, "").split() == line.split() if line.strip() else not rebuilt.get(at, "").strip()


@pytest.mark.slow
@given(texts, limits, st.integers(0, 80), st.integers(0, 100))
@example("x" * 500 + "\n", 8, 80, 48)
@example("# " + "h" * 400 + "\n\n- a\n", 8, 0, 48)
@example("🇰🇷" * 100, 8, 4, 0)
@example("a" + "\u0301" * 500, 8, 4, 0)
def test_every_chunk_is_within_the_limit(text: str, tokens: int, overlap: int, merge: int) -> None:
    for chunk in chunk_markdown(text, tokens=tokens, overlap=overlap, merge=merge):
        assert estimate_tokens(chunk.text) <= max(SMALLEST, tokens)


@pytest.mark.slow
@given(st.lists(words, min_size=40, max_size=120).map("".join), st.integers(0, 40))
@example("a" * 40 + "e" + "\u0301" * 60 + "b" * 100, 0)
def test_a_long_line_is_never_cut_inside_a_grapheme(line: str, overlap: int) -> None:
    ends = {0, *(found.end() for found in regex.finditer(r"\X", line))}
    at = 0
    for chunk in chunk_markdown(line, tokens=20, overlap=overlap):
        at = line.index(chunk.text, max(0, at - len(chunk.text)))
        assert at in ends
        at += len(chunk.text)
        assert at in ends


@pytest.mark.slow
@given(markdown)
def test_merging_never_crosses_a_heading(text: str) -> None:
    for apart in chunk_markdown(text, merge=0):
        together = [chunk for chunk in chunk_markdown(text) if chunk.start_line <= apart.start_line <= chunk.end_line]
        assert {chunk.heading for chunk in together} == {apart.heading}


@pytest.mark.slow
@given(texts)
def test_chunking_is_deterministic_and_a_final_newline_changes_nothing(text: str) -> None:
    assert chunk_markdown(text) == chunk_markdown(text)
    if not text.endswith("\n"):
        assert chunk_markdown(text) == chunk_markdown(text + "\n")


@given(st.text(), st.text())
def test_the_estimate_of_a_whole_is_that_of_its_parts_within_one(left: str, right: str) -> None:
    parts = estimate_tokens(left) + estimate_tokens(right)
    assert parts - 1 <= estimate_tokens(left + right) <= parts


@given(texts, limits, st.integers(-3, 80))
def test_classic_chunks_cover_all_lines_in_order(text: str, tokens: int, overlap: int) -> None:
    chunks = chunk_lines(text, tokens=tokens, overlap=overlap)
    assert chunks[0].start_line == 1
    assert chunks[-1].end_line == len(lines_of(text))
    for before, after in pairwise(chunks):
        assert before.start_line <= after.start_line <= before.end_line + 1


HARD = {
    "one line of letters": lambda size: "x" * size,
    "one line of Chinese": lambda size: "数据库" * (size // 3),
    "one line of full stops": lambda size: "." * size,
    "one line of flags": lambda size: "🇰🇷" * (size // 2),
    "one grapheme": lambda size: "a" + "\u0301" * size,
    "nested quotes": lambda size: ">" * size + " x",
    "asterisks": lambda size: "*" * size,
    "asterisks and blanks": lambda size: "* " * (size // 2) + "x",
    "brackets in a heading": lambda size: "# " + "[" * size,
    "short items": lambda size: "- a\n" * (size // 4),
    "headings": lambda size: "# a\n" * (size // 4),
    "fences": lambda size: "```\n" * (size // 4),
    "comments that end late": lambda size: "<!--\n" * (size // 5) + "--> x",
    "tags that do not end": lambda size: "<pre>\n" * (size // 6),
    "numbers in prose": lambda size: "text\n2. a\n" * (size // 10),
    "blank lines": lambda size: "\n" * size,
    "tabs": lambda size: "\t" * size + "x",
    "deep lists": lambda size: "".join("  " * depth + "- x\n" for depth in range(int(size**0.5))),
}


@pytest.mark.matrix
@pytest.mark.parametrize("name", HARD)
def test_the_time_grows_with_the_length_and_not_with_its_square(name: str) -> None:
    def seconds(size: int) -> float:
        text = HARD[name](size)
        started = time.process_time()
        chunk_markdown(text)
        return time.process_time() - started

    seconds(1_000)
    small, large = (min(seconds(size) for _ in range(3)) for size in (20_000, 80_000))
    # Four times the text: quadratic work would take sixteen times as long.
    assert large <= 9 * small + 0.1
