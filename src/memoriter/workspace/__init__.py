"""Find, read and write the files that are memory, and cut Markdown into chunks."""

from typing import TYPE_CHECKING

from memoriter.lazy import lazy_names
from memoriter.workspace._cut import estimate_tokens
from memoriter.workspace._ignore import copied_note, ignoring_line, in_ignored_folder
from memoriter.workspace._paths import (
    ExtraPath,
    Loaded,
    client_memories,
    extra_files,
    is_client_memory,
    is_memory_path,
    new_path_fault,
    normalise_path,
    split_citation,
)
from memoriter.workspace._scan import STATEMENTS, Scan
from memoriter.workspace._workspace import MAX_BYTES, Workspace

if TYPE_CHECKING:
    from memoriter.workspace._authors import author_of_hit, hit_authors
    from memoriter.workspace._forget import Removal, RemovedPassage, all_of, apply_removal, blocks_with, holds, lines_of
    from memoriter.workspace._note import (
        CODE_SPAN,
        Note,
        noisy_lines,
        outside_fences,
        read_front_matter,
        read_note,
        tags_in,
    )
    from memoriter.workspace._versions import join_versions, versions_diagnostics
    from memoriter.workspace.chunking import chunk_lines, chunk_markdown, items_of, scan_blocks
    from memoriter.workspace.transcripts import (
        OpenTranscript,
        TranscriptFolder,
        Transcripts,
        parse_line,
        parse_object,
        transcripts_of,
    )
    from memoriter.workspace.untrusted import (
        HIDDEN,
        TERMINAL,
        Standing,
        authors_of,
        folded,
        foreign_lines,
        injected,
        marked,
        marked_entries,
        neutral,
        neutral_data,
        neutral_json,
        standing_of,
        visible,
        without_injected,
        without_mark,
    )
    from memoriter.workspace.writing import (
        Appended,
        Unfinished,
        append,
        entry_of,
        log_form,
        recover,
        remove,
        replace,
        unfinished,
    )

__all__ = [
    "CODE_SPAN",
    "HIDDEN",
    "MAX_BYTES",
    "STATEMENTS",
    "TERMINAL",
    "Appended",
    "ExtraPath",
    "Loaded",
    "Note",
    "OpenTranscript",
    "Removal",
    "RemovedPassage",
    "Scan",
    "Standing",
    "TranscriptFolder",
    "Transcripts",
    "Unfinished",
    "Workspace",
    "all_of",
    "append",
    "apply_removal",
    "author_of_hit",
    "authors_of",
    "blocks_with",
    "chunk_lines",
    "chunk_markdown",
    "client_memories",
    "copied_note",
    "entry_of",
    "estimate_tokens",
    "extra_files",
    "folded",
    "foreign_lines",
    "hit_authors",
    "holds",
    "ignoring_line",
    "in_ignored_folder",
    "injected",
    "is_client_memory",
    "is_memory_path",
    "items_of",
    "join_versions",
    "lines_of",
    "log_form",
    "marked",
    "marked_entries",
    "neutral",
    "neutral_data",
    "neutral_json",
    "new_path_fault",
    "noisy_lines",
    "normalise_path",
    "outside_fences",
    "parse_line",
    "parse_object",
    "read_front_matter",
    "read_note",
    "recover",
    "remove",
    "replace",
    "scan_blocks",
    "split_citation",
    "standing_of",
    "tags_in",
    "transcripts_of",
    "unfinished",
    "versions_diagnostics",
    "visible",
    "without_injected",
    "without_mark",
]


# Import the modules that read, cut or write text on first use: most searches find no changed note to cut.
__getattr__ = lazy_names(
    __name__,
    {
        "_forget": "RemovedPassage Removal all_of blocks_with holds lines_of apply_removal",
        "_authors": "author_of_hit hit_authors",
        "_versions": "join_versions versions_diagnostics",
        "_note": "CODE_SPAN Note noisy_lines outside_fences read_front_matter read_note tags_in",
        "chunking": "chunk_lines chunk_markdown items_of scan_blocks",
        "transcripts": "OpenTranscript TranscriptFolder Transcripts parse_line parse_object transcripts_of",
        "untrusted": (
            "HIDDEN TERMINAL Standing authors_of folded foreign_lines injected marked marked_entries "
            "neutral neutral_data neutral_json standing_of visible without_injected "
            "without_mark"
        ),
        "writing": "Appended Unfinished append entry_of log_form recover remove replace unfinished",
    },
)
