"""What every reranker promises, run over each service in the form of a server, and over models of both kinds."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from memoriter.embed.local._gguf import open_gguf_reranker, usable_package
from memoriter.embed.local._onnx import open_onnx_reranker
from memoriter.errors import ProviderUnavailable
from rerank_models import write_cross_encoder, write_gguf_reranker
from servers import RERANK_SERVERS, reranker_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.embed import Reranker

QUESTION = "Which database did we choose for the ledger"
PASSAGES = [
    "Bananas ripen slowly at night",
    "The gateway runs on the mac studio in the office",
    "We chose PostgreSQL, a database, for the ledger because of ACID",
    "나는 매운 음식을 좋아해.",
]
RELEVANT = 2
SECONDS = 30.0
KINDS = [*sorted(RERANK_SERVERS), "onnx", "onnx-two-labels", pytest.param("gguf", marks=pytest.mark.slow)]


@pytest.fixture(scope="module", params=KINDS)
def reranker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reranker]:
    folder = tmp_path_factory.mktemp("reranker")
    if request.param in RERANK_SERVERS:
        with RERANK_SERVERS[request.param]() as server:
            opened = reranker_of(server, real_time=True)
            yield opened
            opened.close()
        return
    if request.param == "gguf":
        try:
            usable_package()
        except ProviderUnavailable as error:
            pytest.skip(error.message)
        opened = open_gguf_reranker(
            write_gguf_reranker(folder / "tiny.gguf"), cache_dir=folder / "cache", clock=time.monotonic
        )
    else:
        labels = 2 if request.param == "onnx-two-labels" else 1
        opened = open_onnx_reranker(write_cross_encoder(folder / "model", labels=labels), clock=time.monotonic)
    yield opened
    opened.close()


def scores_of(reranker: Reranker, query: str, passages: list[str]) -> list[float]:
    return reranker.scores(query, passages, seconds=SECONDS)


def test_each_passage_has_one_finite_score_in_the_order_of_the_passages(reranker: Reranker) -> None:
    scores = scores_of(reranker, QUESTION, PASSAGES)
    assert len(scores) == len(PASSAGES)
    assert all(isinstance(score, float) and math.isfinite(score) for score in scores)
    assert scores_of(reranker, QUESTION, PASSAGES[::-1]) == pytest.approx(scores[::-1], abs=1e-4)
    assert len(set(scores)) > 1


def test_the_passage_that_answers_has_the_highest_score(reranker: Reranker, request: pytest.FixtureRequest) -> None:
    if "gguf" in request.node.callspec.id:
        pytest.skip("its weights are random")
    scores = scores_of(reranker, QUESTION, PASSAGES)
    assert max(range(len(scores)), key=lambda at: scores[at]) == RELEVANT


def test_one_passage_is_enough(reranker: Reranker) -> None:
    assert len(scores_of(reranker, QUESTION, PASSAGES[:1])) == 1


@pytest.mark.matrix(quick=3)
@pytest.mark.parametrize(
    "text",
    ["", " \n\t", "\0", "before\0after", "\ud800", "a\udc00\ud83d\ude00", "\u200b\ufeff", "red " * 4_000, "가" * 4_000],
    ids=lambda text: f"{len(text)}-{text[:4]!a}",
)
def test_any_text_may_be_a_question_or_a_passage(reranker: Reranker, text: str) -> None:
    scores = [*scores_of(reranker, QUESTION, [text, PASSAGES[0]]), *scores_of(reranker, text, PASSAGES[:2])]
    assert len(scores) == 4
    assert all(map(math.isfinite, scores))


def test_the_same_question_gives_the_same_scores_from_any_thread(reranker: Reranker) -> None:
    first = scores_of(reranker, QUESTION, PASSAGES)
    with ThreadPoolExecutor(4) as threads:
        again = list(threads.map(lambda _: scores_of(reranker, QUESTION, PASSAGES), range(4)))
    assert again == [pytest.approx(first, abs=1e-5)] * 4


def test_closing_twice_does_no_harm_and_it_opens_again(reranker: Reranker) -> None:
    first = scores_of(reranker, QUESTION, PASSAGES)
    reranker.close()
    reranker.close()
    assert scores_of(reranker, QUESTION, PASSAGES) == pytest.approx(first, abs=1e-5)
