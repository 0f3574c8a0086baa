"""`memoriter install`: the real program on the configuration files of a person's home folder."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from mcp import Client, StdioServerParameters

from hook_inputs import hook_input
from mcp_endpoints import LIMIT
from memoriter.cli import main
from memory_env import MemoryEnv, Outcome
from odd_files import KINDS, link_to_a_secret, longer_than_memory, posix_only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FILES = {
    "claude-code": ".claude.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "cursor": ".cursor/mcp.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
}
HOOKS = {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json", "gemini": ".gemini/settings.json"}
JSON = '{\r\n\t"t": "d",  \r\n\t"mcpServers": {\r\n\t\t"other": {"command": "x", "env": {"K": "s3cret"}}\r\n\t}\r\n}'
TOML = '# mine\nmodel = "gpt"   # the good one\n\n[mcp_servers.other]\ncommand = "x"\nenv = {K = "s3cret"}\n# end\n'
linux = pytest.mark.skipif(os.name == "nt" or os.uname().sysname != "Linux", reason="places of another system")


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryEnv]:
    """Give this process a home folder and a working folder of its own."""
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="fake")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "MEMORITER_WORKSPACE", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE", "MEMORITER_HOME"):
        monkeypatch.setenv(name, str(env.home))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # without a Claude Code of this machine
    monkeypatch.chdir(env.notes)
    yield env
    env.close()


def run(env: MemoryEnv, *words: str) -> Outcome:
    """Run the program in this process."""
    done = CliRunner().invoke(main, ["-w", str(env.notes), *words])
    return Outcome(done.exit_code, done.stdout, done.stderr)


def written(env: MemoryEnv, client: str, text: str | None = None) -> Path:
    """Write the configuration file of a client and return its path."""
    file = env.home / FILES[client]
    if text is None:
        text = TOML if client == "codex" else JSON
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def servers(file: Path) -> Any:
    text = file.read_bytes().decode()
    return tomllib.loads(text)["mcp_servers"] if file.suffix == ".toml" else json.loads(text)["mcpServers"]


@linux
@pytest.mark.parametrize("client", FILES)
def test_a_client_gets_the_server_once_and_loses_it_again_to_the_byte(env: MemoryEnv, client: str) -> None:
    file = written(env, client)
    before = file.read_bytes()
    assert run(env, "install", client).exit_code == 0
    entry = servers(file)["memoriter"]
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-3:] == ["--workspace", str(env.notes), "mcp"]
    assert entry["env"] == {"MEMORITER_HOME": str(env.home)}
    assert servers(file)["other"] == {"command": "x", "env": {"K": "s3cret"}}
    assert file.with_name(f"{file.name}.memoriter-backup").read_bytes() == before

    once = file.read_bytes()
    again = run(env, "install", client)
    assert "is up to date" in again.out
    assert file.read_bytes() == once

    assert run(env, "--agent", "main", "install", client).exit_code == 0
    assert file.read_bytes() != once
    assert file.with_name(f"{file.name}.memoriter-backup").read_bytes() == before
    assert run(env, "install", client, "--remove").exit_code == 0
    assert file.read_bytes() == before
    assert not list(env.home.rglob("*.memoriter-backup"))
    assert "is up to date" in run(env, "install", client, "--remove").out


@linux
@pytest.mark.parametrize("client", FILES)
def test_a_dry_run_shows_the_lines_and_writes_nothing_and_no_secret_of_others(env: MemoryEnv, client: str) -> None:
    for text in (None, '{"mcpServers": {"other": {"env": {"K": "s3cret"}}}}'):
        if text and client == "codex":
            continue
        file = written(env, client, text)
        before = {each: each.read_bytes() for each in env.home.rglob("*") if each.is_file()}
        shown = run(env, "install", client, "--dry-run").out
        assert str(env.notes) in shown
        assert "s3cret" not in shown
        assert {each: each.read_bytes() for each in env.home.rglob("*") if each.is_file()} == before
        report = run(env, "--json", "install", client, "--dry-run").json
        assert report["dryRun"]
        assert report["files"][0]["file"] == str(file)


@linux
@pytest.mark.parametrize("client", FILES)
@pytest.mark.parametrize("text", ["{broken", '{"mcpServers": [], "x": 1}', "mcp_servers = 3\n", "[a\n", "\xff"])
def test_a_file_that_is_wrong_is_an_error_and_stays_as_it_is(env: MemoryEnv, client: str, text: str) -> None:
    file = written(env, client, "{}")
    file.write_bytes(text.encode("latin-1"))
    outcome = run(env, "install", client)
    assert (outcome.exit_code, outcome.out) == (2, "")
    assert str(file) in outcome.err
    assert "Traceback" not in outcome.err
    assert file.read_bytes() == text.encode("latin-1")
    assert not file.with_name(f"{file.name}.memoriter-backup").exists()


@linux
@pytest.mark.parametrize("client", FILES)
def test_a_file_that_is_not_there_is_made_and_removing_makes_none(env: MemoryEnv, client: str) -> None:
    file = env.home / FILES[client]
    assert run(env, "install", client, "--remove").exit_code == 0
    assert not file.exists()
    assert run(env, "install", client).exit_code == 0
    assert list(servers(file)) == ["memoriter"]
    assert run(env, "--agent", "main", "install", client).exit_code == 0
    removed = run(env, "install", client, "--remove")
    assert "was deleted" in removed.out
    assert not [
        each
        for folder in (".claude", ".codex", ".gemini", ".cursor", ".config")
        for each in (env.home / folder).glob("*.*")
    ]
    assert not file.exists()


@linux
@pytest.mark.parametrize("text", ["{}", "", '{"hooks": {}, "x": [ ]}\n', '{"hooks": {"Stop": []}}'])
def test_what_is_almost_empty_comes_back_to_the_byte_and_what_the_owner_adds_stays(env: MemoryEnv, text: str) -> None:
    settings = env.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(text, encoding="utf-8")
    run(env, "install", "claude-code")
    run(env, "install", "claude-code", "--remove")
    assert settings.read_text(encoding="utf-8") == text
    run(env, "install", "claude-code")
    changed = settings.read_text(encoding="utf-8").replace("{", '{"model": "opus",', 1)
    settings.write_text(changed, encoding="utf-8")
    run(env, "install", "claude-code", "--remove")
    assert json.loads(settings.read_text(encoding="utf-8"))["model"] == "opus"
    assert "memoriter" not in settings.read_text(encoding="utf-8")


@linux
def test_what_the_owner_has_set_in_our_entry_stays(env: MemoryEnv) -> None:
    file = written(env, "codex", '[mcp_servers.memoriter]\ncommand = "/old"  # mine\nstartup_timeout_sec = 40\n')
    before = file.read_bytes()
    refused = run(env, "install", "codex")
    assert (refused.exit_code, "You have changed command in the entry" in refused.err) == (2, True)
    assert file.read_bytes() == before
    run(env, "install", "codex", "--replace")
    assert servers(file)["memoriter"]["startup_timeout_sec"] == 40
    assert servers(file)["memoriter"]["command"] != "/old"
    assert "# mine" in file.read_text(encoding="utf-8")
    file = written(env, "cursor", '{"mcpServers": {"memoriter": {"command": "/old", "disabled": true}}}')
    run(env, "install", "cursor", "--replace")
    entry = servers(file)["memoriter"]
    assert (entry["disabled"], entry["args"][-1]) == (True, "mcp")


@linux
def test_a_link_stays_a_link_and_nobody_else_may_read_more_than_before(env: MemoryEnv) -> None:
    target = env.home / "dotfiles.json"
    target.write_text(JSON, encoding="utf-8")
    target.chmod(0o600)
    (env.home / ".claude.json").symlink_to(target)
    assert run(env, "install", "claude-code").exit_code == 0
    assert (env.home / ".claude.json").is_symlink()
    assert "memoriter" in servers(target)
    backup = target.with_name("dotfiles.json.memoriter-backup")
    assert [stat.S_IMODE(file.stat().st_mode) for file in (target, backup)] == [0o600, 0o600]


def test_a_project_has_files_of_its_own(env: MemoryEnv) -> None:
    names = {
        "claude-code": ".mcp.json",
        "codex": ".codex/config.toml",
        "gemini": ".gemini/settings.json",
        "cursor": ".cursor/mcp.json",
    }
    for client, name in names.items():
        assert run(env, "install", client, "--scope", "project").exit_code == 0
        assert servers(env.notes / name)["memoriter"]["command"] == "memoriter"  # and no path of this machine
    outcome = run(env, "install", "claude-desktop", "--scope", "project")
    assert outcome.exit_code == 2
    assert "--scope" in outcome.err


@pytest.mark.matrix
@linux
@pytest.mark.parametrize(("client", "name"), HOOKS.items())
def test_the_hooks_that_were_installed_give_the_agent_its_memory(env: MemoryEnv, client: str, name: str) -> None:
    assert run(env, "install", client).exit_code == 0
    (group,) = json.loads((env.home / name).read_text(encoding="utf-8"))["hooks"]["SessionStart"]
    typed = hook_input(client, "session-start", cwd=env.home)
    done = subprocess.run(
        group["hooks"][0]["command"],
        shell=True,
        input=typed,
        capture_output=True,
        encoding="utf-8",
        env=env.environment(),
        cwd="/",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "PostgreSQL" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert run(env, "install", client, "--remove").exit_code == 0
    assert not (env.home / name).exists()


@linux
def test_the_hooks_can_be_left_out(env: MemoryEnv) -> None:
    assert run(env, "install", "claude-code", "--no-hooks").exit_code == 0
    assert not (env.home / ".claude").exists()


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def authorization(entry: dict[str, Any]) -> str:
    return (entry.get("headers") or entry["http_headers"])["Authorization"]


OVER_HTTP = ("claude-code", "codex", "gemini", "cursor")


@linux
@pytest.mark.parametrize("client", OVER_HTTP)
@pytest.mark.parametrize("there", [False, True])
def test_a_client_can_connect_to_the_server_with_its_token_and_nobody_else_reads_it(
    env: MemoryEnv, client: str, *, there: bool
) -> None:
    file = written(env, client) if there else env.home / FILES[client]
    before = file.read_bytes() if there else None
    if there:
        file.chmod(0o644)
    outcome = run(env, "install", client, "--http", "--port", "9000", "--no-hooks")
    token = (env.home / "token").read_text(encoding="ascii").strip()
    entry = servers(file)["memoriter"]
    assert entry["httpUrl" if client == "gemini" else "url"] == "http://127.0.0.1:9000/mcp"
    assert authorization(entry) == f"Bearer {token}"
    assert "command" not in entry
    assert "contains the token" in outcome.out
    assert token not in outcome.out + outcome.err
    assert mode(file) == 0o600

    file.chmod(0o640)
    assert "is up to date" in run(env, "install", client, "--http", "--port", "9000", "--no-hooks").out
    assert mode(file) == 0o600
    run(env, "token", "--renew")
    renewed = run(env, "--json", "install", client, "--http", "--no-hooks")
    assert token not in renewed.out
    assert renewed.json["files"][0]["holdsToken"] is True
    backup = file.with_name(f"{file.name}.memoriter-backup")
    assert backup.exists() is there
    if there:
        assert backup.read_bytes() == before
        assert mode(backup) == 0o600
    run(env, "install", client, "--remove")
    assert file.read_bytes() == before if there else not file.exists()


@linux
@pytest.mark.parametrize("client", OVER_HTTP)
def test_an_entry_of_one_kind_takes_the_place_of_the_other(env: MemoryEnv, client: str) -> None:
    file = written(env, client)
    run(env, "install", client, "--no-hooks")
    started = servers(file)["memoriter"]
    run(env, "install", client, "--http", "--no-hooks")
    connected = servers(file)["memoriter"]
    assert not {"command", "args", "env"} & connected.keys()
    run(env, "install", client, "--no-hooks")
    assert servers(file)["memoriter"] == started


def test_headers_of_the_owner_stay_beside_the_token(env: MemoryEnv) -> None:
    headers = {"X-Trace": "1", "Authorization": "Bearer of-another-time"}
    file = written(env, "cursor", json.dumps({"mcpServers": {"memoriter": {"url": "http://x", "headers": headers}}}))
    outcome = run(env, "--json", "install", "cursor", "--http", "--replace")
    assert "of-another-time" not in outcome.out
    entry = servers(file)["memoriter"]
    assert entry["headers"]["X-Trace"] == "1"
    assert "another" not in authorization(entry)


def test_a_project_s_file_names_the_variable_and_not_the_token(env: MemoryEnv) -> None:
    names = {"claude-code": ".mcp.json", "codex": ".codex/config.toml", "gemini": ".gemini/settings.json"}
    for client, name in (names | {"cursor": ".cursor/mcp.json"}).items():
        outcome = run(env, "install", client, "--scope", "project", "--http", "--no-hooks")
        text = (env.notes / name).read_text(encoding="utf-8")
        assert "MEMORITER_TOKEN" in text
        assert (env.home / "token").read_text(encoding="ascii").strip() not in text
        assert "MEMORITER_TOKEN" in outcome.err


def test_a_dry_run_makes_no_token_and_a_client_that_cannot_connect_is_told_so(env: MemoryEnv) -> None:
    shown = run(env, "install", "cursor", "--http", "--dry-run").out
    assert "Bearer …" in shown
    assert not (env.home / "token").exists()
    refused = run(env, "install", "claude-desktop", "--http")
    assert refused.exit_code == 2
    assert "Leave out --http" in refused.err
    assert run(env, "install", "cursor", "--port", "1").exit_code == 2


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_what_was_installed_starts_and_answers(env: MemoryEnv) -> None:
    run(env, "install", "cursor")
    entry = servers(env.home / ".cursor" / "mcp.json")["memoriter"]
    kept = {name: env.environment()[name] for name in ("PYTHONPATH", "MEMORITER_BACKGROUND")}
    environ = {**kept, **entry["env"]}
    server = StdioServerParameters(command=entry["command"], args=entry["args"], env=environ, cwd="/")
    async with Client(server, read_timeout_seconds=LIMIT) as client:
        result: Any = await client.call_tool("memory_search", {"query": "which database for the ledger"})
        assert result.structured_content["results"][0]["citation"] == "MEMORY.md#L1-L3"


@linux
@posix_only
@pytest.mark.timeout(200)
@pytest.mark.parametrize("make", [kind for kind in KINDS if kind not in {link_to_a_secret, longer_than_memory}])
def test_a_configuration_that_is_no_plain_file_is_an_error(env: MemoryEnv, make: Callable[[Path], None]) -> None:
    make(env.home / ".claude.json")
    done = run(env, "install", "claude-code")
    assert (done.exit_code, ".claude.json" in done.err) == (2, True), done


@linux
@pytest.mark.parametrize(("client", "name"), list(HOOKS.items())[:2])
def test_no_client_waits_long_for_a_hook_unless_the_owner_wants_it(env: MemoryEnv, client: str, name: str) -> None:
    run(env, "install", client)
    file = env.home / name
    hooks = json.loads(file.read_text(encoding="utf-8"))["hooks"]
    seconds = {event: groups[0]["hooks"][0].pop("timeout") for event, groups in hooks.items()}
    assert seconds == {"SessionStart": 5, "UserPromptSubmit": 5, "Stop": 30, "PreCompact": 30}
    hooks["Stop"][0]["hooks"][0]["timeout"] = 90
    file.write_text(json.dumps({"hooks": hooks}), encoding="utf-8")
    run(env, "install", client)
    changed = json.loads(file.read_text(encoding="utf-8"))["hooks"]
    assert [changed[event][0]["hooks"][0]["timeout"] for event in ("UserPromptSubmit", "Stop")] == [5, 90]


@linux
def test_gemini_gets_server_and_hooks_in_one_file_with_limits_in_milliseconds(env: MemoryEnv) -> None:
    own = {"hooks": [{"type": "command", "command": "true"}]}
    file = written(env, "gemini", json.dumps({"theme": "x", "hooks": {"BeforeAgent": [own]}}))
    before = file.read_bytes()
    run(env, "install", "gemini")
    settings = json.loads(file.read_bytes())
    assert settings["theme"] == "x"
    assert settings["hooks"]["BeforeAgent"][0] == own
    limits = {event: groups[-1]["hooks"][0]["timeout"] for event, groups in settings["hooks"].items()}
    assert limits == {"SessionStart": 5_000, "BeforeAgent": 5_000}
    once = file.read_bytes()
    assert "is up to date" in run(env, "install", "gemini").out
    assert file.read_bytes() == once
    run(env, "install", "gemini", "--remove")
    assert file.read_bytes() == before
    run(env, "install", "gemini", "--no-hooks")
    assert json.loads(file.read_bytes())["hooks"] == {"BeforeAgent": [own]}


CLAUDE = "#!/bin/sh\necho '{version} (Claude Code)'\n"
BY_TOOL = {
    "type": "mcp_tool",
    "server": "memoriter",
    "tool": "memory_hook",
    "input": {
        "event": "user-prompt",
        "session_id": "${session_id}",
        "cwd": "${cwd}",
        "prompt": "${prompt}",
        "hook_event_name": "${hook_event_name}",
    },
    "timeout": 5,
}


@linux
@pytest.mark.parametrize(
    ("printed", "by_tool"),
    [("2.1.118", True), ("3.0.1", True), ("2.1.117", False), ("2.0.999", False), ("", False), ("none", False)],
)
def test_claude_code_asks_the_server_before_a_prompt_if_it_can(
    env: MemoryEnv, monkeypatch: pytest.MonkeyPatch, printed: str, *, by_tool: bool
) -> None:
    monkeypatch.setenv("PATH", str(env.home / "bin"))
    claude = env.home / "bin" / "claude"
    claude.parent.mkdir()
    claude.write_text(CLAUDE.format(version=printed), encoding="utf-8")
    claude.chmod(0o755)
    settings = env.home / ".claude" / "settings.json"

    def hooks() -> dict[str, Any]:
        stored = json.loads(settings.read_text(encoding="utf-8"))["hooks"]
        return {event: group["hooks"][0] for event, (group,) in stored.items()}

    run(env, "install", "claude-code")
    assert (hooks()["UserPromptSubmit"] == BY_TOOL) is by_tool
    assert [hook["type"] for hook in hooks().values()].count("command") == (3 if by_tool else 4)
    once = settings.read_bytes()
    assert "settings.json is up to date" in run(env, "install", "claude-code").out
    assert settings.read_bytes() == once

    claude.write_text(CLAUDE.format(version="2.1.100" if by_tool else "2.1.330"), encoding="utf-8")
    run(env, "install", "claude-code")
    assert (hooks()["UserPromptSubmit"] == BY_TOOL) is not by_tool
    assert hooks()["UserPromptSubmit"].keys() & {"command", "tool"} == {"command" if by_tool else "tool"}
    run(env, "install", "claude-code", "--scope", "project")  # for everybody's version
    shared = json.loads((env.notes / ".claude" / "settings.json").read_text(encoding="utf-8"))
    assert shared["hooks"]["UserPromptSubmit"][0]["hooks"][0]["type"] == "command"
    run(env, "install", "claude-code", "--remove")
    assert not settings.exists()


def test_an_installation_shows_how_much_there_is_to_index_and_how_to_do_it(env: MemoryEnv) -> None:
    shown = run(env, "install", "cursor", "--no-hooks").out
    assert "Not indexed yet: 4 files with 4 passages; about" in shown
    assert f"memoriter --workspace {env.notes} index" in shown
    assert run(env, "index").exit_code == 0
    assert "Not indexed" not in run(env, "install", "cursor", "--no-hooks").out
