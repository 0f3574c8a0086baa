"""What the tests of adapters share: notes with a scripted model, an installed plugin, the examples as programs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memoriter import Memory
    from memory_env import MemoryEnv
    from servers.agent_model import AgentModel

EXAMPLES = Path(__file__).parents[2] / "examples" / "agents"
QUESTION = "which database did we choose for the ledger?"
FACT = "The ledger listens on port 5433."
KEY = "sk-scripted-0123456789abcdef"
QUIET = {
    "ANONYMIZED_TELEMETRY": "false",
    "AGNO_TELEMETRY": "false",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "OTEL_SDK_DISABLED": "true",
}
"""Variables without which frameworks contact their vendors."""


@dataclass
class Run:
    """Notes, an open memory of them, and the model that a framework talks to."""

    env: MemoryEnv
    memory: Memory
    model: AgentModel

    @property
    def openai(self) -> str:
        """The address for clients of OpenAI's API."""
        return f"{self.model.root}/v1"

    def note(self, path: str) -> str:
        return (self.env.notes / path).read_text(encoding="utf-8")

    def answers(self) -> list[dict[str, Any]]:
        """The JSON objects among the results of tools that the model has received, in order."""
        messages = self.model.requests[-1]["messages"]
        return [found for message in messages for found in _objects(message)]


def _objects(value: Any) -> list[dict[str, Any]]:
    """Return the JSON objects in the texts of a message that have the form of a tool's result."""
    if isinstance(value, dict):
        return [found for each in value.values() for found in _objects(each)]
    if isinstance(value, list):
        return [found for each in value for found in _objects(each)]
    start = value.find("{") if isinstance(value, str) else -1
    if start < 0:
        return []
    try:
        found = json.JSONDecoder().raw_decode(value[start:])[0]
    except ValueError:
        return []
    return [found] if {"results", "written"} & found.keys() or {"path", "text"} <= found.keys() else []


def install_diary(into: Path) -> Path:
    """Return a folder for Python's path with the plugin `diary`, as an installer leaves it."""
    source = Path(__file__).parent / "plugin" / "memoriter_diary.py"
    metadata = into / "memoriter_diary-1.0.dist-info"
    metadata.mkdir(parents=True)
    shutil.copy(source, into)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: memoriter-diary\nVersion: 1.0\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text("[memoriter.plugins]\ndiary = memoriter_diary\n", encoding="utf-8")
    return into


def run_example(run: Run, name: str) -> str:
    """Run a file of `examples/agents` in the folder of the notes, against the scripted model; return what it prints."""
    source = EXAMPLES / f"{name}.py"
    root = run.model.root
    services = {
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": root,
        "CLAUDE_CONFIG_DIR": str(run.env.home / "claude"),
        "GOOGLE_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": root,
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": run.openai,
    }
    environ = {
        **run.env.environment(),
        **QUIET,
        **services,
        "PYTHONDONTWRITEBYTECODE": os.environ.get("PYTHONDONTWRITEBYTECODE", ""),
    }
    done = subprocess.run(
        [sys.executable, str(source)],
        cwd=run.env.notes,
        env=environ,
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
