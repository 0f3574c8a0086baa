"""A client opens the home of memoriter in which it was installed, in its MCP server and in its hooks."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from hook_inputs import hook_input
from memory_env import MemoryEnv
from odd_files import posix_only
from released_clients import write_program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = posix_only
HOOKS = {
    "claude-code": (".claude/settings.json", ".claude.json"),
    "codex": (".codex/hooks.json", ".codex/config.toml"),
    "gemini": (".gemini/settings.json", ".gemini/settings.json"),
}
"""The file of hooks and the file of servers."""
ENTRIES = {
    "cursor": (".cursor/mcp.json", "mcpServers", "env"),
    "codex": (".codex/config.toml", "mcp_servers", "env"),
    "goose": (".config/goose/config.yaml", "extensions", "envs"),
    "opencode": (".config/opencode/opencode.json", "mcp", "environment"),
}
"""The file, the key of the servers, and the key of the variables in an entry."""


class Person:
    """A person with a home folder, and with a home of memoriter that may be elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.env = MemoryEnv.at(folder)
        self.env.configure(provider="fake")
        self.home = folder / "person"
        self.home.mkdir()
        self.program = write_program(self.env, folder)

    def environ(self, home: Path | None) -> dict[str, str]:
        own = self.env.environment() | {"HOME": str(self.home), "USERPROFILE": str(self.home), "PATH": os.defpath}
        del own["MEMORITER_HOME"]
        return own if home is None else {**own, "MEMORITER_HOME": str(home)}

    def run(
        self, *words: str, home: Path | None, typed: str = "", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run the program as a person in the folder of notes does, who has set `MEMORITER_HOME` or has not."""
        return subprocess.run(
            [str(self.program), *words],
            env=self.environ(home) | variables,
            cwd=self.env.notes,
            input=typed,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    def entry(self, client: str) -> dict[str, Any]:
        name, key, _ = ENTRIES[client]
        text = (self.home / name).read_text(encoding="utf-8")
        load = {"toml": tomllib.loads, "yaml": yaml.safe_load, "json": json.loads}[name.rpartition(".")[2]]
        return load(text)[key]["memoriter"]


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    person = Person(tmp_path)
    yield person
    person.env.close()


@pytest.mark.matrix
@pytest.mark.parametrize("client", HOOKS)
def test_hooks_open_the_home_of_the_installation_without_the_variable(person: Person, client: str) -> None:
    own = person.env.home / "workspace"
    own.mkdir()
    (own / "MEMORY.md").write_text("# Mine\n\nThe zeppelin is in the hangar.\n", encoding="utf-8")
    hooks, server = (person.home / name for name in HOOKS[client])
    server.parent.mkdir(exist_ok=True)
    server.write_text('theme = "x"  # mine\n' if client == "codex" else '{"theme": "x"}', encoding="utf-8")
    before = server.read_bytes()
    done = person.run("install", client, home=person.env.home)
    assert done.returncode == 0, done.stderr
    once = [file.read_bytes() for file in (hooks, server)]
    (group,) = json.loads(hooks.read_text(encoding="utf-8"))["hooks"]["SessionStart"]
    answer = subprocess.run(
        group["hooks"][0]["command"],
        shell=True,
        input=hook_input(client, "session-start", cwd=person.home),
        capture_output=True,
        encoding="utf-8",
        env=person.environ(None),
        cwd="/",
        check=False,
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "zeppelin" in answer.stdout
    assert not (person.home / ".memoriter").exists()

    assert person.run("install", client, home=person.env.home).returncode == 0
    assert [file.read_bytes() for file in (hooks, server)] == once
    assert person.run("install", client, "--remove", home=person.env.home).returncode == 0
    assert server.read_bytes() == before
    assert hooks == server or not hooks.exists()


def test_variables_of_openclaw_are_in_the_hooks_too(person: Person, tmp_path: Path) -> None:
    state = tmp_path / "claw"
    state.mkdir()
    (state / "openclaw.json").write_text("{}", encoding="utf-8")
    (state / "workspace").mkdir()
    words = ("--openclaw", "install", "codex", "--dry-run")
    planned = person.run(*words, home=None, OPENCLAW_STATE_DIR=str(state)).stdout
    assert planned.count(f"--env OPENCLAW_STATE_DIR={state} hook ") == 4
    assert "MEMORITER_HOME" not in planned


@pytest.mark.matrix
@pytest.mark.parametrize("client", ENTRIES)
@pytest.mark.parametrize("named", [False, True])
def test_the_usual_home_is_not_in_the_entry(person: Person, client: str, *, named: bool) -> None:
    usual = person.home / ".memoriter"
    assert person.run("install", client, home=usual if named else None).returncode == 0
    assert not person.entry(client).get(ENTRIES[client][2])
    texts = [file.read_text(encoding="utf-8") for file in person.home.rglob("*") if file.is_file()]
    assert not [text for text in texts if "MEMORITER_HOME" in text]


@pytest.mark.matrix
@pytest.mark.parametrize("client", ENTRIES)
def test_the_home_of_an_earlier_entry_is_replaced_and_variables_of_the_owner_stay(person: Person, client: str) -> None:
    name, _, key = ENTRIES[client]
    person.run("install", client, "--no-hooks", home=person.env.home)
    file = person.home / name
    text = file.read_text(encoding="utf-8")
    pair = f'MEMORITER_HOME = "{person.env.home}"' if client == "codex" else f'"MEMORITER_HOME": "{person.env.home}"'
    mine = 'MINE = "1"' if client == "codex" else '"MINE": "1"'
    file.write_text(text.replace(pair, f"{pair}, {mine}"), encoding="utf-8")
    assert person.entry(client)[key] == {"MEMORITER_HOME": str(person.env.home), "MINE": "1"}
    again = person.run("install", client, "--no-hooks", home=person.env.home)
    assert "is up to date" in again.stdout, again.stderr

    refused = person.run("install", client, "--no-hooks", home=None)  # another home knows nothing about the entry
    assert (refused.returncode, key in refused.stderr) == (2, True)
    assert person.run("install", client, "--no-hooks", "--replace", home=None).returncode == 0
    assert person.entry(client)[key] == {"MINE": "1"}
    file.write_text(text, encoding="utf-8")
    assert person.run("install", client, "--no-hooks", "--replace", home=None).returncode == 0
    assert not person.entry(client).get(key)


@pytest.mark.matrix
@pytest.mark.parametrize("client", ["claude-code", "codex", "gemini", "opencode", "cursor"])
def test_files_of_a_project_do_not_name_the_home_and_the_person_is_told_so(person: Person, client: str) -> None:
    before = {file for file in person.env.notes.rglob("*") if file.is_file()}
    done = person.run("install", client, "--scope", "project", home=person.env.home)
    assert f"They do not name your folder {person.env.home} either: set MEMORITER_HOME for the client" in done.stderr
    written = {file for file in person.env.notes.rglob("*") if file.is_file()} - before
    assert written
    assert not [file for file in written if str(person.env.home) in file.read_text(encoding="utf-8")]
    assert "MEMORITER_HOME" not in person.run("install", client, "--scope", "project", home=None).stderr


def test_codex_passes_on_the_variables_that_select_a_memory_in_a_project(person: Person) -> None:
    """Codex gives servers only few variables, and those that their entry names; hooks get all of them."""
    person.run("install", "codex", "--scope", "project", home=None)
    text = (person.env.notes / ".codex" / "config.toml").read_text(encoding="utf-8")
    entry = tomllib.loads(text)["mcp_servers"]["memoriter"]
    assert entry["env_vars"] == ["MEMORITER_HOME", "MEMORITER_WORKSPACE", "MEMORITER_CONFIG"]
    assert "env" not in entry


@pytest.mark.slow
def test_a_project_s_workspace_is_that_of_the_variable_if_the_client_has_it(person: Person, tmp_path: Path) -> None:
    """The command says what the server that a client starts in the folder of the project does."""
    other = tmp_path / "other notes"
    other.mkdir()
    shown = person.run("install", "claude-code", "--scope", "project", home=None).stdout
    here = person.env.notes
    assert f"Claude Code will open {here}, unless MEMORITER_WORKSPACE names another folder." in shown
    words = json.loads((here / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]["memoriter"]["args"][:-1]

    def opened(*words: str, **variables: str) -> str:
        (row,) = json.loads(person.run("--json", *words, "status", home=None, **variables).stdout)
        return row["workspace"]

    assert opened(*words) == str(here)
    assert opened(*words, MEMORITER_WORKSPACE=str(other)) == str(other)

    named = person.run("-w", str(here), "install", "claude-code", "--scope", "project", home=None).stdout
    assert f"Claude Code will always open {here}." in named
    words = json.loads((here / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]["memoriter"]["args"][:-1]
    assert opened(*words, MEMORITER_WORKSPACE=str(other)) == str(here)


@pytest.mark.parametrize("value", ["MEMORITER_HOME", "=x"])
def test_a_variable_on_the_command_line_without_a_name_or_a_value_is_refused(person: Person, value: str) -> None:
    refused = person.run("--env", value, "status", home=None)
    assert (refused.returncode, "This is not NAME=VALUE." in refused.stderr) == (2, True)
    hook = person.run("--env", value, "hook", "user-prompt", home=None, typed="{}")
    assert hook.returncode == 1  # the code 2 would block the prompt in Claude Code


def test_a_home_with_blanks_and_quotes_reaches_the_hooks(person: Person, tmp_path: Path) -> None:
    odd = tmp_path / "it's my $HOME"
    assert person.run("install", "codex", home=odd).returncode == 0
    hooks = json.loads((person.home / ".codex" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    words = shlex.split(hooks["Stop"][0]["hooks"][0]["command"])
    assert words[-4:] == ["--env", f"MEMORITER_HOME={odd}", "hook", "stop"]
