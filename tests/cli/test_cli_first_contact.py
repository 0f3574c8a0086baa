"""Every command, and a server, say of a failed first contact what the memory itself says."""

from __future__ import annotations

import http.client
import json
import sys
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from mcp_endpoints import bearer
from memory_env import MemoryEnv, compatible
from servers.compatible import CompatibleServer
from servers.first_contact import FAULTS
from serving import LIMIT, Serving, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Program

pytestmark = pytest.mark.slow

SOME = ["status 404", "401 wrong key", "429 quota", "status 503", "too few vectors", "malformed Location", "a page"]


@pytest.fixture
def server() -> Iterator[CompatibleServer]:
    with CompatibleServer() as server:
        yield server


def codes(health: dict[str, Any]) -> set[str]:
    assert not health["ok"], health
    assert not health["legs"]["vector"], health
    assert health["pending"], health
    assert all(reason["remedy"] for reason in health["reasons"])
    return {reason["code"] for reason in health["reasons"]} - {"vectors_pending"}


@pytest.mark.parametrize("fault", SOME)
def test_every_command_reports_the_same_failure(
    program: Program, server: CompatibleServer, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setattr("memoriter.embed.remote._http.FIRST_WAIT", 0.01)
    MemoryEnv(program.workspace, program.home).configure(**compatible(server))
    server.always = FAULTS[fault]
    received = [codes(program("--json", "search", "ledger").json["health"])]
    status = program("--json", "status").json[0]
    received.append(codes(status["health"]))
    assert status["lastAttempt"]["ok"] is False
    assert {status["lastAttempt"]["reason"]["code"]} == received[0]
    received.append(codes(program("--json", "index").json["health"]))
    doctor = program("--json", "doctor")
    findings = {finding["check"]: finding for finding in doctor.json["findings"]}
    assert (doctor.exit_code, findings["provider"]["state"]) == (1, "broken")
    assert all(findings[code]["state"] == "broken" for code in received[0])
    received.append(codes(program("--json", "status").json[0]["health"]))
    assert all(each == received[0] for each in received), received
    text = program("status").out
    assert "vector is off" in text
    assert "asked" in text


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent")
def test_a_server_and_a_new_process_report_the_same_failure(tmp_path: Path, server: CompatibleServer) -> None:
    env = MemoryEnv.at(tmp_path / "env")
    env.configure(**compatible(server))
    server.always = FAULTS["status 404"]
    with serving(env) as running:
        searched = env.run("--json", "search", "ledger").json["health"]
        received = [codes(searched), codes(health(running)), codes(env.run("--json", "status").json[0]["health"])]
    assert all(each == received[0] == {"provider_unavailable"} for each in received), received


def health(running: Serving) -> dict[str, Any]:
    place = urlsplit(running.url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=LIMIT)
    try:
        connection.request("GET", "/health", headers=bearer(running.token))
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


@pytest.mark.parametrize("known", [False, True], ids=["unknown model", "known model"])
def test_a_search_ends_at_its_deadline_although_the_first_contact_hangs(
    program: Program, server: CompatibleServer, *, known: bool
) -> None:
    env = MemoryEnv(program.workspace, program.home)
    more: dict[str, Any] = {"provider": "mistral", "model": "mistral-embed"} if known else {}
    env.configure(**{**compatible(server), **more})
    server.always = lambda _exchange, _answer: time.sleep(8)
    started = time.monotonic()
    answer = program("--json", "search", "ledger", "--deadline-ms", "600").json
    taken = time.monotonic() - started
    assert answer["results"], "words answer"
    assert codes(answer["health"]) & {"transient", "deadline"}
    assert taken < 3.0
