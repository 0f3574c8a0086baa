"""The tools of an agent, which read lines of a note, write one, and search the notes; and their list."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, assert_never

from memoriter.api_json import appended_json, excerpt_json, refusal_json, result_json, unavailable_json, with_footer
from memoriter.errors import MemoriterError, PathRefused, UsageError, sentence
from memoriter.journal import acting
from memoriter.tools._tool import Tool, advice, input_schema, origin_json, output_schema, parse_parameters
from memoriter.types import REMEMBER, Argument, search_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoriter.config import Citations, Configuration, MemorySearch
    from memoriter.memory_like import MemoryLike
    from memoriter.types import Excerpt, Hit, SearchResult

GET_NAME = "memory_get"
GET_FAILED = "Go on without this note, and tell the user that it could not be read."
SEARCH_INSTEAD = "Find it with memory_search."
MOST_CANDIDATES = 10
GET_DESCRIPTION = """\
Read lines of one of your notes, such as the surroundings of a passage that memory_search found (it gives path and \
lines), or a day's log (memory/YYYY-MM-DD.md). Ask for the lines you need rather than whole files.
Returns path and text. Where the text is empty, `reasons` says why: there is no such note yet, or it ends before those \
lines. `error` means that the path may not be read; `truncated` means that there is more."""

GET_ARGUMENTS = (
    Argument(
        name="path",
        agent="As memory_search cites it, or a file name: memory/2026-02-10.md#L3-L7.",
        required=True,
    ),
    Argument(
        name="start",
        parameter="from",
        kind="whole",
        low=1,
        checked=False,
        agent="The first line, counted from 1.",
    ),
    Argument(name="lines", kind="whole", low=1, checked=False, agent="How many lines. Default: to the end."),
)

GET_OUTPUT = output_schema(
    "Excerpt", "Refusal", fields="path text truncated disabled error origin", required="path text"
)

log = logging.getLogger(__name__)


def get_tool(memory: MemoryLike, params: Mapping[str, Any], *, session_key: str | None = None) -> dict[str, Any]:
    """Run `memory_get`; a failure becomes JSON with the error."""
    del session_key  # a text requested by its path needs no citation
    value = params.get("path") if hasattr(params, "get") else None
    path = value.strip() if isinstance(value, str) else ""
    try:
        return _read(memory, params)
    except UsageError as error:
        return refusal_json(path, error.message, error.remedy, code=error.code)
    except MemoriterError as error:
        return refusal_json(path, error.message, advice(GET_FAILED, error.remedy), code=error.code)
    except Exception as error:  # the agent's turn continues without this note
        log.warning("memory_get failed", exc_info=True)
        return refusal_json(path, sentence(f"{type(error).__name__}: {error}"), advice(GET_FAILED), code="internal")


def _read(memory: MemoryLike, params: Mapping[str, Any]) -> dict[str, Any]:
    given = parse_parameters(GET_ARGUMENTS, params)
    path = given.pop("path")
    if path is None:
        raise UsageError("path required", remedy=f"Call {GET_NAME} again with the path of a note.")
    return excerpt_json(_excerpt(memory, path, **given)) | origin_json(memory)


def _excerpt(memory: MemoryLike, cited: str, *, start: int | None, lines: int | None) -> Excerpt:
    """Return the lines of the note that a path, or the end of one, selects."""
    try:
        excerpt = memory.read(cited, start=start, lines=lines)
    except PathRefused:
        path = _full_path(memory, cited)
        if path is None:
            raise
        return memory.read(path, start=start, lines=lines)
    if excerpt.reason is None or excerpt.reason.code != "no_such_note":
        return excerpt
    if path := _full_path(memory, cited):
        return memory.read(path, start=start, lines=lines)
    return replace(excerpt, reason=replace(excerpt.reason, remedy=SEARCH_INSTEAD))


def _full_path(memory: MemoryLike, cited: str) -> str | None:
    """Return the path of the note with this name, or with a path that ends like this; None if there is none.

    Raises:
        UsageError: several notes have this name; the message lists them.
    """
    from memoriter.workspace import split_citation  # listing the tools must not read notes

    name, start, count = split_citation(cited)
    matches = [source.path for source in memory.sources() if f"/{source.path}".endswith(f"/{name.strip('/')}")]
    if len(matches) > 1:
        listed = ", ".join(matches[:MOST_CANDIDATES]) + (", …" if len(matches) > MOST_CANDIDATES else "")
        raise UsageError(f"Several notes are called {name!r}: {listed}.", remedy="Call again with one of these paths.")
    lines = f"#L{start}-L{start + (count or 1) - 1}" if start is not None else ""
    return f"{matches[0]}{lines}" if matches else None


GET = Tool(
    GET_NAME,
    GET_DESCRIPTION,
    input_schema(GET_ARGUMENTS),
    get_tool,
    "Read a note",
    GET_OUTPUT,
    writes=False,
    always_load=True,
)


APPEND_NAME = "memory_append"
ORIGIN = "agent"
"""Origin of an entry that a tool appends; a server passes its own."""
APPEND_DESCRIPTION = """\
Append a note so that you know something in later conversations: a decision with its reason, a preference, a fact \
about the user or their work, an open task. Call it when the user asks you to remember something, and when you learn \
something that will matter later. Write whole sentences that can be understood without this conversation: names \
instead of "he", days instead of "tomorrow". First call memory_search to see whether it is already noted. Never \
write passwords or keys.
The text is added at the end of a note; nothing that is there is changed. Returns the citation. `existing` means that \
the same text is already there and was not written again. `findable` says whether memory_search finds it from now on; \
`error` means that nothing was written."""

APPEND_ARGUMENTS = tuple(argument for argument in REMEMBER if argument.agent)
APPEND_OUTPUT = output_schema(
    "AgentEntry",
    "NotWritten",
    fields="written citation existing findable reason error action",
    required="written",
)


def append_tool(memory: MemoryLike, params: Mapping[str, Any], *, session_key: str | None = None) -> dict[str, Any]:
    """Run `memory_append`; a failure becomes JSON with `written: false` and the error."""
    try:
        with acting(session=session_key or ""):
            return _append(memory, params)
    except UsageError as error:
        return {"written": False, "error": error.message, "action": error.remedy}
    except MemoriterError as error:
        action = advice("Tell the user that it was not written down.", error.remedy)
        return {"written": False, "error": error.message, "action": action}
    except Exception as error:  # the agent's turn continues
        log.warning("memory_append failed", exc_info=True)
        action = advice("Tell the user that it may not be written down.")
        return {"written": False, "error": sentence(f"{type(error).__name__}: {error}"), "action": action}


def _append(memory: MemoryLike, params: Mapping[str, Any]) -> dict[str, Any]:
    given = parse_parameters(APPEND_ARGUMENTS, params)
    if given["text"] is None:
        raise UsageError(
            "The parameter text is required.", remedy=f"Call {APPEND_NAME} again with what to write down in `text`."
        )
    written = memory.remember(given["text"], to=given["to"] or "daily", origin=ORIGIN)
    answer = {"written": not written.existing, **appended_json(written, workspace=memory.place.workspace)}
    if not written.reasons:
        return {**answer, "findable": True}
    reason_text = " ".join(f"{reason.message} {reason.remedy}".strip() for reason in written.reasons)
    return {**answer, "findable": False, "reason": reason_text}


APPEND = Tool(
    APPEND_NAME,
    APPEND_DESCRIPTION,
    input_schema(APPEND_ARGUMENTS),
    append_tool,
    "Write a note",
    APPEND_OUTPUT,
    writes=True,
    always_load=True,
)


ChatKind = Literal["direct", "group", "channel"]
SEARCH_NAME = "memory_search"
GO_ON = "Go on without the memory, and tell the user that it could not be searched."
TRUNCATED = "maxInjectedChars"
"""The setting that limits the size of a result."""
MOST_CHARACTERS = 4_000
"""Characters of all hits, where `memory.qmd.limits.maxInjectedChars` does not say."""
SEARCH_DESCRIPTION = """\
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

SEARCH_ARGUMENTS = tuple(argument for argument in search_arguments().values() if argument.agent)
"""The arguments that an agent may give."""

HIT = output_schema(
    "Hit",
    fields="citation path startLine endLine score snippet source date changed outsideTime author answerLines",
    required="score snippet",
)
SEARCH_OUTPUT = output_schema(
    "SearchResult",
    "Unavailable",
    fields=(
        "results outcome provider model mode citations fallback reasons health truncatedBy understood "
        "unavailable error warning action origin"
    ),
    required="results",
    of_lists={"results": HIT},
)


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
    given = parse_parameters(SEARCH_ARGUMENTS, params)
    question = given.pop("text")
    if question is None and not (given["since"] or given["until"]):
        raise UsageError("query required", remedy=f"Call {SEARCH_NAME} again with a question in `query`.")
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

    A session's key is such as `agent:main:slack:group:7`; None: only the owner reads the conversation.
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

    The budget is in characters, and includes the footers with the sources, which are never cut; 0 and less: no limit.
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
    SEARCH_NAME,
    SEARCH_DESCRIPTION,
    input_schema(SEARCH_ARGUMENTS),
    search_tool,
    "Search the notes",
    SEARCH_OUTPUT,
    writes=False,
    always_load=True,
)


TOOLS: tuple[Tool, ...] = (SEARCH, GET, APPEND)


def tools_for(settings: MemorySearch, *, citations: bool = True) -> tuple[Tool, ...]:
    """Return the tools of an agent with these settings: none if `memorySearch.enabled` is off.

    Without `citations`, their descriptions do not ask the agent to cite.
    """
    if not settings.enabled:
        return ()
    if citations:
        return TOOLS
    uncited = SEARCH.description.replace(" (use it and cite it)", " (use it)")
    return (replace(SEARCH, description=uncited), GET, APPEND)
