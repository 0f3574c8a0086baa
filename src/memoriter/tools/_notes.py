"""`memory_get` and `memory_append`: let the agent read lines of a note, and write a lasting note."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memoriter.api_json import appended_json, excerpt_json, refusal_json
from memoriter.errors import MemoriterError, PathRefused, UsageError, sentence
from memoriter.journal import acting
from memoriter.tools._params import input_schema, output_schema, parse_parameters
from memoriter.tools._tool import Tool, advice, origin_json
from memoriter.types import REMEMBER, Argument

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.memory_like import MemoryLike
    from memoriter.types import Excerpt

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
