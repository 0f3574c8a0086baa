"""How full a coding agent's conversation is, from the end of its transcript."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import PathRefused
from memoriter.plain_file import open_plain

if TYPE_CHECKING:
    from collections.abc import Iterator

TAIL = 1 << 20
"""Bytes that are looked at: the last answer says it all."""
CLAUDE_RESERVE = 33_000
"""Claude Code compacts at the window less 20,000 tokens for the answer and 13,000 to spare."""
LARGE_WINDOW, USUAL_WINDOW = 1_000_000, 200_000
USAGE = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class ContextUsage:
    """What a conversation holds, in tokens."""

    tokens: int
    window: int | None = None
    """What it can hold; None: not known."""
    reserve: int = 0
    """How far below the window it is compacted."""


def context_usage(transcript: str) -> ContextUsage | None:
    """Return how full the conversation is; None: it is not known, or nothing was said since the last compaction.

    Args:
        transcript: the path that the coding agent named; empty: it named none.

    Raises:
        PathRefused: what is there is not a plain file of this user's, or it cannot be read.
    """
    if not transcript:
        return None
    try:
        entries = _backwards(Path(transcript).expanduser())
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no user of the name after `~`
        why = getattr(error, "strerror", None) or str(error)
        message = f"The transcript {transcript[:200]!r} is not read: {why}"
        raise PathRefused(message, remedy="The coding agent names it: look at what is there.") from error
    for entry in entries:
        kind = entry.get("type")
        if kind == "compacted" or entry.get("subtype") == "compact_boundary":
            return None
        found = _claude(entry) if kind == "assistant" else _codex(entry) if kind == "event_msg" else None
        if found is not None:
            return found
    return None


def _backwards(file: Path) -> Iterator[dict[str, Any]]:
    """Read a transcript's end and return its entries, the last one first."""
    with open_plain(file, owned=True) as opened:
        size = opened.seek(0, os.SEEK_END)
        opened.seek(max(0, size - TAIL))
        lines = opened.read(TAIL).split(b"\n")
    return _entries(reversed(lines if size <= TAIL else lines[1:]))


def _entries(lines: Iterator[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue  # empty, or half written, or no transcript
        if isinstance(entry, dict):
            yield cast("dict[str, Any]", entry)


def _claude(entry: dict[str, Any]) -> ContextUsage | None:
    usage = _table(_table(entry.get("message")).get("usage"))
    tokens = sum(_count(usage.get(name)) for name in USAGE)
    if entry.get("isSidechain") or not tokens:
        return None
    return ContextUsage(tokens, LARGE_WINDOW if tokens > USUAL_WINDOW else None, CLAUDE_RESERVE)


def _codex(entry: dict[str, Any]) -> ContextUsage | None:
    told = _table(_table(entry.get("payload")).get("info"))
    tokens = _count(_table(told.get("last_token_usage")).get("total_tokens"))
    return ContextUsage(tokens, _count(told.get("model_context_window")) or None) if tokens else None


def _table(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
