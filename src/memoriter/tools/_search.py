"""`memory_search`: let the agent ask its notes."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memoriter.errors import MemoriterError, UsageError
from memoriter.tools._citations import citations_on
from memoriter.tools._clamp import clamped
from memoriter.tools._json import result_json, unavailable_json
from memoriter.tools._tool import DOCTOR, Tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.config import MemorySettings
    from memoriter.tools._tool import MemoryLike
    from memoriter.types import SearchResult

NAME = "memory_search"
TRUNCATED = "maxInjectedChars"
"""The setting that cut an answer short."""
DESCRIPTION = """\
Search the notes you keep about this user and their work: decisions, preferences, people, dates, plans, what happened.
Call it before you answer anything that depends on earlier conversations or stored facts. Ask a whole question or name \
what you look for, in any language; exact names and ids work too.
Returns passages, best first, each with its path, lines, a score from 0 to 1 and its text. `outcome` says how far to \
trust them: "match" (use it and cite it), "weak" (related, may not answer), "none" (nothing is noted; say so). \
Where nothing came back, `reasons` says what was looked at and what to ask instead. `health` says when the search \
could not look everywhere, `truncatedBy` when there was more than is shown. For the lines around a passage call \
memory_get."""

DAY = {"type": "string", "format": "date"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "The question, or the words to look for."},
        "maxResults": {"type": "integer", "minimum": 1, "maximum": 100, "description": "At most so many passages."},
        "minScore": {"type": "number", "minimum": 0, "maximum": 1, "description": "Leave out lower scores."},
        "source": {
            "type": "string",
            "enum": ["memory", "sessions"],
            "description": "Only the notes, or only past conversations. Default: both.",
        },
        "since": {**DAY, "description": "Only what is dated this day or later: YYYY-MM-DD."},
        "until": {**DAY, "description": "Only what is dated this day or earlier: YYYY-MM-DD."},
        "path": {"type": "string", "description": "Only this file or folder, or a pattern such as memory/work/*."},
    },
    "required": ["query"],
    "additionalProperties": False,
}

HIT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "startLine": {"type": "integer"},
        "endLine": {"type": "integer"},
        "score": {"type": "number"},
        "snippet": {"type": "string"},
        "source": {"type": "string", "enum": ["memory", "sessions"]},
        "citation": {"type": "string"},
        "heading": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["path", "startLine", "endLine", "score", "snippet", "source"],
}
OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "results": {"type": "array", "items": HIT},
        "outcome": {"type": "string", "enum": ["match", "weak", "none"]},
        "mode": {"type": "string", "enum": ["hybrid", "keyword", "vector"]},
        "provider": {"type": "string"},
        "model": {"type": "string"},
        "citations": {"type": "string", "enum": ["on", "off"]},
        "health": {"type": "object"},
        "fallback": {"type": "object"},
        "truncatedBy": {"type": "string"},
        "disabled": {"type": "boolean"},
        "unavailable": {"type": "boolean"},
        "error": {"type": "string"},
        "warning": {"type": "string"},
        "action": {"type": "string"},
    },
    "required": ["results"],
}

log = logging.getLogger(__name__)


def search_tool(memory: MemoryLike, params: Mapping[str, Any], *, session_key: str | None = None) -> dict[str, Any]:
    """Run `memory_search`; whatever goes wrong becomes an answer that says so."""
    try:
        return _answer(memory, params, session_key)
    except UsageError as error:
        return {"results": [], "error": error.message, "action": error.remedy, "code": error.code}
    except MemoriterError as error:
        return unavailable_json(error.message, action=_step(error), code=error.code)
    except Exception as error:  # the agent's turn goes on without its memory
        log.warning("memory_search failed", exc_info=True)
        return unavailable_json(f"{type(error).__name__}: {error}", action=DOCTOR, code="internal")


def _step(error: MemoriterError) -> str:
    """What the agent can do, or ask for: programs are for the owner to run."""
    return DOCTOR if error.remedy == MemoriterError.usual else error.remedy


def _answer(memory: MemoryLike, params: Mapping[str, Any], session_key: str | None) -> dict[str, Any]:
    from memoriter.tools._params import SearchParams, checked  # listing the tools does without pydantic

    asked = checked(SearchParams, params)
    if asked.query is None:
        raise UsageError("query required", remedy=f"Call {NAME} again with a question in `query`.")
    result = memory.search(
        asked.query,
        max_results=asked.max_results,
        min_score=asked.min_score,
        sources=[asked.source] if asked.source else None,
        since=asked.since,
        until=asked.until,
        path=asked.path,
    )
    told = memory.configuration.settings.memory
    citations = citations_on(told.citations, session_key)
    return result_json(_within(result, told, citations=citations), citations=citations)


def _within(result: SearchResult, told: MemorySettings, *, citations: bool) -> SearchResult:
    """As much of the answer as an agent is given at once."""
    from memoriter.config import qmd_limits

    hits = clamped(result.hits, qmd_limits(told.qmd.limits).max_injected_chars, citations=citations)
    if hits == result.hits:
        return result
    return replace(result, hits=hits, truncated_by=result.truncated_by or TRUNCATED)


SEARCH = Tool(NAME, DESCRIPTION, SCHEMA, search_tool, "Search the notes", OUTPUT, writes=False)
