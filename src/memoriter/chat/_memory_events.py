"""Events of the memory in a conversation, as values that print as one line each. Pure."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal, cast

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.agent import Captured, FlushResult

Kind = Literal["recalled", "tool", "captured", "flushed", "compacted"]

LONGEST_LINE = 160
"""Characters of a line's text."""
_TAG_LINE = re.compile(r"</?[a-z-]+>\s*$")
_STATEMENTS = re.compile(r"<relevant-memories>\n(.*?)\n</relevant-memories>\s*", re.DOTALL)
"""The block of single statements from long-term memory, which are escaped, so that none can end it."""
_PASSAGE_START = re.compile(r"\n\n(?=\[[^\]\n]+\]\n)")
"""Position before the citation of a passage."""


@dataclass(frozen=True, slots=True)
class MemoryEvent:
    """An action of the memory."""

    kind: Kind
    text: str
    """One line."""


def recalled(text: str) -> list[MemoryEvent]:
    """Return the text inserted before a turn as events, one for each passage."""
    if not text.strip():
        return [MemoryEvent("recalled", "nothing")]
    block = _STATEMENTS.match(text)
    if block is not None:
        statements = [MemoryEvent("recalled", one_line(row)) for row in block[1].splitlines()[1:]]
        return statements + (recalled(text[block.end() :]) if text[block.end() :].strip() else [])
    blocks = [
        "\n".join(row for row in block.splitlines() if not _TAG_LINE.match(row)) for block in _PASSAGE_START.split(text)
    ]
    passages = [block for block in blocks if block.startswith("[")]
    return [MemoryEvent("recalled", one_line(each)) for each in passages or blocks if each.strip()]


def tool_call(name: str, params: Mapping[str, Any], answer: Mapping[str, Any]) -> MemoryEvent:
    """Return a tool call and its outcome as an event."""
    arguments = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in params.items())
    return MemoryEvent("tool", f"{one_line(f'{name}({arguments})')} → {_outcome(answer)}")


def captured(capture: Captured) -> list[MemoryEvent]:
    """Return the texts that listeners kept from a turn as events."""
    return [MemoryEvent("captured", one_line(text)) for text in capture.texts] or [MemoryEvent("captured", "nothing")]


def flushed(result: FlushResult | None) -> MemoryEvent:
    """Return the outcome of a flush as an event."""
    if result is None:
        return MemoryEvent("flushed", "nothing was asked for")
    if result.step == "written":
        return MemoryEvent("flushed", f"{result.new} new in {result.path}")
    return MemoryEvent("flushed", {"nothing_to_store": "nothing to store"}.get(result.step, result.step))


def one_line(text: str) -> str:
    """Return the text in one line, cut to `LONGEST_LINE` characters."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"


def _outcome(answer: Mapping[str, Any]) -> str:
    """Return a short text about a tool's answer."""
    if error := answer.get("error"):
        return one_line(f"error: {error}")
    results = answer.get("results")
    if isinstance(results, list):
        hits = cast("list[Any]", results)
        citations = [_citation(cast("dict[str, Any]", hit)) for hit in hits if isinstance(hit, dict)]
        count = f"{len(hits)} result{'' if len(hits) == 1 else 's'}"
        return one_line(f"{count}: {', '.join(citations)}" if citations else count)
    if answer.get("written") or answer.get("existing"):
        place = answer.get("citation") or answer.get("path")
        return f"written to {place}" if answer.get("written") else f"already in {place}"
    return one_line(json.dumps(answer, ensure_ascii=False, default=str))


def _citation(hit: Mapping[str, Any]) -> str:
    return str(hit.get("citation") or f"{hit.get('path')}#L{hit.get('startLine')}-L{hit.get('endLine')}")
