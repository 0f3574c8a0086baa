"""docs/reference/clients.md is what `memoriter install` writes, and names all that a client is offered.

`just docs` writes the page.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.agent._coding import CONTEXT_CHARS
from memoriter.coding_hooks import HOOKS
from memoriter.errors import UsageError
from memoriter.installation import CLIENT_TITLES, HttpServer, Launch, Machine, changes
from memoriter.mcp_server._offered import FLUSH, NOTES, RECALL, TODAY
from memoriter.mcp_server._tools import CONNECTOR
from memoriter.tools import TOOLS

if TYPE_CHECKING:
    from memoriter.installation import ClientName, FileEdit, Scope

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "reference" / "clients.md"
CONNECT = (DOCS / "connect.md").read_text(encoding="utf-8")
COMMAND = ("/path/to/memoriter",)
LAUNCH = Launch(COMMAND)
WITH_TOKEN = Launch(COMMAND, remote=HttpServer("http://127.0.0.1:8377/mcp", "TOKEN"))
HOME = Path("/home/me")
INTRODUCTION = """\
# Entries of clients

<!-- Written by `just docs` from what `memoriter install` writes. -->

`memoriter install CLIENT` writes these entries; by hand they do the same. `command` is the absolute path, which
`command -v memoriter` prints, because a client that no shell started does not know your `PATH`. To name the notes,
write `"args": ["-w", "/path/to/notes", "mcp"]`. In a `.cursor/mcp.json` or `.vscode/mcp.json`, write
`"args": ["--directory", "${workspaceFolder}", "mcp"]`, because these clients may start the server anywhere.
`memoriter mcp` speaks the protocol revisions 2024-11-05 to 2026-07-28.

Claude Code, Codex, Gemini CLI, opencode, Amp, Zed and Goose start the server in the folder in which you work: it
opens this folder if you [trust](../connect.md#use-the-notes-of-a-project) it, otherwise your own. For the others,
`install` names your folder in the entry.
"""
OFFERED = """\
## What a client is offered

- `memory_search`, `memory_get`, `memory_append`: the tools of every client. A token of the scope `read` gets no tool
  that writes.
- `search`, `fetch`: what ChatGPT's connectors expect. For ChatGPT over HTTP, and for all clients with
  `memory.connectorTools: true`.
- `recall`, `flush`: prompts for people.
- `memory://notes/MEMORY.md`, `memory://today`: a note, and today's note, as resources.

Each result of a tool has a text and a structured form, and each form is complete. Optional parameters may be `null` or
blank, and numbers may be text. A search returns at most 4,000 characters (`memory.qmd.limits.maxInjectedChars`). A
failed search is an error with advice for the model, never an empty list. `memorySearch.enabled: false` and
`plugins.slots.memory: "none"` offer nothing, and `memory.citations: "off"` asks for no citations. A call may name its
conversation in `_meta`, as `memoriter/sessionKey`.

## Limits over HTTP

| what | limit | over it |
|---|---|---|
| sessions | 128 of the owner, 128 of all other tokens | one of the token with most sessions is closed: 404 |
| an idle session | 30 minutes without a request or a stream | it is closed |
| a request | 10 seconds from first to last byte, 4 MiB | 408, or 413 |
| a file on the page *Import* | 500 MB, as long as 100 kB arrive in 10 seconds | it is closed |
| connections | 512, at most 256 from one address | the oldest incomplete one is closed |
| searches at once | 16 of the owner, 4 of another token | they wait |
"""


def changes_of(client: ClientName, launch: Launch, scope: Scope = "user", platform: str = "linux") -> list[FileEdit]:
    """Return what `install` changes, or nothing for a client without files of that scope."""
    machine = Machine(HOME, HOME / "project", {}, platform)
    try:
        return list(changes(client, launch, machine, scope=scope, install=True, hooks=False))
    except UsageError:
        return []


def compact(text: str) -> str:
    """Return the content of a file of a client in few lines."""
    return json.dumps(json.loads(text)) if text.startswith("{") else text.strip()


def kind_of(text: str) -> str:
    return "json" if text.startswith("{") else "yaml" if text.startswith("extensions:") else "toml"


def block(text: str) -> str:
    return f"```{kind_of(text)}\n{compact(text)}\n```"


def shown(file: Path) -> str:
    text = file.as_posix().replace(f"{HOME}/project/", "").replace(f"{HOME}/", "~/")
    return f"`{text}`"


def part(client: ClientName) -> str:
    """Return the section of a client."""
    (entry, *_) = changes_of(client, LAUNCH)
    files = [shown(entry.file)]
    mac = shown(changes_of(client, LAUNCH, platform="darwin")[0].file)
    files += [f"on macOS {mac}"] if mac not in files else []
    files += [f"in a project {shown(edit.file)}" for edit in changes_of(client, LAUNCH, "project")[:1]]
    return f"## {CLIENT_TITLES[client]}\n\n{', '.join(files)}:\n\n{block(entry.edit(''))}\n"


def over_http() -> str:
    """Return the entries that connect to a server that runs."""
    clients: tuple[ClientName, ...] = ("claude-code", "codex", "gemini", "cursor", "vscode", "opencode")
    parts = [f"{CLIENT_TITLES[client]}:\n\n{block(changes_of(client, WITH_TOKEN)[0].edit(''))}" for client in clients]
    return "## Over HTTP\n\nThe token is what `memoriter token` prints.\n\n" + "\n\n".join(parts) + "\n"


def hooks() -> str:
    """Return the hooks of Claude Code, as a person writes them."""
    rows = {
        event: [{"hooks": [{"type": "command", "command": f"memoriter hook {word}"}]}] for event, word in HOOKS.items()
    }
    text = ",\n".join(f'  "{event}": {json.dumps(row)}' for event, row in rows.items())
    where = (
        "In `~/.claude/settings.json`, or for Codex in `~/.codex/hooks.json`; new hooks go after those that are there:"
    )
    gemini = "Gemini CLI has `session-start` at `SessionStart` and `user-prompt` at `BeforeAgent`."
    return f'## Hooks\n\n{where}\n\n```json\n{{"hooks": {{\n{text}\n}}}}\n```\n\n{gemini}\n'


def page() -> str:
    """Return the page."""
    return "\n".join([INTRODUCTION, *map(part, CLIENT_TITLES), over_http(), hooks(), OFFERED])


def test_the_page_shows_what_is_written() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "Run `just docs`."


def test_a_token_in_a_file_is_known_as_one() -> None:
    assert [edit.holds_token for client in ("claude-code", "codex") for edit in changes_of(client, WITH_TOKEN)] == [
        True,
        True,
    ]


def test_the_pages_name_every_tool_resource_and_prompt() -> None:
    names = [tool.name for tool in (*TOOLS, *CONNECTOR)] + [RECALL["name"], FLUSH["name"]]
    assert [name for name in names if f"`{name}`" not in OFFERED] == []
    assert f"{NOTES}MEMORY.md" in OFFERED
    assert TODAY in OFFERED


def test_the_page_on_agents_names_every_client_and_hook() -> None:
    assert [name for name in CLIENT_TITLES if f"`{name}`" not in CONNECT] == []
    table = CONNECT.partition("\n## Hooks\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"`([a-z]+-[a-z]+)`", table.partition("|---|")[2])) - set(HOOKS.values()) == set()
    assert [word for word in HOOKS.values() if f"`{word}`" not in table] == []
    assert f"at most {CONTEXT_CHARS:,} characters" in table


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
