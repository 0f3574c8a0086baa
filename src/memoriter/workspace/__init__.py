"""Which files are memory, how they are read and written, and how Markdown becomes chunks."""

from typing import TYPE_CHECKING, Any

from memoriter.workspace._areas import ExtraPath
from memoriter.workspace._day import local_time, zone_is_known
from memoriter.workspace._ignore import in_ignored_folder
from memoriter.workspace._paths import extra_files, is_memory_path, normalise_path
from memoriter.workspace._scan import Scan
from memoriter.workspace._tokens import estimate_tokens
from memoriter.workspace._workspace import MAX_BYTES, Loaded, Workspace
from memoriter.workspace._write import Appended, append, replace

if TYPE_CHECKING:
    from memoriter.workspace._chunk import MERGE_TOKENS, chunk_markdown
    from memoriter.workspace._lines import chunk_lines

__all__ = [
    "MAX_BYTES",
    "MERGE_TOKENS",
    "Appended",
    "ExtraPath",
    "Loaded",
    "Scan",
    "Workspace",
    "append",
    "chunk_lines",
    "chunk_markdown",
    "estimate_tokens",
    "extra_files",
    "in_ignored_folder",
    "is_memory_path",
    "local_time",
    "normalise_path",
    "replace",
    "zone_is_known",
]


def __getattr__(name: str) -> Any:
    """Load what cuts text when it is first asked for: most searches find nothing new to cut."""
    if name in {"MERGE_TOKENS", "chunk_markdown"}:
        from memoriter.workspace import _chunk

        return getattr(_chunk, name)
    if name == "chunk_lines":
        from memoriter.workspace._lines import chunk_lines

        return chunk_lines
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
