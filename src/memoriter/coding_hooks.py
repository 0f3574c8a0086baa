"""The table of the hooks of coding agents, for the command, its servers and the clients that call it."""

from __future__ import annotations

import json
from typing import Any, Literal

HookEvent = Literal["session-start", "user-prompt", "stop", "pre-compact", "post-compact", "session-end"]
HOOKS: dict[str, HookEvent] = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "user-prompt",
    "Stop": "stop",
    "PreCompact": "pre-compact",
    "PostCompact": "post-compact",
    "SessionEnd": "session-end",
}
"""Maps the events of Claude Code and Codex to the words of `memoriter hook`."""
GEMINI_HOOKS: dict[str, HookEvent] = {
    "SessionStart": "session-start",
    "BeforeAgent": "user-prompt",
    "AfterAgent": "stop",
}
"""The same for Gemini CLI. Its `PreCompress` comes before each request, whether anything is compressed or not."""
HOOK_TOOL = "memory_hook"
"""The tool of the MCP server that answers a hook. It is not listed: a client calls it, and no model."""
SECONDS_VARIABLE = "MEMORITER_HOOK_SECONDS"
"""The environment variable with the seconds that a prompt waits for its memory, from the start of the hook."""
CAPTURING = frozenset({"post-compact", "session-end"})
"""The hooks that only record conversations. They are installed only if the settings want that."""
TIMEOUTS: dict[HookEvent, int] = {
    "session-start": 5,
    "user-prompt": 5,
    "stop": 30,
    "pre-compact": 30,
    "post-compact": 10,
    "session-end": 3,
}
"""Seconds after which a client goes on without the hook; without a limit, the clients wait up to ten minutes.
Codex accepts at most 3 for the end of a session."""
PROMPT_SECONDS = 0.8
LEAST_SECONDS = 0.3
MOST_SECONDS = 600.0
"""How long a prompt usually waits for its memory, the least that remains for a recall, and the most, in seconds."""
LONGEST_INPUT = 16 * 1024 * 1024
"""Limit of the JSON that a coding agent writes to a hook, in bytes."""


def parse_seconds(text: str) -> float | None:
    """Return the seconds that a prompt waits, by default for an empty text; None if it is no number in the range."""
    try:
        seconds = float(text) if text else PROMPT_SECONDS
    except ValueError:
        return None
    return seconds if LEAST_SECONDS <= seconds <= MOST_SECONDS else None


def parse_input(payload: bytes) -> Any:
    """Return the JSON from stdin of a hook: in UTF-8 or UTF-16, with or without a mark, or with control characters.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply.
    """
    return json.loads(payload.decode(json.detect_encoding(payload), "replace"), strict=False)
