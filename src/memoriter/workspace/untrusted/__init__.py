"""Handle text that may deceive a reader or a model: mark its origin, reveal hidden characters, disarm tags."""

from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    """Import a module on first use: most commands need only the few characters that could move a cursor."""
    lazy = {
        "_characters": {"HIDDEN", "TERMINAL", "folded", "skeleton", "without_digits"},
        "_marks": {
            "MarkedEntry",
            "authors_of",
            "disarmed",
            "Standing",
            "foreign_lines",
            "injected",
            "marked",
            "marked_entries",
            "origin_edges",
            "origin_words",
            "standing_of",
            "without_injected",
            "without_mark",
        },
        "_neutral": {"neutral", "neutral_data", "neutral_json", "visible"},
    }
    for module, names in lazy.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
