"""What a person is told of services: where text goes, what works, what it costs."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.app import read_environment
from memoriter.index import Ledger
from memoriter.memory import Memory
from memory_env import MemoryEnv, compatible
from servers import KEY
from servers.base import Answer
from servers.compatible import CompatibleServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Program

NOTE = "Note text will be sent to "
KEYS = ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "VOYAGE_API_KEY", "MISTRAL_API_KEY")


@pytest.fixture
def server() -> Iterator[CompatibleServer]:
    with CompatibleServer() as server:
        yield server


@pytest.fixture
def env(program: Program, monkeypatch: pytest.MonkeyPatch) -> MemoryEnv:
    """The home of the program, to configure it."""
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    return MemoryEnv(program.workspace, program.home)


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let servers of this machine count as far away."""
    monkeypatch.setattr("memoriter.embed.remote.is_loopback", lambda _: False)


# where text goes


@pytest.mark.matrix
@pytest.mark.parametrize("words", [("search", "ledger"), ("index",)])
@pytest.mark.usefixtures("far")
def test_the_first_time_that_notes_leave_the_machine_one_line_says_so(
    program: Program, env: MemoryEnv, server: CompatibleServer, words: tuple[str, ...]
) -> None:
    env.configure(**compatible(server))
    quiet = program("-q", *words)
    assert (quiet.exit_code, NOTE in quiet.err) == (0, False)
    first = program("--json", *words)
    assert first.json
    (line,) = [line for line in first.err.splitlines() if NOTE in line]
    assert server.base_url in line
    assert "remote.apiKey" in line
    assert "bundled" in line
    assert NOTE not in first.out
    for again in (("search", "router"), ("index",), ("index", "--force")):
        assert NOTE not in program(*again).err


def test_before_anything_is_sent_the_line_is_there(program: Program, env: MemoryEnv, server: CompatibleServer) -> None:
    env.configure(**compatible(server))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memoriter.embed.remote.is_loopback", lambda _: False)
        assert NOTE not in program("index", "--dry-run").err
        assert NOTE not in program("status").err
    assert server.calls == []


def test_the_line_is_not_there_while_a_service_without_a_key_is_sent_nothing(
    program: Program, env: MemoryEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    env.configure(provider="voyage")
    outcome = program("search", "ledger")
    assert "There is no key for Voyage" in outcome.err
    assert NOTE not in outcome.err
    monkeypatch.setenv("VOYAGE_API_KEY", KEY)
    with Memory.open(program.workspace) as memory:
        assert memory.egress_notice() == "voyage at https://api.voyageai.com/v1 (environment VOYAGE_API_KEY)"


@pytest.mark.usefixtures("far")
def test_a_fallback_that_would_be_sent_notes_is_told_of_too(
    program: Program, env: MemoryEnv, server: CompatibleServer
) -> None:
    env.configure({"spare": {"baseUrl": server.base_url, "apiKey": KEY}}, provider="fake", fallback="spare")
    (line,) = [line for line in program("index").err.splitlines() if NOTE in line]
    assert f"spare at {server.base_url}" in line
    assert "whenever fake fails" in line
    assert NOTE not in program("index").err


@pytest.mark.slow
def test_a_service_on_this_machine_is_not_told_of(program: Program, env: MemoryEnv, server: CompatibleServer) -> None:
    env.configure(**compatible(server))
    assert NOTE not in program("index").err
    assert NOTE not in program("search", "ledger").err
    status = program("--json", "status").json[0]
    assert (status["leavesMachine"], status["endpoint"]) == (False, server.base_url)
    assert "nothing leaves this machine" in program("status").out


def test_a_status_names_provider_address_and_source_of_the_key_and_whether_text_leaves(
    program: Program, env: MemoryEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOYAGE_API_KEY", KEY)
    env.configure(provider="voyage")
    status = program("--json", "status").json[0]
    named = {name: status[name] for name in ("provider", "model", "dimensions", "endpoint", "keySource")}
    assert named == {
        "provider": "voyage",
        "model": "voyage-4-large",
        "dimensions": 1024,
        "endpoint": "https://api.voyageai.com/v1",
        "keySource": "environment VOYAGE_API_KEY",
    }
    assert status["leavesMachine"] is True
    (line,) = [line for line in program("status").out.splitlines() if line.startswith("provider")]
    assert re.search(r"voyage, voyage-4-large, 1024 dimensions, key from environment VOYAGE_API_KEY", line)
    assert "text is sent to https://api.voyageai.com/v1" in line


# what works


def doctor(program: Program) -> tuple[int, dict[str, Any]]:
    done = program("--json", "doctor")
    return done.exit_code, {finding["check"]: finding for finding in done.json["findings"]}


@pytest.mark.parametrize("known", [False, True], ids=["for the first time", "later"])
def test_the_doctor_asks_a_good_service_once_and_says_how_it_answers(
    program: Program, env: MemoryEnv, server: CompatibleServer, *, known: bool
) -> None:
    env.configure(**compatible(server))
    if known:
        program("index")
    before = len(server.calls)
    code, findings = doctor(program)
    assert (code, findings["provider"]["state"], len(server.calls) - before) == (0, "good", 1)
    for part in ("openai-compatible", server.base_url, "remote.apiKey", "some-e5-model", "512 dimensions"):
        assert part in findings["provider"]["message"]
    assert findings["search"]["state"] == "note" or not known
    assert not server.documents[5 * known :]


def test_the_doctor_asks_a_service_with_a_bad_key_once_and_says_what_to_do(
    program: Program, env: MemoryEnv, server: CompatibleServer
) -> None:
    env.configure(**compatible(server, key="sk-wrong-0123456789"))
    code, findings = doctor(program)
    assert (code, findings["provider"]["state"], len(server.calls)) == (1, "broken", 1)
    assert "401" in findings["provider"]["message"]
    assert "key" in findings["provider"]["remedy"]
    assert doctor(program)[1]["provider"]["state"] == "broken"
    assert len(server.calls) == 1


def test_the_doctor_says_that_nothing_answers_at_a_dead_address(program: Program, env: MemoryEnv) -> None:
    with CompatibleServer() as gone:
        env.configure(**compatible(gone))
    code, findings = doctor(program)
    assert (code, findings["provider"]["state"]) == (1, "broken")
    assert "Nothing answers at 127.0.0.1" in findings["provider"]["message"]
    assert findings["provider"]["remedy"]


# what it costs


def ledger(env: MemoryEnv, days_ago: int = 0) -> Ledger:
    wall = read_environment().wall
    return Ledger(env.home / "memory" / "ledger.sqlite", wall=lambda: wall() - days_ago * 86_400)


def spend(env: MemoryEnv, *rows: tuple[int, str, str, int, float | None]) -> None:
    for days_ago, provider, model, tokens, dollars in rows:
        opened = ledger(env, days_ago)
        opened.add(provider, model, tokens, dollars)
        opened.close()


def test_without_spending_the_cost_is_nothing_and_no_file_is_made(program: Program, env: MemoryEnv) -> None:
    done = program("cost")
    assert (done.exit_code, done.out) == (0, "Nothing was spent at a service in 30 days.\n")
    assert "$2" in done.err
    assert program("--json", "cost").json["days"] == []
    assert not (env.home / "memory").exists()


def test_the_cost_is_told_by_day_and_model(program: Program, env: MemoryEnv) -> None:
    env.configure(provider="fake", remote={"budget": {"dollarsPerDay": 0.5, "tokensPerDay": 0}})
    spend(
        env,
        (0, "openai", "text-embedding-3-small", 1_000_000, 0.02),
        (0, "openai", "text-embedding-3-small", 500_000, 0.01),
        (0, "openai", "own-model", 70, None),
        (6, "voyage", "voyage-4", 1_000, 0.0001),
        (40, "mistral", "mistral-embed", 9_000, 0.0009),
    )
    today = datetime.fromtimestamp(read_environment().wall(), UTC).date()
    outcome = program("--json", "cost").json
    days = [(row["day"], row["provider"], row["calls"], row["tokens"], row["unpriced"]) for row in outcome["days"]]
    assert days == [
        (today.isoformat(), "openai", 2, 1_500_000, 0),
        (today.isoformat(), "openai", 1, 70, 70),
        ((today - timedelta(days=6)).isoformat(), "voyage", 1, 1_000, 0),
    ]
    assert outcome["today"] == {"tokens": 1_500_070, "dollars": pytest.approx(0.03)}
    assert outcome["budget"] == {"tokensPerDay": 0, "dollarsPerDay": 0.5}
    text = program("cost")
    assert "text-embedding-3-small  1,500,000 tokens in 2 calls, $0.0300" in text.out
    assert "70 tokens whose price is not known" in text.out
    assert "daily limit: $0.5." in text.err
    assert "voyage" not in program("cost", "--days", "6").out
    assert "voyage" in program("cost", "--days", "7").out
    assert "mistral" in program("cost", "--days", "41").out


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("provider", "batch", "dollars_of_a_million", "batched"),
    [
        ("openai", False, 0.02, 0.02),
        ("openai", True, 0.02, 0.01),
        ("gemini", False, 0.15, 0.15),
        ("voyage", False, 0.12, 0.12),
        ("mistral", True, 0.10, 0.10),
    ],
)
def test_a_dry_run_prices_the_run_by_provider_with_the_date_of_the_price(
    program: Program, env: MemoryEnv, *, provider: str, batch: bool, dollars_of_a_million: float, batched: float
) -> None:
    env.configure(provider=provider, remote={"apiKey": KEY, "batch": {"enabled": batch}})
    outcome = program("--json", "index", "--dry-run").json
    assert outcome["tokens"] > 0
    assert outcome["price"] == pytest.approx(outcome["tokens"] * dollars_of_a_million / 1e6), "too few for a batch"
    env.many(80)
    outcome = program("--json", "index", "--dry-run").json
    assert outcome["price"] == pytest.approx(outcome["tokens"] * batched / 1e6)
    assert re.fullmatch(r"20\d\d-\d\d", outcome["priceSeen"])
    text = program("index", "--dry-run").out
    assert f"by the prices of {outcome['priceSeen']}" in text
    assert f"about ${outcome['price']:.4f}" in text


def test_a_price_that_nobody_knows_is_said_to_be_unknown_and_this_machine_is_free(
    program: Program, env: MemoryEnv, server: CompatibleServer
) -> None:
    env.configure({"far": {"baseUrl": "https://vectors.example.org/v1", "apiKey": KEY}}, provider="far", model="m")
    assert program("--json", "index", "--dry-run").json["price"] is None
    assert "their price is not known here" in program("index", "--dry-run").out
    for near in (compatible(server), {"provider": "fake"}):
        env.configure(**near)
        assert program("--json", "index", "--dry-run").json["price"] == 0
        assert "free" in program("index", "--dry-run").out


def test_a_home_in_json_is_what_a_person_reads(program: Program, env: MemoryEnv) -> None:
    spend(env, (0, "openai", "text-embedding-3-small", 10, 0.0000002))
    assert json.loads(program("cost", "--json").out)["days"][0]["model"] == "text-embedding-3-small"


@pytest.mark.usefixtures("far")
def test_a_fallback_of_a_model_on_this_machine_goes_only_to_the_address_beside_the_key(
    program: Program, env: MemoryEnv, server: CompatibleServer
) -> None:
    remote = {"baseUrl": server.base_url, "apiKey": KEY, "headers": {"X-Team": "blue"}}
    env.configure(provider="local", local={"modelPath": "/not/there.gguf"}, remote=remote, fallback="openai")
    program("index")
    program("search", "ledger")
    assert server.calls
    assert {call.headers.get("authorization") for call in server.calls} == {f"Bearer {KEY}"}
    assert {call.headers.get("x-team") for call in server.calls} == {"blue"}


@pytest.mark.usefixtures("far")
def test_a_fallback_serves_every_process_although_the_first_provider_never_did(
    program: Program, env: MemoryEnv, server: CompatibleServer
) -> None:
    server.down = Answer(500, {"error": {"message": "broken"}})
    env.configure(**compatible(server), fallback="fake")
    program("index")
    for _ in range(3):
        answer = program("search", "which database holds the accounts", "--json").json
        assert (answer["provider"], answer["mode"]) == ("fake", "hybrid")
        assert answer["results"]
