"""Text from memory for a model: it says who wrote it, and cannot close its quotes.

What came from somebody else than the owner and their agents is never put before a turn unasked, whatever it says.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoriter.workspace import neutral, standing_of, without_mark

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from memoriter.workspace import Standing

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
_OVERRIDES = re.compile(
    r"""(?ix)
      ignore \s (?: all | any | previous | above | prior ) \s instructions
    | do \s not \s follow \s (?: the \s )? (?: system | developer )
    | system \s prompt
    | developer \s message
    | < \s* (?: system | assistant | developer | tool | function | relevant-memories ) \b
    """
)
"""Sentences that address a model rather than a reader, in the words that OpenClaw looks for."""
_MARKS = re.compile(r"(?:> )*")
_HEAD = re.compile(r"(?m)^((?:> )+)Written by [^\n]*:$")
_TOOL_CALLS = re.compile(r"(?is)\b(?:run|execute|call|invoke)\b.{0,40}\b(?:tool|command)\b")


def escape_for_prompt(text: str) -> str:
    """Return the text with every character escaped that could close its quotes."""
    return text.translate(_ESCAPES)


def source_label(folder: Path, origin: str) -> str:
    """Return the words that name the folder of quoted notes, and their author if it is not the owner alone.

    Args:
        folder: the workspace.
        origin: what the model must know about the author; empty if the notes are the owner's.
    """
    return neutral(" ".join((origin or f"The notes are in {folder}.").split()))


def as_quotation(text: str) -> str:
    """Return text of somebody else with a mark of quotation before each line.

    Coding agents pass what a hook returns to the model in the role `system` (Claude Code) or `developer` (Codex), so
    each line has to show by itself that nobody with that authority wrote it.
    """
    return "\n".join(f"> {line}" for line in text.split("\n"))


def looks_like_injection(text: str) -> bool:
    """Return whether a text gives a model orders, in the words that OpenClaw's own rules of capture look for."""
    plain = " ".join(text.split())
    return bool(_OVERRIDES.search(plain) or _TOOL_CALLS.search(plain))


def attributed(lines: Sequence[str], authors: Sequence[str], allowed: Collection[Standing], path: str = "") -> str:
    """Return lines of a note for a model, without their marks.

    What one of the owner's agents wrote is a quotation below its author and day. In place of what nobody allowed, a
    notice has the number of lines, and how to read them.

    Args:
        lines: the lines.
        authors: who wrote each of them; empty: the owner.
        allowed: whose words are shown besides those of the owner.
        path: the note, for the notices; empty: they do not name it.
    """
    return "\n".join(_shown(author, run, allowed, path) for author, run in _runs(lines, authors))


def shown_lines(
    lines: Sequence[str], authors: Sequence[str], allowed: Collection[Standing], path: str = ""
) -> tuple[list[str], list[str]]:
    """Return the lines that are shown and the author of each, with notices in place of what nobody allowed.

    The arguments are those of `attributed`. Marks are removed.
    """
    rows = list[tuple[str, str]]()
    for author, run in _runs(lines, authors):
        is_shown = standing_of(author) in {"owner", *allowed}
        rows += [(line, author) for line in run] if is_shown else [(_notice(run, path), "")]
    return [line for line, _ in rows], [author for _, author in rows]


def longest_head(text: str) -> int:
    """Return the most characters that `quotation_head` returns for a text."""
    longest = max((len(head[0]) for head in _HEAD.finditer(text)), default=0)
    return longest + len("> > \n") if ">" in text else 0


def quotation_head(text: str, at: int) -> str:
    """Return what belongs before the rest of a text that is cut at a place: who wrote it, and the mark of a quotation.

    Args:
        text: of `attributed`, also within `as_quotation`.
        at: the number of characters before the place.
    """
    start = text.rfind("\n", 0, at) + 1
    marks = match[0] if start < at and (match := _MARKS.match(text, start)) else ""
    head = _HEAD.search(text)
    while head and text.startswith(head[1], start):
        if found := _HEAD.match(text, start):
            return f"{found[0]}\n{marks}" if start < at else ""
        start = text.rfind("\n", 0, max(0, start - 1)) + 1 if start else len(text)
    return marks


def has_allowed(lines: Sequence[str], authors: Sequence[str], allowed: Collection[Standing]) -> bool:
    """Return whether `attributed` shows anything of the lines but headings."""
    for line, author in zip(lines, authors, strict=True):
        text = without_mark(line).strip()
        if text and not text.startswith("#") and standing_of(author) in {"owner", *allowed}:
            return True
    return False


def _shown(author: str, run: Sequence[str], allowed: Collection[Standing], path: str) -> str:
    standing = standing_of(author)
    if standing == "owner":
        return "\n".join(run)
    if standing in allowed:
        end = max(at for at, line in enumerate(run, 1) if line.strip())
        return "\n".join([as_quotation("\n".join([f"Written by {author}:", *run[:end]])), *run[end:]])
    return _notice(run, path)


def _notice(run: Sequence[str], path: str) -> str:
    count = sum(bool(line.strip()) for line in run)
    subject = "1 line that somebody else wrote is" if count == 1 else f"{count} lines that somebody else wrote are"
    return f"[{subject} not shown.{f' memory_get {path} shows them.' if path else ''}]"


def _runs(lines: Sequence[str], authors: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the lines of each author, without marks and lines that are marks. Blank lines belong to what is above."""
    current = ""
    run = list[str]()
    for line, author in zip(lines, authors, strict=True):
        text = without_mark(line)
        if line.strip() and not text.strip():
            continue
        if text.strip() and author != current:
            if run:
                yield current, run
            current = author
            run = []
        run.append(text)
    if run:
        yield current, run
