"""Every command in surroundings that something else got wrong: an error names the cause, and nothing is a bug."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

import odd_surroundings
from memory_env import MemoryEnv
from odd_surroundings import COMMANDS, ENDLESS, SERVICES, SURROUNDINGS, commands

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Program

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, and fills /dev/full")

SETTINGS = {
    "agents": {"defaults": {"memorySearch": {"provider": "none"}}},
    "plugins": {"slots": {"memory": ["memory-core", "memory-lancedb"]}},
}
CAUSES = {
    "unknown user without HOME": ("HOME is not set", "The home folder in"),
    "deleted folder": ("The current folder does not exist any more",),
    "stdout closed": ("standard output: it is closed",),
    "stdout full": (f"standard output: {os.strerror(errno.ENOSPC)}",),
}
"""What the message of a failure says."""
SILENT = {"all closed", "both full", "stderr closed", "stderr full"}
SERVICE_CAUSES = {
    "proxy without scheme": "by the proxy nonsense",
    "proxy of another kind": "The proxy 'socks5://127.0.0.1:1' cannot be used",
    "proxy of an unknown kind": "The proxy 'ftp://127.0.0.1:1' cannot be used",
    "proxy that is no address": "The proxy 'http://[' cannot be used",
    "proxy with a wrong port": "The proxy 'http://localhost:port' cannot be used",
    "proxy that is away": "by the proxy 127.0.0.1:1",
    "exceptions that are none": "by the proxy 127.0.0.1:1",
    "certificates that are not there": "SSL_CERT_FILE or SSL_CERT_DIR cannot be used: No such file",
    "certificates that are none": "SSL_CERT_FILE or SSL_CERT_DIR cannot be used",
    "certificates in no folder": "SSL_CERT_FILE or SSL_CERT_DIR cannot be used",
}


@dataclass
class Run:
    place: str
    name: str
    code: int
    printed: str
    seconds: float


def run_all(env: MemoryEnv, kind: str, *names: str) -> list[Run]:
    folder = env.notes.parent
    command = [sys.executable, odd_surroundings.__file__, str(folder.with_name("run")), kind, *names]
    environment = env.environment() | {"MEMORITER_BACKGROUND": "off"}
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=True)
    runs = [Run(*json.loads(line)) for line in done.stdout.splitlines()]
    places = SURROUNDINGS if kind == "commands" else SERVICES
    assert len(runs) == len(places) * (len(names) or len(COMMANDS))
    for run in runs:
        assert run.code in {0, 1, 2}, run
        assert "Traceback" not in run.printed, run
        assert "bug in memoriter" not in run.printed, run
        assert "Exception ignored" not in run.printed, run
    return runs


def test_every_command_is_tried() -> None:
    assert sorted(COMMANDS) == sorted(commands())


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_every_command_says_what_is_wrong_around_it(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path / "prepared")
    env.config.write_text(json.dumps(SETTINGS), encoding="utf-8")
    runs = run_all(env, "commands")
    usual = {run.name: run.code for run in runs if run.place == "usual"}
    assert sum(code == 0 for code in usual.values()) > 30
    for run in runs:
        causes = CAUSES.get(run.place, ())
        changed = run.code != usual[run.name]
        if run.place not in CAUSES and run.place not in SILENT:
            assert not changed, run
        if changed and causes:
            assert any(cause in run.printed for cause in causes), run
        if run.place.startswith("stderr"):
            assert not changed, run
        if run.name in ENDLESS and run.place.startswith(("std", "all", "both")):
            assert run.code == 0 or run.name == "watch", run


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_a_proxy_or_certificates_that_are_wrong_are_named(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path / "prepared")
    remote = {"baseUrl": "http://embeddings.example/v1", "apiKey": "k"}
    env.configure(provider="openai", remote=remote, query={"rerank": "off"})
    for run in run_all(env, "services", "search", "index", "doctor", "remember", "serve"):
        if run.name in {"index", "doctor"}:
            assert SERVICE_CAUSES[run.place] in run.printed, run


@pytest.mark.parametrize("value", ["'vim", 'code "--wait', "vim\\"])
@pytest.mark.parametrize("name", ["VISUAL", "EDITOR"])
def test_an_editor_that_is_no_command_is_an_error_that_names_the_variable(
    program: Program, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv(name, value)
    refused = program("search", "ledger", "--open")
    assert (refused.exit_code, refused.out) == (2, "")
    assert f"The variable {name} is {value!r}, which is not a command: no " in refused.err


@pytest.mark.parametrize(
    "words",
    [
        ("-C", "~nobody-here/x", "status"),
        ("export", "~nobody-here/x.zip"),
        ("import", "obsidian", "~nobody-here/x"),
        ("trust", "~nobody-here/x"),
        ("--config", "~nobody-here/x", "install", "claude-code", "--dry-run"),
        ("ltm", "import", "~nobody-here/x"),
    ],
)
def test_the_home_of_a_user_who_does_not_exist_is_an_error_that_names_it(
    program: Program, words: tuple[str, ...]
) -> None:
    refused = program(*words)
    assert refused.exit_code == 2
    assert "'~nobody-here/x" in refused.err
    assert "bug" not in refused.err
