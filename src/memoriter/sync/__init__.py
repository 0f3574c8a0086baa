"""Keeping the index up to date with the files: a pure plan, then its execution."""

from typing import TYPE_CHECKING, Any

from memoriter.sync._analyze import ChunkingSettings, analyze_file, chunks_of, entry_of, note_of
from memoriter.sync._apply import Sync
from memoriter.sync._cosine_baseline import background_of, learn_background
from memoriter.sync._fill import BATCH_TOKENS, STORING_SECONDS, WORTH_A_BATCH
from memoriter.sync._plan import UNSURE, Plan, make_plan, may_change_unseen
from memoriter.sync._read import undecoded_of
from memoriter.sync._skipped import LEFT_OUT, left_out
from memoriter.sync._task import ChangeSet, Progress, SessionRules, SyncSettings, Task

if TYPE_CHECKING:
    from memoriter.sync._changes import ScanResult, WatchRun, look_for, still_to_do
    from memoriter.sync._passages import at_lines
    from memoriter.sync._schedule import EVERYTHING, IndexJob, Schedule
    from memoriter.sync._sessions import due, new_chunks, skipped_in
    from memoriter.sync._watch import Watch, WatchEvent, WatchRules

__all__ = [
    "BATCH_TOKENS",
    "EVERYTHING",
    "LEFT_OUT",
    "STORING_SECONDS",
    "UNSURE",
    "WORTH_A_BATCH",
    "ChangeSet",
    "ChunkingSettings",
    "IndexJob",
    "Plan",
    "Progress",
    "ScanResult",
    "Schedule",
    "SessionRules",
    "Sync",
    "SyncSettings",
    "Task",
    "Watch",
    "WatchEvent",
    "WatchRules",
    "WatchRun",
    "analyze_file",
    "at_lines",
    "background_of",
    "chunks_of",
    "due",
    "entry_of",
    "learn_background",
    "left_out",
    "look_for",
    "make_plan",
    "may_change_unseen",
    "new_chunks",
    "note_of",
    "skipped_in",
    "still_to_do",
    "undecoded_of",
]


def __getattr__(name: str) -> Any:
    """Load the names for watching and transcripts on first use, because most processes need neither."""
    late = {
        "_changes": {"WatchRun", "ScanResult", "look_for", "still_to_do"},
        "_passages": {"at_lines"},
        "_schedule": {"EVERYTHING", "IndexJob", "Schedule"},
        "_sessions": {"due", "new_chunks", "skipped_in"},
        "_watch": {"Watch", "WatchEvent", "WatchRules"},
    }
    for file, names in late.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(f"{__name__}.{file}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
