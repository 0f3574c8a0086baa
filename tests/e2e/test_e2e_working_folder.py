"""Released clients start the server of a user in the project's folder. Without npm and its registry: skipped."""

from __future__ import annotations

import os
import shlex
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from memory_env import MemoryEnv
from odd_files import posix_only
from released_clients import SECONDS, released_client, write_program
from servers.agent_model import AgentModel, Step

if TYPE_CHECKING:
    from pathlib import Path

CLIENTS = {
    "claude-code": ("@anthropic-ai/claude-code@2.1.330", "claude", "mcp", "list"),
    "gemini": ("@google/gemini-cli@0.61.0", "gemini", "mcp", "list"),
    "opencode": ("opencode-ai@1.18.33", "opencode", "mcp", "list"),
    "amp": ("@ampcode/cli@0.0.1790142911-g7618fb", "amp", "mcp", "doctor"),
}
"""The package of a client, and a command of it that starts its servers without a model."""
ENVIRON = {
    "AMP_API_KEY": "scripted",
    "CI": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "GEMINI_CLI_TRUST_WORKSPACE": "true",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
}
NOTING = '#!/bin/sh\npwd >> {folders}\nexec {program} "$@"\n'
CODEX = """
model = "scripted"
model_provider = "scripted"

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
"""
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3 * SECONDS), posix_only]


@dataclass
class Installed:
    """A released client with memoriter, installed for its user, which notes the folder that it is started in."""

    env: MemoryEnv
    work: Path
    environ: dict[str, str]

    @classmethod
    def make(cls, folder: Path, client: str, package: str, program: str) -> Installed:
        released = released_client(package, program)
        env = MemoryEnv.at(folder)
        env.configure(provider="none")
        (folder / "work").mkdir()
        environ = {**env.environment(), **ENVIRON, "PATH": f"{released.parent}{os.pathsep}{os.environ['PATH']}"}
        installed = cls(env, folder / "work", environ)
        memoriter = write_program(env, folder)
        installed.run(str(memoriter), "install", client, "--no-hooks", folder=env.home)
        own = memoriter.rename(folder / "own")
        memoriter.write_text(NOTING.format(folders=shlex.quote(str(folder / "folders")), program=own), encoding="utf-8")
        memoriter.chmod(0o755)
        return installed

    def run(self, *command: str, folder: Path | None = None) -> None:
        subprocess.run(
            command,
            env=self.environ,
            cwd=folder or self.work,
            stdin=subprocess.DEVNULL,
            timeout=SECONDS,
            check=True,
        )

    @property
    def folders(self) -> set[str]:
        return set(self.work.with_name("folders").read_text(encoding="utf-8").split())


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_starts_the_server_of_a_user_in_the_folder_in_which_the_person_works(
    tmp_path: Path, name: str
) -> None:
    package, program, *words = CLIENTS[name]
    client = Installed.make(tmp_path, name, package, program)
    client.run(program, *words)
    assert client.folders == {str(client.work)}


def test_codex_starts_the_server_of_a_user_in_the_folder_in_which_the_person_works(tmp_path: Path) -> None:
    client = Installed.make(tmp_path, "codex", "@openai/codex@0.169.0", "codex")
    file = client.env.home / ".codex" / "config.toml"
    with AgentModel() as model:
        model.play(Step("The result."))
        text = CODEX.format(url=model.root) + file.read_text(encoding="utf-8")
        file.write_text(text, encoding="utf-8")
        client.run("codex", "exec", "--skip-git-repo-check", "Which database does the ledger use?")
    assert client.folders == {str(client.work)}
