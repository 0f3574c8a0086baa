"""The memory as an MCP server: tools, notes as resources, prompts; over stdio and over HTTP."""

from memoriter.mcp_server._server import server_of
from memoriter.mcp_server._transports import http_app, listen, serve_http, serve_stdio

__all__ = ["http_app", "listen", "serve_http", "serve_stdio", "server_of"]
