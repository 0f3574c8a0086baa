"""Whatever entries hold, forgetting one of them leaves every byte of the others."""

from __future__ import annotations

import re
from collections import deque
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memoriter.ids import note_bytes
from memoriter.workspace import blocks_with
from memoriter.workspace.writing._entry import Addition, Entry
from memory_env import MemoryEnv

if TYPE_CHECKING:
    from collections.abc import Sequence


PIECES = st.sampled_from(
    [
        *("```", "~~~~", "```sh", "  ```", "    ~~~", "- ```", "> ```", "\t```", "`````", "``` x", "- x\n  ```\n  y"),
        *("<!--", "-->", "<!-- a -->", "<pre>", "</pre>", "<script>", "- <pre>", "<!-- end: agent -->"),
        *("<!-- from: me, 2026-03-10 -->", "- x <!-- from: me, 2026-03-10 -->", "$$", "\\begin{a}", "{{", "%%"),
        *(
            "# Heading",
            "## 09:15",
            "Title\n===",
            "---",
            "---\na: b",
            "...",
            "***",
            "- - -",
            "-",
            "+",
            "=",
            "1.",
            "1. a",
        ),
        *(
            "- a",
            "- 09:00 a",
            "* [ ] b",
            "  - inner",
            "    code",
            "\tcode",
            "> quoted",
            ">> deep",
            "| a | b |",
            "|---|---|",
        ),
        *("Anna: hello", "[x]: y", "text", "\r", "\x0b", "\x85", "\u2028", "\ufeff", "", "", " "),
    ]
)
END = st.sampled_from(["\n", "\n", "\n", "\r\n", "\n\n"])
ORIGINS = st.sampled_from([None, None, "agent via MCP (codex)", "x) -->"])


LINE = re.compile(rb"[^\n]*\n")
MARK = re.compile(rb"<!-- (from|end): [^\n]* -->\n")
BEFORE_ALL = -1
BETWEEN_ENTRIES = -2
"""Lines of the note that were there, and those of memoriter: blank lines, ends of fences and marks between entries."""


class Written(NamedTuple):
    text: str
    origin: str | None


@st.composite
def entries(draw: st.DrawFn) -> list[Written]:
    """Entries, each with a word that no other has, on any of its lines."""
    made: list[Written] = []
    for number in range(draw(st.integers(2, 5))):
        lines = draw(st.lists(PIECES, min_size=1, max_size=6))
        at = draw(st.integers(0, len(lines)))
        lines[at:at] = draw(st.sampled_from([[f"word{number}"], [f"- word{number}"], [f"- a\n  word{number}"]]))
        made.append(Written(draw(END).join(lines), draw(ORIGINS)))
    return made


def with_new_marks(content: bytes, left: Sequence[tuple[bytes, int]]) -> list[tuple[bytes, int]]:
    """The lines of a note after a removal: exactly those that are left, and marks that keep their authors."""
    found = list[tuple[bytes, int]]()
    waiting = deque(left)
    for row in LINE.findall(content):
        if waiting and waiting[0][0] == row:
            found.append(waiting.popleft())
        else:
            assert MARK.fullmatch(row), (row, content, left)
            found.append((row, BETWEEN_ENTRIES))
    assert not waiting, (content, left)
    return found


BEFORE = ["", "# Mine\n\n- 08:00 first\n", "```\nopen\n", "- a\n  <!--\n", "# A\r\n\r\n~~~~\r\nx\r\n", "text"]
OPEN = [Written(f"```\nword{number}", None) for number in range(4)]
OPEN_BY_AGENTS = [Written(f"{each.text}\n\n- more", "agent") for each in OPEN]
BETWEEN = [
    Written("```\nword0", "agent"),
    Written("word1", None),
    Written("word2", None),
    Written("```\nword3", "agent"),
]
JOINS_ANOTHER = [
    Written("word0\n```", None),
    Written("```\n```\n```\n```\n- x <!-- from: me, 2026-03-10 -->\nword1\n  - inner", None),
]
"""Without its second word, the last line would become a part of an item of somebody else."""


@pytest.mark.slow
@settings(max_examples=25)
@given(entries(), st.sampled_from(["daily", "long-term"]), st.sampled_from(BEFORE), st.randoms())
@example(OPEN, "daily", "", Random(1))
@example(OPEN, "long-term", "```\nopen\n", Random(2))
@example(OPEN_BY_AGENTS, "daily", "", Random(3))
@example(BETWEEN, "long-term", "# Mine\n\n- first\n", Random(4))
@example(JOINS_ANOTHER, "daily", "", Random(5))
def test_forgetting_one_entry_after_the_other_leaves_every_byte_of_the_others(
    written: Sequence[Written], to: Literal["daily", "long-term"], before: str, random: Random
) -> None:
    with TemporaryDirectory() as folder, closing(MemoryEnv.at(Path(folder), {})) as env:
        env.configure(provider="none")
        memory = env.open()
        path = "MEMORY.md" if to == "long-term" else "memory/2026-03-10.md"
        env.write(path, before)
        places = [memory.remember(each.text, to=to, origin=each.origin, again=True) for each in written]
        numbers = {at: n for n, place in enumerate(places) for at in range(place.start_line, place.end_line + 1)}
        content = (env.notes / path).read_bytes()
        begin = before.count("\n") + 1
        lines = [
            (line, numbers.get(at, BEFORE_ALL if at < begin else BETWEEN_ENTRIES))
            for at, line in enumerate(LINE.findall(content), 1)
        ]
        forgotten = {BETWEEN_ENTRIES}
        for number in random.sample(range(len(places)), min(len(places), 3)):
            plan = memory.plan_forget(match=f"word{number}")
            gone = {at for each in plan.notes[0].passages for at in range(each.start_line, each.end_line + 1)}
            forgotten.add(number)
            assert {lines[at - 1][1] for at in gone} <= forgotten, (number, lines)
            memory.forget(plan)
            left = [line for at, line in enumerate(lines, 1) if at not in gone]
            lines = with_new_marks((env.notes / path).read_bytes(), left)
            assert not any(f"word{number}".encode() in line for line, _ in lines)


@pytest.mark.slow
@given(entries(), st.sampled_from(["memory/%Y-%m-%d.md", ""]), st.sampled_from(BEFORE), st.randoms())
def test_entries_that_are_added_after_others_were_forgotten_are_left_as_well(
    written: Sequence[Written], log: str, before: str, random: Random
) -> None:
    lines = [(line, BEFORE_ALL) for line in LINE.findall(before.encode() + b"\n")]
    forgotten = {BETWEEN_ENTRIES}
    waiting = list(range(len(written)))
    while waiting:
        added = {number for _, number in lines} - forgotten - {BEFORE_ALL}
        if added and random.random() < 0.4:
            number = random.choice(sorted(added))
            passages = blocks_with(b"".join(line for line, _ in lines), f"word{number}")
            gone = {at for each in passages for at in range(each.start_line, each.end_line + 1)}
            forgotten.add(number)
            assert {lines[at - 1][1] for at in gone} <= forgotten, (number, lines)
            lines = [line for at, line in enumerate(lines, 1) if at not in gone]
        else:
            number = waiting.pop(0)
            entry = Entry(*written[number], datetime(2026, 3, 10, 12, tzinfo=UTC), log, again=True)
            addition = entry.add_to(b"".join(line for line, _ in lines))
            assert isinstance(addition, Addition)
            for text, owner in ((addition.title, BETWEEN_ENTRIES), (addition.text, number)):
                lines += [(line, owner) for line in LINE.findall(note_bytes(text))]
