"""Handle text that may deceive a reader or a model: mark its origin, reveal hidden characters, disarm tags."""

from typing import TYPE_CHECKING

from memoriter.lazy import lazy_names

if TYPE_CHECKING:
    from memoriter.workspace.untrusted._characters import HIDDEN, TERMINAL, folded, skeleton, without_digits
    from memoriter.workspace.untrusted._marks import (
        MarkedEntry,
        Standing,
        authors_of,
        disarmed,
        foreign_lines,
        injected,
        marked,
        marked_entries,
        origin_edges,
        origin_words,
        standing_of,
        without_injected,
        without_mark,
    )
    from memoriter.workspace.untrusted._neutral import neutral, neutral_data, neutral_json, visible

__all__ = [
    "HIDDEN",
    "TERMINAL",
    "MarkedEntry",
    "Standing",
    "authors_of",
    "disarmed",
    "folded",
    "foreign_lines",
    "injected",
    "marked",
    "marked_entries",
    "neutral",
    "neutral_data",
    "neutral_json",
    "origin_edges",
    "origin_words",
    "skeleton",
    "standing_of",
    "visible",
    "without_digits",
    "without_injected",
    "without_mark",
]


# Import a module on first use: most commands need only the few characters that could move a cursor.
__getattr__ = lazy_names(
    __name__,
    {
        "_characters": "HIDDEN TERMINAL folded skeleton without_digits",
        "_marks": (
            "MarkedEntry authors_of disarmed Standing foreign_lines injected marked marked_entries origin_edges "
            "origin_words standing_of without_injected without_mark"
        ),
        "_neutral": "neutral neutral_data neutral_json visible",
    },
)
