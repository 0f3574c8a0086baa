"""Who changed which note, when, and what it was before: an append-only journal in memoriter's home."""

from typing import TYPE_CHECKING, Any

from memoriter.journal._changes import FORGET, FOUND, OWNER, SEEN, TIDY, Change, Hunk, acting
from memoriter.journal._journal import MEGABYTE, Journal

if TYPE_CHECKING:
    from memoriter.journal._history import (
        ChangedSince,
        Conflict,
        History,
        HistoryReport,
        LineOrigin,
        NoteDifference,
        NoteWithout,
        TakeBackPlan,
        moment_of,
        taken_back,
    )

__all__ = [
    "FORGET",
    "FOUND",
    "MEGABYTE",
    "OWNER",
    "SEEN",
    "TIDY",
    "Change",
    "ChangedSince",
    "Conflict",
    "History",
    "HistoryReport",
    "Hunk",
    "Journal",
    "LineOrigin",
    "NoteDifference",
    "NoteWithout",
    "TakeBackPlan",
    "acting",
    "moment_of",
    "taken_back",
]


def __getattr__(name: str) -> Any:
    """Import what only the commands about changes need on first use."""
    if name in {
        "ChangedSince",
        "Conflict",
        "History",
        "HistoryReport",
        "LineOrigin",
        "NoteDifference",
        "NoteWithout",
        "TakeBackPlan",
        "moment_of",
        "taken_back",
    }:
        from memoriter.journal import _history

        return getattr(_history, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
