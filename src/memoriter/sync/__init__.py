"""Keeping the index true to the files: a pure plan, then its application."""

from memoriter.sync._apply import (
    WORTH_A_BATCH,
    Look,
    Progress,
    Sync,
    SyncSettings,
    background_of,
    learn_background,
    undecoded_of,
)
from memoriter.sync._entries import Cutting, chunks_of, entries_of, entry_of
from memoriter.sync._left_out import LEFT_OUT, left_out
from memoriter.sync._plan import Plan, make_plan

__all__ = [
    "LEFT_OUT",
    "WORTH_A_BATCH",
    "Cutting",
    "Look",
    "Plan",
    "Progress",
    "Sync",
    "SyncSettings",
    "background_of",
    "chunks_of",
    "entries_of",
    "entry_of",
    "learn_background",
    "left_out",
    "make_plan",
    "undecoded_of",
]
