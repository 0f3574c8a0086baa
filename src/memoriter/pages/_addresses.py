"""Addresses on this server."""

from __future__ import annotations

from urllib.parse import quote


def address_of(path: str, anchor: str = "", /, **parameters: str) -> str:
    """Return an address on this server: path and anchor are quoted, and parameters that are empty are left out."""
    given = {name: quote(value, safe="/:,", errors="replace") for name, value in parameters.items() if value}
    query = "&".join(f"{name}={value}" for name, value in given.items())
    return quote(path, errors="replace") + (f"?{query}" if query else "") + (f"#{quote(anchor)}" if anchor else "")
