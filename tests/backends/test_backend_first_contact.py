"""A provider that fails at first contact: every surface reports it alike, until an attempt succeeds."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.api_json import result_json, status_json, sync_json
from memoriter.tools import SEARCH
from memory_env import MemoryEnv, compatible
from servers import KEY
from servers.compatible import CompatibleServer
from servers.first_contact import FAULTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoriter import Memory

NOTES = {"MEMORY.md": "# Ledger\n\nPostgreSQL keeps the ledger.\n", "memory/a.md": "# Router\n\nThe router is new.\n"}
QUESTION = "which database keeps the ledger"
PENDING = "vectors_pending"
LATER = ["status 413", "401 wrong key", "429 quota", "status 503", "malformed Location", "too few vectors", "reset"]
"""Faults that are tried as well where the model is known from an earlier contact."""


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path, NOTES)
    yield env
    env.close()


@pytest.fixture
def server() -> Iterator[CompatibleServer]:
    with CompatibleServer() as server:
        yield server


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody wait between two tries."""
    monkeypatch.setattr("memoriter.embedding_setup.time.sleep", lambda _: None)


def surfaces(memory: Memory) -> Iterator[tuple[str, dict[str, Any]]]:
    """What each way of asking says of the memory."""
    yield "first search", result_json(memory.search(QUESTION))["health"]
    yield "second search", result_json(memory.search(QUESTION))["health"]
    yield "memory_search", SEARCH.run(memory, {"query": QUESTION})["health"]
    yield "status", status_json(memory.status())["health"]
    yield "index", sync_json(memory.sync())["health"]
    yield "status after indexing", status_json(memory.status())["health"]


def check(name: str, health: dict[str, Any], chunks: int = len(NOTES)) -> set[str]:
    """Fail unless a surface says that vector search is off and why; return the codes of the reasons."""
    context = name, health
    assert not health["ok"], context
    assert health["legs"] == {"keyword": True, "vector": False}, context
    assert health["pending"] == chunks, context
    assert all(reason["message"] and reason["remedy"] for reason in health["reasons"]), context
    return {reason["code"] for reason in health["reasons"]} - {PENDING}


def agree(env: MemoryEnv, *, quiet: CompatibleServer | None = None) -> set[str]:
    """Ask on every surface, then as the next process would; return the one set of codes that all report."""
    with env.open() as memory:
        codes_by_surface = {name: check(name, health) for name, health in surfaces(memory)}
    calls = len(quiet.calls) if quiet else 0
    with env.open() as memory:
        status = status_json(memory.status())
        codes_by_surface["status of the next process"] = check("next status", status["health"])
        assert status["pending"] == len(NOTES)
    if quiet:
        assert len(quiet.calls) == calls, "a status asks nobody"
    with env.open() as memory:
        codes_by_surface["search of the next process"] = check(
            "next search", result_json(memory.search(QUESTION))["health"]
        )
    (codes,) = {frozenset(codes) for codes in codes_by_surface.values()}
    assert codes, codes_by_surface
    return set(codes)


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("fault", "known"),
    [*((fault, False) for fault in FAULTS), *((fault, True) for fault in LATER)],
    ids=lambda value: {False: "at first", True: "later"}.get(value, value),
)
def test_every_surface_reports_a_first_contact_that_fails(
    env: MemoryEnv, server: CompatibleServer, fault: str, *, known: bool
) -> None:
    if known:  # as an earlier contact left it
        env.configure(**compatible(server))
        with env.open() as memory:
            memory.search(QUESTION)
        env.write("memory/a.md", "# Router\n\nAnother router.\n")
        env.write("MEMORY.md", "# Ledger\n\nSQLite keeps the ledger.\n")
        env.wait()
    else:
        env.configure(**compatible(server))
    server.always = FAULTS[fault]
    agree(env, quiet=server)
    server.always = None
    env.wait(4_000)  # past the hour in which a spent quota or a wrong key is not asked about
    with env.open() as memory:
        found = memory.search(QUESTION)
        assert (found.mode, found.health.ok) == ("hybrid", True), found.health
        status = memory.status()
        assert (status.health.ok, status.pending) == (True, 0)
        assert status.last_attempt is not None
        assert (status.last_attempt.ok, status.last_attempt.at) == (True, env.seconds)


def refused_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        return f"http://127.0.0.1:{closed.getsockname()[1]}/v1"


def nowhere(monkeypatch: pytest.MonkeyPatch) -> str:
    def unknown(host: str, *_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, f"{host} is not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    return "https://vectors.example/v1"


@pytest.mark.matrix
@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(lambda _, __: {"remote": {"baseUrl": refused_port(), "apiKey": KEY}}, id="refused"),
        pytest.param(lambda _, patch: {"remote": {"baseUrl": nowhere(patch), "apiKey": KEY}}, id="unknown host"),
        pytest.param(
            lambda server, _: {"remote": {"baseUrl": server.base_url.replace("http", "https"), "apiKey": KEY}}, id="TLS"
        ),
        pytest.param(lambda server, _: {"remote": {"baseUrl": server.base_url, "apiKey": "sk-other-000000"}}, id="key"),
        pytest.param(lambda server, _: {"remote": {"baseUrl": server.base_url, "apiKey": "${NO_KEY}"}}, id="variable"),
        pytest.param(lambda _, __: {"provider": "openai", "remote": {}}, id="no key"),
        pytest.param(lambda _, __: {"provider": "openai-compatible", "remote": {}}, id="no address"),
        pytest.param(lambda server, _: {"provider": "ollama", "remote": {"baseUrl": server.root}}, id="no route"),
        pytest.param(
            lambda _, __: {"offline": True, "remote": {"baseUrl": "https://vectors.example/v1", "apiKey": KEY}},
            id="offline",
        ),
        pytest.param(lambda _, __: {"provider": "local", "local": {"modelPath": "/nowhere/model.gguf"}}, id="no file"),
        pytest.param(lambda _, __: {"provider": "onnx", "local": {"modelPath": "/nowhere/model"}}, id="no folder"),
    ],
)
def test_every_surface_reports_a_provider_that_cannot_be_reached(
    env: MemoryEnv, server: CompatibleServer, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    provider_settings = settings(server, monkeypatch)
    env.configure(**{"provider": "openai-compatible", "model": server.model, **provider_settings})
    agree(env)


def test_every_surface_reports_a_budget_that_is_spent(
    env: MemoryEnv, server: CompatibleServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoriter.embed.remote.is_local_network", lambda _: False)
    monkeypatch.setattr("memoriter.embed.remote.is_loopback", lambda _: True)
    env.configure(**compatible(server, remote={"budget": {"tokensPerDay": 1}}))
    assert agree(env) == {"over_budget"}


def test_a_complete_index_is_not_well_while_the_last_question_failed(env: MemoryEnv, server: CompatibleServer) -> None:
    env.configure(**compatible(server))
    with env.open() as memory:
        memory.sync()
        assert memory.search(QUESTION).health.ok
        server.always = FAULTS["status 503"]
        answers = [memory.search("router"), memory.search("the ledger")]
    with env.open() as memory:
        status = memory.status()
    for health in (*(answer.health for answer in answers), status.health):
        assert [reason.code for reason in health.reasons] == ["transient"]
        assert health.legs == {"keyword": True, "vector": False}
    assert "UTC" in status.health.reasons[0].message
    assert status.last_attempt is not None
    assert status.last_attempt.at == env.seconds


def test_another_key_address_or_model_begins_anew(env: MemoryEnv, server: CompatibleServer) -> None:
    server.always = FAULTS["status 503"]
    env.configure(**compatible(server))
    with env.open() as memory:
        memory.sync()
        assert memory.status().last_attempt is not None
    env.configure(**compatible(server, key="sk-another-0000000"))
    with env.open() as memory:
        assert memory.status().last_attempt is None
        assert memory.status().pending == len(NOTES)


@pytest.mark.slow
def test_a_call_that_got_too_little_time_is_no_failed_attempt(env: MemoryEnv, server: CompatibleServer) -> None:
    env.configure(**compatible(server))
    answering = threading.Event()

    def slow(_: Any, answer: Any) -> Any:
        answering.wait(60)
        return answer

    with env.open() as memory:
        memory.sync()
        last_attempt = memory.status().last_attempt
        env.write("memory/new.md", "# New\n\nSomething new.\n")
        env.wait()
        server.always = slow
        try:
            found = memory.search(QUESTION, deadline_ms=100)
            status = memory.status()
        finally:
            answering.set()
        assert (found.mode, found.health.pending) == ("keyword", 1)
        assert "transient" in {reason.code for reason in found.health.reasons}
        assert status.last_attempt == last_attempt
        assert status.health.legs["vector"]
        assert [reason.code for reason in status.health.reasons] == [PENDING]


@pytest.mark.slow
def test_a_provider_that_another_process_has_reached_is_used_at_once(env: MemoryEnv, server: CompatibleServer) -> None:
    server.always = FAULTS["status 404"]
    env.configure(**compatible(server))
    with env.open() as waiting, env.open() as other:
        waiting.search(QUESTION)
        assert waiting.status().pending == len(NOTES)
        server.always = None
        other.sync()
        status = waiting.status()
        assert (status.health.ok, status.pending, status.vectors) == (True, 0, len(NOTES))
        assert waiting.search(QUESTION).mode == "hybrid"
