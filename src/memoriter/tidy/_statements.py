"""Find the statements in a note that may be repeated, lasting or outdated: one sentence in a list item or paragraph.

Headings, tables, quotations, code, front matter, comments, tasks and questions are none, and neither is an item that
has others below it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from memoriter.errors import PathRefused
from memoriter.folding import fold_name
from memoriter.layout import LONG_TERM
from memoriter.times import path_date, written_day
from memoriter.types import ORIGIN, Item
from memoriter.values import dataclass
from memoriter.workspace import STATEMENTS, is_client_memory, scan_blocks, standing_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from memoriter.workspace import Workspace
    from memoriter.workspace.chunking import Block

Place = Literal["long-term", "daily", "note"]

LONGEST = 300
"""Characters of a statement at most; a longer text says several things."""
LEAST_BYTES = 12
"""Bytes of a statement at least; a shorter text says little on its own."""
_TASK = re.compile(r"[ \t]*(?:[-*+•]|\d{1,9}[.)])[ \t]+\[[^\]]?\]")
_TASK_WORD = re.compile(r"(?:to-?do|fixme)\b|~~", re.IGNORECASE)
_SEVERAL = re.compile(r"[.!?][\"”)]?\s+\S|[。！？][^。！？]*\w")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|Nr|No|Sra?|Srta|ca|z\. ?B|e\.g|i\.e|etc|vs)\.(?=\s)")
_MARKS = re.compile(r"\*\*|__|`")
_GENERAL_OF = {
    "English": "memory notes note facts fact decisions decision preferences preference log today morning afternoon"
    " evening misc general other people work personal important remember learned daily",
    "German": "entscheidungen notizen fakten vorlieben wichtig allgemein personen arbeit heute",
    "Korean": "결정 메모 사실 선호 중요 사람 오늘",
    "Chinese": "记忆 决定 事实 笔记 偏好 重要 今天",
    "Spanish": "decisiones notas hechos preferencias importante personas trabajo hoy",
}
_GENERAL = frozenset(word for words in _GENERAL_OF.values() for word in words.split())
"""Headings that say nothing about the subject of what is below them."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a note, in lines of its own."""

    path: str
    start_line: int
    """1-based."""
    end_line: int
    """Inclusive."""
    lines: tuple[str, ...]
    """As they are in the note."""
    text: str
    """On one line, without list marker and mark of origin."""
    author: str
    """As its mark says; empty: the owner."""
    place: Place
    day: date | None
    """The day of its note, or of its mark; None: not known."""
    context: frozenset[str]
    """The headings above it that tell its subject, folded, and the name of a note about something."""
    heading: str = ""
    """The innermost heading."""

    @property
    def citation(self) -> str:
        """The lines of the note."""
        last = f"-L{self.end_line}" if self.end_line > self.start_line else ""
        return f"{self.path}#L{self.start_line}{last}"


def lines_of(content: bytes) -> list[str]:
    """Return the lines of a note."""
    return content.decode("utf-8-sig", "replace").replace("\r\n", "\n").split("\n")


def statements_in(
    path: str, lines: Sequence[str], authors: Sequence[str], *, place: Place, day: date | None, name: str
) -> Iterator[Statement]:
    """Yield the statements of a note.

    `authors` says who wrote each line. `name` is what the note is about, from its file name; empty for daily notes and
    the long-term memory.
    """
    blocks = scan_blocks(lines)
    headings: list[tuple[int, str]] = []
    parents: list[Block] = []
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block.kind == "heading":
            headings = [*(each for each in headings if each[0] < block.level), (block.level, block.title.strip("# "))]
            parents = []
            continue
        parents = [each for each in parents if each.depth < block.depth]
        has_parts = following is not None and following.depth > block.depth
        if block.kind == "item" and has_parts:
            parents.append(block)
        elif block.kind in {"item", "text"} and standing_of(authors[block.start]) != "other":
            own = tuple(lines[block.start : block.end])
            above = [*(title for _, title in headings), *(_text(lines, each) for each in parents)]
            text = _text(lines, block)
            if _is_statement(own, text):
                yield Statement(
                    path,
                    block.start + 1,
                    block.end,
                    own,
                    text,
                    authors[block.start],
                    place,
                    day or _marked_day(authors[block.start]),
                    frozenset(_telling([name, *above])),
                    headings[-1][1] if headings else "",
                )


def _text(lines: Sequence[str], block: Block) -> str:
    cleaned = [ORIGIN.sub("", line) for line in lines[block.start : block.end]]
    return _MARKS.sub("", Item(0, len(cleaned) - 1).text(cleaned))


def _is_statement(lines: Sequence[str], text: str) -> bool:
    first, *others = lines
    if " | " in first or not all(line.strip()[:1].islower() for line in others):
        return False  # a table, or several statements on lines of their own
    size = len(text.encode("utf-8", "replace"))
    if size < LEAST_BYTES or len(text) > LONGEST or first.lstrip().startswith(("|", ">", "<", "[", "!")):
        return False
    if _TASK.match(first) or _TASK_WORD.match(text) or text.rstrip().endswith(("?", "？", ":", "：")):
        return False
    return _SEVERAL.search(_ABBREVIATION.sub("", text)) is None


def _telling(titles: Sequence[str]) -> Iterator[str]:
    """Yield the titles that tell a subject: no general words, days and times."""
    for title in titles:
        folded = fold_name(title)
        if folded and folded not in _GENERAL and not title[:1].isdigit():
            yield folded


def _marked_day(author: str) -> date | None:
    return written_day(author.rpartition(", ")[2]) if author else None


def all_statements(workspace: Workspace, daily_note: str) -> Iterator[Statement]:
    """Yield the statements of the notes that memoriter may change, in the order of their paths.

    `daily_note` is the pattern of the path of a day's note.
    """
    for source in sorted(workspace.scan().sources, key=lambda source: source.path):
        path = source.path
        own = source.kind == "memory" and not path.startswith(("/", "../")) and not is_client_memory(path)
        if not own or path.endswith(STATEMENTS):
            continue
        with suppress(PathRefused):
            lines = lines_of(workspace.content(path) or b"")
            authors = workspace.authors(path, lines)
            if path in LONG_TERM:
                yield from statements_in(path, lines, authors, place="long-term", day=None, name="")
                continue
            day = _day_of(path, daily_note)
            if day is not None:
                yield from statements_in(path, lines, authors, place="daily", day=day, name="")
            else:
                name = PurePosixPath(path).stem
                yield from statements_in(path, lines, authors, place="note", day=path_date(path), name=name)


def _day_of(path: str, daily_note: str) -> date | None:
    """Return the day of a daily note, or None."""
    for pattern, text in ((daily_note, path), ("%Y-%m-%d", PurePosixPath(path).stem)):
        with suppress(ValueError):
            return datetime.strptime(text, pattern).date()  # noqa: DTZ007 (a day, without a time)
    return None
