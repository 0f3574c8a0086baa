"""Cut excerpts of a text by lines and length, and explain empty ones."""

from __future__ import annotations

from memoriter.types import Diagnostic
from memoriter.workspace._cut import boundary


def slice_lines(text: str, start: int | None, lines: int | None) -> str:
    """Return `lines` lines from `start` (1-based) on, or the whole text if both are None or 0."""
    if not start and not lines:
        return text
    first = max(1, start or 1) - 1
    rows = text.split("\n")
    return "\n".join(rows[first:] if lines is None else rows[first : first + max(1, lines)])


def truncate(text: str, length: int) -> tuple[str, bool]:
    """Return the whole lines (or else graphemes) of the text that fit `length` characters, and whether it was cut."""
    if len(text) <= length:
        return text, False
    end = text.rfind("\n", 0, length + 1)
    return text[: end if end > 0 else boundary(text, 0, length)], True


def no_such_note(path: str) -> Diagnostic:
    """Return a diagnostic for a note that does not exist, as before the day's first entry or for a wrong name."""
    return Diagnostic(
        "no_such_note", f"There is no note {path!r} yet.", "Look for its text with `memoriter search WORDS`."
    )


def no_text(path: str, text: str, start: int | None) -> Diagnostic:
    """Return a diagnostic for an existing note that has no text to show from line `start` on."""
    rows = text.count("\n") + (not text.endswith("\n"))
    if text and start and start > rows:
        message = f"{path!r} has {rows} line{'' if rows == 1 else 's'}, and line {start} was asked for."
        return Diagnostic("past_the_end", message, f"Ask again with --from {max(rows, 1)} (from) or less.")
    if not text.strip():
        return Diagnostic("no_text", f"{path!r} is empty.", "Run `memoriter remember TEXT`.")
    return Diagnostic("no_text", f"{path!r} has no text there.", f"Read all of it with `memoriter get {path}`.")
