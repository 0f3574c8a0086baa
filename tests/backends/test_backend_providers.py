"""Providers behind `Memory`: chosen by a configuration, asked on 127.0.0.1, replaced when they fail."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from memoriter import Memory
from memoriter.index import Index
from memory_env import NOTES, QUESTION, MemoryEnv, codes, compatible, paths
from servers import KEY, OllamaServer, OpenAIServer, altered, dripping, html_page
from servers.compatible import WIDTH, CompatibleServer, texts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TEN_MINUTES = 600.0


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    yield env
    env.close()


@pytest.fixture
def server() -> Iterator[CompatibleServer]:
    with CompatibleServer() as server:
        yield server


@pytest.fixture
def other() -> Iterator[CompatibleServer]:
    """Another model of the same length, whose vectors have nothing in common with the first."""
    with CompatibleServer(place=WIDTH) as server:
        yield server


@pytest.fixture(autouse=True)
def unmixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail as soon as a question of one model meets vectors of another."""

    def checked(ask: Callable[..., Any]) -> Callable[..., Any]:
        def checked_search(self: Index, query: Any, *rest: Any, **more: Any) -> Any:
            _, stored = self.vectors_at(self.all_ids())
            assert stored.shape[1] == query.shape[0]
            models = {int(np.flatnonzero(vector)[0]) // WIDTH for vector in (query, *stored)}
            assert len(models) == 1
            return ask(self, query, *rest, **more)

        return checked_search

    monkeypatch.setattr(Index, "vector_search", checked(Index.vector_search))
    monkeypatch.setattr(Index, "cosines", checked(Index.cosines))


# services by a name of the user's


@pytest.mark.slow
@pytest.mark.parametrize("unknown", [False, True], ids=["named by models.providers", "openai-compatible"])
def test_a_model_that_nobody_knows_is_asked_once_and_the_next_process_asks_and_embeds_nothing(
    env: MemoryEnv, server: CompatibleServer, *, unknown: bool
) -> None:
    if unknown:
        env.configure(**compatible(server))
    else:
        row = {"baseUrl": server.base_url, "apiKey": KEY, "headers": {"x-team": "notes"}}
        env.configure({"my-gateway": row}, provider="my-gateway", model=server.model)
    memory = env.open()
    assert memory.sync().embedded == len(NOTES)
    assert (server.probes, len(server.documents)) == (1, len(NOTES))
    found = memory.search(QUESTION)
    assert (found.mode, paths(found)[0], found.health.ok) == ("hybrid", "MEMORY.md", True)
    memory.close()
    calls = len(server.calls)
    status = env.run("--json", "status").json[0]
    assert (status["vectors"], status["dimensions"], status["model"]) == (len(NOTES), 2 * WIDTH, server.model)
    assert env.run("--json", "index").json["embedded"] == 0
    assert len(server.calls) == calls
    answer = env.run("--json", "search", "hotel by the river").json
    assert (answer["mode"], answer["results"][0]["path"]) == ("hybrid", "memory/2026-03-05.md")
    assert len(server.calls) == calls + 1
    assert unknown or {call.headers.get("x-team") for call in server.calls} == {"notes"}


def test_ollama_by_a_name_of_the_users_is_asked_by_its_own_interface(env: MemoryEnv) -> None:
    with OllamaServer() as server:
        rows = {"attic": {"baseUrl": server.base_url, "api": "ollama"}}
        env.configure(rows, provider="attic", model=server.model)
        memory = env.open()
        assert memory.sync().embedded == len(NOTES)
        assert memory.search(QUESTION).mode == "hybrid"
        assert {call.path for call in server.calls} == {"/api/embed"}
        status = memory.status()
        assert (status.provider, status.endpoint, status.leaves_machine) == ("attic", server.root, False)


def test_without_looking_at_files_before_a_search_a_model_that_nobody_knows_still_answers(
    env: MemoryEnv, server: CompatibleServer
) -> None:
    env.configure(**compatible(server))
    env.open().sync()
    (env.home / "memory" / "ledger.sqlite").unlink()
    env.configure(**compatible(server), sync={"onSearch": False})
    assert env.open().search(QUESTION).mode == "hybrid"
    assert len(server.documents) == len(NOTES)


def test_a_service_without_an_address_is_told_of(env: MemoryEnv) -> None:
    env.configure(provider="openai-compatible", model="m")
    result = env.open().search(QUESTION)
    assert (result.mode, paths(result)[0], codes(result)) == ("keyword", "MEMORY.md", ["provider_unknown"])
    assert "baseUrl" in result.health.reasons[0].remedy


# from one model to another and back


@pytest.mark.matrix
@pytest.mark.parametrize("dimensions", [2 * WIDTH, 3 * WIDTH], ids=["same length", "another length"])
def test_back_at_the_first_model_nothing_is_embedded_again(
    env: MemoryEnv, server: CompatibleServer, dimensions: int
) -> None:
    with CompatibleServer(dimensions, WIDTH) as other:
        for turn in (server, other):
            env.configure(**compatible(turn))
            with env.open() as memory:
                assert memory.sync().embedded == len(NOTES)
                assert memory.search(QUESTION).mode == "hybrid"
        for turn in (server, other, server):
            env.configure(**compatible(turn))
            before = len(turn.documents), turn.probes
            with env.open() as memory:
                assert (memory.sync().embedded, memory.sync(force=True).embedded) == (0, 0)
                assert (len(turn.documents), turn.probes - before[1] <= 1) == (before[0], True)
                result = memory.search(QUESTION)
                assert (result.mode, paths(result)[0]) == ("hybrid", "MEMORY.md")


@pytest.mark.slow
def test_a_rebuild_under_another_model_changes_no_answer_of_the_first(
    env: MemoryEnv, server: CompatibleServer, other: CompatibleServer
) -> None:
    def scores() -> list[tuple[str, float]]:
        env.configure(**compatible(server))
        with env.open() as memory:
            return [(hit.citation, hit.score) for hit in memory.search(QUESTION, min_score=0.0).results]

    before = scores()
    env.configure(**compatible(other))
    with env.open() as memory:
        memory.sync(force=True)
    assert scores() == before
    assert len(server.documents) == len(NOTES)


@pytest.mark.slow
def test_until_the_new_model_has_vectors_words_answer_and_say_why(
    env: MemoryEnv, server: CompatibleServer, other: CompatibleServer
) -> None:
    env.configure(**compatible(server))
    env.open().sync()
    env.configure(**compatible(other))
    other.down = other.throttled()
    other.down.headers["retry-after"] = "9999"
    result = env.open().search(QUESTION)
    assert (result.mode, paths(result)[0]) == ("keyword", "MEMORY.md")
    assert "throttled" in codes(result)
    assert not other.questions


# the fallback


def failing(server: CompatibleServer) -> None:
    server.down = server.quota()


def test_when_a_question_fails_the_fallback_of_another_model_is_built_beside_and_words_serve_meanwhile(
    env: MemoryEnv, server: CompatibleServer
) -> None:
    env.configure(**compatible(server), fallback="fake")
    memory = env.open()
    memory.sync()
    failing(server)
    first = memory.search(QUESTION)
    assert (first.mode, paths(first)[0], first.health.pending) == ("keyword", "MEMORY.md", len(NOTES))
    assert "provider_fallback" in codes(first)
    assert first.fallback is not None
    assert "quota" in first.fallback.message
    assert first.fallback.remedy
    env.wait()
    second = memory.search(QUESTION)
    assert (second.mode, second.provider, paths(second)[0]) == ("hybrid", "fake", "MEMORY.md")
    assert codes(second) == ["provider_fallback"]
    assert second.fallback == first.fallback


def test_when_indexing_fails_the_fallback_indexes(env: MemoryEnv, server: CompatibleServer) -> None:
    failing(server)
    env.configure(**compatible(server), fallback="fake")
    memory = env.open()
    report = memory.sync()
    assert (report.embedded, codes(report)) == (len(NOTES), ["provider_fallback"])
    assert (memory.search(QUESTION).mode, memory.status().provider) == ("hybrid", "fake")
    assert codes(memory.status()) == ["provider_fallback"]
    assert len(server.calls) == 1


@pytest.mark.slow
def test_a_fallback_that_serves_the_same_model_at_another_address_has_vectors_of_its_own(
    env: MemoryEnv, server: CompatibleServer, other: CompatibleServer
) -> None:
    spare = {"spare": {"baseUrl": other.base_url, "apiKey": KEY}}
    env.configure(spare, **compatible(server), fallback="spare")
    memory = env.open()
    memory.sync()
    failing(server)
    assert memory.search(QUESTION).mode == "keyword"
    reasons = memory.sync().reasons
    assert reasons[0].code == "provider_fallback"


def test_a_provider_that_cannot_even_begin_is_replaced_by_the_fallback(env: MemoryEnv, tmp_path: Path) -> None:
    for settings in ({"provider": "voyage"}, {"provider": "local", "local": {"modelPath": str(tmp_path / "no.gguf")}}):
        env.configure(**settings, fallback="fake")
        memory = env.open()
        result = memory.search(QUESTION)
        assert (result.mode, result.provider, codes(result)) == ("hybrid", "fake", ["provider_fallback"])
        assert settings["provider"] in result.health.reasons[0].message
        env.wait(TEN_MINUTES)
        later = memory.search(QUESTION)
        assert (later.mode, later.provider, codes(later)) == ("hybrid", "fake", ["provider_fallback"])


@pytest.mark.slow
def test_after_ten_minutes_the_first_provider_is_tried_again(env: MemoryEnv, server: CompatibleServer) -> None:
    env.configure(**compatible(server), fallback="fake")
    memory = env.open()
    memory.sync()
    server.down = server.too_long()
    server.faults.extend([html_page()] * 2)
    assert "provider_fallback" in codes(memory.search(QUESTION))
    server.down = None
    env.wait(TEN_MINUTES - 1)
    assert memory.search(QUESTION).provider == "fake"
    requests = len(server.questions)
    env.wait(1)
    result = memory.search(QUESTION)
    assert (result.mode, result.provider, codes(result)) == ("hybrid", "openai-compatible", [])
    assert len(server.questions) == requests + 1


@pytest.mark.slow
def test_a_server_that_is_started_later_is_found_without_a_restart(env: MemoryEnv, server: CompatibleServer) -> None:
    with CompatibleServer() as gone:
        address = gone.base_url
    env.configure(**compatible(server, remote={"baseUrl": address}))
    memory = env.open()
    result = memory.search(QUESTION)
    assert (result.mode, codes(result)) == ("keyword", ["provider_unavailable"])
    memory._backend.embedding.settings = env_settings(memory, server.base_url)
    env.wait(TEN_MINUTES)
    assert memory.search(QUESTION).mode == "hybrid"


def env_settings(memory: Any, address: str) -> Any:
    """The settings of a memory, as if the server at this address had been at theirs."""
    from dataclasses import replace

    settings = memory._backend.embedding.settings
    return replace(settings, remote=replace(settings.remote, base_url=address))


@pytest.mark.slow
def test_an_answer_names_the_provider_that_failed_as_the_one_it_falls_back_from(
    env: MemoryEnv, server: CompatibleServer
) -> None:
    failing(server)
    env.configure(**compatible(server), fallback="fake")
    answer = env.run("--json", "search", QUESTION).json
    assert (answer["provider"], answer["fallback"]["from"]) == ("fake", "openai-compatible")


# what a service may not do


def test_vectors_of_another_length_are_an_error_that_names_both_and_change_nothing(
    env: MemoryEnv, server: CompatibleServer
) -> None:
    env.configure(**compatible(server))
    memory = env.open()
    memory.sync()
    server.dimensions = 3 * WIDTH
    result = memory.search(QUESTION)
    assert (result.mode, paths(result)[0], codes(result)) == ("keyword", "MEMORY.md", ["bad_vector"])
    assert "768 dimensions instead of 512" in result.health.reasons[0].message
    env.write("memory/new.md", "A tenth planet was found.\n")
    env.wait()
    report = memory.sync()
    assert (report.added, report.embedded, report.pending, codes(report)) == (1, 0, 1, ["bad_vector"])
    assert (memory.status().dimensions, memory.status().vectors) == (2 * WIDTH, len(NOTES))
    server.dimensions = 2 * WIDTH
    assert memory.sync().embedded == 1


@pytest.mark.slow
def test_a_rebuild_asks_a_model_that_has_changed_anew_and_gives_it_vectors_of_its_own(
    env: MemoryEnv, server: CompatibleServer
) -> None:
    env.configure(**compatible(server))
    env.open().sync()
    server.dimensions = 3 * WIDTH
    with env.open() as memory:
        report = memory.sync(force=True)
        assert (report.embedded, memory.status().dimensions) == (len(NOTES), 3 * WIDTH)
        assert memory.search(QUESTION).mode == "hybrid"
    with env.open() as memory:
        assert (memory.search(QUESTION).mode, server.probes) == ("hybrid", 2)


@pytest.mark.slow
def test_a_rebuild_while_the_service_is_away_keeps_the_vectors(env: MemoryEnv, server: CompatibleServer) -> None:
    env.configure(**compatible(server))
    memory = env.open()
    memory.sync()
    failing(server)
    report = memory.sync(force=True)
    assert (report.chunks, memory.status().vectors) == (len(NOTES), len(NOTES))
    assert codes(report) in ([], ["out_of_quota"])


def fewer(answer: Any) -> None:
    answer["data"].pop()


def not_a_number(answer: Any) -> None:
    for row in answer["data"]:
        row["embedding"][0] = float("nan")


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (altered(fewer), "bad_vector"),
        (altered(not_a_number), "provider_unavailable input_rejected bad_vector"),
        (html_page(), "transient"),
        (html_page(502), "transient"),
    ],
    ids=["a vector too few", "no numbers", "a page of a proxy", "an error of a proxy"],
)
def test_an_answer_that_is_none_leaves_the_words_and_says_why(
    env: MemoryEnv, server: CompatibleServer, monkeypatch: pytest.MonkeyPatch, fault: Any, code: str
) -> None:
    monkeypatch.setattr("memoriter.embedding_setup.time.sleep", lambda _: None)
    env.configure(**compatible(server))
    memory = env.open()
    memory.sync()
    server.always = fault
    result = memory.search(QUESTION)
    assert (result.mode, paths(result)[0]) == ("keyword", "MEMORY.md")
    (reason,) = result.health.reasons
    assert reason.code in code.split()
    assert result.fallback == reason
    env.write("memory/new.md", "A tenth planet was found.\n")
    env.wait()
    assert (memory.sync().embedded, memory.status().vectors) == (0, len(NOTES))


@pytest.mark.slow
@pytest.mark.parametrize("fallback", ["none", "fake"])
def test_a_service_that_hangs_does_not_hold_an_answer_longer_than_it_may_take(
    env: MemoryEnv, server: CompatibleServer, fallback: str
) -> None:
    env.configure(**compatible(server), fallback=fallback)
    env.open().sync()
    server.always = dripping
    with Memory.open(env.notes, home=env.home) as memory:
        started = time.monotonic()
        result = memory.search(QUESTION, deadline_ms=500)
        assert time.monotonic() - started < 1.5
        assert (result.mode, paths(result)[0], codes(result)) == ("keyword", "MEMORY.md", ["transient"])
        assert "did not answer within" in result.health.reasons[0].message
        server.always = None
        assert memory.search(QUESTION).mode == "hybrid"


def test_all_texts_of_a_service_are_of_notes_questions_or_our_own(env: MemoryEnv, server: CompatibleServer) -> None:
    env.configure(**compatible(server))
    env.open().search(QUESTION)
    sent = {text for call in server.calls for text in texts_of(call)}
    assert len(sent) == 12 + len(NOTES) + 1


# out of quota, unauthorised, over budget


def refusing(server: CompatibleServer, fault: str) -> None:
    server.down = server.quota() if fault == "out_of_quota" else server.wrong_key()


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["out_of_quota", "unauthorised"])
@pytest.mark.parametrize("indexed", [True, False])
def test_a_spent_or_locked_account_is_asked_three_times_an_hour_whoever_asks(
    env: MemoryEnv, server: CompatibleServer, fault: str, *, indexed: bool
) -> None:
    env.configure(**compatible(server))
    if indexed:
        env.open().sync()
    refusing(server, fault)
    first = len(server.calls)
    for minute in range(60):
        memory = env.open() if minute % 3 == 0 else env.opened[-1]
        assert fault in codes(memory.search(f"{QUESTION} {minute}"))
        assert fault in codes(memory.status())
        assert indexed or fault in codes(memory.sync())
        result = memory.search(QUESTION + "?")
        assert (result.mode, paths(result)[0]) == ("keyword", "MEMORY.md")
        (reason,) = [reason for reason in result.health.reasons if reason.code == fault]
        assert ("429" if fault == "out_of_quota" else "401") in reason.message
        assert reason.remedy
        env.wait(60)
    assert 1 <= len(server.calls) - first <= 3
    server.down = None
    env.wait(3_600)
    memory = env.open()
    memory.sync()
    result = memory.search(QUESTION)
    assert (result.mode, codes(result), codes(memory.status())) == ("hybrid", [], [])


@pytest.mark.slow
def test_two_keys_at_one_address_have_an_account_each_and_share_the_vectors(
    env: MemoryEnv, server: CompatibleServer
) -> None:
    rows = {name: {"baseUrl": server.base_url, "apiKey": key} for name, key in {"a": "wrong-key", "b": KEY}.items()}
    env.configure(rows, provider="b")
    assert env.open().sync().embedded == len(NOTES)
    env.configure(rows, provider="a", fallback="b")
    refused = 0
    for _ in range(8):
        result = env.open().search(QUESTION)
        assert (result.mode, result.provider, codes(result)) == ("hybrid", "b", ["provider_fallback"])
        refused = sum(call.headers["authorization"].endswith("wrong-key") for call in server.calls)
        env.wait(60)
    assert refused == 1
    assert len(server.documents) == 0


class Metered:
    """Lets a server of this machine count as the vendor's own, far away."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, server: Any) -> None:
        from dataclasses import replace

        from memoriter.embed.remote import _remote

        vendor = replace(_remote.vendor_of(server.vendor), base_url=server.base_url)
        monkeypatch.setitem(_remote._VENDORS, server.vendor, vendor)
        monkeypatch.setattr("memoriter.embed.remote.is_local_network", lambda _: False)


@pytest.fixture
def vendor(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """OpenAI, which counts one token for each text."""
    with OpenAIServer() as server:
        Metered(monkeypatch, server)
        yield server


DAY = 86_400


@pytest.mark.slow
def test_a_budget_of_tokens_refuses_before_anything_is_sent_until_the_next_day(
    env: MemoryEnv, vendor: OpenAIServer
) -> None:
    def settings(tokens: int) -> dict[str, Any]:
        return {"provider": "openai", "remote": {"apiKey": KEY, "budget": {"tokensPerDay": tokens}}}

    env.configure(**settings(20))
    memory = env.open()
    report = memory.sync()
    assert (report.embedded, codes(report), vendor.calls) == (0, ["over_budget"], [])
    assert "20 tokens" in report.reasons[0].message
    assert "budget" in report.reasons[0].remedy
    result = memory.search(QUESTION)
    assert (result.mode, paths(result)[0], "over_budget" in codes(result)) == ("keyword", "MEMORY.md", True)
    assert "over_budget" in codes(env.open().status())
    assert vendor.calls == []
    memory.close()
    env.configure(**settings(200))
    memory = env.open()
    assert (memory.sync().embedded, memory.search(QUESTION).mode) == (len(NOTES), "hybrid")
    spent = memory._backend.embedding.ledger.today()
    assert spent.tokens == len(NOTES) + 1
    env.configure(**settings(spent.tokens + 9))
    memory = env.open()
    calls = len(vendor.calls)
    result = memory.search("where is the hotel by the river")
    assert (result.mode, codes(result), len(vendor.calls)) == ("keyword", ["over_budget"], calls)
    env.wait(DAY)
    result = memory.search("where is the hotel by the river")
    assert (result.mode, codes(result), len(vendor.calls)) == ("hybrid", [], calls + 1)


@pytest.mark.slow
def test_a_budget_of_dollars_refuses_before_anything_is_sent_until_the_next_day(
    env: MemoryEnv, vendor: OpenAIServer
) -> None:
    budget = {"dollarsPerDay": 0.000_002}
    env.configure(provider="openai", remote={"apiKey": KEY, "budget": budget})
    memory = env.open()
    assert memory.sync().embedded == len(NOTES)
    ledger = memory._backend.embedding.ledger
    assert ledger.today() == pytest.approx((len(NOTES), len(NOTES) * 0.02e-6))
    ledger.add("voyage", "voyage-4", 100, budget["dollarsPerDay"])
    calls = len(vendor.calls)
    result = memory.search(QUESTION)
    assert (result.mode, codes(result), len(vendor.calls)) == ("keyword", ["over_budget"], calls)
    assert "$" in result.health.reasons[0].message
    env.wait(DAY)
    assert memory.search(QUESTION).mode == "hybrid"


def test_a_service_nearby_takes_nothing_of_the_budget(env: MemoryEnv, server: CompatibleServer) -> None:
    env.configure(**compatible(server, remote={"budget": {"tokensPerDay": 1, "dollarsPerDay": 0.000_001}}))
    memory = env.open()
    assert (memory.sync().embedded, memory.search(QUESTION).mode) == (len(NOTES), "hybrid")
    assert memory._backend.embedding.ledger.today() == (0, 0)
