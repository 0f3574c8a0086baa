"""Which files are memory, how they are read and written, and how Markdown becomes chunks."""

from typing import TYPE_CHECKING, Any

from memoriter.workspace._areas import ExtraPath
from memoriter.workspace._ignore import in_ignored_folder
from memoriter.workspace._paths import extra_files, is_memory_path, normalise_path
from memoriter.workspace._scan import Scan
from memoriter.workspace._tokens import estimate_tokens
from memoriter.workspace._workspace import MAX_BYTES, Loaded, Raw, Workspace
from memoriter.workspace._write import Appended, append, replace

if TYPE_CHECKING:
    from memoriter.workspace._chunk import MERGE_TOKENS, chunk_markdown
    from memoriter.workspace._forget import Passage, Removal, all_of, blocks_with, holds, lines_of, take_out
    from memoriter.workspace._lines import chunk_lines
    from memoriter.workspace._secrets import Secret, find_secrets, mask

__all__ = [
    "MAX_BYTES",
    "MERGE_TOKENS",
    "Appended",
    "ExtraPath",
    "Loaded",
    "Passage",
    "Raw",
    "Removal",
    "Scan",
    "Secret",
    "Workspace",
    "all_of",
    "append",
    "blocks_with",
    "chunk_lines",
    "chunk_markdown",
    "estimate_tokens",
    "extra_files",
    "find_secrets",
    "holds",
    "in_ignored_folder",
    "is_memory_path",
    "lines_of",
    "mask",
    "normalise_path",
    "replace",
    "take_out",
]


def __getattr__(name: str) -> Any:
    """Load what cuts text when it is first asked for: most searches find nothing new to cut."""
    if name in {"MERGE_TOKENS", "chunk_markdown"}:
        from memoriter.workspace import _chunk

        return getattr(_chunk, name)
    if name == "chunk_lines":
        from memoriter.workspace._lines import chunk_lines

        return chunk_lines
    if name in {"Secret", "find_secrets", "mask"}:
        from memoriter.workspace import _secrets

        return getattr(_secrets, name)
    if name in {"Passage", "Removal", "all_of", "blocks_with", "holds", "lines_of", "take_out"}:
        from memoriter.workspace import _forget

        return getattr(_forget, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
