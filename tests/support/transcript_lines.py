"""Lines of transcripts, as the three programs write them."""

from __future__ import annotations

import json
from typing import Any

NOON = "2026-02-10T12:00:00.000Z"


def openclaw(role: str, text: str, time: str | None = NOON) -> str:
    stamp = {"timestamp": time} if time else {}
    message = {"role": role, "content": [{"type": "text", "text": text}]}
    return json.dumps({"type": "message", "id": "a1", **stamp, "message": message}, ensure_ascii=False) + "\n"


def claude_code(role: str, content: Any, time: str = NOON, **marks: Any) -> str:
    fields = {"parentUuid": None, "isSidechain": False, "type": role, "uuid": "u1", "cwd": "/notes", **marks}
    message = {"role": role, "content": content}
    return json.dumps({**fields, "message": message, "timestamp": time}, ensure_ascii=False) + "\n"


def codex(role: str, text: str, time: str = NOON) -> str:
    block = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
    payload = {"type": "message", "role": role, "content": [block]}
    return json.dumps({"timestamp": time, "type": "response_item", "payload": payload}, ensure_ascii=False) + "\n"


def codex_meta(cwd: str) -> str:
    payload = {"id": "s", "timestamp": NOON, "cwd": cwd, "originator": "codex_cli_rs", "cli_version": "0.65.0"}
    return json.dumps({"timestamp": NOON, "type": "session_meta", "payload": payload}) + "\n"


CONTINUED = (
    "This session is being continued from a previous conversation that ran out of context. The summary below covers "
    "the earlier portion of the conversation.\n\nSummary:\n"
)
INSTEAD = (
    "Another language model started to solve this problem and produced a summary of its thinking process. Here is the "
    "summary produced by the other language model, use the information in this summary:\n"
)


def compacted(program: str, summary: str, time: str = NOON) -> str:
    """The line that holds the summary of a compaction."""
    if program == "codex":
        line = {"timestamp": time, "type": "compacted", "payload": {"message": INSTEAD + summary}}
        return json.dumps(line) + "\n"
    rest = "\n\nIf you need specific details from before compaction, read the full transcript at: t.jsonl\n"
    after = "Continue the conversation from where it left off without asking the user any further questions."
    marks = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
    return claude_code("user", f"{CONTINUED}{summary}{rest}{after}", time, **marks)


def prompt(program: str, text: str, time: str = NOON) -> str:
    return codex("user", text, time) if program == "codex" else claude_code("user", text, time)
