"""No text takes more time than its length explains: four times the text, at most about four times the time."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoriter.agent import RecallPassage, escape_for_prompt, looks_like_injection, quote
from memoriter.agent._coding import read_hook
from memoriter.agent._guard import attributed
from memoriter.agent.capture import captures_in
from memoriter.agent.capture._capture import _texts_from_memory
from memoriter.agent.capture._condense import Known, condense_prompts, condense_summary
from memoriter.agent.flush._flush import log_entries
from memoriter.backends._forget import CopyQuery, copy_query
from memoriter.extensions.longterm._inbox import parse_inbox
from memoriter.extensions.longterm._note import clean_text, comments_of
from memoriter.extensions.longterm._records import same_words
from memoriter.extensions.longterm._results import coverage
from memoriter.extensions.longterm.pages._memories import chain_of
from memoriter.ids import normalize
from memoriter.masking import mask
from memoriter.pages._markdown import rendered
from memoriter.search import analyse, classic_terms, query_terms
from memoriter.search._hits import snippet
from memoriter.statements import Recalled, classic_capture, find_statements, replaces
from memoriter.statements._own import own_text
from memoriter.types import Chunk
from memoriter.workspace import (
    Removal,
    all_of,
    blocks_with,
    chunk_lines,
    chunk_markdown,
    entry_of,
    folded,
    foreign_lines,
    holds,
    injected,
    items_of,
    lines_of,
    log_form,
    marked,
    marked_entries,
    neutral,
    neutral_json,
    noisy_lines,
    read_note,
    without_injected,
)
from memoriter.workspace._authors import with_authors
from memoriter.workspace.chunking import plain_title, scan_blocks, scan_closed_blocks
from memoriter.workspace.transcripts._messages import message_text, parse_object, without_harness
from memoriter.workspace.untrusted import authors_of, origin_edges
from memoriter.workspace.writing._entry import Entry, Form, find_entry

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
    "scan_closed_blocks": lambda text: scan_closed_blocks(text.split("\n")),
    "items_of": lambda text: items_of(Chunk(1, 1 + text.count("\n"), text)),
    "noisy_lines": lambda text: noisy_lines(text.split("\n")),
    "read_note": lambda text: read_note("memory/2026-02-10.md", text),
    "blocks_with": lambda text: blocks_with(text.encode("utf-8", "replace"), text[:3]),
    "holds": lambda text: holds(text, text[:3]),
    "lines_of": lambda text: lines_of(text.encode("utf-8", "replace"), 1, 1),
    "entry_of": lambda text: entry_of(f"{text}x"),
    "entry_of a log": lambda text: entry_of(f"{text}x", Form()),
    "log_form": lambda text: log_form(text, "12:00"),
    "find_entry": lambda text: find_entry(text, text[:9], foreign=True),
    "find_entry of all": lambda text: find_entry(f"{text}\nx", text, foreign=False),
    "add_to": lambda text: Entry(
        f"{text}x".replace("\0", "").encode("utf-8", "ignore").decode(), "agent", NOW, "memory/%Y-%m-%d.md"
    ).add_to(text.encode("utf-8", "replace")),
    "copies": lambda text: CopyQuery(text[:9]).lines(text.encode("utf-8", "replace")),
    "copies of lines": lambda text: copy_query(None, [removal_of(text)]).lines(text.encode("utf-8", "replace")),
    "foreign_lines": lambda text: foreign_lines(text.split("\n")),
    "marked_entries": lambda text: list(marked_entries(text.split("\n"))),
    "origin_edges": lambda text: origin_edges(text.split("\n")),
    "marked": lambda text: marked(f"{text}\n", text, "2026-02-10"),
    "analyse": analyse,
    "query_terms": query_terms,
    "classic_terms": classic_terms,
    "snippet": snippet,
    "normalize": lambda text: normalize("NFKC", text),
    "folded": folded,
    "neutral": neutral,
    "neutral_json": lambda text: neutral_json(json.dumps(text, ensure_ascii=False)),
    "looks_like_injection": looks_like_injection,
    "escape_for_prompt": escape_for_prompt,
    "attributed": lambda text: attributed(text.split("\n"), authors_of(text.split("\n")), ("agent",), "MEMORY.md"),
    "with_authors": lambda text: with_authors(text[: len(text) // 2], text, "build via HTTP", "2026-11-26"),
    "quote": lambda text: quote([RecallPassage(text, "a.md#L1")], 4_000),
    "entries_of": log_entries,
    "rendered": lambda text: rendered(text.replace("\ud800", "\ufffd"), first=1, path="memory/a.md"),
}
NOW = datetime(2026, 2, 10, 12, tzinfo=UTC)


def removal_of(text: str) -> Removal:
    return Removal("MEMORY.md", Path("MEMORY.md"), "", all_of(text.encode("utf-8", "replace")))


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
LINES = ["- ", "- a\n", "  - ", "# ", "# a\n", "#", "1. ", "a:\n", "a\n", "---\n", "| a ", "<pre>", "<!-- a\n"]
LINES += ["\r", "\u2028"]
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
MARKDOWN = [
    *(
        "-",
        "---",
        "- - ",
        "----\n\n",
        "```",
        "`````\n",
        "``` \n",
        "~",
        "```a\n```\n",
        "```\n- 09:00 a\n",
        "- ```\n",
        "- ```\n  ",
    ),
    *(
        "> > > ",
        "> > > a\n",
        "> - ",
        "]",
        "[]",
        "[[",
        "![[a]]",
        "](",
        "|",
        "| ",
        "|-",
        "| a | b |\n",
        "||\n",
        "$$\n",
        "<!-- a -->",
    ),
    *(
        "- a <!-- from: a, b -->\n",
        "<!-- from: a, b -->\n",
        "<!-- end: a -->\n",
        "<!-- from: a, b -->\n```\n",
        "<!-- end: a",
    ),
    *(
        "- a\n  <!--\n",
        "<pre>\n",
        "</pre>",
        "<pre>\n</pre>\n",
        "---\na: b\n",
        "a\n---\n",
        "a\n\n",
        "\t- a\n",
        "- 09:00 a\n",
        "* **",
    ),
    *(
        "- a\n\n\n",
        "12:00",
        "- 12:00 ",
        "**12:00** – ",
        "1) ",
        "1. a\n2. b\n",
        "=",
        "=\n",
        "*",
        "* ",
        "* a\n",
        "<!-- from: a <!-- from: a",
    ),
]
PIECES = [*BLANKS, *LINES, *WORDS, *HIDDEN, *TAGS, *MARKDOWN]
NESTED = "nested"
OPENERS = ["<", "</", "&lt;", "<!--", "ignore ", "1", "# ", "[", "<memoriter-recall", "a\u0301"]
DEEP = ["- a\n", "- ```\n", "- <!--\n", "> a\n", "a\n"]
"""Lines of which each is indented more than the one before."""
TEXTS = [("", piece, "") for piece in PIECES] + [(opener, blank, "x") for opener in OPENERS for blank in BLANKS[:3]]
TEXTS += [(NESTED, piece, "") for piece in DEEP]


def in_paragraphs(text: str) -> str:
    """Return a text in paragraphs of one line each, as long as a sentence that is searched for cues."""
    return "\n\n".join(f"I live {text[at : at + 590]}" for at in range(0, len(text), 590))


CAPTURE: dict[str, Callable[[str], object]] = {
    "find_statements": find_statements,
    "find_long_statements": lambda text: find_statements(in_paragraphs(text), most=10_000),
    "own_text": own_text,
    "classic_capture": lambda text: classic_capture(text, most=len(text)),
    "recalled": lambda text: Recalled.of([f"<relevant-memories>\n{text}\n</relevant-memories>"]).covers(text),
    "replaces": lambda text: replaces(f"I live in {text}", f"We moved to {text}"),
    "parse_inbox": lambda text: parse_inbox(f"- {text}", now=0.0),
    "comments_of": lambda text: list(comments_of(f"- {text}", "memory")),
    "clean_text": clean_text,
    "same_words": lambda text: same_words(text, f"{text}a"),
    "coverage": lambda text: coverage(text, text),
    "condense_summary": lambda text: condense_summary(text, Known.of([text[:100]])),
    "condense_prompts": lambda text: condense_prompts([text, f"{text}a"], Known.of([])),
    "captures_in": lambda text: list(captures_in("a.md", f"<!-- from: capture {text}".split("\n"))),
    "texts_from_memory": lambda text: list(_texts_from_memory({"a": text}, b"<memoriter-recall memory_", set())),
    "read_hook": lambda text: read_hook(
        "user-prompt",
        json.dumps({"session_id": "s", "hook_event_name": "BeforeAgent", "prompt": f"<hook_context>{text}"}).encode(),
    ),
}
"""Readers of what is said in a conversation, and of what was kept of it."""
READERS |= CAPTURE
SIGNS = [
    "-",
    "—",
    '"',
    "'",
    "“",
    "”",
    "„",
    "«",
    "]",
    ")",
    ":",
    "a: ",
    "：",
    "1",
    "1 ",
    "中",
    "我",
    "가 ",
    "あ",
    "a@b.",
    "I ",
]
TEXTS += [("", sign, "") for sign in SIGNS] + [(sign, " ", "x") for sign in SIGNS[:3]]
SHORT = 1_500
LONG = 12_000
"""Characters: a square takes 64 times as long for eight times the text."""
SLACK = 0.03
"""Seconds: what is faster is not measured well enough to tell."""


def made(parts: tuple[str, str, str], length: int) -> str:
    opener, piece, closer = parts
    if opener == NESTED:
        depth = int((length / 2) ** 0.5)  # at two columns for each level
        return "".join(f"{'  ' * level}{piece}" for level in range(depth))
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
        memories = chain(length)
        began = time.process_time()
        assert chain_of(memories[-1], memories) == memories
        return time.process_time() - began

    short = min(seconds_for(500) for _ in range(3))
    assert min(seconds_for(4_000) for _ in range(2)) <= 24 * short + SLACK
