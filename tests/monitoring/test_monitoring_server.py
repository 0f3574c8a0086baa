"""What a supervisor and Prometheus see of a real server, and what its logs hold."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from prometheus_client.parser import text_string_to_metric_families

from memory_env import QUESTION, MemoryEnv
from serving import LIMIT, serving
from web_client import ApiClient, api_of, token_of_scope

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from serving import Serving

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="servers are ended by signals")]
NOTED = "walrusnoted"
ASKED = "walrusasked"
ADDED = "walrusadded"


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> MemoryEnv:
    env = MemoryEnv.at(tmp_path_factory.mktemp("monitoring"), {"MEMORY.md": f"# Animals\n\nThe {NOTED} sleeps.\n"})
    env.configure(provider="none")
    return env


@pytest.fixture(scope="module")
def served(env: MemoryEnv) -> Iterator[tuple[Serving, ApiClient]]:
    with api_of(env, "--no-watch") as pair:
        yield pair


def probe(url: str, path: str, **headers: str) -> tuple[int, Any]:
    """The status and the JSON that somebody gets who shows these headers and nothing else."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=LIMIT)
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """The value of each measurement, by its name and its labels."""
    families = text_string_to_metric_families(text)
    found = [sample for family in families for sample in family.samples]
    values = {(each.name, tuple(sorted(each.labels.items()))): each.value for each in found}
    assert len(values) == len(found)  # each is there once
    return values


def test_probes_need_no_token_and_tell_no_more_than_whether_the_server_works(
    served: tuple[Serving, ApiClient],
) -> None:
    url = served[0].url
    assert probe(url, "/healthz") == (200, {"status": "ok"})
    assert probe(url, "/readyz") == (200, {"ready": True})
    assert probe(url, "/readyz", Host="10.1.2.3:8377") == (200, {"ready": True})  # a supervisor connects by address
    assert probe(url, "/health")[0] == 401
    assert probe(url, "/healthz", Authorization="Bearer wrong-wrong-wrong-wrong")[0] == 401


def test_a_client_with_a_token_gets_each_part(served: tuple[Serving, ApiClient]) -> None:
    server, owner = served
    answer = owner.http.get("/readyz").json()
    assert answer["ready"] is True
    assert [(part["name"], part["works"]) for part in answer["parts"]] == [("builtin", True), ("plugins", True)]
    refused = probe(server.url, "/readyz?exclude=everything")
    assert (refused[0], refused[1]["code"]) == (400, "usage")


def test_a_part_that_does_not_work_makes_the_server_not_ready_unless_it_is_excluded(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="openai")  # without a key
    with api_of(env, "--no-watch") as (server, owner):
        status, answer = probe(server.url, "/readyz")
        assert (status, set(answer), answer["ready"]) == (503, {"ready", "code"}, False)
        detailed = owner.http.get("/readyz").json()
        (broken,) = [part for part in detailed["parts"] if not part["works"]]
        assert (broken["name"], broken["code"]) == ("vector search", answer["code"])
        assert broken["remedy"]
        assert probe(server.url, "/readyz?exclude=vector%20search") == (200, {"ready": True})
        assert probe(server.url, "/healthz")[0] == 200


def test_prometheus_reads_what_the_server_did(env: MemoryEnv, served: tuple[Serving, ApiClient]) -> None:
    server, owner = served
    metrics = token_of_scope(env, "prometheus", "metrics")
    assert probe(server.url, "/metrics")[0] == 401
    with ApiClient(server.url, metrics) as scraper:
        before = samples(scraper.http.get("/metrics").text)
        for _ in range(3):
            assert owner.post("/search", query=NOTED).json()["outcome"] == "match"
        assert owner.get("/get", path=f"{ASKED}.md").status_code == 403
        assert scraper.get("/files").json()["code"] == "scope"  # it reads measurements, and no notes
        response = scraper.http.get("/metrics")
        after = samples(response.text)
    grown = {key: value - before.get(key, 0.0) for key, value in after.items()}
    search = ("operation", "/api/v1/search")
    assert grown["memoriter_requests_total", (search, ("status", "200"))] == 3
    assert grown["memoriter_requests_total", (("operation", "/api/v1/get"), ("status", "403"))] == 1
    assert grown["memoriter_request_seconds_count", (search,)] == 3
    assert grown["memoriter_searches_total", (("outcome", "match"),)] == 3
    assert grown["memoriter_search_hits_total", ()] == 3
    assert after["memoriter_index_files", ()] == 1
    assert (after["memoriter_index_readable", ()], after["memoriter_healthy", ()]) == (1, 1)
    assert after["process_cpu_seconds_total", ()] > 0
    assert response.headers["content-type"].startswith("text/plain")
    assert [word for word in (NOTED, ASKED, metrics, str(env.notes)) if word in response.text] == []


def test_tools_over_mcp_are_counted_by_name(env: MemoryEnv, served: tuple[Serving, ApiClient]) -> None:
    import anyio

    from mcp_endpoints import authorised

    async def ask() -> None:
        async with authorised(f"{served[0].url}/mcp", env) as client:
            await client.call_tool("memory_search", {"query": QUESTION})

    anyio.run(ask)
    values = samples(served[1].http.get("/metrics").text)
    assert values["memoriter_requests_total", (("operation", "/mcp memory_search"), ("status", "200"))] == 1


def test_a_structured_log_has_one_line_for_each_request_and_nothing_that_was_written_or_asked(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path, {"MEMORY.md": f"# Animals\n\nThe {NOTED} sleeps.\n"})
    env.configure(provider="none")
    token = token_of_scope(env, "alice", "write")
    command = env.command("--json", "serve", "--port", "0", "--log-format", "json", "--trusted-proxy", "127.0.0.1")
    command += ["-w", str(env.notes), "--host", "0.0.0.0", "--tls", "none", "--no-watch"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=env.environment(), stdout=pipe, stderr=pipe, text=True) as server:
        try:
            assert server.stdout
            printed = json.loads(server.stdout.readline())
            assert "open" not in printed  # where logs are collected, the link would be among them
            with ApiClient(printed["url"], token) as alice:
                alice.http.headers["X-Forwarded-For"] = "192.0.2.7"
                alice.post("/search", query=ASKED)
                alice.post("/append", text=f"The {ADDED} wakes.")
                alice.http.get(f"/{ASKED}?{ASKED}")
                alice.http.get("/files", headers={"Authorization": f"Bearer {ASKED}{ASKED}"})
                alice.http.headers.clear()
        finally:
            server.terminate()
            _, err = server.communicate(timeout=LIMIT)
    lines = [json.loads(line) for line in err.splitlines()]
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)
    warned = next(line["message"] for line in lines if line["level"] == "warning")
    assert warned.startswith("Other machines can reach")
    requests = [line for line in lines if "operation" in line]
    assert [(line["operation"], line["status"], line["caller"], line["address"]) for line in requests] == [
        ("/api/v1/search", 200, "alice", "192.0.2.7"),
        ("/api/v1/append", 200, "alice", "192.0.2.7"),
        ("another path", 404, "alice", "192.0.2.7"),
        ("another path", 401, "", "192.0.2.7"),
    ]
    assert all(line["ms"] > 0 and line["sent"] > 0 for line in requests)
    assert requests[0]["received"] == len(json.dumps({"query": ASKED}, separators=(",", ":")))
    assert [word for word in (NOTED, ASKED, ADDED, token) if word in err] == []


def test_without_the_option_nobody_chooses_the_address_that_is_logged(env: MemoryEnv) -> None:
    with serving(env, "--no-watch", "--log-format", "json") as server:
        assert probe(server.url, "/healthz", **{"X-Forwarded-For": "192.0.2.7"})[0] == 200
        server.process.terminate()
        _, err = server.process.communicate(timeout=LIMIT)
    (line,) = [json.loads(line) for line in err.splitlines()]
    assert line["address"] == "127.0.0.1"


def test_systemd_is_told_that_the_server_answers_lives_and_ends(env: MemoryEnv, tmp_path: Path) -> None:
    address = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as messages:
        messages.bind(str(address))
        messages.settimeout(LIMIT)
        supervised = MemoryEnv(env.notes, env.home, {"NOTIFY_SOCKET": str(address), "WATCHDOG_USEC": "200000"})
        with serving(supervised, "--no-watch") as server:
            assert [messages.recv(64) for _ in range(4)] == [b"READY=1", *[b"WATCHDOG=1"] * 3]
            assert server.end() == 0
        received = b""
        while received != b"STOPPING=1":  # a time limit fails the test
            received = messages.recv(64)
            assert received in {b"WATCHDOG=1", b"STOPPING=1"}


def test_an_address_that_other_machines_reach_needs_a_word_about_encryption(env: MemoryEnv) -> None:
    for words in (["serve"], ["mcp", "--http"]):
        refused = env.run(*words, "--host", "0.0.0.0", "--port", "0")
        assert (refused.exit_code, refused.out) == (2, "")
        assert "not encrypted, their token included" in refused.err
        assert "--tls proxy" in refused.err
    wrong = env.run("serve", "--trusted-proxy", "proxy.example", "--port", "0")
    assert (wrong.exit_code, "--trusted-proxy 127.0.0.1" in wrong.err) == (2, True)
