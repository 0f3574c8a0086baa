"""The table of the hooks of coding agents, for the command, its servers and the clients that call it."""

from __future__ import annotations

from typing import Literal

HookEvent = Literal["session-start", "user-prompt", "stop", "pre-compact"]
HOOKS: dict[str, HookEvent] = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "user-prompt",
    "Stop": "stop",
    "PreCompact": "pre-compact",
}
"""Maps the events of Claude Code and Codex to the words of `memoriter hook`."""
LONGEST_INPUT = 16 * 1024 * 1024
"""Limit of the JSON that a coding agent writes to a hook, in bytes."""
