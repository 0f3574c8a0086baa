"""Mark text in conversations and notes: what was injected from memory, and what the owner did not write.

Memory in a conversation has a wrapper, so that it can be removed again where conversations are read.

Each entry that the owner did not write has a mark of its origin in the note itself: an HTML comment, so that
it stays with the text, is readable in any editor and needs no index:

- We chose PostgreSQL. <!-- from: agent via MCP (claude-code), 2026-11-22 -->

It is at the end of a list item's first line and applies to the item and the lines indented below it. A text with other
structure has two marks: `<!-- from: … -->` on the line before it and `<!-- end: … -->` on the line after it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from memoriter.types import ORIGIN
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TAG = "memoriter-recall"
_TAGS = (TAG, "relevant-memories")
"""memoriter's tag and OpenClaw's."""
_NAMES = "|".join(_TAGS)
_OPENING = re.compile(rf"(?i)(<|&lt;)(?=\s*+/?\s*+(?:{_NAMES})\b)")
# Blanks are matched possessively: with two long runs of them, a backtracking search would try every division.
_EDGE = re.compile(
    rf"""(?ix)
    (?P<quote> ^[ \t>]*> [ \t]* | )                        # quoted back in Markdown
    (?: < | &lt; ) \s*+ (?P<close> /? ) \s*+ (?: {_NAMES} ) \b
    (?P<attributes> (?: "[^"]*" | '[^']*' | (?! &gt; ) [^>"'] )* )
    (?P<end> > | &gt; )?
    """,
    re.MULTILINE,
)


def injected(text: str) -> str:
    """Return the text in the wrapper for conversations; the wrapper's name inside the text is disarmed."""
    return f"<{TAG}>\n{_OPENING.sub('‹', text)}\n</{TAG}>"


def without_injected(text: str) -> str:
    """Return a conversation's text without the blocks that were injected from memory.

    Blocks may be nested, quoted back, escaped, or have attributes. If a block has lost its end, all text after its
    beginning is removed; if it has lost its beginning, all text before its end. Other text is unchanged.
    """
    kept: list[str] = []
    depth = start = 0
    for edge in _EDGE.finditer(text):
        if not edge["close"]:
            if depth == 0:
                kept.append(text[start : edge.start()])
            depth += 1
            if edge["end"] is None:
                return "".join(kept)
            continue
        if depth == 0:
            kept.clear()
        depth = max(0, depth - 1)
        start = edge.end()
    return "".join(kept) if depth else "".join((*kept, text[start:]))


_FORGED = re.compile(r"<!(?=\s*-[-\s]*(?:from|end)\b)", re.IGNORECASE)
_NOT_IN_NAME = re.compile(r"[^\w .,()/+@-]+|-{2,}")
_LONGEST_NAME = 80
_ITEM = re.compile(r"[-*+] \S")


def marked(entry: str, origin: str, day: str) -> str:
    """Return an entry with a mark of its author.

    Args:
        entry: Markdown that ends with a line feed. Text in it that looks like a mark is disarmed, so that no entry can
            claim another author or end its own mark early.
        origin: the author, such as `agent via MCP (claude-code)`.
        day: date as `YYYY-MM-DD`.
    """
    words = origin_words(origin, day)
    name = words.rpartition(", ")[0]
    body = disarmed(entry)
    lines = body.split("\n")
    if _ITEM.match(lines[0]) and all(_ITEM.match(line) or line[:1] in {"", " ", "\t"} for line in lines):
        mark = f" <!-- from: {words} -->"
        return "\n".join(f"{line.rstrip()}{mark}" if _ITEM.match(line) else line for line in lines)
    return f"<!-- from: {words} -->\n{body}<!-- end: {name} -->\n"


def disarmed(text: str) -> str:
    """Return a text in which nothing looks like a mark."""
    return _FORGED.sub("<\\!", text)


def origin_words(origin: str, day: str) -> str:
    """Return what a mark says: the author without characters that could end the mark, and the day."""
    from memoriter.workspace.untrusted._neutral import visible

    name = " ".join(_NOT_IN_NAME.sub(" ", visible(origin)).split())[:_LONGEST_NAME].strip() or "agent"
    return f"{name}, {day}"


def authors_of(lines: Sequence[str]) -> list[str]:
    """Return for each line of a note what its mark says about its author, such as `agent, 2026-11-22`; empty: no mark.

    A mark that was never closed, as after a crash, applies until the next one.
    """
    authors = [""] * len(lines)
    opened = ""
    of_item = ""
    column = -1
    for at, line in enumerate(lines):
        match = ORIGIN.search(line) if "<!--" in line else None
        alone = match is not None and not line[: match.start()].strip()
        if match is not None and alone:
            opened = match["origin"] if match[1] == "from" else ""
            column = -1
            continue
        indent = len(line) - len(line.lstrip(" \t"))
        if line.strip() and column >= 0 and indent <= column:
            column = -1
        if match is not None and match[1] == "from":
            of_item = match["origin"]
            column = indent
        if column >= 0 and line.strip():
            authors[at] = of_item
        else:
            authors[at] = opened
    return authors


def foreign_lines(lines: Sequence[str]) -> list[bool]:
    """Return for each line of a note whether its mark says that someone other than its owner wrote it."""
    return [bool(author) for author in authors_of(lines)]


Standing = Literal["owner", "agent", "other"]
"""Who wrote a text: the owner, one of their own agents, or anybody else."""
_AGENT = re.compile(r"(?:agent(?: via MCP)?|capture [0-9a-f]{8})(?: \(.*\))?(?:, \d{4}-\d\d-\d\d)?")


def standing_of(author: str) -> Standing:
    """Return who wrote a text, from what its mark says; an empty text is the owner's.

    Servers mark what comes with a token of somebody else as `NAME via HTTP`, so no name of a token passes for an agent.
    """
    if not author:
        return "owner"
    return "agent" if _AGENT.fullmatch(author) else "other"


def without_mark(line: str) -> str:
    """Return a line without the marks of authors at its end."""
    while "<!--" in line and (match := ORIGIN.search(line)):
        line = line[: match.start()].rstrip(" \t")
    return line


def origin_edges(lines: Sequence[str]) -> list[int]:
    """Return the lines, 0-based, before which a marked entry begins or ends: no block of Markdown runs over them."""
    marks = {at for at, line in enumerate(lines) if "<!-- " in line and ORIGIN.search(line)}
    if not marks:
        return []
    foreign = foreign_lines(lines)
    previous = False
    for at, line in enumerate(lines):
        if line.strip():
            if foreign[at] != previous:
                marks.add(at)
            previous = foreign[at]
    return sorted(marks)


@dataclass(frozen=True, slots=True)
class MarkedEntry:
    """An entry of a note that has a mark of its origin."""

    origin: str
    """Author and date, as in the mark."""
    start_line: int
    """First line, 1-based."""
    end_line: int
    """Last line, inclusive; that of the closing mark, if the entry has one."""


def marked_entries(lines: Sequence[str]) -> Iterator[MarkedEntry]:
    """Yield the entries of a note that have a mark of their origin.

    The entry of a mark that was never closed ends before the next mark, or with the note.
    """
    opened: tuple[str, int] | None = None
    for at, line in enumerate(lines):
        match = ORIGIN.search(line) if "<!--" in line else None
        if match is None:
            continue
        alone = not line[: match.start()].strip()
        if opened is not None:
            closed = alone and match[1] == "end"
            yield MarkedEntry(opened[0], opened[1] + 1, at + 1 if closed else at)
            opened = None
        if match[1] == "from":
            origin = line[match.start() :].strip().removeprefix("<!-- from: ").removesuffix(" -->")
            if alone:
                opened = origin, at
            else:
                yield MarkedEntry(origin, at + 1, _item_end(lines, at))
    if opened is not None:
        yield MarkedEntry(opened[0], opened[1] + 1, len(lines))


def _item_end(lines: Sequence[str], at: int) -> int:
    """Return the last line, 1-based, of the list item that begins at a line: its indented lines belong to it."""
    indent = len(lines[at]) - len(lines[at].lstrip(" \t"))
    last = at
    for number in range(at + 1, len(lines)):
        line = lines[number]
        if line.strip():
            if len(line) - len(line.lstrip(" \t")) <= indent:
                break
            last = number
    return last + 1
