"""Notes as MCP resources with `memory://` URIs: a list, a template, and today's log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourceTemplate,
    TextResourceContents,
)

from memoriter.errors import MemoriterError
from memoriter.mcp_server._listed import MARKDOWN, NOTES, TODAY, note_path, resources_json
from memoriter.mcp_server._tools import client_of, error_text
from memoriter.workspace import neutral

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from memoriter.mcp_server._offered import Offered
    from memoriter.mcp_server._shared import SharedMemory
    from memoriter.memory import Memory

TEMPLATE = f"{NOTES}{{+path}}"
TRUNCATED = "memoriter/truncated"
ORIGIN = "memoriter/origin"
"""What a model must know about the author of the notes; only for notes that are not the owner's."""


class Resources:
    """Handlers of `resources/list`, `resources/templates/list` and `resources/read`."""

    def __init__(self, shared: SharedMemory, offered: Offered) -> None:
        self._shared = shared
        self.offered = offered
        """What the settings allow, which a reload of plugins replaces."""

    async def list(
        self, context: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        if self.offered.reason:
            return ListResourcesResult(resources=[])
        try:
            sources = await self._shared.run_reader(client_of(context), self._shared.memory.sources)
        except MemoriterError as error:
            raise MCPError(INVALID_PARAMS, error_text(error)) from error
        return ListResourcesResult.model_validate(resources_json(sources, params.cursor if params else None))

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
        return ListResourceTemplatesResult(resource_templates=[] if self.offered.reason else [note])

    async def read(self, context: ServerRequestContext[Any], params: ReadResourceRequestParams) -> ReadResourceResult:
        self.offered.check()
        return await self._shared.run_reader(client_of(context), _read_note, self._shared.memory, params.uri)


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
