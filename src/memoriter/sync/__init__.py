"""Keeping the index true to the files: a pure plan, then its application."""

from memoriter.sync._apply import WORTH_A_BATCH, Look, Progress, Sync, SyncSettings, background_of, learn_background
from memoriter.sync._entries import Cutting, chunks_of, entries_of, entry_of
from memoriter.sync._passages import at_lines
from memoriter.sync._plan import Plan, make_plan
from memoriter.sync._sessions import SessionRules, due, left_out, new_chunks

__all__ = [
    "WORTH_A_BATCH",
    "Cutting",
    "Look",
    "Plan",
    "Progress",
    "SessionRules",
    "Sync",
    "SyncSettings",
    "at_lines",
    "background_of",
    "chunks_of",
    "due",
    "entries_of",
    "entry_of",
    "learn_background",
    "left_out",
    "make_plan",
    "new_chunks",
]
