"""A copy of memoriter without its extensions works, and says what is missing where settings or a person name one."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

import memoriter
from memory_env import QUESTION, MemoryEnv, Outcome
from web_client import api_of

pytestmark = pytest.mark.slow
PACKAGE = Path(memoriter.__file__).parent
PROJECT = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
GROUPS: dict[str, dict[str, str]] = PROJECT["entry-points"]
SETTINGS: dict[str, Any] = {
    "postgres": {"agents": {"defaults": {"memorySearch": {"store": {"driver": "postgres"}}}}},
    "qmd": {"memory": {"backend": "qmd"}},
}
"""Settings that name an extension which every command needs."""
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@pytest.fixture(scope="module", params=["cannot be loaded: ", "is not installed"])
def core(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The core, whose package has the entry points of the extensions or none, and what is said of an extension."""
    folder = tmp_path_factory.mktemp("core")
    shutil.copytree(PACKAGE, folder / "memoriter", ignore=shutil.ignore_patterns("__pycache__", "extensions"))
    installed = folder / f"memoriter-{PROJECT['version']}.dist-info"
    installed.mkdir()
    about = f"Metadata-Version: 2.1\nName: memoriter\nVersion: {PROJECT['version']}\n"
    (installed / "METADATA").write_text(about, encoding="utf-8")
    if request.param != "is not installed":
        lines = [f"[{group}]\n{name} = {place}\n" for group in GROUPS for name, place in GROUPS[group].items()]
        (installed / "entry_points.txt").write_text("".join(lines), encoding="utf-8")
    return folder, request.param


@pytest.fixture
def env(core: tuple[Path, str], tmp_path: Path) -> MemoryEnv:
    env = MemoryEnv.at(tmp_path)
    env.environ["PYTHONPATH"] = str(core[0])
    return env


@pytest.fixture
def missing(core: tuple[Path, str]) -> str:
    return core[1]


def configure(env: MemoryEnv, settings: dict[str, Any]) -> None:
    env.config.write_text(json.dumps(settings), encoding="utf-8")


def refusal(done: Outcome) -> str:
    """What a refused command printed, for a person."""
    assert "Traceback" not in done.err
    return f"{done.out}{done.err}"


def test_a_program_finds_notes_and_keeps_some(env: MemoryEnv) -> None:
    assert "MEMORY.md" in env.run("search", QUESTION).out
    assert env.run("remember", "Tea, not coffee.").exit_code == 0
    assert "Tea, not coffee." in env.run("search", "tea or coffee").out
    (status,) = env.run("--json", "status").json
    assert (status["backend"], status["pending"]) == ("builtin", 0)
    findings = env.run("--json", "doctor").json["findings"]
    assert [each for each in findings if each["state"] == "broken"] == []


def test_the_help_names_the_commands_that_are_there(env: MemoryEnv) -> None:
    done = env.run("--help")
    assert done.exit_code == 0
    assert "  search " in done.out
    assert done.err == ""


def test_a_server_answers_an_agent(env: MemoryEnv) -> None:
    requests = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}},
    ]
    done = env.run("mcp", typed="".join(f"{json.dumps(request)}\n" for request in requests))
    first, second = [json.loads(line) for line in done.out.splitlines()]
    assert first["result"]["serverInfo"]["name"] == "memoriter"
    assert "memory_search" in {tool["name"] for tool in second["result"]["tools"]}


def test_a_server_has_the_operations_and_pages_of_the_core(env: MemoryEnv) -> None:
    with api_of(env, "--no-watch") as (_, owner):
        assert set(owner.get("/day").json()) == {"day", "notes", "changed", "captures", "recalled"}
        assert "/ltm/list" not in owner.get("/openapi.json").json()["paths"]
        assert owner.get("/ltm/list").status_code == 404
        for path, status in (("/search", 200), ("/days", 200), ("/status", 200), ("/memories", 404), ("/import", 404)):
            assert (path, owner.http.get(path).status_code) == (path, status)


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_that_name_a_store_or_a_backend_are_refused_with_a_remedy(
    env: MemoryEnv, missing: str, name: str
) -> None:
    configure(env, SETTINGS[name])
    keeps = "loaded" in missing and name == "postgres"  # a note needs no store, until it is searched
    assert env.run("remember", "Tea.").exit_code == (0 if keeps else 2)
    for words in (("search", QUESTION), ("status",), ("mcp",)):
        done = env.run(*words, typed="")
        assert (words, done.exit_code) == (words, 2)
        text = refusal(done)
        assert f"names {name!r}, which {missing}" in text
        assert f"to '{'sqlite' if name == 'postgres' else 'builtin'}'." in text
    for words in (("config", "check"), ("doctor",)):
        checked = env.run(*words)
        assert (words, checked.exit_code) == (words, 1)
        assert f"names {name!r}, which {missing}" in refusal(checked)


def test_settings_of_openclaw_for_an_extension_stay_in_the_file(env: MemoryEnv) -> None:
    long_term = {"config": {"autoRecall": False}}
    configure(env, {"memory": {"qmd": {"command": "qmd"}}, "plugins": {"entries": {"memory-lancedb": long_term}}})
    assert "MEMORY.md" in env.run("search", QUESTION).out
    assert "memory.qmd" in env.run("doctor").out


def test_the_other_store_cannot_be_copied_to(env: MemoryEnv, missing: str) -> None:
    done = env.run("store", "copy", "--to", "postgres", "--dry-run")
    assert done.exit_code == 2
    assert ("which cannot be loaded" if "loaded" in missing else "'postgres' is not 'sqlite'") in refusal(done)


@pytest.mark.parametrize("name", GROUPS.get("memoriter.plugins", {}))
def test_a_plugin_of_the_memory_slot_is_reported(env: MemoryEnv, missing: str, name: str) -> None:
    configure(env, {"plugins": {"slots": {"memory": ["memory-core", name]}}})
    for words, code in ((("doctor",), 1), (("mcp",), 2)):
        done = env.run(*words, typed="")
        assert (words, done.exit_code) == (words, code)
        assert f"names {name!r}, which {missing}" in refusal(done)


@pytest.mark.parametrize("name", GROUPS["memoriter.commands"])
def test_a_command_of_an_extension_is_refused(env: MemoryEnv, missing: str, name: str) -> None:
    done = env.run(name, "anything", "--option")
    if "loaded" in missing:
        assert done.exit_code == 1
        assert f"The command {name!r} of an installed package cannot be loaded: " in refusal(done)
    else:
        assert done.exit_code == 2
        assert f"There is no command {name!r}." in refusal(done)
