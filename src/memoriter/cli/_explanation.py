"""The lines of a search that explain its question: operators, typed lines, and what decided about a match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.cli._render import Line
    from memoriter.types import SearchResult


def time_lines(result: SearchResult) -> list[Line]:
    """Return the line that shows which time the question names, and how it is left unread."""
    time = (result.understood or {}).get("time")
    if time is None:
        return []
    first = time.get("since", "")
    last = time.get("until", "")
    days = first if first == last else f"{first} … {last}".strip()
    return [((f"Time understood: {time['words']} = {days}. Without it: --since any.", "cyan"),)]


def understood_lines(result: SearchResult) -> list[Line]:
    """Return the lines that show which operators or typed lines the query has, if the result explains itself."""
    if result.timings is None or result.understood is None:
        return []
    typed = result.understood.get("lines")
    if typed is None:
        return [((f"understood: {_values(result.understood)}", "cyan"),)]
    rows = [f"understood: line {number}: {_values(line)}" for number, line in enumerate(typed, 1)]
    if intent := result.understood.get("intent"):
        rows.append(f"understood: intent {intent!r}")
    return [((row, "cyan"),) for row in rows]


def _values(understood: Mapping[str, Any]) -> str:
    return "; ".join(f"{name} {value!r}" for name, value in understood.items())


def certainty_lines(result: SearchResult) -> list[Line]:
    """Return the line that shows what decided about a match, if the result explains itself."""
    if result.timings is None or result.certainty is None:
        return []
    value = result.certainty.value
    threshold = result.certainty.threshold
    return [((f"certainty {value:.2f}; a match has more than {threshold:.2f}", "cyan"),)]
