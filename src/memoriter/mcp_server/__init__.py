"""The MCP server: tools, notes as resources, and prompts, over stdio and HTTP; also hooks, commands and health."""

from typing import TYPE_CHECKING, Any

from memoriter.mcp_server._server import server_of
from memoriter.mcp_server._transports import http_app, listen, serve_http, serve_stdio

if TYPE_CHECKING:
    from memoriter.mcp_server._delegated import Declined
    from memoriter.mcp_server._serve import serve, serve_app

__all__ = ["Declined", "http_app", "listen", "serve", "serve_app", "serve_http", "serve_stdio", "server_of"]


def __getattr__(name: str) -> Any:
    """Import the HTTP server on first use; a server on stdio does not need it."""
    if name == "Declined":
        from memoriter.mcp_server import _delegated

        return _delegated.Declined
    if name in {"serve", "serve_app"}:
        from memoriter.mcp_server import _serve

        return getattr(_serve, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
