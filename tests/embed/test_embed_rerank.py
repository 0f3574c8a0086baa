"""What a reranker does when a service fails or says nonsense, over every service, and which one settings choose."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.embed import RerankSettings, ServiceConfig, choose_reranker, open_reranker, price_of
from memoriter.embed.local._gguf import open_gguf_reranker
from memoriter.embed.local._onnx import open_onnx_reranker
from memoriter.embed.remote._rerank import parse_scores
from memoriter.errors import (
    BadScores,
    ConfigError,
    EmbeddingError,
    InputTooLarge,
    OutOfQuota,
    OverBudget,
    ProviderUnavailable,
    Throttled,
    TransientFailure,
    Unauthorised,
)
from rerank_models import write_cross_encoder, write_gguf_reranker
from servers import (
    KEY,
    RERANK_SERVERS,
    Answer,
    CohereServer,
    Watch,
    altered,
    half_written,
    html_page,
    refused,
    reranker_of,
    reset,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from servers import RerankServer

PASSAGES = ["tea in the morning", "coffee", "a cup of cocoa"]


@pytest.fixture(params=sorted(RERANK_SERVERS))
def server(request: pytest.FixtureRequest) -> Iterator[RerankServer]:
    with RERANK_SERVERS[request.param]() as running:
        yield running


def ask(server: RerankServer, watch: Watch | None = None, **more: Any) -> list[float]:
    return reranker_of(server, watch, **more).scores("coffee", PASSAGES, seconds=10.0)


def refusal(server: RerankServer, **more: Any) -> EmbeddingError:
    with pytest.raises(EmbeddingError) as caught:
        ask(server, **more)
    assert KEY not in caught.value.message + caught.value.remedy
    return caught.value


def first_row(server: RerankServer, **changed: Any) -> Any:
    return altered(lambda answer: server.rows(answer)[0].update(changed))


@pytest.mark.parametrize(
    "nonsense",
    [
        pytest.param(lambda server: altered(lambda answer: server.rows(answer).pop()), id="too few"),
        pytest.param(lambda server: altered(lambda answer: server.rows(answer).append({})), id="an empty row"),
        pytest.param(lambda server: altered(lambda answer: server.rows(answer).append(7)), id="no row"),
        pytest.param(lambda server: first_row(server, index=len(PASSAGES)), id="index out of range"),
        pytest.param(lambda server: first_row(server, index=-1), id="negative index"),
        pytest.param(lambda server: first_row(server, index=True), id="index that is no number"),
        pytest.param(lambda server: first_row(server, index="0"), id="index in quotes"),
        pytest.param(
            lambda server: altered(lambda answer: server.rows(answer)[0].update(index=server.rows(answer)[1]["index"])),
            id="an index twice",
        ),
        pytest.param(lambda server: first_row(server, relevance_score=float("nan")), id="NaN"),
        pytest.param(lambda server: first_row(server, relevance_score=float("inf")), id="infinity"),
        pytest.param(lambda server: first_row(server, relevance_score=None), id="no score"),
        pytest.param(lambda server: first_row(server, relevance_score="0.5"), id="score in quotes"),
        pytest.param(lambda server: altered(lambda answer: {"rows": answer}), id="no list"),
        pytest.param(lambda server: altered(lambda answer: answer.update({server.results: {}})), id="not a list"),
    ],
)
def test_nonsense_is_refused_at_once_and_is_not_asked_for_again(server: RerankServer, nonsense: Any) -> None:
    server.always = nonsense(server)
    assert isinstance(refusal(server), BadScores)
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    ("fault", "expected", "calls"),
    [
        (lambda server: refused(server.wrong_key()), Unauthorised, 1),
        (lambda server: refused(server.quota()), OutOfQuota, 1),
        (lambda server: refused(server.throttled()), Throttled, 2),
        (lambda server: refused(server.too_long()), InputTooLarge, 1),
        (lambda _: refused(Answer(500, {"message": "boom"})), TransientFailure, 2),
        (lambda _: refused(Answer(404, {"message": "no such model"})), ProviderUnavailable, 1),
        (lambda _: refused(Answer(200, [1, 2])), TransientFailure, 2),
        (lambda _: html_page(200), TransientFailure, 2),
        (lambda _: html_page(502), TransientFailure, 2),
        (lambda _: half_written, TransientFailure, 2),
        (lambda _: reset, TransientFailure, 2),
    ],
    ids=["401", "quota", "429", "too long", "500", "404", "a list", "page", "bad gateway", "half written", "reset"],
)
def test_each_failure_has_its_error_with_a_remedy_about_the_reranker(
    server: RerankServer, fault: Any, expected: type[EmbeddingError], calls: int
) -> None:
    server.always = fault(server)
    error = refusal(server)
    assert type(error) is expected
    assert len(server.calls) == calls
    assert "vector" not in error.remedy
    assert "memorySearch.model" not in error.remedy


def test_one_failure_that_is_over_soon_costs_no_answer(server: RerankServer) -> None:
    server.faults.append(refused(server.throttled()))
    watch = Watch()
    assert len(ask(server, watch)) == len(PASSAGES)
    assert watch.slept == [2.0]


def test_an_answer_that_is_too_large_is_not_read_to_its_end(server: RerankServer) -> None:
    server.always = altered(lambda answer: answer.update(more="x" * (4 << 20)))
    assert isinstance(refusal(server), ProviderUnavailable)


def test_after_a_wrong_key_the_service_is_left_alone(server: RerankServer) -> None:
    server.always = refused(server.wrong_key())
    reranker = reranker_of(server)
    for _ in range(5):
        with pytest.raises(Unauthorised):
            reranker.scores("coffee", PASSAGES, seconds=1.0)
    assert len(server.calls) == 1


def test_secrets_in_question_and_passages_are_masked(server: RerankServer) -> None:
    reranker_of(server).scores("password: hunter2secret!", ["the password: hunter2secret!", "tea"], seconds=1.0)
    assert "hunter2secret" not in server.questions[0] + "".join(server.passages)
    assert "***" in server.questions[0]


class Purse:
    """Records what is to be sent and what was."""

    def __init__(self, *, empty: bool = False) -> None:
        self.checked: list[int] = []
        self.added: list[int] = []
        self.empty = empty

    def check(self, tokens: int) -> None:
        self.checked.append(tokens)
        if self.empty:
            raise OverBudget("Nothing is left.")

    def add(self, tokens: int, *, batch: bool = False) -> None:
        assert not batch
        self.added.append(tokens)


def test_tokens_are_counted_as_the_service_counts_them_or_else_as_estimated(server: RerankServer) -> None:
    purse = Purse()
    ask(server, account=purse)
    assert len(purse.checked) == 1
    assert purse.added == (purse.checked if isinstance(server, CohereServer) else [7 * len(PASSAGES)])


def test_nothing_is_sent_beyond_the_budget(server: RerankServer) -> None:
    assert isinstance(refusal(server, account=Purse(empty=True)), OverBudget)
    assert server.calls == []


def test_a_bill_by_requests_and_a_bill_by_tokens() -> None:
    assert price_of("cohere", "rerank-v4.0-fast", 5_000) == pytest.approx(0.002)
    assert price_of("cohere", "rerank-v5.0-fast", 5_000) == pytest.approx(0.0001)
    assert price_of("voyage", "rerank-2.5", 1_000_000) == pytest.approx(0.05)
    assert price_of("jina", "jina-reranker-v3", 5_000) is None
    assert price_of("compatible", "rerank-2.5", 5_000) is None


SCORES = st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1, max_size=30)


@given(scores=SCORES, data=st.data())
def test_the_order_of_an_answer_makes_no_difference(scores: list[float], data: st.DataObject) -> None:
    rows = data.draw(st.permutations([{"index": at, "relevance_score": score} for at, score in enumerate(scores)]))
    assert parse_scores(json.dumps({"results": rows}).encode(), len(scores), ("results",), "it") == scores


@pytest.mark.slow
@hypothesis.settings(max_examples=25)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=8))
def test_any_other_answer_is_an_error_of_ours(value: Any) -> None:
    for body in (
        value,
        {"results": value},
        {"results": [value]},
        {"results": [{"index": 0, "relevance_score": value}]},
    ):
        try:
            scores = parse_scores(json.dumps(body).encode(), 1, ("results",), "it")
        except (BadScores, TransientFailure):
            continue
        assert isinstance(body["results"][0]["relevance_score"], int | float)
        assert len(scores) == 1


# what settings choose


def settings(**more: Any) -> RerankSettings:
    return RerankSettings(cache_dir=Path("cache"), **more)


def test_a_name_and_a_key_in_the_environment_choose_the_vendors_own_service() -> None:
    for name, variable, model, endpoint in (
        ("cohere", "COHERE_API_KEY", "rerank-v5.0-fast", "https://api.cohere.com/v2"),
        ("cohere", "CO_API_KEY", "rerank-v5.0-fast", "https://api.cohere.com/v2"),
        ("jina", "JINA_API_KEY", "jina-reranker-v3", "https://api.jina.ai/v1"),
        ("voyage", "VOYAGE_API_KEY", "rerank-2.5", "https://api.voyageai.com/v1"),
    ):
        choice = choose_reranker(settings(name=name, environ={variable: "k"}))
        assert (choice.vendor, choice.model, choice.endpoint) == (name, model, endpoint)
        assert (choice.leaves_machine, choice.metered, choice.official_endpoint) == (True, True, True)
        assert choice.key_source == f"environment {variable}"


def test_a_key_of_the_environment_goes_to_its_vendor_only() -> None:
    choice = choose_reranker(
        settings(name="cohere", remote=ServiceConfig("https://elsewhere.example/v2"), environ={"CO_API_KEY": "k"})
    )
    assert choice.remote is not None
    assert (choice.remote.api_key, choice.key_source, choice.official_endpoint) == ("", "", False)


def test_an_entry_of_model_providers_serves_by_its_interface() -> None:
    services = {"mine": ServiceConfig("http://10.0.0.7:8080/v1/rerank", "k", "voyage")}
    choice = choose_reranker(settings(name="mine", services=services))
    assert (choice.vendor, choice.endpoint, choice.key_source) == (
        "voyage",
        "http://10.0.0.7:8080/v1",
        "models.providers.mine.apiKey",
    )
    assert (choice.leaves_machine, choice.metered) == (True, False)
    plain = choose_reranker(settings(name="mine", services={"mine": ServiceConfig("http://127.0.0.1:1/v1")}))
    assert (plain.vendor, plain.leaves_machine) == ("compatible", False)


@pytest.mark.parametrize(
    ("given", "error", "remedy"),
    [
        ({"name": "cohere"}, ProviderUnavailable, "COHERE_API_KEY or CO_API_KEY"),
        ({"name": "compatible"}, ConfigError, "remote.baseUrl"),
        ({"name": "nobody"}, ConfigError, "compatible"),
        ({"name": "auto"}, ConfigError, "judge"),
        ({"name": "onnx"}, ConfigError, "model.onnx and tokenizer.json"),
        ({"name": "local"}, ConfigError, "a GGUF file"),
        (
            {"name": "cohere", "remote": ServiceConfig(api_key="k"), "offline": True},
            ProviderUnavailable,
            "query.rerank to off",
        ),
        ({"name": "jina", "remote": ServiceConfig(api_key="k\n\nk")}, ConfigError, "Copy the key again"),
    ],
)
def test_what_cannot_be_chosen_has_a_reason_and_a_next_step(
    given: dict[str, Any], error: type[Exception], remedy: str
) -> None:
    with pytest.raises(error) as caught:
        choose_reranker(settings(**given))
    assert remedy in caught.value.remedy


def test_offline_allows_a_server_on_this_machine() -> None:
    choice = choose_reranker(
        settings(name="compatible", remote=ServiceConfig("http://localhost:8080/v1"), offline=True)
    )
    assert not choice.leaves_machine


# models of both kinds


def test_a_folder_without_a_cross_encoder_is_refused_with_the_command_that_makes_one(tmp_path: Path) -> None:
    with pytest.raises(ProviderUnavailable, match=r"tokenizer\.json|no such model") as missing:
        open_onnx_reranker(tmp_path / "nothing", clock=time.monotonic)
    assert "text-classification" in missing.value.remedy
    three = open_onnx_reranker(write_cross_encoder(tmp_path / "three", labels=3), clock=time.monotonic)
    with pytest.raises(ProviderUnavailable, match="no score of a question and a passage"):
        three.scores("red", ["red", "blue"], seconds=9.0)


def test_a_cross_encoder_that_is_too_slow_stops_reading(tmp_path: Path) -> None:
    watch = Watch()
    reranker = open_onnx_reranker(write_cross_encoder(tmp_path), clock=watch)
    assert reranker.scores("red", ["red blue", "blue"], seconds=1.0) == [1.0, 0.0]
    with pytest.raises(TransientFailure, match="read 0 of 2 passages") as caught:
        reranker.scores("red", ["red blue", "blue"], seconds=0.0)
    assert "candidates" in caught.value.remedy


def test_a_gguf_model_that_makes_vectors_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    file = write_gguf_reranker(tmp_path / "mean.gguf", pooling=1)
    with pytest.raises(ProviderUnavailable, match="does not rank texts"):
        open_gguf_reranker(file, cache_dir=tmp_path, clock=time.monotonic)
    (tmp_path / "page.gguf").write_text("<html>")
    with pytest.raises(ProviderUnavailable) as caught:
        open_gguf_reranker(tmp_path / "page.gguf", cache_dir=tmp_path, clock=time.monotonic)
    assert "query.rerank.local.modelPath" in caught.value.remedy


def test_the_choice_none_cannot_be_opened() -> None:
    choice = choose_reranker(settings())
    assert choice.kind == "none"
    with pytest.raises(ProviderUnavailable):
        open_reranker(choice, settings(), None)  # type: ignore[arg-type]
