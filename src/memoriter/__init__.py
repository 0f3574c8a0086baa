"""A memory for AI agents that its owner can read: Markdown files, searched by meaning and by word, offline.

The names below are stable, and so are `memoriter.errors`, `memoriter.types`, `memoriter.tools` and
`memoriter.hookspecs`. Every other module is internal and may change with any release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.lazy import lazy_names

if TYPE_CHECKING:
    from memoriter.async_memory import AsyncMemory
    from memoriter.codes import DiagnosticCode
    from memoriter.errors import (
        ConfigError,
        EmbeddingError,
        IndexUnavailable,
        InvalidQuery,
        MemoriterError,
        PathRefused,
        SearchDisabled,
        UsageError,
        WorkspaceNotFound,
        WriteConflict,
        WriteError,
    )
    from memoriter.memory import Memory
    from memoriter.package_version import __version__
    from memoriter.types import (
        Canary,
        CompactReport,
        Diagnostic,
        Entry,
        Estimate,
        Excerpt,
        Explanation,
        Filters,
        Health,
        Hit,
        Remembered,
        Replaced,
        SearchResult,
        Skipped,
        Source,
        Status,
        SyncReport,
        WhyNot,
    )

__all__ = [
    "AsyncMemory",
    "Canary",
    "CompactReport",
    "ConfigError",
    "Diagnostic",
    "DiagnosticCode",
    "EmbeddingError",
    "Entry",
    "Estimate",
    "Excerpt",
    "Explanation",
    "Filters",
    "Health",
    "Hit",
    "IndexUnavailable",
    "InvalidQuery",
    "MemoriterError",
    "Memory",
    "PathRefused",
    "Remembered",
    "Replaced",
    "SearchDisabled",
    "SearchResult",
    "Skipped",
    "Source",
    "Status",
    "SyncReport",
    "UsageError",
    "WhyNot",
    "WorkspaceNotFound",
    "WriteConflict",
    "WriteError",
    "__version__",
]


# Import a name when it is first used, so that a command that does not need it starts at once.
__getattr__ = lazy_names(
    __name__,
    {
        "async_memory": "AsyncMemory",
        "codes": "DiagnosticCode",
        "errors": (
            "ConfigError EmbeddingError IndexUnavailable InvalidQuery MemoriterError PathRefused SearchDisabled "
            "UsageError WorkspaceNotFound WriteConflict WriteError"
        ),
        "memory": "Memory",
        "package_version": "__version__",
        "types": (
            "Canary CompactReport Diagnostic Entry Estimate Excerpt Explanation Filters Health Hit Remembered "
            "Replaced SearchResult Skipped Source Status SyncReport WhyNot"
        ),
    },
)


def __dir__() -> list[str]:
    return __all__
