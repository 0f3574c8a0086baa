"""Find, read and write the files that are memory, and cut Markdown into chunks."""

from typing import TYPE_CHECKING, Any

from memoriter.workspace._areas import ExtraPath
from memoriter.workspace._day import local_time, zone_is_known
from memoriter.workspace._ignore import in_ignored_folder
from memoriter.workspace._paths import extra_files, is_memory_path, normalise_path
from memoriter.workspace._scan import Scan
from memoriter.workspace._tokens import estimate_tokens
from memoriter.workspace._workspace import MAX_BYTES, Loaded, Raw, Workspace

if TYPE_CHECKING:
    from memoriter.workspace._blocks import scan_blocks
    from memoriter.workspace._chunk import MERGE_TOKENS, chunk_markdown
    from memoriter.workspace._folded import folded, skeleton, without_digits
    from memoriter.workspace._forget import Removal, RemovedPassage, all_of, blocks_with, holds, lines_of, take_out
    from memoriter.workspace._hidden import HIDDEN, TERMINAL
    from memoriter.workspace._injected import injected, without_injected
    from memoriter.workspace._lines import chunk_lines
    from memoriter.workspace._neutral import neutral, neutral_data, neutral_json, visible
    from memoriter.workspace._note import Note, read_note
    from memoriter.workspace._open_transcript import OpenTranscript
    from memoriter.workspace._origin import foreign_lines, marked
    from memoriter.workspace._transcript_folders import transcripts_of
    from memoriter.workspace._transcripts import TranscriptFolder, Transcripts
    from memoriter.workspace._write import Appended, append, replace

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
    "estimate_tokens",
    "extra_files",
    "folded",
    "foreign_lines",
    "holds",
    "in_ignored_folder",
    "injected",
    "is_memory_path",
    "lines_of",
    "local_time",
    "marked",
    "neutral",
    "neutral_data",
    "neutral_json",
    "normalise_path",
    "read_note",
    "replace",
    "scan_blocks",
    "skeleton",
    "take_out",
    "transcripts_of",
    "visible",
    "without_digits",
    "without_injected",
    "zone_is_known",
]


def __getattr__(name: str) -> Any:
    """Import the modules that read, cut or write text on first use: most searches find no changed note to cut."""
    late = {
        "_blocks": {"scan_blocks"},
        "_chunk": {"MERGE_TOKENS", "chunk_markdown"},
        "_folded": {"folded", "skeleton", "without_digits"},
        "_forget": {"RemovedPassage", "Removal", "all_of", "blocks_with", "holds", "lines_of", "take_out"},
        "_injected": {"injected", "without_injected"},
        "_lines": {"chunk_lines"},
        "_hidden": {"HIDDEN", "TERMINAL"},
        "_neutral": {"neutral", "neutral_data", "neutral_json", "visible"},
        "_note": {"Note", "read_note"},
        "_origin": {"foreign_lines", "marked"},
        "_open_transcript": {"OpenTranscript"},
        "_transcript_folders": {"transcripts_of"},
        "_transcripts": {"TranscriptFolder", "Transcripts"},
        "_write": {"Appended", "append", "replace"},
    }
    for file, names in late.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(f"{__name__}.{file}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
