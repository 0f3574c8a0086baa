"""No text takes more time than its length explains: four times the text, at most about four times the time."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from memoriter.agent import RecallPassage, escape_for_prompt, looks_like_injection, quote
from memoriter.agent._guard import gives_orders, withhold_orders
from memoriter.agent.flush._log_difference import log_entries
from memoriter.ids import normalize
from memoriter.masking import mask
from memoriter.pages._markdown import rendered
from memoriter.pages._memories import chain_of
from memoriter.search import analyse, classic_terms, query_terms
from memoriter.search._hits import snippet
from memoriter.types import Chunk
from memoriter.workspace import (
    chunk_lines,
    chunk_markdown,
    folded,
    foreign_lines,
    injected,
    marked,
    neutral,
    neutral_json,
    without_injected,
)
from memoriter.workspace.chunking import plain_title, scan_blocks
from memoriter.workspace.transcripts._messages import message_text, parse_object, without_harness

if TYPE_CHECKING:
    from collections.abc import Callable

READERS: dict[str, Callable[[str], object]] = {
    "without_injected": without_injected,
    "injected": injected,
    "without_harness": without_harness,
    "spoken": lambda text: message_text(text, "user"),
    "fields_of": lambda text: parse_object(json.dumps({"a": text}).encode()[:-1]),
    "mask": mask,
    "scan_blocks": lambda text: scan_blocks(text.split("\n")),
    "plain_title": plain_title,
    "chunk_markdown": chunk_markdown,
    "chunk_lines": chunk_lines,
    "contextual": lambda text: Chunk(1, 1, text, ("Heading",)).contextual,
    "foreign_lines": lambda text: foreign_lines(text.split("\n")),
    "marked": lambda text: marked(f"{text}\n", text, "2026-02-10"),
    "analyse": analyse,
    "query_terms": query_terms,
    "classic_terms": classic_terms,
    "snippet": snippet,
    "normalize": lambda text: normalize("NFKC", text),
    "folded": folded,
    "neutral": neutral,
    "neutral_json": lambda text: neutral_json(json.dumps(text, ensure_ascii=False)),
    "gives_orders": gives_orders,
    "looks_like_injection": looks_like_injection,
    "escape_for_prompt": escape_for_prompt,
    "sifted": lambda text: withhold_orders(text, "MEMORY.md", "end", len(text)),
    "quote": lambda text: quote([RecallPassage(text, "a.md#L1")], 4_000),
    "entries_of": log_entries,
    "rendered": lambda text: rendered(text.replace("\ud800", "\ufffd"), first=1, path="memory/a.md"),
}
BLANKS = [
    " ",
    "\t",
    "\n",
    "< ",
    "&lt; ",
    "<",
    "</",
    "<!--",
    "<!-- from: ",
    "-->",
    "> ",
    "[",
    "[[",
    "[INST",
    "(",
    "**",
    "`",
    "~~~\n",
    "```\n",
]
LINES = [
    "- ",
    "- a\n",
    "  - ",
    "# ",
    "# a\n",
    "#",
    "1. ",
    "a:\n",
    "a\n",
    "---\n",
    "| a ",
    "<pre>",
    "<!-- a\n",
    "\r",
    "\u2028",
]
WORDS = [
    "a",
    "a.",
    "aA",
    "1월",
    "may 1 ",
    "in ",
    "2026 ",
    "run ",
    "ignore all ",
    "ignore ",
    "忽略",
    "이전",
    "以前の",
    "_a",
    "_",
    "-_",
    "i g ",
    "a@",
]
HIDDEN = [
    "\u0301\u0316",
    "\u200b",
    "\u200d",
    "\ufe0f",
    "\U000e0041",
    "👩\u200d",
    "🇰",
    "\ud800",
    "\x1b[",
    "\u202e",
    "&amp;",
    "&#x",
]
TAGS = [
    "<skill ",
    "<skill>",
    "<system-reminder ",
    "<memoriter-recall ",
    "<memoriter-recall '",
    '<memoriter-recall "',
    "</memoriter-recall",
]
PIECES = [*BLANKS, *LINES, *WORDS, *HIDDEN, *TAGS]
OPENERS = ["<", "</", "&lt;", "<!--", "ignore ", "1", "# ", "[", "<memoriter-recall", "a\u0301"]
TEXTS = [("", piece, "") for piece in PIECES] + [(opener, blank, "x") for opener in OPENERS for blank in BLANKS[:3]]
SHORT, LONG = 1_500, 12_000
"""Characters: a square takes 64 times as long for eight times the text."""
SLACK = 0.03
"""Seconds: what is faster is not measured well enough to tell."""


def made(parts: tuple[str, str, str], length: int) -> str:
    opener, piece, closer = parts
    return f"{opener}{piece * (length // len(piece))}{closer}"


def seconds(read: Callable[[str], object], text: str) -> float:
    began = time.process_time()
    read(text)
    return time.process_time() - began


@pytest.mark.matrix
@pytest.mark.parametrize("name", READERS)
def test_no_text_takes_more_time_than_its_length_explains(name: str) -> None:
    read = READERS[name]
    read("warm up: the 1st")
    for parts in TEXTS:
        long = seconds(read, made(parts, LONG))
        if long <= SLACK:
            continue
        short = min(seconds(read, made(parts, SHORT)) for _ in range(3))
        again = long if long <= 24 * short + SLACK else min(seconds(read, made(parts, LONG)) for _ in range(2))
        assert again <= 24 * short + SLACK, (name, parts, short, again)


def test_a_long_chain_of_memories_takes_no_more_time_than_its_length_explains() -> None:
    def chain(length: int) -> list[dict[str, str]]:
        return [{"id": str(at), "supersedes": str(at - 1)} for at in range(length)]

    def seconds_for(length: int) -> float:
        memories, began = chain(length), time.process_time()
        assert chain_of(memories[-1], memories) == memories
        return time.process_time() - began

    short = min(seconds_for(500) for _ in range(3))
    assert min(seconds_for(4_000) for _ in range(2)) <= 24 * short + SLACK
