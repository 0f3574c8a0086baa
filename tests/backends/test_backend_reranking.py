"""A reranker orders the hits of a search; whatever becomes of it, the search answers and says so."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from memoriter import Memory
from memoriter.app import Environment, assemble
from memoriter.backends import ForgetRequest
from memoriter.index import Ledger
from memoriter.search._pipeline import LONGEST_PASSAGE
from memoriter.types import RerankerState
from memory_env import MemoryEnv, codes, paths
from rerank_models import write_cross_encoder, write_gguf_reranker
from servers import KEY, Answer, CohereServer, LlamaCppServer, altered, half_written, html_page, refused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUESTION = "Why did we choose a database for the ledger?"
NOTES = {
    f"memory/{name}.md": f"# {name.title()}\n\n{text}\n"
    for name, text in {
        "acid": "We chose PostgreSQL, a database, for the ledger because of ACID.",
        "sqlite": "The database of the vault is SQLite; the ledger database is another one.",
        "ledger": "The ledger database runs on the Mac Studio; we choose its name in July.",
        "queue": "We choose a queue for the ledger later.",
        "bananas": "Bananas ripen slowly at night.",
    }.items()
}


def number(_: str, passage: str) -> float:
    """A reranker with an opinion of its own: the shorter the better."""
    return -float(len(passage))


def by_length(passages: list[str]) -> list[str]:
    return sorted(passages, key=lambda path: len(NOTES[path]))


@pytest.fixture
def server() -> Iterator[CohereServer]:
    with CohereServer() as running:
        running.judge = number
        yield running


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path, NOTES)
    yield env
    env.close()


def reranked(server: Any, **more: Any) -> dict[str, Any]:
    remote = {"baseUrl": server.base_url, "apiKey": KEY}
    rerank = {"provider": server.vendor, "remote": remote, **more.pop("rerank", {})}
    return {"provider": "fake", **more, "query": {"minScore": 0.0, **more.get("query", {}), "rerank": rerank}}


def plain_order(env: MemoryEnv, **query: Any) -> list[str]:
    env.configure(provider="fake", query={"minScore": 0.0, **query})
    return paths(env.open().search(QUESTION))


def test_hits_come_in_the_order_of_the_reranker_with_the_scores_of_the_engine(
    env: MemoryEnv, server: CohereServer
) -> None:
    before = plain_order(env)
    scores = {hit.path: hit.score for hit in env.opened[-1].search(QUESTION).hits}
    env.configure(**reranked(server))
    result = env.open().search(QUESTION, explain=True)
    assert paths(result) == by_length(list(NOTES)) != before
    assert {hit.path: hit.score for hit in result.hits} == pytest.approx(scores)
    places = [(each.rank, each.reranked, each.relevance) for hit in result.hits if (each := hit.explanation)]
    assert [before[rank - 1] for rank, _, _ in places if rank] == paths(result)
    assert [place for _, place, _ in places] == [1, 2, 3, 4, 5]
    assert [relevance for *_, relevance in places] == sorted((relevance for *_, relevance in places), reverse=True)
    assert result.health.ok
    assert result.timings is not None
    assert "rerank" in result.timings


def test_a_search_asks_once_and_the_same_question_is_not_asked_again(env: MemoryEnv, server: CohereServer) -> None:
    env.configure(**reranked(server))
    memory = env.open()
    first = memory.search(QUESTION)
    assert (len(server.calls), server.questions) == (1, [QUESTION])
    assert paths(memory.search(QUESTION)) == paths(first)
    assert len(server.calls) == 1
    memory.search(QUESTION, max_results=2)
    assert len(server.calls) == 1


def test_after_a_note_changed_the_same_question_is_asked_about_the_new_text(
    env: MemoryEnv, server: CohereServer
) -> None:
    env.configure(**reranked(server))
    memory = env.open()
    memory.search(QUESTION)
    env.write("memory/acid.md", "# Acid\n\nThe ledger: a database.\n")
    env.wait()
    assert memory.search(QUESTION).hits[0].path == "memory/acid.md"
    assert len(server.calls) == 2
    assert "Acid\nThe ledger: a database." in server.calls[-1].json["documents"]
    assert not any("because of ACID" in text for text in server.calls[-1].json["documents"])


def test_passages_have_their_headings_and_are_bounded(env: MemoryEnv, server: CohereServer) -> None:
    env.write("memory/long.md", "# Long\n\n## Ledger\n\n" + "The ledger database. " * 40 + "\n")
    env.write("memory/huge.md", "# Huge\n\nledger database " + "가나다라마바사아자차카타파하" * 600 + "\n")
    env.configure(**reranked(server, chunking={"tokens": 8_000}))
    env.open().search(QUESTION)
    assert any(text.startswith("Long > Ledger\nThe ledger database.") for text in server.passages)
    assert max(map(len, server.passages)) <= LONGEST_PASSAGE


def test_only_the_best_candidates_that_can_be_hits_are_sent(env: MemoryEnv, server: CohereServer) -> None:
    before = plain_order(env)
    env.configure(**reranked(server, rerank={"candidates": 3}))
    result = env.open().search(QUESTION)
    assert len(server.passages) == 3
    assert paths(result) == [*by_length(before[:3]), *before[3:]]
    least = sorted(hit.score for hit in result.hits)[-3]
    env.configure(**reranked(server, query={"minScore": least}))
    assert len(env.open().search(QUESTION).hits) == 3
    assert len(server.passages) == 6


def test_one_candidate_is_not_sent(env: MemoryEnv, server: CohereServer) -> None:
    env.configure(**reranked(server, query={"minScore": 0.0}))
    result = env.open().search(QUESTION, path="memory/acid.md")
    assert (paths(result), server.calls, codes(result)) == (["memory/acid.md"], [], [])


@pytest.mark.matrix(quick=2)
@pytest.mark.parametrize(
    "query",
    [
        {"hybrid": {"mmr": {"enabled": True, "lambda": 0.9}}},
        {"maxPerNote": 1},
        {"scoring": "rrf"},
        {"hybrid": {"temporalDecay": {"enabled": True}}},
    ],
    ids=["mmr", "max per note", "rrf", "decay"],
)
def test_other_rules_hold_for_the_new_order(env: MemoryEnv, server: CohereServer, query: dict[str, Any]) -> None:
    env.configure(**reranked(server, query=query))
    result = env.open().search(QUESTION)
    assert result.hits[0].path == by_length(list(NOTES))[0]
    assert sorted(paths(result)) == sorted(NOTES)
    assert len(server.calls) == 1


def test_classic_scoring_has_no_reranker(env: MemoryEnv, server: CohereServer) -> None:
    env.configure(**reranked(server, query={"scoring": "classic"}))
    memory = env.open()
    assert memory.search(QUESTION).hits
    assert (server.calls, memory.egress_notice()) == ([], None)


def test_outcome_and_score_are_those_of_the_engine(env: MemoryEnv, server: CohereServer) -> None:
    env.configure(provider="fake")
    before = env.open().search(QUESTION)
    env.configure(**reranked(server, query={"minScore": 0.35}))
    after = env.open().search(QUESTION)
    assert after.outcome == before.outcome
    assert {hit.path: hit.score for hit in after.hits} == pytest.approx({hit.path: hit.score for hit in before.hits})


@pytest.mark.matrix(quick=4)
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(refused(Answer(401, {"message": "invalid api token"})), id="401"),
        pytest.param(refused(Answer(402, {"message": "no credits"})), id="402"),
        pytest.param(refused(Answer(404, {"message": "no such model"})), id="404"),
        pytest.param(altered(lambda answer: answer["results"].pop() and None), id="wrong count"),
        pytest.param(altered(lambda answer: answer["results"][0].update(index=99)), id="wrong index"),
        pytest.param(altered(lambda answer: answer["results"][0].update(relevance_score=float("nan"))), id="NaN"),
        pytest.param(refused(Answer(429, {"message": "slow down"}, {"retry-after": "600"})), id="429"),
        pytest.param(refused(Answer(500, {}, {"retry-after": "600"})), id="500"),
        pytest.param(html_page(200), id="a page"),
        pytest.param(half_written, id="half written"),
    ],
)
def test_when_it_fails_the_hits_have_the_engines_order_and_health_says_why(
    env: MemoryEnv, server: CohereServer, fault: Any
) -> None:
    before = plain_order(env)
    server.always = fault
    env.configure(**reranked(server))
    result = env.open().search(QUESTION, explain=True)
    assert paths(result) == before
    (reason,) = [reason for reason in result.health.reasons if reason.code == "not_reranked"]
    assert "'cohere' does not order the hits" in reason.message
    assert reason.remedy
    assert KEY not in reason.message
    assert all(hit.explanation and hit.explanation.reranked is None for hit in result.hits)


@pytest.fixture
def held(server: CohereServer) -> Iterator[Event]:
    """The server answers when the event is set."""
    event = Event()

    def wait(_: Any, answer: Answer) -> Answer:
        assert event.wait(60)
        return answer

    server.always = wait
    yield event
    event.set()


@pytest.mark.slow
def test_a_service_that_hangs_does_not_hold_a_search_and_is_then_left_alone(
    env: MemoryEnv, server: CohereServer, held: Event
) -> None:
    before = plain_order(env)
    env.configure(**reranked(server))
    memory = env.open()
    started = time.monotonic()
    for _ in range(3):
        result = memory.search(QUESTION, deadline_ms=600)
        assert paths(result) == before
        assert "not_reranked" in codes(result)
    assert time.monotonic() - started < 30
    assert not held.is_set()
    assert len(server.calls) == 1
    assert "not contacted again" in next(each for each in result.health.reasons if each.code == "not_reranked").message
    assert env.open().search(QUESTION).hits
    assert len(server.calls) == 1


@pytest.mark.slow
def test_a_late_answer_serves_the_same_question(env: MemoryEnv, server: CohereServer, held: Event) -> None:
    env.configure(**reranked(server))
    memory = env.open()
    assert "not_reranked" in codes(memory.search(QUESTION, deadline_ms=300))
    held.set()
    limit = time.monotonic() + 60
    result = memory.search(QUESTION)
    while "not_reranked" in codes(result) and time.monotonic() < limit:
        time.sleep(0.05)
        result = memory.search(QUESTION)
    assert paths(result) == by_length(list(NOTES))
    assert len(server.calls) == 1


def test_after_a_wrong_key_no_process_of_the_home_asks_again(env: MemoryEnv, server: CohereServer) -> None:
    server.always = refused(server.wrong_key())
    env.configure(**reranked(server))
    for _ in range(3):
        (reason,) = [each for each in env.open().search(QUESTION).health.reasons if each.code == "not_reranked"]
    assert len(server.calls) == 1
    assert "not contacted again" in reason.message
    assert "key" in reason.remedy


def test_the_embedding_service_at_the_same_address_goes_on(env: MemoryEnv, server: CohereServer) -> None:
    """A reranker with a wrong key has a breaker of its own."""
    server.always = refused(server.wrong_key())
    env.configure(**reranked(server))
    result = env.open().search(QUESTION)
    assert result.mode == "hybrid"
    assert result.health.legs["vector"]


@pytest.mark.slow
def test_threads_that_ask_the_same_share_one_call(env: MemoryEnv, server: CohereServer) -> None:
    env.configure(**reranked(server))
    memory = env.open()
    memory.sync()

    def slowly(_: Any, answer: Answer) -> Answer:
        time.sleep(0.3)
        return answer

    server.always = slowly
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda _: memory.search(QUESTION), range(4)))
    assert [paths(result) for result in results] == [by_length(list(NOTES))] * 4
    assert len(server.calls) == 1


def test_what_is_sent_is_counted_and_stays_within_the_budget(
    env: MemoryEnv, server: CohereServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoriter.embed.remote.is_local_network", lambda _: False)
    env.configure(**reranked(server))
    env.open().search(QUESTION)
    (row,) = Ledger(env.home / "memory" / "ledger.sqlite", wall=lambda: env.seconds).rows(days=1)
    assert (row.provider, row.model, row.calls) == ("cohere", "rerank-v5.0-fast", 1)
    assert row.tokens > 0
    env.configure(**reranked(server, remote={"budget": {"tokensPerDay": row.tokens + 1}}))
    result = env.open().search(QUESTION)
    (reason,) = [each for each in result.health.reasons if each.code == "not_reranked"]
    assert "budget" in reason.message
    assert len(server.calls) == 1


def test_settings_that_name_no_usable_reranker_are_a_reason_in_each_answer(env: MemoryEnv) -> None:
    before = plain_order(env)
    env.configure(provider="fake", query={"minScore": 0.0, "rerank": "voyage"})
    result = env.open().search(QUESTION)
    assert paths(result) == before
    (reason,) = [each for each in result.health.reasons if each.code == "not_reranked"]
    assert "There is no key for the reranker 'voyage'" in reason.message
    assert "VOYAGE_API_KEY" in reason.remedy


def test_a_cross_encoder_in_this_process_orders_the_hits(env: MemoryEnv, tmp_path: Path) -> None:
    model = write_cross_encoder(tmp_path / "model")
    rerank = {"provider": "onnx", "local": {"modelPath": str(model)}}
    env.configure(provider="fake", query={"minScore": 0.0, "rerank": rerank})
    memory = env.open()
    result = memory.search(QUESTION, explain=True)
    relevance = [hit.explanation.relevance for hit in result.hits if hit.explanation]
    assert [each is not None for each in relevance] == [True] * 5
    assert relevance == sorted(relevance, key=lambda each: -(each or 0.0))
    assert (result.hits[-1].path, relevance[-1]) == ("memory/bananas.md", 0.0)
    assert (result.health.ok, memory.egress_notice()) == (True, None)


@pytest.mark.slow
def test_a_gguf_reranker_in_this_process_orders_the_hits(env: MemoryEnv, tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    model = write_gguf_reranker(tmp_path / "tiny.gguf")
    rerank = {"provider": "local", "local": {"modelPath": str(model)}}
    env.configure(provider="fake", query={"minScore": 0.0, "deadlineMs": 60_000, "rerank": rerank})
    result = env.open().search(QUESTION, explain=True)
    relevance = [hit.explanation.relevance for hit in result.hits if hit.explanation]
    assert (len(relevance), result.health.reasons) == (5, ())
    assert relevance == sorted(relevance, key=lambda each: -(each or 0.0))


def test_a_server_of_llama_cpp_orders_the_hits_by_its_logits(env: MemoryEnv) -> None:
    with LlamaCppServer() as server:
        env.configure(**reranked(server, rerank={"model": "bge-reranker-v2-m3"}))
        result = env.open().search(QUESTION, explain=True)
        relevance = [hit.explanation.relevance for hit in result.hits if hit.explanation]
        assert all(each is not None for each in relevance)
        assert relevance == sorted(relevance, key=lambda each: -(each or 0.0))
        assert min(each or 0.0 for each in relevance) < 0


# notices and consent


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is taken for one on another machine."""
    monkeypatch.setattr("memoriter.embed.remote.is_loopback", lambda _: False)


def opened(env: MemoryEnv, *, attended: bool) -> Memory:
    around = Environment({"MEMORITER_HOME": str(env.home)}, env.home, env.notes, lambda: env.seconds, lambda: env.ticks)
    env.opened.append(Memory(assemble(env.notes, env=around, attended=attended)))
    return env.opened[-1]


@pytest.mark.usefixtures("far")
def test_without_a_person_nothing_is_sent_before_one_was_informed(env: MemoryEnv, server: CohereServer) -> None:
    env.configure(**reranked(server))
    agent = opened(env, attended=False)
    result = agent.search(QUESTION)
    (reason,) = [each for each in result.health.reasons if each.code == "not_reranked"]
    assert f"Nothing is sent to cohere at {server.base_url}" in reason.message
    assert "memoriter search" in reason.remedy
    assert server.calls == []

    notice = f"cohere at {server.base_url} (query.rerank.remote.apiKey) to rerank hits"
    person = opened(env, attended=True)
    assert (person.egress_notice(), person.egress_notice()) == (notice, None)
    assert paths(agent.search(QUESTION)) == by_length(list(NOTES))
    assert len(server.calls) == 1


@pytest.mark.usefixtures("far")
def test_a_key_from_another_place_is_news(env: MemoryEnv, server: CohereServer) -> None:
    env.configure(**reranked(server))
    assert opened(env, attended=True).egress_notice() is not None
    env.configure(
        {"cohere": {"baseUrl": server.base_url, "apiKey": KEY}},
        **{**reranked(server), "query": {"rerank": {"provider": "cohere"}}},
    )
    assert "not_reranked" in codes(opened(env, attended=False).search(QUESTION))
    assert server.calls == []
    assert "models.providers.cohere.apiKey" in (opened(env, attended=True).egress_notice() or "")


@pytest.mark.usefixtures("far")
def test_a_service_without_a_key_is_sent_nothing_and_is_not_told_of(env: MemoryEnv) -> None:
    env.configure(provider="fake", query={"rerank": "jina"})
    assert opened(env, attended=True).egress_notice() is None


@pytest.mark.usefixtures("far")
def test_offline_sends_nothing(env: MemoryEnv, server: CohereServer) -> None:
    env.configure(**reranked(server, offline=True))
    memory = opened(env, attended=True)
    assert memory.egress_notice() is None
    (reason,) = [each for each in memory.search(QUESTION).health.reasons if each.code == "not_reranked"]
    assert "offline" in reason.message
    assert server.calls == []


# what is reported


@pytest.mark.usefixtures("far")
def test_a_status_names_the_reranker_and_why_its_last_attempt_failed(env: MemoryEnv, server: CohereServer) -> None:
    env.configure(**reranked(server))
    memory = opened(env, attended=True)
    assert memory.status().reranker == RerankerState(
        "cohere", "rerank-v5.0-fast", server.base_url, "query.rerank.remote.apiKey", leaves_machine=True
    )
    assert memory.status().health.ok or "not_reranked" not in codes(memory.status())
    server.always = refused(server.wrong_key())
    memory.search(QUESTION)
    (reason,) = [each for each in opened(env, attended=True).status().health.reasons if each.code == "not_reranked"]
    assert "The last attempt to reach the reranker 'cohere' failed" in reason.message
    assert len(server.calls) == 1
    env.configure(provider="fake")
    assert env.open().status().reranker is None


@pytest.mark.usefixtures("far")
def test_forgetting_names_the_service_that_may_have_received_passages(env: MemoryEnv, server: CohereServer) -> None:
    env.configure(**reranked(server))
    plan = opened(env, attended=True).backend.plan_forget(ForgetRequest(path="memory/acid.md"))
    (sent,) = [each for each in plan.unreached if each.code == "sent"]
    assert "may have been sent to cohere" in sent.message
    assert server.calls == []
