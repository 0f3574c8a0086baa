"""A few lines of a text, within a length."""

from __future__ import annotations

from memoriter.workspace._cut import boundary


def slice_lines(text: str, start: int | None, lines: int | None) -> str:
    """The lines from `start` (1-based) on, `lines` of them; the whole text if neither is given or both are 0."""
    if not start and not lines:
        return text
    first = max(1, start or 1) - 1
    rows = text.split("\n")
    return "\n".join(rows[first:] if lines is None else rows[first : first + max(1, lines)])


def cut_to(text: str, length: int) -> tuple[str, bool]:
    """The text, or the whole lines (else graphemes) that fit into `length` characters, and whether it was cut."""
    if len(text) <= length:
        return text, False
    end = text.rfind("\n", 0, length + 1)
    return text[: end if end > 0 else boundary(text, 0, length)], True
