"""Parse transcript lines of OpenClaw, Claude Code and Codex, whose formats differ in their content.

Each line shows by itself which program wrote it, so reading may start at any line.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, cast

from memoriter.values import dataclass
from memoriter.workspace._harness import without_harness
from memoriter.workspace._injected import without_injected

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Fields = dict[str, Any]
Speaker = Literal["user", "assistant"]
SPEAKERS: dict[Speaker, str] = {"user": "User", "assistant": "Assistant"}

_SPEAKERS: dict[str, Speaker] = {"user": "user", "assistant": "assistant"}
_TEXT_BLOCKS = frozenset({"text", "input_text", "output_text"})
_SYNTHETIC_MARKS = ("isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")
"""Claude Code's marks of lines that are neither a message of the user nor one of the agent."""
_CODEX_ENVELOPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"})
_NO_MESSAGE_TYPES = frozenset(
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
"""Types of lines that contain no message but show that the file is a transcript."""
_FIRST_YEAR, _LAST_YEAR = 1980, 2200
_MILLISECONDS = 1e11
"""Threshold between seconds and milliseconds; as seconds, a larger number lies thousands of years ahead."""


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """The content of one transcript line."""

    known: bool
    """True if the line is one of a transcript."""
    speaker: Speaker | None = None
    text: str = ""
    """The message on one line with secrets masked; empty if the line has no message."""
    time: float | None = None
    """Seconds since 1970, or None if the line has no time."""

    @property
    def rendered(self) -> str:
        """The message as `User: …` or `Assistant: …`; empty if the line has no message."""
        return f"{SPEAKERS[self.speaker]}: {self.text}" if self.speaker and self.text else ""


NOT_A_TRANSCRIPT_LINE = ParsedLine(known=False)


def parse_object(line: bytes) -> Fields | None:
    """Parse the JSON object in a line; return None if there is no complete object."""
    try:
        value = json.loads(line.decode("utf-8", "replace").removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None
    return cast("Fields", value) if isinstance(value, dict) else None


def parse_line(fields: Fields) -> ParsedLine:
    """Parse the message in a line of a transcript, if it has one."""
    time = _timestamp(fields)
    kind, message, payload = _string(fields, "type"), fields.get("message"), fields.get("payload")
    if kind == "message" and isinstance(message, dict):  # OpenClaw
        return _parse_message(cast("Fields", message), time)
    if kind in {"user", "assistant"} and isinstance(message, dict):  # Claude Code
        return (
            ParsedLine(known=True, time=time)
            if _is_synthetic(fields)
            else _parse_message({"role": kind, **message}, time)
        )
    if kind in _CODEX_ENVELOPES and isinstance(payload, dict):
        item = cast("Fields", payload)
        is_message = kind == "response_item" and item.get("type") == "message"
        return _parse_message(item, time) if is_message else ParsedLine(known=True, time=time)
    if kind == "message" and "content" in fields:  # Codex, before its lines had envelopes
        return _parse_message(fields, time)
    is_header = "record_type" in fields or ("id" in fields and "timestamp" in fields and "instructions" in fields)
    return ParsedLine(known=is_header or kind in _NO_MESSAGE_TYPES, time=time)


def _string(fields: Fields, key: str) -> str:
    """Return a text field, or an empty string if the field is missing or not text."""
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def _is_synthetic(fields: Fields) -> bool:
    synthetic = cast("Fields", fields["message"]).get("model") == "<synthetic>"
    return synthetic or any(fields.get(mark) is True for mark in _SYNTHETIC_MARKS)


def _parse_message(message: Fields, time: float | None) -> ParsedLine:
    speaker = _SPEAKERS.get(_string(message, "role"))
    if speaker is None:
        return ParsedLine(known=True, time=time)
    text = message_text(message.get("content"), speaker)
    return ParsedLine(known=True, speaker=speaker, text=text, time=time if time is not None else _timestamp(message))


def message_text(content: object, speaker: Speaker) -> str:
    """Return a message's text on one line, without injected text and with secrets masked."""
    from memoriter.masking import mask

    texts = (without_injected(text) for text in _text_blocks(content))
    masked = [mask(without_harness(text) if speaker == "user" else text) for text in texts]
    line = one_line(masked)
    # Some secrets are recognised only next to the line before, so mask again once the lines are joined.
    return mask(line) if any("\n" in text for text in masked) or len(masked) > 1 else line


def _text_blocks(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in cast("list[object]", content):
            fields = cast("Fields", block) if isinstance(block, dict) else {}
            text = fields.get("text")
            if _string(fields, "type") in _TEXT_BLOCKS and isinstance(text, str):
                yield text


def one_line(texts: Iterable[str]) -> str:
    """Join texts, and turn every run of white space into one space."""
    line = " ".join(word for text in texts for word in text.replace("\ufeff", " ").split())
    # JSON may contain lone surrogates, which cannot be displayed.
    return line if line.isascii() else line.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _timestamp(fields: Fields) -> float | None:
    """Return the `timestamp` of a line (ISO 8601, seconds or milliseconds), or None outside the years 1980 to 2200."""
    value = fields.get("timestamp")
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value / 1000 if value > _MILLISECONDS else value, tz=UTC)
        else:
            return None
        return moment.timestamp() if _FIRST_YEAR <= moment.year <= _LAST_YEAR else None
    except (ValueError, OverflowError, OSError):
        return None
