"""Who changed which note, when, and what it was before: an append-only journal in memoriter's home."""

from typing import TYPE_CHECKING

from memoriter.journal._changes import FORGET, FOUND, OWNER, SEEN, TIDY, Change, Hunk, acting, same_ends
from memoriter.journal._journal import MEGABYTE, Journal
from memoriter.lazy import lazy_names

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
    "same_ends",
    "taken_back",
]


# Import what only the commands about changes need on first use.
__getattr__ = lazy_names(
    __name__,
    {
        "_history": (
            "ChangedSince Conflict History HistoryReport LineOrigin NoteDifference NoteWithout TakeBackPlan "
            "moment_of taken_back"
        ),
    },
)
