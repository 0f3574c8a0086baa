"""Divide what is too long for one note, and show how a note begins."""

from __future__ import annotations

from memoriter.extensions.importing._records import Entry, Page
from memoriter.workspace import MAX_BYTES

LONGEST_TEXT = 4 << 20
"""Characters of one note; a longer page becomes several notes."""


def parts_of(page: Page) -> list[Page]:
    """Return a page, or several if it is too long for one note."""
    if len(page.text) <= LONGEST_TEXT and len(page.text.encode("utf-8", "replace")) < MAX_BYTES // 2:
        return [page]
    parts = list[str]()
    lines = list[str]()
    size = 0
    for line in page.text.splitlines(keepends=True):
        for start in range(0, len(line), LONGEST_TEXT // 4):
            piece = line[start : start + LONGEST_TEXT // 4]
            if size + len(piece) > LONGEST_TEXT // 2:
                parts.append("".join(lines))
                lines = []
                size = 0
            lines.append(piece)
            size += len(piece)
    parts.append("".join(lines))
    first = Page(page.id, page.title, parts[0], page.at, page.path, page.front, page.tags, page.aliases)
    return [first, *(_part(page, text, number) for number, text in enumerate(parts[1:], 2))]


def _part(page: Page, text: str, number: int) -> Page:
    path = f"{page.path} {number}" if page.path else ""
    return Page(f"{page.id}#{number}", f"{page.title} ({number})", text, page.at, path, tags=page.tags)


def portions(entries: list[Entry]) -> list[list[Entry]]:
    """Return entries in portions that fit into a note."""
    portions = list[list[Entry]]([[]])
    size = 0
    for entry in entries:
        if portions[-1] and size + len(entry.text) > LONGEST_TEXT // 2:
            portions.append([])
            size = 0
        portions[-1].append(entry)
        size += len(entry.text)
    return portions


def beginning(text: str) -> str:
    """Return the first lines of a note that say something, on one line."""
    lines = iter(text.split("\n"))
    if text.startswith("---\n"):
        next(lines)
        for line in lines:
            if line == "---":
                break
    plain = (line.strip() for line in lines)
    return " ".join(line for line in plain if line and not line.startswith("<!-- "))[:120]
