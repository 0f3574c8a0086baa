"""Released agents that use only memoriter's tools, with a scripted model. Without npm and its registry: skipped."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from memory_env import MemoryEnv
from odd_files import posix_only
from released_clients import SECONDS, released_client, write_program
from servers.agent_model import AgentModel, Step

if TYPE_CHECKING:
    from pathlib import Path

PROMPT = "Which database does the ledger use?"


@dataclass(frozen=True)
class Client:
    package: str
    command: tuple[str, ...]
    """Begins with the program of the package, and runs it once with a prompt."""
    file: str
    """Its configuration, in the home of its user. URL, PROGRAM, NOTES and HOME are replaced."""
    settings: dict[str, Any]
    environ: dict[str, str]
    """URL is replaced."""


STDIO = {
    "command": "PROGRAM",
    "args": ["-w", "NOTES", "mcp"],
    "env": {"MEMORITER_HOME": "HOME"},
    "trust": True,
}
CLIENTS = {
    "gemini-cli": Client(
        "@google/gemini-cli@0.61.0",
        ("gemini", "-p", PROMPT, "-m", "gemini-2.5-flash"),
        ".gemini/settings.json",
        {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False},
            "mcpServers": {"memoriter": STDIO},
        },
        {"GOOGLE_GEMINI_BASE_URL": "URL", "GEMINI_API_KEY": "scripted", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
    ),
    "opencode": Client(
        "opencode-ai@1.18.33",
        ("opencode", "run", "-m", "scripted/scripted", PROMPT),
        ".config/opencode/opencode.json",
        {
            "autoupdate": False,
            "share": "disabled",
            "provider": {
                "scripted": {
                    "npm": "@ai-sdk/openai-compatible",
                    "options": {"baseURL": "URL/v1", "apiKey": "scripted"},
                    "models": {"scripted": {}},
                }
            },
            "mcp": {
                "memoriter": {
                    "type": "local",
                    "command": ["PROGRAM", "-w", "NOTES", "mcp"],
                    "environment": {"MEMORITER_HOME": "HOME"},
                    "enabled": True,
                    "timeout": SECONDS * 1_000,
                }
            },
        },
        {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"},
    ),
}


@pytest.mark.slow
@pytest.mark.timeout(3 * SECONDS)
@posix_only
@pytest.mark.parametrize("name", CLIENTS)
def test_an_agent_that_has_only_the_tools_searches_and_appends(tmp_path: Path, name: str) -> None:
    client = CLIENTS[name]
    program = released_client(client.package, client.command[0])
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    (tmp_path / "work").mkdir()
    with AgentModel() as model:
        places = {"PROGRAM": write_program(env, tmp_path), "NOTES": env.notes, "HOME": env.home, "URL": model.root}

        def filled(value: Any) -> Any:
            text = json.dumps(value)
            for place, actual in places.items():
                text = text.replace(f'"{place}', f'"{actual}')
            return json.loads(text)

        file = env.home / client.file
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(filled(client.settings)), encoding="utf-8")
        path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
        nothing = dict.fromkeys(("maxResults", "minScore", "source", "since", "until", "path", "tag"))
        model.play(
            Step(tool="memory_search", arguments={"query": "which database for the ledger", **nothing}),
            Step(tool="memory_get", arguments={"path": "memory/work/style.md", "from": None, "lines": None}),
            Step(tool="memory_append", arguments={"text": "The ledger is audited in May.", "to": None}),
            Step("The result."),
        )
        done = subprocess.run(
            client.command,
            env={**env.environment(), "PATH": path, **filled(client.environ)},
            cwd=tmp_path / "work",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=SECONDS,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == "The result.", done.stderr
        last = model.seen()
    assert "MEMORY.md#L1-L3" in last
    assert "We chose PostgreSQL for the ledger because of ACID." in last
    assert "Commits are written in the imperative mood." in last
    assert "The ledger is audited in May." in "".join(
        note.read_text(encoding="utf-8") for note in (env.notes / "memory").glob("*.md")
    )
