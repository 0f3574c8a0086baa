"""Keeping the index up to date with the files: a pure plan, then its execution."""

from typing import TYPE_CHECKING

from memoriter.lazy import lazy_names
from memoriter.sync._analyze import ChunkingSettings, analyze_file, chunks_of, entry_of, note_of, texts_of
from memoriter.sync._apply import (
    BATCH_TOKENS,
    CUTTING,
    STORING_SECONDS,
    WORTH_A_BATCH,
    Sync,
    background_of,
    learn_background,
)
from memoriter.sync._changes import (
    UNSURE,
    ChangeSet,
    IndexJob,
    Plan,
    Progress,
    SessionRules,
    SyncSettings,
    Task,
    changes_for,
    make_plan,
    may_change_unseen,
)
from memoriter.sync._read import (
    LEFT_OUT,
    MARKS,
    conflict_markers,
    faulty_front_matter,
    undecoded_of,
    unreadable_diagnostics,
)

if TYPE_CHECKING:
    from memoriter.sync._sessions import DEBOUNCE_SECONDS, at_lines, due, new_chunks, skipped_in

__all__ = [
    "BATCH_TOKENS",
    "CUTTING",
    "DEBOUNCE_SECONDS",
    "LEFT_OUT",
    "MARKS",
    "STORING_SECONDS",
    "UNSURE",
    "WORTH_A_BATCH",
    "ChangeSet",
    "ChunkingSettings",
    "IndexJob",
    "Plan",
    "Progress",
    "SessionRules",
    "Sync",
    "SyncSettings",
    "Task",
    "analyze_file",
    "at_lines",
    "background_of",
    "changes_for",
    "chunks_of",
    "conflict_markers",
    "due",
    "entry_of",
    "faulty_front_matter",
    "learn_background",
    "make_plan",
    "may_change_unseen",
    "new_chunks",
    "note_of",
    "skipped_in",
    "texts_of",
    "undecoded_of",
    "unreadable_diagnostics",
]


# Load the names for transcripts on first use, because most processes do not need them.
__getattr__ = lazy_names(
    __name__,
    {
        "_sessions": "DEBOUNCE_SECONDS at_lines due new_chunks skipped_in",
    },
)
