"""Decide which statements are worth remembering, and which of them replaces another one (pure functions)."""

from memoriter.statements._cues import PACKS
from memoriter.statements._own import Recalled
from memoriter.statements._replacement import Reading, reading_of, replaces, says_now, subjects, switches
from memoriter.statements._statements import Statement, classic_capture, classic_category, find_statements, may_be_kept

__all__ = [
    "PACKS",
    "Reading",
    "Recalled",
    "Statement",
    "classic_capture",
    "classic_category",
    "find_statements",
    "may_be_kept",
    "reading_of",
    "replaces",
    "says_now",
    "subjects",
    "switches",
]
