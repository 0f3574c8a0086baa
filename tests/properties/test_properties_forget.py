"""Whatever entries hold, forgetting one of them leaves every byte of the others."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory_env import MemoryEnv

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.workspace import Removal

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
        *("Anna: hello", "[x]: y", "text", "\0", "\ud800", "\r", "\x0b", "\x85", "\u2028", "\ufeff", "", "", " "),
    ]
)
END = st.sampled_from(["\n", "\n", "\n", "\r\n", "\n\n"])
ORIGINS = st.sampled_from([None, None, "agent via MCP (codex)", "x) -->"])


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


BEFORE = ["", "# Mine\n\n- 08:00 first\n", "```\nopen\n", "- a\n  <!--\n", "# A\r\n\r\n~~~~\r\nx\r\n", "text"]
OPEN = [Written(f"```\nword{number}", None) for number in range(4)]
OPEN_BY_AGENTS = [Written(f"{each.text}\n\n- more", "agent") for each in OPEN]
BETWEEN = [
    Written("```\nword0", "agent"),
    Written("word1", None),
    Written("word2", None),
    Written("```\nword3", "agent"),
]


@pytest.mark.slow
@given(entries(), st.sampled_from(["daily", "long-term"]), st.sampled_from(BEFORE), st.data())
@example(OPEN, "daily", "", None)
@example(OPEN, "long-term", "```\nopen\n", None)
@example(OPEN_BY_AGENTS, "daily", "", None)
@example(BETWEEN, "long-term", "# Mine\n\n- first\n", None)
def test_forgetting_one_entry_leaves_every_byte_of_the_others(
    written: Sequence[Written], to: Literal["daily", "long-term"], before: str, data: st.DataObject | None
) -> None:
    with TemporaryDirectory() as folder, closing(MemoryEnv.at(Path(folder), {})) as env:
        memory, path = env.open(), "MEMORY.md" if to == "long-term" else "memory/2026-03-10.md"
        env.write(path, before)
        places = [memory.remember(each.text, to=to, origin=each.origin, again=True) for each in written]
        content = (env.notes / path).read_bytes()
        lines = content.split(b"\n")
        for number, place in enumerate(places):
            (removal,) = memory.plan_forget(match=f"word{number}").notes
            own, gone = set(range(place.start_line, place.end_line + 1)), removed_lines(removal)
            assert gone <= own, (number, content)
            assert not any(f"word{number}".encode() in lines[at - 1] for at in own - gone)
        chosen = data.draw(st.integers(0, len(places) - 1)) if data else 1
        way = data.draw(st.sampled_from(["match", "lines"])) if data else "match"
        cited = f"{path}#L{places[chosen].start_line}-L{places[chosen].end_line}"
        plan = memory.plan_forget(match=f"word{chosen}") if way == "match" else memory.plan_forget(cited)
        memory.forget(plan)
        gone = removed_lines(plan.notes[0])
        left = b"".join(f + b"\n" for at, f in enumerate(lines[:-1], 1) if at not in gone) + lines[-1]
        assert (env.notes / path).read_bytes() == left


def removed_lines(removal: Removal) -> set[int]:
    return {at for passage in removal.passages for at in range(passage.start_line, passage.end_line + 1)}
