"""What a search, or the recall before a turn, has found, for frameworks that give a model nothing else about it.

Each passage of a search names its place, how far to trust it and its author in its own text, because many frameworks
show a model nothing but the text.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from memoriter.api_json import hit_json, reason_json, unavailable_json
from memoriter.errors import MemoriterError
from memoriter.tools import citations_on
from memoriter.values import dataclass
from memoriter.workspace import author_of_hit, neutral

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter import Memory
    from memoriter.agent import HookResult
    from memoriter.types import Diagnostic, Hit, SearchResult

log = logging.getLogger(__name__)
WEAK = "related, may not answer"
FOREIGN = "not written by the owner"
UNAVAILABLE = "[memory] The memory was not searched completely. Say that, and do not say that nothing is known."


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage for a model."""

    text: str
    """The passage below a line in brackets: its place, its day, and what limits its value."""
    metadata: dict[str, Any]
    """The JSON of the hit, with `outcome`, `owned` and `health`."""
    hit: Hit | None = None
    """None: the passage is a notice about the search."""


def find_passages(
    memory: Memory, query: str, *, limit: int | None = None, path: str | None = None, session: str | None = None
) -> list[Passage]:
    """Return the passages that a search finds, best first; it raises nothing because of the memory.

    If the search failed, or could not look everywhere, the last passage is a notice that says so.

    Args:
        memory: an open memory.
        query: the question.
        limit: the maximum number of hits (1 to 1,000); None: as configured.
        path: a folder, to which the search is limited.
        session: the key of the conversation; None: only the owner reads it.
    """
    try:
        result = memory.search(query, max_results=limit, path=path, session=session)
    except MemoriterError as error:
        log.warning("The memory was not searched: %s", error.message)
        action = f"What the user can do: {error.remedy}"
        answer = unavailable_json(error.message, action=action, code=error.code)
        return [Passage(f"[memory] {answer['warning']} {error.message} {action}", answer)]
    cited = citations_on(memory.configuration.settings.memory.citations, session)
    passages = [_passage(memory, hit, result, cited=cited) for hit in result.hits]
    return passages if result.health.ok else [*passages, _notice(result)]


def _passage(memory: Memory, hit: Hit, result: SearchResult, *, cited: bool) -> Passage:
    owned = not (memory.place.origin or author_of_hit(memory.authors, hit))
    head = [hit.citation] if cited else []
    head += [hit.date.isoformat()] if hit.date else []
    head += [f"changed {hit.changed}"] if hit.changed else []
    head += [WEAK] if result.outcome != "match" else []
    head += [] if owned else [FOREIGN]
    text = neutral(hit.text or hit.snippet).strip()
    metadata = hit_json(hit, citations=cited) | {
        "outcome": result.outcome,
        "owned": owned,
        "health": _health(result.health.reasons),
    }
    if memory.place.origin:
        metadata["origin"] = memory.place.origin
    return Passage(f"[{neutral('; '.join(head)) or 'memory'}]\n{text}", metadata, hit)


def _notice(result: SearchResult) -> Passage:
    reasons = " ".join(f"{reason.message} {reason.remedy}".strip() for reason in result.health.reasons)
    text = f"[memory] The memory could not be searched completely. {reasons}".strip()
    return Passage(text, {"outcome": result.outcome, "health": _health(result.health.reasons)})


def _health(reasons: Sequence[Diagnostic]) -> dict[str, Any]:
    return {"ok": not reasons, "reasons": [reason_json(reason) for reason in reasons]}


def recall_json(recalled: HookResult) -> dict[str, Any]:
    """Return `outcome`, `citations` of the passages that were inserted, and `health` with all that was wrong."""
    health = _health(problems(recalled))
    return {"outcome": recalled.outcome, "citations": list(recalled.citations), "health": health}


def problems(recalled: HookResult) -> tuple[Diagnostic, ...]:
    """Return what failed at a recall, and what is wrong with the memory that was searched; each once."""
    health = recalled.health.reasons if recalled.health is not None else ()
    return tuple(dict.fromkeys((*recalled.reasons, *health)))


def text_with_notices(recalled: HookResult) -> str:
    """Return the recalled text for a model, followed by what was wrong."""
    warning = [UNAVAILABLE] if recalled.outcome == "unavailable" else []
    notices = [f"The memory may be incomplete: {reason.message}" for reason in problems(recalled)]
    return "\n\n".join(part for part in (recalled.prepend_context, *warning, *notices) if part)
