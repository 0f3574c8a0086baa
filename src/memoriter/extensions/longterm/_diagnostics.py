"""Diagnostics about memories without vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.extensions.longterm._note import PATH
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from memoriter.errors import MemoriterError


def not_searchable(error: MemoriterError) -> Diagnostic:
    """Return the diagnostic for a memory that is in the note, and not in the database."""
    message = f"The memory is in {PATH}, and searches by meaning do not find it yet: {error.message}"
    return Diagnostic(error.code, message, f"{error.remedy} Then run `memoriter ltm rebuild`.".strip())


def not_compared(error: MemoriterError) -> Diagnostic:
    """Return the diagnostic for a captured statement that was not compared with the memories."""
    message = (
        "What was captured was not compared with the long-term memories, so it may repeat or contradict one: "
        f"{error.message}"
    )
    return Diagnostic(error.code, message, error.remedy)


def not_in_database(missing: int, noted: int) -> Diagnostic:
    """Return the diagnostic for memories that the note has, and the database does not."""
    message = f"The database lacks {missing} of {noted} memories of {PATH}, which no search finds until it has them."
    return Diagnostic("stale", message, "Run `memoriter ltm rebuild`.")


def words_only(error: MemoriterError) -> Diagnostic:
    """Return the diagnostic for a search without vectors."""
    return Diagnostic(
        error.code, f"Long-term memories were compared by their words only: {error.message}", error.remedy
    )
