"""A memory for AI agents that its owner can read: Markdown files, searched by meaning and by word, offline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memoriter.memory import Memory

__all__ = ["Memory"]


def __getattr__(name: str) -> Any:
    """Load `Memory` when it is first asked for, so that a command which does not need it starts at once."""
    if name == "Memory":
        from memoriter.memory import Memory

        return Memory
    raise AttributeError(f"module 'memoriter' has no attribute {name!r}")
