"""The context usage of a coding agent's conversation, read from the end of its transcript."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import PathRefused, sentence
from memoriter.plain_file import open_plain
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

TAIL_BYTES = 1 << 20
"""Bytes read from the end of a transcript; the last answer holds the total."""
CLAUDE_RESERVE = 33_000
"""Tokens. Claude Code compacts at its window less 20,000 tokens for the answer and 13,000 as a margin."""
LARGE_WINDOW, DEFAULT_WINDOW = 1_000_000, 200_000
USAGE = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class ContextUsage:
    """Context usage of a conversation, in tokens."""

    tokens: int
    window: int | None = None
    """Tokens that the model can hold; None: unknown."""
    reserve: int = 0
    """Distance below the window at which the agent compacts."""


def context_usage(transcript: str) -> ContextUsage | None:
    """Return the context usage of a conversation, or None if it is unknown.

    It is also None if the conversation holds nothing since its last compaction.

    Args:
        transcript: path of the transcript, from the coding agent; empty: none.

    Raises:
        PathRefused: the path is not a plain file owned by this user, or it cannot be read.
    """
    if not transcript:
        return None
    try:
        entries = _read_backwards(Path(transcript).expanduser())
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError) as error:  # RuntimeError: the user after `~` does not exist
        why = getattr(error, "strerror", None) or str(error)
        message = f"The transcript {transcript[:200]!r} is not read: {sentence(why)}"
        raise PathRefused(message, remedy="The coding agent names it: look at what is there.") from error
    for entry in entries:
        kind = entry.get("type")
        if kind == "compacted" or entry.get("subtype") == "compact_boundary":
            return None
        usage = _claude_usage(entry) if kind == "assistant" else _codex_usage(entry) if kind == "event_msg" else None
        if usage is not None:
            return usage
    return None


def _read_backwards(file: Path) -> Iterator[dict[str, Any]]:
    """Read the end of a transcript and return its entries, the last one first."""
    with open_plain(file, owned=True) as opened:
        size = opened.seek(0, os.SEEK_END)
        opened.seek(max(0, size - TAIL_BYTES))
        lines = opened.read(TAIL_BYTES).split(b"\n")
    return _parse_entries(reversed(lines if size <= TAIL_BYTES else lines[1:]))


def _parse_entries(lines: Iterator[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue  # an empty or incomplete line, or not a transcript
        if isinstance(entry, dict):
            yield cast("dict[str, Any]", entry)


def _claude_usage(entry: dict[str, Any]) -> ContextUsage | None:
    usage = _table(_table(entry.get("message")).get("usage"))
    tokens = sum(_count(usage.get(name)) for name in USAGE)
    if entry.get("isSidechain") or not tokens:
        return None
    return ContextUsage(tokens, LARGE_WINDOW if tokens > DEFAULT_WINDOW else None, CLAUDE_RESERVE)


def _codex_usage(entry: dict[str, Any]) -> ContextUsage | None:
    info = _table(_table(entry.get("payload")).get("info"))
    tokens = _count(_table(info.get("last_token_usage")).get("total_tokens"))
    return ContextUsage(tokens, _count(info.get("model_context_window")) or None) if tokens else None


def _table(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
