"""What memory did in a conversation, as values that can be shown, a line each. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.agent import Captured, FlushResult

Kind = Literal["recalled", "tool", "captured", "flushed", "compacted"]

LONGEST = 160
"""Characters of a line's words."""
_TAG = re.compile(r"</?[a-z-]+>\s*$")
_PASSAGE = re.compile(r"\n\n(?=\[[^\]\n]+\]\n)")
"""Where the citation of a passage stands."""


@dataclass(frozen=True, slots=True)
class MemoryEvent:
    """Something that memory did."""

    kind: Kind
    text: str
    """One line."""


def recalled(text: str) -> list[MemoryEvent]:
    """What was put before a turn: a line for each passage."""
    if not text.strip():
        return [MemoryEvent("recalled", "nothing")]
    blocks = ["\n".join(row for row in block.splitlines() if not _TAG.match(row)) for block in _PASSAGE.split(text)]
    passages = [block for block in blocks if block.startswith("[")]
    return [MemoryEvent("recalled", in_a_line(each)) for each in passages or blocks if each.strip()]


def tool_call(name: str, params: Mapping[str, Any], answer: Mapping[str, Any]) -> MemoryEvent:
    """A call of a tool, and what came of it."""
    given = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in params.items())
    return MemoryEvent("tool", f"{in_a_line(f'{name}({given})')} → {_outcome(answer)}")


def captured(capture: Captured) -> list[MemoryEvent]:
    """What listeners kept of a turn."""
    return [MemoryEvent("captured", in_a_line(text)) for text in capture.texts] or [MemoryEvent("captured", "nothing")]


def flushed(result: FlushResult | None) -> MemoryEvent:
    """What became of a flush."""
    if result is None:
        return MemoryEvent("flushed", "nothing was asked for")
    if result.step == "written":
        return MemoryEvent("flushed", f"{result.new} new in {result.path}")
    return MemoryEvent("flushed", {"nothing_to_store": "nothing to store"}.get(result.step, result.step))


def in_a_line(text: str) -> str:
    """The words in one line, cut."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


def _outcome(answer: Mapping[str, Any]) -> str:
    """What a tool answered, in a few words."""
    if error := answer.get("error"):
        return in_a_line(f"error: {error}")
    found = answer.get("results")
    if isinstance(found, list):
        hits = cast("list[Any]", found)
        places = [_place(cast("dict[str, Any]", hit)) for hit in hits if isinstance(hit, dict)]
        count = f"{len(hits)} result{'' if len(hits) == 1 else 's'}"
        return in_a_line(f"{count}: {', '.join(places)}" if places else count)
    if answer.get("written"):
        return f"written to {answer.get('citation') or answer.get('path')}"
    return in_a_line(json.dumps(answer, ensure_ascii=False, default=str))


def _place(hit: Mapping[str, Any]) -> str:
    return str(hit.get("citation") or f"{hit.get('path')}#L{hit.get('startLine')}-L{hit.get('endLine')}")
