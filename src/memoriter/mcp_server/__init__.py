"""The MCP server: tools, notes as resources, and prompts, over stdio and HTTP; also hooks, commands and health."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memoriter.mcp_server._delegated import CommandWork, Declined
    from memoriter.mcp_server._oauth import OAuth
    from memoriter.mcp_server._server import server_of
    from memoriter.mcp_server._stdio import serve_stdio
    from memoriter.mcp_server._transports import (
        AppOptions,
        http_app,
        listen,
        serve,
        serve_app,
        serve_workspaces,
        served_by,
        served_workspaces,
    )

__all__ = [
    "AppOptions",
    "CommandWork",
    "Declined",
    "OAuth",
    "http_app",
    "listen",
    "serve",
    "serve_app",
    "serve_stdio",
    "serve_workspaces",
    "served_by",
    "served_workspaces",
    "server_of",
]


def __getattr__(name: str) -> Any:
    """Import a name on first use, once it is known that its packages are there; stdio does not need those of HTTP."""
    from importlib import import_module

    from memoriter.extras import require

    late = {
        "_delegated": "Declined",
        "_oauth": "OAuth",
        "_server": "server_of",
        "_stdio": "serve_stdio",
        "_transports": "AppOptions http_app listen serve serve_app serve_workspaces served_by served_workspaces",
    }
    for module, names in late.items():
        if name in names.split():
            require("mcp", "The MCP server")
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
