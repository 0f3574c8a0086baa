"""`memory_get`: lets the agent read lines of a note."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from memoriter.api_json import excerpt_json, refusal_json
from memoriter.errors import MemoriterError, UsageError, sentence
from memoriter.tools._tool import DOCTOR, Tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.tools._tool import MemoryLike

NAME = "memory_get"
DESCRIPTION = """\
Read lines of one of your notes, such as the surroundings of a passage that memory_search found (it gives path and \
lines), or a day's log (memory/YYYY-MM-DD.md). Ask for the lines you need rather than whole files.
Returns path and text. Where the text is empty, `reasons` says why: there is no such note yet, or it ends before those \
lines. `error` means that the path may not be read; `truncated` means that there is more."""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "As memory_search gives it: MEMORY.md, memory/2026-02-10.md."},
        "from": {"type": "integer", "minimum": 1, "description": "The first line, counted from 1."},
        "lines": {"type": "integer", "minimum": 1, "description": "How many lines. Default: to the end."},
    },
    "required": ["path"],
    "additionalProperties": False,
}

OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "text": {"type": "string"},
        "truncated": {"type": "boolean"},
        "disabled": {"type": "boolean"},
        "error": {"type": "string"},
    },
    "required": ["path", "text"],
}

log = logging.getLogger(__name__)


def get_tool(memory: MemoryLike, params: Mapping[str, Any], *, session_key: str | None = None) -> dict[str, Any]:
    """Run `memory_get`; a failure becomes JSON with the error."""
    del session_key  # a text requested by its path needs no citation
    value = params.get("path") if hasattr(params, "get") else None
    path = value.strip() if isinstance(value, str) else ""
    try:
        return _read(memory, params)
    except MemoriterError as error:
        return refusal_json(path, error.message, error.remedy, code=error.code)
    except Exception as error:  # the agent's turn continues without this note
        log.warning("memory_get failed", exc_info=True)
        return refusal_json(path, sentence(f"{type(error).__name__}: {error}"), DOCTOR, code="internal")


def _read(memory: MemoryLike, params: Mapping[str, Any]) -> dict[str, Any]:
    from memoriter.tools._params import GetParams, parse_params  # listing the tools must not import pydantic

    request = parse_params(GetParams, params)
    if request.path is None:
        raise UsageError("path required", remedy=f"Call {NAME} again with the path of a note.")
    return excerpt_json(memory.read(request.path, start=request.start, lines=request.lines))


GET = Tool(NAME, DESCRIPTION, SCHEMA, get_tool, "Read a note", OUTPUT, writes=False)
