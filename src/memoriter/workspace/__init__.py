"""Find, read and write the files that are memory, and cut Markdown into chunks."""

from typing import TYPE_CHECKING, Any

from memoriter.workspace._confined import Loaded, Raw
from memoriter.workspace._cut import estimate_tokens
from memoriter.workspace._ignore import in_ignored_folder
from memoriter.workspace._paths import ExtraPath, extra_files, is_memory_path, normalise_path, split_citation
from memoriter.workspace._scan import Scan
from memoriter.workspace._workspace import MAX_BYTES, Workspace

if TYPE_CHECKING:
    from memoriter.workspace._forget import Removal, RemovedPassage, all_of, blocks_with, holds, lines_of, take_out
    from memoriter.workspace._note import Note, read_note
    from memoriter.workspace.chunking import MERGE_TOKENS, chunk_lines, chunk_markdown, items_of, scan_blocks
    from memoriter.workspace.transcripts import OpenTranscript, TranscriptFolder, Transcripts, transcripts_of
    from memoriter.workspace.untrusted import (
        HIDDEN,
        TERMINAL,
        folded,
        foreign_lines,
        injected,
        marked,
        neutral,
        neutral_data,
        neutral_json,
        skeleton,
        visible,
        without_digits,
        without_injected,
    )
    from memoriter.workspace.writing import Appended, append, entry_of, log_form, replace

__all__ = [
    "HIDDEN",
    "MAX_BYTES",
    "MERGE_TOKENS",
    "TERMINAL",
    "Appended",
    "ExtraPath",
    "Loaded",
    "Note",
    "OpenTranscript",
    "Raw",
    "Removal",
    "RemovedPassage",
    "Scan",
    "TranscriptFolder",
    "Transcripts",
    "Workspace",
    "all_of",
    "append",
    "blocks_with",
    "chunk_lines",
    "chunk_markdown",
    "entry_of",
    "estimate_tokens",
    "extra_files",
    "folded",
    "foreign_lines",
    "holds",
    "in_ignored_folder",
    "injected",
    "is_memory_path",
    "items_of",
    "lines_of",
    "log_form",
    "marked",
    "neutral",
    "neutral_data",
    "neutral_json",
    "normalise_path",
    "read_note",
    "replace",
    "scan_blocks",
    "skeleton",
    "split_citation",
    "take_out",
    "transcripts_of",
    "visible",
    "without_digits",
    "without_injected",
]


def __getattr__(name: str) -> Any:
    """Import the rooms that read, cut or write text on first use: most searches find no changed note to cut."""
    late = {
        "_forget": {"RemovedPassage", "Removal", "all_of", "blocks_with", "holds", "lines_of", "take_out"},
        "_note": {"Note", "read_note"},
        "chunking": {"MERGE_TOKENS", "chunk_lines", "chunk_markdown", "items_of", "scan_blocks"},
        "transcripts": {"OpenTranscript", "TranscriptFolder", "Transcripts", "transcripts_of"},
        "untrusted": {
            "HIDDEN",
            "TERMINAL",
            "folded",
            "foreign_lines",
            "injected",
            "marked",
            "neutral",
            "neutral_data",
            "neutral_json",
            "skeleton",
            "visible",
            "without_digits",
            "without_injected",
        },
        "writing": {"Appended", "append", "entry_of", "log_form", "replace"},
    }
    for room, names in late.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(f"{__name__}.{room}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
