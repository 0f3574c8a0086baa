"""Keeping the index true to the files: a pure plan, then its application."""

from memoriter.sync._apply import (
    BATCH_TOKENS,
    WORTH_A_BATCH,
    Look,
    Progress,
    Sync,
    SyncSettings,
    background_of,
    learn_background,
)
from memoriter.sync._entries import Cutting, chunks_of, entries_of, entry_of
from memoriter.sync._plan import Plan, make_plan

__all__ = [
    "BATCH_TOKENS",
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
    "make_plan",
]
