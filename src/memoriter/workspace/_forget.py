"""Taking passages out of notes: which lines they are (pure), and the one step in which they go."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoriter.errors import UsageError, WriteConflict
from memoriter.ids import bytes_hash, normalize
from memoriter.workspace._blocks import scan_blocks
from memoriter.workspace._write import remove, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from memoriter.workspace._blocks import Block


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines of a note, 1-based and inclusive, as they read now."""

    start_line: int
    end_line: int
    text: str


@dataclass(frozen=True, slots=True)
class Removal:
    """What is to go from one note."""

    path: str
    """As cited."""
    file: Path
    hash: str
    """`ids.bytes_hash` of the note that was looked at; any other note is left alone."""
    passages: tuple[Passage, ...]
    whole: bool = False
    """The file itself goes."""


def all_of(content: bytes) -> tuple[Passage, ...]:
    """The whole note as one passage."""
    lines = _read(content)
    return (_passage(lines, 0, len(lines)),) if lines else ()


def lines_of(content: bytes, first: int, last: int) -> tuple[Passage, ...]:
    """The lines from `first` to `last`. Raises UsageError where the note has no such lines."""
    lines = _read(content)
    if not 1 <= first <= last <= len(lines):
        asked = f"line {first}" if first == last else f"lines {first} to {last}"
        raise UsageError(f"There is no {asked}: the note has {len(lines)} lines.", remedy="Look with: memoriter get")
    return (_passage(lines, first - 1, last),)


def blocks_with(content: bytes, text: str) -> tuple[Passage, ...]:
    """Every block that holds the text: a paragraph, a fence, a list item with all below it.

    Upper and lower case differ; composed and decomposed letters do not, and any white space stands for any other. Of a
    table, of front matter and of a heading only the lines that hold the text go.
    """
    lines = _read(content)
    blocks = scan_blocks(lines)
    spans = [span for first, last in _hits(lines, text) for span in _spans(lines, blocks, first, last)]
    return tuple(_passage(lines, start, end) for start, end in _joined(spans))


def holds(content: str, text: str) -> bool:
    """Whether the text is in there, compared as `blocks_with` does."""
    return _pattern(text).search(normalize("NFC", content)) is not None


def without(content: bytes, passages: Iterable[Passage]) -> bytes:
    """The note without the lines of the passages; every other byte is as it was."""
    gone = {line for passage in passages for line in range(passage.start_line, passage.end_line + 1)}
    return b"".join(line for number, line in enumerate(_LINE.findall(content), 1) if number not in gone)


def take_out(removal: Removal, content: bytes) -> None:
    """Let the passages go from the note with this content, or the note itself. Raises WriteConflict and WriteError."""
    if bytes_hash(content) != removal.hash:
        raise WriteConflict(f"{str(removal.file)!r} has changed since it was read", remedy="Look and ask again.")
    if removal.whole:
        remove(removal.file, expected=removal.hash)
    else:
        replace(removal.file, without(content, removal.passages), expected=removal.hash)


_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_SPACE = re.compile(r"\s+")
_TABLE = re.compile(r"[ \t]*\|")


def _read(content: bytes) -> list[str]:
    """The lines without their ends; as elsewhere, only a line feed ends one, and wrong bytes are U+FFFD."""
    return [
        line.rstrip(b"\r\n").decode("utf-8", "replace") for line in _LINE.findall(content.removeprefix(b"\xef\xbb\xbf"))
    ]


def _passage(lines: Sequence[str], start: int, end: int) -> Passage:
    return Passage(start + 1, end, "\n".join(lines[start:end]))


def _pattern(text: str) -> re.Pattern[str]:
    words = _SPACE.split(normalize("NFC", text).strip())
    return re.compile(r"\s+".join(map(re.escape, words)))


def _hits(lines: Sequence[str], text: str) -> Iterator[tuple[int, int]]:
    """First and last line of every place where the text is, from 0."""
    whole = normalize("NFC", "\n".join(lines))
    at = line = 0
    for match in _pattern(text).finditer(whole):
        line += whole.count("\n", at, match.start())
        at = match.start()
        yield line, line + match[0].count("\n")


def _spans(lines: Sequence[str], blocks: Sequence[Block], first: int, last: int) -> Iterator[tuple[int, int]]:
    """What goes for a text in these lines: `start` to before `end`."""
    for at, block in enumerate(blocks):
        if block.start > last or block.end <= first:
            continue
        start, end = max(block.start, first), min(block.end, last + 1)
        if block.kind in {"front", "heading"} or (block.kind == "text" and _TABLE.match(lines[start])):
            yield start, end
        else:
            yield block.start, _subtree_end(blocks, at)


def _subtree_end(blocks: Sequence[Block], at: int) -> int:
    """Where the last block inside this one ends: what is inside of a list item would else belong to another one."""
    block = blocks[at]
    if block.kind != "item":
        return block.end
    inner = at + 1
    while inner < len(blocks) and blocks[inner].depth > block.depth:
        inner += 1
    return blocks[inner - 1].end


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in their order, those that overlap or touch as one."""
    done: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if done and start <= done[-1][1]:
            done[-1] = done[-1][0], max(done[-1][1], end)
        else:
            done.append((start, end))
    return done
