"""`docs/mcp.md` shows what `memoriter install` writes and names all that a client is offered."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from memoriter.installation import HttpServer, Launch, Machine, changes
from memoriter.mcp_server._connector import CONNECTOR
from memoriter.mcp_server._listed import NOTES, TODAY
from memoriter.mcp_server._prompts import FLUSH, RECALL
from memoriter.tools import TOOLS

PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(?:json|toml|yaml)\n(.*?)```", PAGE, re.DOTALL)
CLIENTS = {"claude-code": 0, "codex": 1, "cursor": 2, "claude-desktop": 2, "vscode": 3, "zed": 4, "amp": 5, "goose": 6}
"""The clients, and the block of the page with the entry of each."""
LAUNCH = Launch(("/path/to/memoriter",))


def read(text: str) -> Any:
    if text.startswith("extensions:"):
        return yaml.safe_load(text)
    return json.loads(text) if text.startswith("{") else tomllib.loads(text)


@pytest.mark.parametrize(("client", "number"), CLIENTS.items())
def test_the_page_shows_what_is_written(client: Any, number: int) -> None:
    home = Path("/home/somebody")
    machine = Machine(home, home, {}, "linux")
    change = changes(client, LAUNCH, machine, scope="user", install=True, hooks=False)[0]
    assert read(BLOCKS[number]) == read(change.edit(""))


@pytest.mark.parametrize(("client", "number"), [("claude-code", 7), ("codex", 8)])
def test_the_page_shows_how_a_client_sends_the_token(client: Any, number: int) -> None:
    home = Path("/home/somebody")
    launch = Launch(("/path/to/memoriter",), remote=HttpServer("http://127.0.0.1:8377/mcp", "TOKEN"))
    (change,) = changes(client, launch, Machine(home, home, {}, "linux"), scope="user", install=True, hooks=False)
    assert read(BLOCKS[number]) == read(change.edit(""))
    assert change.holds_token


def test_the_page_names_every_tool_resource_and_prompt() -> None:
    names = [tool.name for tool in (*TOOLS, *CONNECTOR)] + [RECALL.name, FLUSH.name]
    assert [name for name in names if f"`{name}`" not in PAGE] == []
    assert f"{NOTES}MEMORY.md" in PAGE
    assert TODAY in PAGE
