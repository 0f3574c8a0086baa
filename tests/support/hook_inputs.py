"""What Claude Code, Codex and Gemini CLI give their hooks, with the parts of a test filled in.

Those of Claude Code and Gemini CLI were recorded from a released version, and their tests in `tests/e2e/` compare them.
Those of Codex are the fields that it documents and that its published JSON schemas require.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "hooks"
PROGRAMS = ("claude-code", "codex")
"""Those with all hooks. Gemini CLI has those that recall, and one for plugins that capture."""


def hook_input(program: str, event: str, *, cwd: Path, transcript: Path | None = None, **changes: Any) -> str:
    recorded = json.loads((FOLDER / f"{program}.json").read_text(encoding="utf-8"))[event]
    filled = {"CWD": str(cwd), "TRANSCRIPT": str(transcript) if transcript else None}
    fields = {key: filled.get(value, value) if isinstance(value, str) else value for key, value in recorded.items()}
    return json.dumps(fields | changes)


def transcript_lines(program: str, tokens: int) -> list[dict[str, Any]]:
    """The end of a transcript of a conversation with so many tokens."""
    if program == "codex":
        usage = {"input_tokens": tokens - 10, "cached_input_tokens": 5, "output_tokens": 10, "total_tokens": tokens}
        info = {"total_token_usage": {"total_tokens": 9 * tokens}, "last_token_usage": usage}
        counted = {"type": "token_count", "info": info | {"model_context_window": 258_400}, "rate_limits": None}
        return [
            {"timestamp": "2026-02-10T12:00:00.000Z", "type": "event_msg", "payload": counted},
            {"timestamp": "2026-02-10T12:00:01.000Z", "type": "event_msg", "payload": {"type": "agent_message"}},
        ]
    usage = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 1_000,
        "cache_read_input_tokens": tokens - 1_503,
        "output_tokens": 500,
    }
    answer = {"role": "assistant", "model": "claude-sonnet-4-6", "usage": usage, "content": [{"type": "text"}]}
    return [
        {"type": "assistant", "isSidechain": False, "message": answer},
        {"type": "assistant", "isSidechain": True, "message": {"role": "assistant", "usage": {"input_tokens": 7}}},
        {"type": "system", "subtype": "stop_hook_summary"},
    ]


def write_transcript(file: Path, program: str, tokens: int) -> Path:
    file.write_text("".join(f"{json.dumps(line)}\n" for line in transcript_lines(program, tokens)), encoding="utf-8")
    return file
