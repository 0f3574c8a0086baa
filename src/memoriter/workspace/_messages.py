"""A line of a transcript to what was said in it: OpenClaw's, Claude Code's and Codex's formats, told apart by content.

Each line says by itself which program wrote it, so that reading may begin at any line.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, cast

from memoriter.workspace._harness import without_harness
from memoriter.workspace._injected import without_injected

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Fields = dict[str, Any]
Speaker = Literal["user", "assistant"]
SPEAKERS: dict[Speaker, str] = {"user": "User", "assistant": "Assistant"}

_SPEAKERS: dict[str, Speaker] = {"user": "user", "assistant": "assistant"}
_TEXT_BLOCKS = frozenset({"text", "input_text", "output_text"})
_NOT_SAID = ("isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")
"""Claude Code's marks of lines that neither the user nor the agent said to the other."""
_CODEX_ENVELOPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"})
_WITHOUT_WORDS = frozenset(
    {
        # OpenClaw
        "session",
        "model_change",
        "thinking_level_change",
        "compaction",
        "branch_summary",
        "custom",
        "custom_message",
        "label",
        "session_info",
        # Claude Code
        "summary",
        "system",
        "file-history-snapshot",
        "queue-operation",
        "progress",
        "attachment",
        "last-prompt",
        "custom-title",
        "agent-name",
        "ai-title",
        # Codex, before its lines had envelopes
        "reasoning",
        "function_call",
        "function_call_output",
        "local_shell_call",
        "custom_tool_call",
        "custom_tool_call_output",
        "web_search_call",
        "ghost_snapshot",
    }
)
"""Types of lines that hold no message but show that the file is a transcript."""
_FIRST_YEAR, _LAST_YEAR = 1980, 2200
_MILLISECONDS = 1e11
"""A larger number of seconds lies thousands of years ahead."""


@dataclass(frozen=True, slots=True)
class Said:
    """What one line holds."""

    known: bool
    """Whether it is a line of a transcript at all."""
    speaker: Speaker | None = None
    text: str = ""
    """What was said, in one line and with secrets masked; empty: nothing."""
    time: float | None = None
    """Seconds since 1970; None: the line does not say."""

    @property
    def rendered(self) -> str:
        """`User: …` or `Assistant: …`; empty where nothing was said."""
        return f"{SPEAKERS[self.speaker]}: {self.text}" if self.speaker and self.text else ""


NOTHING = Said(known=False)


def fields_of(line: bytes) -> Fields | None:
    """The JSON object in a line; None where there is none, or only a part of one."""
    try:
        found = json.loads(line.decode("utf-8", "replace").removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None
    return cast("Fields", found) if isinstance(found, dict) else None


def said_in(fields: Fields) -> Said:
    """What is said in a line of a transcript, if anything is."""
    time = _moment(fields)
    kind, message, payload = _word(fields, "type"), fields.get("message"), fields.get("payload")
    if kind == "message" and isinstance(message, dict):  # OpenClaw
        return _said(cast("Fields", message), time)
    if kind in {"user", "assistant"} and isinstance(message, dict):  # Claude Code
        return Said(known=True, time=time) if _unsaid(fields) else _said({"role": kind, **message}, time)
    if kind in _CODEX_ENVELOPES and isinstance(payload, dict):
        inner = cast("Fields", payload)
        spoken = kind == "response_item" and inner.get("type") == "message"
        return _said(inner, time) if spoken else Said(known=True, time=time)
    if kind == "message" and "content" in fields:  # Codex, before its lines had envelopes
        return _said(fields, time)
    headed = "record_type" in fields or ("id" in fields and "timestamp" in fields and "instructions" in fields)
    return Said(known=headed or kind in _WITHOUT_WORDS, time=time)


def _word(fields: Fields, key: str) -> str:
    """A field that names something; empty where it is not there or no text."""
    found = fields.get(key)
    return found if isinstance(found, str) else ""


def _unsaid(fields: Fields) -> bool:
    synthetic = cast("Fields", fields["message"]).get("model") == "<synthetic>"
    return synthetic or any(fields.get(mark) is True for mark in _NOT_SAID)


def _said(message: Fields, time: float | None) -> Said:
    speaker = _SPEAKERS.get(_word(message, "role"))
    if speaker is None:
        return Said(known=True, time=time)
    text = spoken(message.get("content"), speaker)
    return Said(known=True, speaker=speaker, text=text, time=time if time is not None else _moment(message))


def spoken(content: object, speaker: Speaker) -> str:
    """What a message's content says in one line: without what nobody said, secrets masked."""
    from memoriter.masking import mask

    texts = (without_injected(text) for text in _texts(content))
    masked = [mask(without_harness(text) if speaker == "user" else text) for text in texts]
    line = one_line(masked)
    # What is a secret only beside the line before it is found once the lines are one.
    return mask(line) if any("\n" in text for text in masked) or len(masked) > 1 else line


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in cast("list[object]", content):
            fields = cast("Fields", block) if isinstance(block, dict) else {}
            text = fields.get("text")
            if _word(fields, "type") in _TEXT_BLOCKS and isinstance(text, str):
                yield text


def one_line(texts: Iterable[str]) -> str:
    """Texts with every run of white space as one blank."""
    line = " ".join(word for text in texts for word in text.replace("\ufeff", " ").split())
    # JSON may hold halves of characters, which nothing can show.
    return line if line.isascii() else line.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _moment(fields: Fields) -> float | None:
    """The `timestamp` of a line, as ISO 8601 or as a number of (milli)seconds, if it is a sensible one."""
    written = fields.get("timestamp")
    try:
        if isinstance(written, str):
            moment = datetime.fromisoformat(written)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        elif isinstance(written, int | float) and not isinstance(written, bool):
            moment = datetime.fromtimestamp(written / 1000 if written > _MILLISECONDS else written, tz=UTC)
        else:
            return None
        return moment.timestamp() if _FIRST_YEAR <= moment.year <= _LAST_YEAR else None
    except (ValueError, OverflowError, OSError):
        return None
