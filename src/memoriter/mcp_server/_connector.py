"""The tools `search` and `fetch`, in the documented form that ChatGPT connectors expect."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from memoriter.errors import MemoriterError, sentence
from memoriter.mcp_server._listed import note_uri
from memoriter.mcp_server._tools import error_text
from memoriter.tools import Tool, origin_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.memory_like import MemoryLike
    from memoriter.types import Hit

LINES = re.compile(r"\A(?P<path>.+?)#L(?P<start>\d+)(?:-L(?P<end>\d+))?\Z", re.DOTALL)

DOCUMENT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "title": {"type": "string"},
        "url": {"type": "string"},
        "text": {"type": "string"},
    },
    "required": ["id", "title", "url"],
}
ERROR = {"error": {"type": "string"}}
log = logging.getLogger(__name__)


def search_documents(
    memory: MemoryLike, params: Mapping[str, Any], *, session_key: str | None = None
) -> dict[str, Any]:
    """Run `search`; an error becomes part of the answer."""
    try:
        result = memory.search(_text_param(params, "query"), operators=True, session=session_key)
    except MemoriterError as error:
        return {"results": [], "error": error_text(error)}
    except Exception as error:  # the agent's turn must continue without its memory
        log.warning("search failed", exc_info=True)
        return {"results": [], "error": sentence(f"{type(error).__name__}: {error}")}
    notes = [*origin_json(memory).values(), *(reason.message for reason in result.health.reasons)]
    answer: dict[str, Any] = {"results": [_to_document(hit) for hit in result.hits], "outcome": result.outcome}
    return answer | ({"notes": notes} if notes else {})


def fetch_document(memory: MemoryLike, params: Mapping[str, Any], *, session_key: str | None = None) -> dict[str, Any]:
    """Run `fetch`; an error becomes part of the answer."""
    del session_key
    citation = _text_param(params, "id")
    match = LINES.match(citation)
    path = match["path"] if match else citation
    answer: dict[str, Any] = {"id": citation, "title": path, "text": "", "url": note_uri(path)}
    try:
        excerpt = memory.read(path)
    except MemoriterError as error:
        return answer | {"error": error_text(error)}
    except Exception as error:  # the agent's turn must continue without this note
        log.warning("fetch failed", exc_info=True)
        return answer | {"error": sentence(f"{type(error).__name__}: {error}")}
    if not excerpt.text:
        return answer | {"error": f"There is no text in {path!r}."}
    lines = {"startLine": match["start"], "endLine": match["end"] or match["start"]} if match else {}
    metadata = {"path": excerpt.path, **lines, **({"truncated": "true"} if excerpt.truncated else {})} | origin_json(
        memory
    )
    return answer | {"title": excerpt.path, "text": excerpt.text, "metadata": metadata}


def _to_document(hit: Hit) -> dict[str, Any]:
    title = " > ".join((hit.path, *hit.heading))
    return {"id": hit.citation, "title": title, "url": note_uri(hit.path), "text": hit.snippet.strip()}


def _text_param(params: Mapping[str, Any], name: str) -> str:
    value = params.get(name)
    return value.strip() if isinstance(value, str) else ""


def _schema(name: str, description: str) -> dict[str, Any]:
    field = {"type": "string", "description": description}
    return {"type": "object", "properties": {name: field}, "required": [name]}


SEARCH_TOOL = Tool(
    "search",
    "Search the notes about this user and their work. Returns passages, best first; fetch gives the whole note.",
    _schema("query", "The question, or the words to look for, in any language."),
    search_documents,
    "Search notes",
    {
        "type": "object",
        "properties": {
            "results": {"type": "array", "items": DOCUMENT_SCHEMA},
            "outcome": {"type": "string"},
            "notes": {"type": "array", "items": {"type": "string"}},
            **ERROR,
        },
        "required": ["results"],
    },
    writes=False,
)
FETCH_TOOL = Tool(
    "fetch",
    "Read the whole note that a result of search is from.",
    _schema("id", "As search gives it, or the path of a note."),
    fetch_document,
    "Fetch a note",
    {
        "type": "object",
        "properties": {**DOCUMENT_SCHEMA["properties"], "metadata": {"type": "object"}, **ERROR},
        "required": ["id", "title", "text", "url"],
    },
    writes=False,
)
CONNECTOR: tuple[Tool, ...] = (SEARCH_TOOL, FETCH_TOOL)
