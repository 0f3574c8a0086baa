"""Decide which statements of a conversation are long-term memories (pure functions)."""

from memoriter.extensions.longterm.rules._classic import classic_capture, classic_category
from memoriter.extensions.longterm.rules._cues import PACKS
from memoriter.extensions.longterm.rules._recalled import Recalled
from memoriter.extensions.longterm.rules._replacement import replaces, switches
from memoriter.extensions.longterm.rules._statements import Statement, find_statements

__all__ = [
    "PACKS",
    "Recalled",
    "Statement",
    "classic_capture",
    "classic_category",
    "find_statements",
    "replaces",
    "switches",
]
