"""Notes as MCP resources with `memory://` URIs: a list, a template, and today's log."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    Annotations,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from memoriter.errors import MemoriterError
from memoriter.mcp_server._tools import error_text, wire_text
from memoriter.workspace import neutral

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from memoriter.mcp_server._offered import Offered
    from memoriter.mcp_server._shared import SharedMemory
    from memoriter.memory import Memory
    from memoriter.types import Source

NOTES = "memory://notes/"
TODAY = "memory://today"
TEMPLATE = f"{NOTES}{{+path}}"
MARKDOWN = "text/markdown"
PAGE = 200
"""Notes per page of the list."""
TRUNCATED = "memoriter/truncated"
ORIGIN = "memoriter/origin"
"""What a model must know about the author of the notes; only for notes that are not the owner's."""


def note_uri(path: str) -> str:
    """Return the URI of a note; `path` is the path as cited."""
    return NOTES + quote(path, safe="/", errors="surrogatepass")


def note_path(address: str) -> str | None:
    """Return the path of the note that a URI names, as cited, or None if it is not the URI of a note."""
    name = unquote(address.removeprefix(NOTES), errors="surrogatepass") if address.startswith(NOTES) else ""
    return name or None


class Resources:
    """Handlers of `resources/list`, `resources/templates/list` and `resources/read`."""

    def __init__(self, shared: SharedMemory, offered: Offered) -> None:
        self._shared = shared
        self._offered = offered

    async def list(
        self, context: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        del context
        if self._offered.reason:
            return ListResourcesResult(resources=[])
        after = note_path(NOTES + params.cursor) if params and params.cursor else None
        try:
            sources = await self._shared.run_reader(self._shared.memory.sources)
        except MemoriterError as error:
            raise MCPError(INVALID_PARAMS, error_text(error)) from error
        remaining = [source for source in sources if after is None or source.path > after]
        page = [_resource(source) for source in remaining[:PAGE]]
        cursor = page[-1].uri.removeprefix(NOTES) if len(remaining) > PAGE else None
        return ListResourcesResult(resources=page if after else [_today(), *page], next_cursor=cursor)

    async def templates(
        self, context: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        del context, params
        note = ResourceTemplate(
            uri_template=TEMPLATE,
            name="note",
            title="Note",
            description="A note by its path: MEMORY.md, memory/2026-02-10.md.",
            mime_type=MARKDOWN,
        )
        return ListResourceTemplatesResult(resource_templates=[] if self._offered.reason else [note])

    async def read(self, context: ServerRequestContext[Any], params: ReadResourceRequestParams) -> ReadResourceResult:
        del context
        self._offered.check()
        return await self._shared.run_reader(_read_note, self._shared.memory, params.uri)


def _read_note(memory: Memory, address: str) -> ReadResourceResult:
    try:
        path = memory.daily_path if address == TODAY else note_path(address)
        if path is None:
            raise MCPError(INVALID_PARAMS, f"{address!r} is not a note. Notes are {TODAY} and {TEMPLATE}.")
        excerpt = memory.read(path)
    except MemoriterError as error:
        raise MCPError(INVALID_PARAMS, error_text(error), {"uri": address}) from error
    if not excerpt.text and address != TODAY:
        raise MCPError(INVALID_PARAMS, f"{path!r} has no text, or does not exist.", {"uri": address})
    origin = neutral(memory.place.origin)
    meta = ({TRUNCATED: True} if excerpt.truncated else {}) | ({ORIGIN: origin} if origin else {})
    contents = TextResourceContents(uri=address, mime_type=MARKDOWN, text=neutral(excerpt.text), _meta=meta or None)
    return ReadResourceResult(contents=[contents])


def _resource(source: Source) -> Resource:
    modified = datetime.fromtimestamp(source.mtime_ns / 1e9, tz=UTC).isoformat()
    return Resource(
        uri=note_uri(source.path),
        name=neutral(wire_text(source.path)),
        mime_type=MARKDOWN,
        size=source.size,
        annotations=Annotations(last_modified=modified),
    )


def _today() -> Resource:
    description = "What was noted today; empty where nothing was."
    return Resource(uri=TODAY, name="today", title="Today's log", description=description, mime_type=MARKDOWN)
