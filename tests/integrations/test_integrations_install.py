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

from desk import MemoryEnv, Outcome
from hook_inputs import hook_input
from mcp_doors import LIMIT
from memoriter.cli import main
from odd_files import KINDS, link_to_a_secret, longer_than_memory, posix_only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FILES = {
    "claude-code": ".claude.json",
    "codex": ".codex/config.toml",
    "cursor": ".cursor/mcp.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
}
JSON = '{\r\n\t"t": "d",  \r\n\t"mcpServers": {\r\n\t\t"other": {"command": "x", "env": {"K": "s3cret"}}\r\n\t}\r\n}'
TOML = '# mine\nmodel = "gpt"   # the good one\n\n[mcp_servers.other]\ncommand = "x"\nenv = {K = "s3cret"}\n# end\n'
linux = pytest.mark.skipif(os.name == "nt" or os.uname().sysname != "Linux", reason="places of another system")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryEnv]:
    """Give this process a home folder and a working folder of its own."""
    desk = MemoryEnv.at(tmp_path)
    desk.configure(provider="fake")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "MEMORITER_WORKSPACE", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE", "MEMORITER_HOME"):
        monkeypatch.setenv(name, str(desk.home))
    monkeypatch.chdir(desk.notes)
    yield desk
    desk.close()


def run(desk: MemoryEnv, *words: str) -> Outcome:
    """Run the program in this process."""
    done = CliRunner().invoke(main, ["-w", str(desk.notes), *words])
    return Outcome(done.exit_code, done.stdout, done.stderr)


def written(desk: MemoryEnv, client: str, text: str | None = None) -> Path:
    """Write the configuration file of a client and return its path."""
    file = desk.home / FILES[client]
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
def test_a_client_gets_the_server_once_and_loses_it_again_to_the_byte(desk: MemoryEnv, client: str) -> None:
    file = written(desk, client)
    before = file.read_bytes()
    assert run(desk, "install", client).exit_code == 0
    entry = servers(file)["memoriter"]
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-3:] == ["--workspace", str(desk.notes), "mcp"]
    assert entry["env"] == {"MEMORITER_HOME": str(desk.home)}
    assert servers(file)["other"] == {"command": "x", "env": {"K": "s3cret"}}
    assert file.with_name(f"{file.name}.memoriter-backup").read_bytes() == before

    once = file.read_bytes()
    again = run(desk, "install", client)
    assert "as it should be" in again.out
    assert file.read_bytes() == once

    assert run(desk, "install", client, "--remove").exit_code == 0
    assert file.read_bytes() == before
    assert "as it should be" in run(desk, "install", client, "--remove").out


@linux
@pytest.mark.parametrize("client", FILES)
def test_a_dry_run_shows_the_lines_and_writes_nothing_and_no_secret_of_others(desk: MemoryEnv, client: str) -> None:
    for text in (None, '{"mcpServers": {"other": {"env": {"K": "s3cret"}}}}'):
        if text and client == "codex":
            continue
        file = written(desk, client, text)
        before = {each: each.read_bytes() for each in desk.home.rglob("*") if each.is_file()}
        shown = run(desk, "install", client, "--dry-run").out
        assert str(desk.notes) in shown
        assert "s3cret" not in shown
        assert {each: each.read_bytes() for each in desk.home.rglob("*") if each.is_file()} == before
        report = run(desk, "--json", "install", client, "--dry-run").json
        assert report["dryRun"]
        assert report["files"][0]["file"] == str(file)


@linux
@pytest.mark.parametrize("client", FILES)
@pytest.mark.parametrize("text", ["{broken", '{"mcpServers": [], "x": 1}', "mcp_servers = 3\n", "[a\n", "\xff"])
def test_a_file_that_is_wrong_is_an_error_and_stays_as_it_is(desk: MemoryEnv, client: str, text: str) -> None:
    file = written(desk, client, "{}")
    file.write_bytes(text.encode("latin-1"))
    outcome = run(desk, "install", client)
    assert (outcome.exit_code, outcome.out) == (2, "")
    assert str(file) in outcome.err
    assert "Traceback" not in outcome.err
    assert file.read_bytes() == text.encode("latin-1")
    assert not file.with_name(f"{file.name}.memoriter-backup").exists()


@linux
@pytest.mark.parametrize("client", FILES)
def test_a_file_that_is_not_there_is_made_and_removing_makes_none(desk: MemoryEnv, client: str) -> None:
    file = desk.home / FILES[client]
    assert run(desk, "install", client, "--remove").exit_code == 0
    assert not file.exists()
    assert run(desk, "install", client).exit_code == 0
    assert list(servers(file)) == ["memoriter"]
    assert run(desk, "install", client, "--remove").exit_code == 0
    assert file.read_text(encoding="utf-8") in {"{}\n", ""}


@linux
def test_what_the_owner_has_set_in_our_entry_stays(desk: MemoryEnv) -> None:
    file = written(desk, "codex", '[mcp_servers.memoriter]\ncommand = "/old"  # mine\nstartup_timeout_sec = 40\n')
    run(desk, "install", "codex")
    assert servers(file)["memoriter"]["startup_timeout_sec"] == 40
    assert servers(file)["memoriter"]["command"] != "/old"
    assert "# mine" in file.read_text(encoding="utf-8")
    file = written(desk, "cursor", '{"mcpServers": {"memoriter": {"command": "/old", "disabled": true}}}')
    run(desk, "install", "cursor")
    entry = servers(file)["memoriter"]
    assert (entry["disabled"], entry["args"][-1]) == (True, "mcp")


@linux
def test_a_link_stays_a_link_and_nobody_else_may_read_more_than_before(desk: MemoryEnv) -> None:
    target = desk.home / "dotfiles.json"
    target.write_text(JSON, encoding="utf-8")
    target.chmod(0o600)
    (desk.home / ".claude.json").symlink_to(target)
    assert run(desk, "install", "claude-code").exit_code == 0
    assert (desk.home / ".claude.json").is_symlink()
    assert "memoriter" in servers(target)
    backup = target.with_name("dotfiles.json.memoriter-backup")
    assert [stat.S_IMODE(file.stat().st_mode) for file in (target, backup)] == [0o600, 0o600]


def test_a_project_has_files_of_its_own(desk: MemoryEnv) -> None:
    names = {
        "claude-code": ".mcp.json",
        "codex": ".codex/config.toml",
        "cursor": ".cursor/mcp.json",
    }
    for client, name in names.items():
        assert run(desk, "install", client, "--scope", "project").exit_code == 0
        assert list(servers(desk.notes / name)) == ["memoriter"]
    outcome = run(desk, "install", "claude-desktop", "--scope", "project")
    assert outcome.exit_code == 2
    assert "--scope" in outcome.err


@pytest.mark.matrix
@linux
@pytest.mark.parametrize(("client", "name"), [("claude-code", ".claude/settings.json"), ("codex", ".codex/hooks.json")])
def test_the_hooks_that_were_installed_give_the_agent_its_memory(desk: MemoryEnv, client: str, name: str) -> None:
    assert run(desk, "install", client).exit_code == 0
    (group,) = json.loads((desk.home / name).read_text(encoding="utf-8"))["hooks"]["SessionStart"]
    typed = hook_input(client, "session-start", cwd=desk.home)
    done = subprocess.run(
        group["hooks"][0]["command"],
        shell=True,
        input=typed,
        capture_output=True,
        encoding="utf-8",
        env=desk.surroundings(),
        cwd="/",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "PostgreSQL" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert run(desk, "install", client, "--remove").exit_code == 0
    assert (desk.home / name).read_text(encoding="utf-8") == "{}\n"


@linux
def test_the_hooks_can_be_left_out(desk: MemoryEnv) -> None:
    assert run(desk, "install", "claude-code", "--no-hooks").exit_code == 0
    assert not (desk.home / ".claude").exists()


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def authorization(entry: dict[str, Any]) -> str:
    return (entry.get("headers") or entry["http_headers"])["Authorization"]


OVER_HTTP = ("claude-code", "codex", "cursor")


@linux
@pytest.mark.parametrize("client", OVER_HTTP)
@pytest.mark.parametrize("there", [False, True])
def test_a_client_can_connect_to_the_server_with_its_token_and_nobody_else_reads_it(
    desk: MemoryEnv, client: str, *, there: bool
) -> None:
    file = written(desk, client) if there else desk.home / FILES[client]
    before = file.read_bytes() if there else None
    if there:
        file.chmod(0o644)
    outcome = run(desk, "install", client, "--http", "--port", "9000", "--no-hooks")
    token = (desk.home / "token").read_text(encoding="ascii").strip()
    entry = servers(file)["memoriter"]
    assert entry["url"] == "http://127.0.0.1:9000/mcp"
    assert authorization(entry) == f"Bearer {token}"
    assert "command" not in entry
    assert "holds the token" in outcome.out
    assert token not in outcome.out + outcome.err
    assert mode(file) == 0o600

    file.chmod(0o640)
    assert "as it should be" in run(desk, "install", client, "--http", "--port", "9000", "--no-hooks").out
    assert mode(file) == 0o600
    run(desk, "token", "--renew")
    renewed = run(desk, "--json", "install", client, "--http", "--no-hooks")
    assert token not in renewed.out
    assert renewed.json["files"][0]["holdsToken"] is True
    backup = file.with_name(f"{file.name}.memoriter-backup")
    assert token in backup.read_text(encoding="utf-8")
    assert mode(backup) == 0o600
    run(desk, "install", client, "--remove")
    assert file.read_bytes() == before if there else file.read_text(encoding="utf-8") in {"{}\n", ""}


@linux
@pytest.mark.parametrize("client", OVER_HTTP)
def test_an_entry_of_one_kind_takes_the_place_of_the_other(desk: MemoryEnv, client: str) -> None:
    file = written(desk, client)
    run(desk, "install", client, "--no-hooks")
    started = servers(file)["memoriter"]
    run(desk, "install", client, "--http", "--no-hooks")
    connected = servers(file)["memoriter"]
    assert not {"command", "args", "env"} & connected.keys()
    run(desk, "install", client, "--no-hooks")
    assert servers(file)["memoriter"] == started


def test_headers_of_the_owner_stay_beside_the_token(desk: MemoryEnv) -> None:
    headers = {"X-Trace": "1", "Authorization": "Bearer of-another-time"}
    file = written(desk, "cursor", json.dumps({"mcpServers": {"memoriter": {"url": "http://x", "headers": headers}}}))
    outcome = run(desk, "--json", "install", "cursor", "--http")
    assert "of-another-time" not in outcome.out
    entry = servers(file)["memoriter"]
    assert entry["headers"]["X-Trace"] == "1"
    assert "another" not in authorization(entry)


def test_a_project_s_file_names_the_variable_and_not_the_token(desk: MemoryEnv) -> None:
    names = {"claude-code": ".mcp.json", "codex": ".codex/config.toml", "cursor": ".cursor/mcp.json"}
    for client, name in names.items():
        outcome = run(desk, "install", client, "--scope", "project", "--http", "--no-hooks")
        text = (desk.notes / name).read_text(encoding="utf-8")
        assert "MEMORITER_TOKEN" in text
        assert (desk.home / "token").read_text(encoding="ascii").strip() not in text
        assert "MEMORITER_TOKEN" in outcome.err


def test_a_dry_run_makes_no_token_and_a_client_that_cannot_connect_is_told_so(desk: MemoryEnv) -> None:
    shown = run(desk, "install", "cursor", "--http", "--dry-run").out
    assert "Bearer …" in shown
    assert not (desk.home / "token").exists()
    refused = run(desk, "install", "claude-desktop", "--http")
    assert refused.exit_code == 2
    assert "Leave out --http" in refused.err
    assert run(desk, "install", "cursor", "--port", "1").exit_code == 2


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_what_was_installed_starts_and_answers(desk: MemoryEnv) -> None:
    run(desk, "install", "cursor", "--scope", "project")
    entry = servers(desk.notes / ".cursor" / "mcp.json")["memoriter"]
    environ = {"PYTHONPATH": desk.surroundings()["PYTHONPATH"], **entry["env"]}
    server = StdioServerParameters(command=entry["command"], args=entry["args"], env=environ, cwd="/")
    async with Client(server, read_timeout_seconds=LIMIT) as client:
        result: Any = await client.call_tool("memory_search", {"query": "which database for the ledger"})
        assert result.structured_content["results"][0]["path"] == "MEMORY.md"


@linux
@posix_only
@pytest.mark.timeout(60)
@pytest.mark.parametrize("make", [kind for kind in KINDS if kind not in {link_to_a_secret, longer_than_memory}])
def test_a_configuration_that_is_no_plain_file_is_an_error(desk: MemoryEnv, make: Callable[[Path], None]) -> None:
    make(desk.home / ".claude.json")
    done = run(desk, "install", "claude-code")
    assert (done.exit_code, ".claude.json" in done.err) == (2, True), done
