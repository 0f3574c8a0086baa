"""Decide which statements of a conversation are long-term memories (pure functions)."""

from memoriter.longterm.rules._classic import classic_capture, classic_category
from memoriter.longterm.rules._cues import PACKS
from memoriter.longterm.rules._recalled import Recalled
from memoriter.longterm.rules._replacement import replaces, switches
from memoriter.longterm.rules._statements import Statement, find_statements

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
