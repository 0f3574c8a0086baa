"""The lists of prompts and of resources, as plain values in the order of the protocol's JSON.

The SDK's handlers and the answers without the SDK both use them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from memoriter.workspace import neutral

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.mcp_server._offered import Offered
    from memoriter.types import Source

NOTES = "memory://notes/"
TODAY = "memory://today"
MARKDOWN = "text/markdown"
PAGE = 200
"""Notes per page of the list."""
RECALL: dict[str, Any] = {
    "arguments": [{"description": "What you want to know.", "name": "question", "required": True}],
    "description": "Answer a question out of the notes, with the places it is from.",
    "name": "recall",
    "title": "Recall from memory",
}
UNCITED = {**RECALL, "description": "Answer a question out of the notes."}
FLUSH: dict[str, Any] = {
    "arguments": [],
    "description": "Let the agent note what this conversation decided, before its context is compacted or ends.",
    "name": "flush",
    "title": "Write down what must last",
}
TODAY_RESOURCE = {
    "description": "What was noted today; empty where nothing was.",
    "mimeType": MARKDOWN,
    "name": "today",
    "title": "Today's log",
    "uri": TODAY,
}


def wire_text(text: str) -> str:
    """Replace lone surrogates, as in names that are not UTF-8, by U+FFFD, so that every client can decode the text."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def note_uri(path: str) -> str:
    """Return the URI of a note; `path` is the path as cited."""
    return NOTES + quote(path, safe="/", errors="surrogatepass")


def note_path(address: str) -> str | None:
    """Return the path of the note that a URI names, as cited, or None if it is not the URI of a note."""
    name = unquote(address.removeprefix(NOTES), errors="surrogatepass") if address.startswith(NOTES) else ""
    return name or None


def prompts_json(offered: Offered) -> dict[str, Any]:
    """Return the result of `prompts/list`."""
    return {"prompts": [] if offered.reason else [RECALL if offered.citations else UNCITED, FLUSH]}


def resources_json(sources: Sequence[Source], cursor: str | None = None) -> dict[str, Any]:
    """Return a page of the result of `resources/list`."""
    after = note_path(NOTES + cursor) if cursor else None
    remaining = [source for source in sources if after is None or source.path > after]
    page = [_resource_json(source) for source in remaining[:PAGE]]
    following = {"nextCursor": page[-1]["uri"].removeprefix(NOTES)} if len(remaining) > PAGE else {}
    return {**following, "resources": page if after else [TODAY_RESOURCE, *page]}


def _resource_json(source: Source) -> dict[str, Any]:
    modified = datetime.fromtimestamp(source.mtime_ns / 1e9, tz=UTC).isoformat()
    return {
        "annotations": {"lastModified": modified},
        "mimeType": MARKDOWN,
        "name": neutral(wire_text(source.path)),
        "size": source.size,
        "uri": note_uri(source.path),
    }
