"""`memory_search`, and the list of an agent's tools.

`memory_search` lets the agent search its notes, with citations where they fit, and within a limit of characters.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, assert_never

from memoriter.api_json import result_json, unavailable_json, with_footer
from memoriter.errors import MemoriterError, UsageError, sentence
from memoriter.tools._notes import APPEND, GET
from memoriter.tools._params import input_schema, output_schema, parse_parameters
from memoriter.tools._tool import Tool, advice, origin_json
from memoriter.types import search_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoriter.config import Citations, Configuration, MemorySearch
    from memoriter.memory_like import MemoryLike
    from memoriter.types import Hit, SearchResult

ChatKind = Literal["direct", "group", "channel"]
NAME = "memory_search"
GO_ON = "Go on without the memory, and tell the user that it could not be searched."
TRUNCATED = "maxInjectedChars"
"""The setting that limits the size of a result."""
MOST_CHARACTERS = 4_000
"""Characters of all hits, where `memory.qmd.limits.maxInjectedChars` does not say."""
DESCRIPTION = """\
Search before answering anything that depends on earlier conversations or stored facts: decisions, preferences, \
people, dates, plans, what happened. It searches the notes you keep about this user and their work. Ask a whole \
question or name what you look for, in any language; exact names and ids work too. \
In the query, a "phrase in quotes" must occur as it is, -word must not occur, and tag:NAME, path:FOLDER, since:DAY, \
until:DAY restrict the search. Passages of a time that it names, such as "last week" or "in October 2025", come \
first, and those of other days have `outsideTime`; a query with nothing but a time returns what is newest. \
`understood` says what was read as such. For several formulations at once, write lines: \
lex: words, vec: a question, hyde: a supposed answer; intent: what for.
Returns passages, best first, each with its citation (path and lines), a score from 0 to 1 and its text. `outcome` \
says how far to trust them: "match" (use it and cite it), "weak" (related, may not answer), "none" (nothing is noted; \
say so). Where nothing came back, `reasons` says what was looked at and what to ask instead. `health` says when the \
search could not look everywhere, `truncatedBy` when there was more than is shown. For the lines around a passage call \
memory_get."""

ARGUMENTS = tuple(argument for argument in search_arguments().values() if argument.agent)
"""The arguments that an agent may give."""

HIT = output_schema(
    "Hit",
    fields="citation path startLine endLine score snippet source date changed outsideTime author answerLines",
    required="score snippet",
)
OUTPUT = output_schema(
    "SearchResult",
    "Unavailable",
    fields=(
        "results outcome provider model mode citations fallback reasons health truncatedBy understood "
        "unavailable error warning action origin"
    ),
    required="results",
    of_lists={"results": HIT},
)

log = logging.getLogger(__name__)


def search_tool(memory: MemoryLike, params: Mapping[str, Any], *, session_key: str | None = None) -> dict[str, Any]:
    """Run `memory_search`; a failure becomes JSON with the error."""
    try:
        return _search(memory, params, session_key)
    except UsageError as error:
        return {"results": [], "error": error.message, "action": error.remedy, "code": error.code}
    except MemoriterError as error:
        return unavailable_json(error.message, action=advice(GO_ON, error.remedy), code=error.code)
    except Exception as error:  # the agent's turn continues without its memory
        log.warning("memory_search failed", exc_info=True)
        return unavailable_json(sentence(f"{type(error).__name__}: {error}"), action=advice(GO_ON), code="internal")


def _search(memory: MemoryLike, params: Mapping[str, Any], session_key: str | None) -> dict[str, Any]:
    given = parse_parameters(ARGUMENTS, params)
    question = given.pop("text")
    if question is None and not (given["since"] or given["until"]):
        raise UsageError("query required", remedy=f"Call {NAME} again with a question in `query`.")
    result = memory.search(question or "", operators=True, session=session_key, **given)
    citations = citations_on(memory.configuration.settings.memory.citations, session_key)
    limited = _limit_characters(result, memory.configuration, citations=citations)
    return found_json(memory, limited, citations=citations)


def found_json(memory: MemoryLike, result: SearchResult, *, citations: bool, texts: bool = False) -> dict[str, Any]:
    """Return a search result for somebody who does not know the notes: with the author of each passage and folder."""
    as_of = (result.understood or {}).get("asOf")
    from memoriter.workspace import author_of_hit  # listing the tools must not read notes

    answer = result_json(result, citations=citations, texts=texts)
    for row, hit in zip(answer["results"], result.hits, strict=True):
        if author := author_of_hit(partial(memory.authors, as_of=as_of) if as_of else memory.authors, hit):
            row["author"] = author
    return answer | origin_json(memory)


def _limit_characters(result: SearchResult, configuration: Configuration, *, citations: bool) -> SearchResult:
    """Return the part of a result that fits the limit for one call."""
    from memoriter.config import positive_or_default

    limit = positive_or_default(configuration.character_limit, MOST_CHARACTERS)
    hits = clamped(result.hits, limit, citations=citations)
    if hits == result.hits:
        return result
    return replace(result, hits=hits, truncated_by=result.truncated_by or TRUNCATED)


def citations_on(mode: Citations, session_key: str | None = None) -> bool:
    """Return whether snippets have a footer with their source.

    Args:
        mode: `memory.citations` of the configuration.
        session_key: such as `agent:main:slack:group:7`; None: only the owner reads the conversation.
    """
    match mode:
        case "on":
            return True
        case "off":
            return False
        case "auto":
            return chat_kind(session_key) == "direct"
        case _:
            assert_never(mode)


def chat_kind(session_key: str | None) -> ChatKind:
    """Return the kind of conversation in a session's key: the words after `agent:<id>:` decide, in any case."""
    parts = [part for part in (session_key or "").strip().split(":") if part]
    words = {part.lower() for part in parts[2:]} if parts[:1] == ["agent"] else set[str]()
    if "channel" in words:
        return "channel"
    return "group" if "group" in words else "direct"


def clamped(hits: Sequence[Hit], budget: int, *, citations: bool) -> tuple[Hit, ...]:
    """Return the first hits whose texts together fit the budget; the text of the last one may be cut.

    Args:
        hits: best first.
        budget: characters, including the footers; 0 and less: no limit.
        citations: whether each text has a footer with its source; footers are never cut.
    """
    if budget <= 0:
        return tuple(hits)
    kept: list[Hit] = []
    for hit in hits:
        footer = len(with_footer("", hit.citation)) if citations else 0
        text = hit.snippet.strip() if citations else hit.snippet
        if budget <= footer:
            break
        kept.append(hit if len(text) + footer <= budget else replace(hit, snippet=text[: budget - footer].rstrip()))
        budget -= len(text) + footer
    return tuple(kept)


SEARCH = Tool(
    NAME,
    DESCRIPTION,
    input_schema(ARGUMENTS),
    search_tool,
    "Search the notes",
    OUTPUT,
    writes=False,
    always_load=True,
)


def without_citing(tool: Tool) -> Tool:
    """Return the tool with a description that does not ask the agent to cite."""
    return replace(tool, description=tool.description.replace(" (use it and cite it)", " (use it)"))


TOOLS: tuple[Tool, ...] = (SEARCH, GET, APPEND)


def tools_for(settings: MemorySearch, *, citations: bool = True) -> tuple[Tool, ...]:
    """Return the tools of an agent with these settings: none if `memorySearch.enabled` is off.

    Without `citations`, their descriptions do not ask the agent to cite.
    """
    if not settings.enabled:
        return ()
    return TOOLS if citations else (without_citing(SEARCH), GET, APPEND)
