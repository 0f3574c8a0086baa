"""What is called a match, measured with a service: when questions are sent, what they cost, and when none is."""

from __future__ import annotations

from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.backends._foreign_vectors import questions as foreign_questions
from memoriter.embed.remote import _remote
from memoriter.search import FOREIGN_QUESTIONS
from memory_env import MemoryEnv, codes, compatible
from servers import KEY, OpenAIServer
from servers.base import Answer
from servers.compatible import QUERY, CompatibleServer, texts_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NUMBER = 6
"""Notes, each with one passage."""


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path, {})
    env.many(NUMBER)
    yield env
    env.close()


@pytest.fixture
def server() -> Iterator[CompatibleServer]:
    with CompatibleServer() as server:
        yield server


@pytest.fixture
def vendor(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """OpenAI, far away, which counts one token for each text."""
    with OpenAIServer() as server:
        monkeypatch.setitem(_remote._VENDORS, "openai", replace(_remote.vendor_of("openai"), base_url=server.base_url))
        monkeypatch.setattr("memoriter.embed.remote.is_local_network", lambda _: False)
        yield server


def foreign_sent(server: CompatibleServer) -> int:
    return len(set(foreign_questions()) & set(server.questions))


@pytest.mark.slow
def test_indexing_with_a_service_measures_what_a_match_is_once(env: MemoryEnv, server: CompatibleServer) -> None:
    env.configure(**compatible(server))
    memory = env.open()
    assert memory.status().calibration is None
    assert codes(memory.sync()) == []
    state = memory.status().calibration
    assert state is not None
    assert {each.script for each in state.scripts} == FOREIGN_QUESTIONS.keys()
    assert (state.chunks, 0 < state.own_questions <= NUMBER) == (NUMBER, True)
    assert foreign_sent(server) == len(foreign_questions())
    answer = memory.search("manyword3 beside manything3", explain=True)
    assert answer.certainty is not None
    is_certain = answer.certainty.value > answer.certainty.threshold or answer.hits[0].score >= 0.65
    assert (answer.outcome == "match") == is_certain
    sent = len(server.questions)
    memory.sync()
    env.write("memory/many/000.md", "# many 0\n\nThe manyword0 has left manything0.\n")
    memory.sync()
    assert len(server.questions) == sent


@pytest.mark.slow
def test_only_a_run_that_was_requested_sends_questions(env: MemoryEnv, server: CompatibleServer) -> None:
    env.configure(**compatible(server))
    memory = env.open()
    memory.search("manyword3")
    memory.backend.refresh()
    memory.backend.finish(Event())
    status = memory.status()
    assert (status.pending, status.vectors, status.calibration) == (0, NUMBER, None)
    assert server.questions == ["manyword3"]


@pytest.mark.slow
def test_another_index_with_the_same_model_sends_no_foreign_question_again(
    env: MemoryEnv, server: CompatibleServer, tmp_path: Path
) -> None:
    env.configure(**compatible(server))
    env.open().sync()
    first, sent = env.open().status().calibration, len(server.questions)
    other = MemoryEnv(tmp_path / "others", env.home)
    other.many(NUMBER, "other")
    with other.open() as memory:
        memory.sync()
        second = memory.status().calibration
    assert second is not None
    assert first is not None
    assert len(server.questions) == sent + 6
    assert not set(server.questions[sent:]) & set(foreign_questions())


@pytest.mark.slow
def test_a_model_of_the_same_name_at_another_address_has_vectors_of_its_own(
    env: MemoryEnv, server: CompatibleServer, tmp_path: Path
) -> None:
    env.configure(**compatible(server))
    env.open().sync()
    other = MemoryEnv(tmp_path / "others", env.home)
    other.many(NUMBER, "other")
    with CompatibleServer(place=100) as elsewhere:
        other.configure(**compatible(elsewhere))
        with other.open() as memory:
            memory.sync()
        assert foreign_sent(elsewhere) == len(foreign_questions())


@pytest.mark.slow
def test_an_estimate_counts_the_questions_until_they_are_measured(env: MemoryEnv, vendor: OpenAIServer) -> None:
    env.configure(provider="openai", remote={"apiKey": KEY})
    memory = env.open()
    before = memory.estimate()
    assert 2_000 < before.question_tokens < before.tokens < 6_000
    assert before.price == pytest.approx(before.tokens * 0.02e-6)
    assert vendor.calls == []
    memory.sync()
    texts = [text for call in vendor.calls for text in texts_of(call)]
    assert len(texts) == memory._backend.embedding.ledger.today().tokens == NUMBER + len(foreign_questions()) + NUMBER
    after = memory.estimate()
    assert (after.tokens, after.question_tokens) == (0, 0)
    env.many(2 * NUMBER)
    grown = memory.estimate()
    assert 0 < grown.question_tokens < 500, "the foreign questions are known"


@pytest.mark.slow
def test_too_small_a_budget_leaves_a_fixed_score_and_says_so(env: MemoryEnv, vendor: OpenAIServer) -> None:
    env.configure(provider="openai", remote={"apiKey": KEY, "budget": {"tokensPerDay": 400}})
    memory = env.open()
    report = memory.sync()
    assert (report.embedded, report.pending, codes(report)) == (NUMBER, 0, ["over_budget"])
    assert report.reasons[0].message.startswith("A fixed score decides what is called a match")
    assert memory.status().calibration is None
    assert memory._backend.embedding.ledger.today().tokens == NUMBER
    assert memory.search("manyword3").mode == "hybrid"
    env.configure(provider="openai", remote={"apiKey": KEY})
    memory = env.open()
    assert (codes(memory.sync()), memory.status().calibration is None) == ([], False)


@pytest.mark.slow
def test_a_service_that_fails_at_the_questions_is_asked_again_by_the_next_run(
    env: MemoryEnv, server: CompatibleServer
) -> None:
    def refuse_own_questions(_: Any, answer: Answer) -> Answer:
        texts = texts_of(server.calls[-1])
        is_foreign = bool({text.removeprefix(QUERY) for text in texts} & set(foreign_questions()))
        refused = texts[0].startswith(QUERY) and not is_foreign
        return Answer(400, {"error": {"message": "no", "type": "invalid_request_error"}}) if refused else answer

    env.configure(**compatible(server))
    memory = env.open()
    server.always = refuse_own_questions
    report = memory.sync()
    assert (report.embedded, report.pending, len(codes(report))) == (NUMBER, 0, 1)
    assert "was not measured" in report.reasons[0].message
    assert memory.status().calibration is None
    server.always = None
    assert codes(env.open().sync()) == []
    assert env.open().status().calibration is not None
    assert foreign_sent(server) == len([text for text in server.questions if text in set(foreign_questions())])


@pytest.mark.slow
def test_other_scores_and_few_passages_send_no_question(
    env: MemoryEnv, server: CompatibleServer, tmp_path: Path
) -> None:
    env.configure(**compatible(server), query={"scoring": "rrf"})
    with env.open() as memory:
        assert memory.estimate().question_tokens == 0
        memory.sync()
    few = MemoryEnv(tmp_path / "few", env.home)
    few.many(4)
    few.configure(**compatible(server))
    with few.open() as memory:
        assert memory.estimate().question_tokens == 0
        memory.sync()
    assert server.questions == []
