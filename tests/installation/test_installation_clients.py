"""Each client gets memoriter in its own file and format, and loses it again to the byte."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner

from memoriter.cli import main
from memoriter.installation import Machine, server_files
from memoriter.json_text import parse
from memory_env import MemoryEnv, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES = {
    "claude-code": (".claude.json", "mcpServers"),
    "codex": (".codex/config.toml", "mcp_servers"),
    "gemini": (".gemini/settings.json", "mcpServers"),
    "opencode": (".config/opencode/opencode.json", "mcp"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", "servers"),
    "windsurf": (".codeium/windsurf/mcp_config.json", "mcpServers"),
    "zed": (".config/zed/settings.json", "context_servers"),
    "cline": (".cline/data/settings/cline_mcp_settings.json", "mcpServers"),
    "goose": (".config/goose/config.yaml", "extensions"),
    "amp": (".config/amp/settings.json", "amp.mcpServers"),
}
"""The file of servers of each client on Linux, and the key of the servers."""
PROJECTS = {
    "claude-code": ".mcp.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "opencode": "opencode.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
    "zed": ".zed/settings.json",
    "amp": ".amp/settings.json",
}
"""The file of servers of a project, of the clients that have one."""
COMMENTED = """\
// Settings of this editor
{ // the theme
  "theme": "dark", // the good one: {"a": 1,}
  /* servers, } and ] */
  "KEY": {
    // of the team
    "other": {"command": "x", "env": {"K": "s3cret"}}, // until May
  },
  "last": [1, 2,], // end
}
"""
YAML = """\
# Goose
GOOSE_PROVIDER: openai   # the good one
extensions:
  # of the team
  other:
    enabled: true
    type: stdio
    cmd: x   # until May

    envs: {K: s3cret}
# after the extensions
GOOSE_MODEL: "gpt: #5"
"""
linux = pytest.mark.skipif(os.name == "nt" or os.uname().sysname != "Linux", reason="places of another system")
COMMENTS = ("gemini", "opencode", "vscode", "zed", "amp", "goose")
PINNED = ("claude-desktop", "cursor", "vscode", "windsurf", "cline")


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryEnv]:
    """Give this process a home folder and a working folder of its own."""
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="fake")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "GOOSE_PATH_ROOT", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("MEMORITER_WORKSPACE", raising=False)
    for name in ("HOME", "USERPROFILE", "MEMORITER_HOME"):
        monkeypatch.setenv(name, str(env.home))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(env.notes)
    yield env
    env.close()


def run(env: MemoryEnv, *words: str, workspace: bool = True) -> Outcome:
    """Run the program in this process."""
    options = ["-w", str(env.notes)] if workspace else []
    done = CliRunner().invoke(main, [*options, *words])
    return Outcome(done.exit_code, done.stdout, done.stderr)


def read(file: Path) -> dict[str, Any]:
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".toml":
        return tomllib.loads(text)
    return yaml.safe_load(text) if file.suffix == ".yaml" else parse(text, str(file), comments=True)


def entry_of(env: MemoryEnv, client: str) -> Any:
    file, key = FILES[client]
    return read(env.home / file)[key]["memoriter"]


def command_of(entry: Any) -> list[str]:
    """Return the command line of an entry, in whatever form."""
    if isinstance(entry.get("command"), list):
        return entry["command"]
    return [entry.get("command") or entry["cmd"], *entry["args"]]


def written(env: MemoryEnv, client: str) -> Path:
    """Write the file of a client with comments, if it may have some, and return its path."""
    name, key = FILES[client]
    file = env.home / name
    file.parent.mkdir(parents=True, exist_ok=True)
    text = COMMENTED.replace("KEY", key) if client in COMMENTS else json.dumps({key: {"other": {"command": "x"}}})
    file.write_text(YAML if client == "goose" else "" if client == "codex" else text, encoding="utf-8")
    return file


@linux
@pytest.mark.parametrize("client", FILES)
def test_each_client_gets_an_entry_that_starts_memoriter_with_the_named_workspace(env: MemoryEnv, client: str) -> None:
    assert run(env, "install", client, "--no-hooks").exit_code == 0
    entry = entry_of(env, client)
    program, *words = command_of(entry)
    assert Path(program).is_absolute()
    assert words[-3:] == ["--workspace", str(env.notes), "mcp"]
    environ = entry.get("env") or entry.get("environment") or entry["envs"]
    assert environ == {"MEMORITER_HOME": str(env.home)}
    assert run(env, "install", client, "--remove").exit_code == 0
    assert not (env.home / FILES[client][0]).exists()


@linux
@pytest.mark.parametrize("client", COMMENTS)
def test_comments_stay_and_the_removal_restores_every_byte(env: MemoryEnv, client: str) -> None:
    file = written(env, client)
    before = file.read_bytes()
    values = read(file)
    assert run(env, "install", client, "--no-hooks").exit_code == 0
    text = file.read_text(encoding="utf-8")
    key = FILES[client][1]
    assert "until May" in text
    assert "of the team" in text
    assert list(read(file)[key]) == ["memoriter", "other"]
    assert "is up to date" in run(env, "install", client, "--no-hooks").out
    assert file.read_text(encoding="utf-8") == text
    assert run(env, "install", client, "--remove").exit_code == 0
    assert file.read_bytes() == before

    run(env, "install", client, "--no-hooks")  # now the owner adds a comment, which the copy of the file does not have
    mark = "# mine\n" if client == "goose" else "// mine\n"
    file.write_text(mark + file.read_text(encoding="utf-8"), encoding="utf-8")
    run(env, "install", client, "--remove")
    assert file.read_text(encoding="utf-8") == mark + before.decode()
    assert read(file) == values


@linux
@pytest.mark.parametrize("client", ["claude-code", "claude-desktop", "cursor", "windsurf", "cline"])
def test_a_file_whose_program_accepts_no_comments_is_refused_with_some(env: MemoryEnv, client: str) -> None:
    file = written(env, client)
    file.write_text('{"mcpServers": {} /* mine */}', encoding="utf-8")
    outcome = run(env, "install", client)
    assert (outcome.exit_code, "This is not JSON" in outcome.err) == (2, True)
    assert file.read_text(encoding="utf-8") == '{"mcpServers": {} /* mine */}'


@linux
@pytest.mark.parametrize("text", ["a: [", "- 1\n", "extensions: 3\n", "a: 1\n---\nb: 2\n", "\tx: 1\n"])
def test_a_yaml_file_that_is_wrong_is_an_error_and_stays(env: MemoryEnv, text: str) -> None:
    file = written(env, "goose")
    file.write_text(text, encoding="utf-8")
    outcome = run(env, "install", "goose")
    assert (outcome.exit_code, str(file) in outcome.err, "Traceback" in outcome.err) == (2, True, False)
    assert file.read_text(encoding="utf-8") == text


@linux
def test_goose_keeps_what_its_owner_has_switched_off(env: MemoryEnv) -> None:
    file = written(env, "goose")
    run(env, "install", "goose")
    assert entry_of(env, "goose")["type"] == "stdio"
    file.write_text(file.read_text(encoding="utf-8").replace("enabled: true", "enabled: false"), encoding="utf-8")
    assert run(env, "--agent", "main", "install", "goose").exit_code == 0
    entry = entry_of(env, "goose")
    assert (entry["enabled"], entry["timeout"], "--agent" in entry["args"]) == (False, 300, True)


@linux
def test_opencode_s_file_with_comments_is_used_if_there_is_no_other(env: MemoryEnv) -> None:
    file = written(env, "opencode").rename(env.home / ".config" / "opencode" / "opencode.jsonc")
    run(env, "install", "opencode", "--no-hooks")
    assert "memoriter" in read(file)["mcp"]
    assert not file.with_suffix(".json").exists()


@linux
def test_cline_gets_the_entry_in_its_extension_too(env: MemoryEnv) -> None:
    folder = env.home / ".config" / "Code" / "User" / "globalStorage" / "saoudrizwan.claude-dev"
    folder.mkdir(parents=True)
    run(env, "install", "cline")
    file = folder / "settings" / "cline_mcp_settings.json"
    assert read(file)["mcpServers"]["memoriter"] == entry_of(env, "cline")
    run(env, "install", "cline", "--remove")
    assert not file.exists()


OVER_HTTP = {"vscode": "url", "windsurf": "serverUrl", "zed": "url", "cline": "url", "goose": "uri", "amp": "url"}


@linux
@pytest.mark.parametrize(("client", "key"), OVER_HTTP.items())
def test_each_client_connects_to_a_server_in_its_own_words(env: MemoryEnv, client: str, key: str) -> None:
    run(env, "install", client)
    started = entry_of(env, client)
    assert run(env, "install", client, "--http").exit_code == 0
    token = (env.home / "token").read_text(encoding="ascii").strip()
    entry = entry_of(env, client)
    assert entry[key] == "http://127.0.0.1:8377/mcp"
    assert entry["headers"] == {"Authorization": f"Bearer {token}"}
    assert not {"command", "cmd", "args"} & entry.keys()
    assert token not in (env.home / "clients.json").read_text(encoding="utf-8")
    assert run(env, "install", client).exit_code == 0
    assert entry_of(env, client) == started


@linux
def test_a_project_has_its_own_file_where_the_client_has_one(env: MemoryEnv) -> None:
    for client in ("zed", "amp"):
        name = PROJECTS[client]
        assert run(env, "install", client, "--scope", "project", workspace=False).exit_code == 0
        entry = read(env.notes / name)[FILES[client][1]]["memoriter"]
        assert command_of(entry) == ["memoriter", "mcp"]  # no path and no version of this machine
    for client in ("windsurf", "cline", "goose"):
        assert "Leave out --scope project" in run(env, "install", client, "--scope", "project").err
    shared = run(env, "install", "amp", "--scope", "project", "--http")
    assert "MEMORITER_TOKEN" in shared.err
    assert "cannot name a variable" in run(env, "install", "zed", "--scope", "project", "--http").err


@pytest.mark.parametrize(
    ("client", "platform", "environ", "place"),
    [
        ("vscode", "linux", {}, ".config/Code/User/mcp.json"),
        ("vscode", "darwin", {}, "Library/Application Support/Code/User/mcp.json"),
        ("vscode", "win32", {"APPDATA": "/r"}, "/r/Code/User/mcp.json"),
        ("windsurf", "win32", {}, ".codeium/windsurf/mcp_config.json"),
        ("zed", "linux", {"XDG_CONFIG_HOME": "/x"}, "/x/zed/settings.json"),
        ("zed", "darwin", {"XDG_CONFIG_HOME": "/x"}, ".config/zed/settings.json"),
        ("zed", "win32", {"APPDATA": "/r"}, "/r/Zed/settings.json"),
        ("cline", "darwin", {}, ".cline/data/settings/cline_mcp_settings.json"),
        ("goose", "linux", {}, ".config/goose/config.yaml"),
        ("goose", "win32", {"APPDATA": "/r"}, "/r/Block/goose/config/config.yaml"),
        ("goose", "linux", {"GOOSE_PATH_ROOT": "/g"}, "/g/config/config.yaml"),
        ("amp", "win32", {}, ".config/amp/settings.json"),
        ("opencode", "linux", {"XDG_CONFIG_HOME": "/x"}, "/x/opencode/opencode.json"),
    ],
)
def test_every_client_has_its_file_where_its_system_keeps_it(
    client: Any, platform: str, environ: dict[str, str], place: str
) -> None:
    home = Path("/home/somebody")
    assert server_files(client, Machine(home, home, environ, platform), "user") == [home / place]


@linux
@pytest.mark.parametrize("client", FILES)
def test_the_command_names_the_workspace_that_the_client_will_open(env: MemoryEnv, client: str) -> None:
    own = env.home / "workspace"
    shown = run(env, "install", client, "--no-hooks", workspace=False)
    assert shown.exit_code == 0
    words = command_of(entry_of(env, client))
    if client in PINNED:
        assert words[-3:] == ["--workspace", str(own), "mcp"]
        assert f"will always open {own}." in shown.out
    else:
        assert "--workspace" not in words
        assert f"the folder in which you work if you trust it, and otherwise {own}." in shown.out
    here = f"`memoriter -w {env.notes} install {client}`"
    assert f"It has no notes yet. To open the notes that are here instead: {here}." in shown.out
    named = run(env, "--json", "install", client, "--no-hooks").json
    assert named["workspace"] == str(env.notes)


@linux
@pytest.mark.parametrize("client", ["claude-code", "cursor"])
def test_a_folder_is_named_from_where_the_command_runs(
    env: MemoryEnv, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(env.notes.parent)
    shown = run(env, "-w", env.notes.name, "install", client, "--no-hooks", workspace=False)
    assert f"will always open {env.notes}." in shown.out
    assert command_of(entry_of(env, client))[-3:] == ["--workspace", str(env.notes), "mcp"]


@linux
@pytest.mark.parametrize("client", FILES)
def test_a_workspace_that_only_a_variable_names_is_in_the_entry_of_each_client(
    env: MemoryEnv, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = env.home / "other.json5"
    config.write_text("{}", encoding="utf-8")
    monkeypatch.setenv("MEMORITER_WORKSPACE", str(env.notes))
    monkeypatch.setenv("MEMORITER_CONFIG", str(config))
    monkeypatch.chdir(env.home)
    shown = run(env, "install", client, "--no-hooks", workspace=False)
    assert f"will always open {env.notes}.\n" in shown.out
    assert command_of(entry_of(env, client))[-5:] == ["--workspace", str(env.notes), "--config", str(config), "mcp"]


@linux
@pytest.mark.parametrize("client", FILES)
def test_the_folder_of_an_agent_of_openclaw_is_in_the_entry_of_each_client(env: MemoryEnv, client: str) -> None:
    own = env.home / ".openclaw" / "workspace"
    own.mkdir(parents=True)
    (own / "MEMORY.md").write_text("# Notes\n", encoding="utf-8")
    (own.parent / "openclaw.json").write_text("{}", encoding="utf-8")
    shown = run(env, "--openclaw", "install", client, "--no-hooks", workspace=False)
    assert f"will always open {own}.\n" in shown.out
    assert command_of(entry_of(env, client))[3:5] == ["--workspace", str(own)]


@linux
@pytest.mark.parametrize("client", PROJECTS)
def test_an_entry_for_a_project_opens_the_folder_of_the_project(
    env: MemoryEnv, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = run(env, "install", client, "--scope", "project", "--no-hooks", workspace=False)
    assert f"will open {env.notes}, unless MEMORITER_WORKSPACE names another folder.\n" in shown.out
    words = command_of(read(env.notes / PROJECTS[client])[FILES[client][1]]["memoriter"])
    anywhere = client in {"cursor", "vscode"}  # they need not start the server in the project
    assert words == ["memoriter", *(["--directory", "${workspaceFolder}"] if anywhere else []), "mcp"]
    monkeypatch.chdir(env.home if anywhere else env.notes)
    options = [word.replace("${workspaceFolder}", str(env.notes)) for word in words[1:-1]]
    assert run(env, "--json", *options, "status", workspace=False).json[0]["workspace"] == str(env.notes)


def test_a_folder_that_is_to_be_the_current_one_and_is_missing_is_an_error(env: MemoryEnv) -> None:
    refused = run(env, "-C", "${workspaceFolder}", "status", workspace=False)
    assert refused.exit_code == 2
    assert "The folder '${workspaceFolder}' of --directory cannot be entered: No such file" in refused.err


@linux
@pytest.mark.parametrize("client", PINNED)
def test_doctor_reports_a_client_that_opens_a_folder_without_notes(env: MemoryEnv, client: str) -> None:
    def findings() -> list[tuple[str, str]]:
        rows = run(env, "--json", "doctor").json["findings"]
        return [(row["message"], row["remedy"]) for row in rows if row["check"] == "clients"]

    run(env, "install", client, workspace=False)
    ((message, remedy),) = findings()
    assert message.endswith(f"always opens '{env.home / 'workspace'}', which has no notes.")
    assert remedy == f"`memoriter -w DIR install {client}` names another folder."
    run(env, "install", client)
    assert findings() == []


@linux
@pytest.mark.parametrize("client", PINNED)
def test_a_trusted_folder_of_notes_is_what_such_a_client_opens(env: MemoryEnv, client: str) -> None:
    assert run(env, "trust", str(env.notes), workspace=False).exit_code == 0
    shown = run(env, "install", client, workspace=False)
    assert f"will always open {env.notes}.\n" in shown.out
    assert str(env.notes) in command_of(entry_of(env, client))


@linux
@pytest.mark.parametrize("words", [("--no-hooks",), ("--no-hooks", "--http"), ("--no-hooks", "--dry-run")])
def test_a_file_that_nobody_may_write_to_is_refused_and_keeps_its_permissions(
    env: MemoryEnv, words: tuple[str, ...]
) -> None:
    file = written(env, "cursor")
    file.chmod(0o444)
    before = file.read_bytes()
    refused = run(env, "install", "cursor", *words)
    assert refused.exit_code == 1
    assert f"'{file}' is read-only, so it was not changed." in refused.err
    assert f"`chmod u+w {file}`" in refused.err
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (before, 0o444)
    assert not file.with_name(f"{file.name}.memoriter-backup").exists()


@linux
@pytest.mark.parametrize("client", FILES)
def test_what_the_owner_has_changed_is_not_overwritten_silently(env: MemoryEnv, client: str) -> None:
    run(env, "install", client, "--no-hooks")
    file = env.home / FILES[client][0]
    text = file.read_text(encoding="utf-8").replace(str(env.notes), "/elsewhere/notes")
    file.write_text(text, encoding="utf-8")
    refused = run(env, "install", client, "--no-hooks")
    assert refused.exit_code == 2
    assert "You have changed" in refused.err
    assert "--replace" in refused.err
    assert file.read_text(encoding="utf-8") == text
    dry = run(env, "install", client, "--no-hooks", "--dry-run")
    assert "/elsewhere/notes" in dry.out
    assert "You have changed" in dry.out
    assert run(env, "install", client, "--no-hooks", "--replace").exit_code == 0
    assert "/elsewhere" not in file.read_text(encoding="utf-8")
    assert run(env, "--agent", "main", "install", client, "--no-hooks").exit_code == 0  # ours again
    assert run(env, "install", client, "--remove").exit_code == 0
    assert json.loads((env.home / "clients.json").read_text(encoding="utf-8")) == {"files": {}}


@linux
def test_an_entry_for_another_version_is_reported_with_the_command_that_updates_it(env: MemoryEnv) -> None:
    run(env, "install", "codex")
    record = env.home / "clients.json"
    assert "Installed for" not in run(env, "doctor").out
    current = json.loads(record.read_text(encoding="utf-8"))["files"][str(env.home / ".codex" / "config.toml")][
        "version"
    ]
    assert command_of(entry_of(env, "codex"))[1:3] == ["--installed-for", f"codex@{current}"]
    record.write_text(record.read_text(encoding="utf-8").replace(current, "0.0.1"), encoding="utf-8")
    found = [row for row in run(env, "--json", "doctor").json["findings"] if row["check"] == "clients"]
    assert [(row["state"], row["message"]) for row in found] == [
        ("note", f"Codex: Installed for memoriter 0.0.1, this is {current}.")
    ]
    assert found[0]["remedy"] == "`memoriter install codex` updates it."

    hook = '{"hook_event_name": "SessionStart", "source": "startup", "session_id": "1", "cwd": "/"}'
    words = ["-w", str(env.notes), "--installed-for", "claude-plugin@0.0.1", "hook"]
    done = CliRunner().invoke(main, [*words, "session-start"], input=hook)
    message = f"claude-plugin: Installed for memoriter 0.0.1, this is {current}."
    update = "`claude plugin update memoriter@memoriter` updates it."
    assert f"{message} {update}" in json.loads(done.stdout)["systemMessage"]
    done = CliRunner().invoke(main, [*words[:-2], f"codex@{current}", "hook", "session-start"], input=hook)
    assert "Installed for" not in done.stdout
