"""What every embedding provider promises, run over each that ships, and over a server that speaks as each service."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoriter.embed import embed_in_batches, provider_names, spec_of
from memoriter.errors import ProviderUnavailable
from openers import OPENERS
from servers import SERVERS, provider_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoriter.embed import EmbeddingProvider

TEXTS = [
    "The gateway runs on the Mac Studio in the office.",
    "나는 매운 음식을 좋아해.",
    "我们选择了 PostgreSQL。",
    "辛いラーメンが好きです。",
    "def answer() -> int:\n    return 42",
]


SLOW = {"local, GGUF"}
"""Providers that take seconds to start."""
PARAMS = [
    *sorted(SERVERS),
    *(pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in OPENERS),
]
services = pytest.mark.matrix(quick=len(SERVERS))
"""Marks what is quick with a server, and slow with a model."""


@pytest.fixture(scope="module", params=PARAMS)
def opener(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], EmbeddingProvider]]:
    if request.param in OPENERS:
        yield partial(OPENERS[request.param], tmp_path_factory)
    else:
        with SERVERS[request.param]() as server:
            yield partial(provider_of, server)


@pytest.fixture(scope="module")
def provider(opener: Callable[[], EmbeddingProvider]) -> Iterator[EmbeddingProvider]:
    try:
        opened = opener()
    except ProviderUnavailable as error:
        pytest.skip(f"it cannot run on {sys.platform}: {error.message}")
    yield opened
    opened.close()


@pytest.mark.matrix(quick=len(SERVERS) + 1)
def test_a_vector_has_unit_length_and_the_stated_dimensions(provider: EmbeddingProvider) -> None:
    vectors = provider.embed(TEXTS, role="document")
    assert vectors.shape == (len(TEXTS), provider.spec.dimensions)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


@pytest.mark.matrix
def test_rows_come_in_the_order_of_the_texts_and_a_batch_equals_its_texts_alone(provider: EmbeddingProvider) -> None:
    together = provider.embed(TEXTS, role="document")
    alone = np.concatenate([provider.embed([text], role="document") for text in TEXTS])
    assert together == pytest.approx(alone, abs=1e-3)


@pytest.mark.matrix(quick=len(SERVERS) + 1)
def test_the_role_changes_the_vector_exactly_where_the_templates_differ(provider: EmbeddingProvider) -> None:
    as_query, as_document = (provider.embed(TEXTS[:1], role=role)[0] for role in ("query", "document"))
    differs = provider.spec.query_template != provider.spec.document_template
    assert (float(as_query @ as_document) < 0.999) == differs


def test_no_texts_give_no_rows(provider: EmbeddingProvider) -> None:
    assert provider.embed([], role="query").shape == (0, provider.spec.dimensions)


@pytest.mark.matrix
@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "\0",
        "before\0after",
        "\ud800",
        "a\udc00\ud83d\ude00",
        "\u200b\ufeff",
        "가" * 100_000,
        "word " * 20_000,
        "=" * 100_000,
    ],
    ids=lambda text: f"{len(text)}-{text[:4]!a}",
)
def test_any_text_gives_a_finite_unit_vector(provider: EmbeddingProvider, text: str) -> None:
    (vector,) = provider.embed([text], role="document")
    assert float(np.linalg.norm(vector)) == pytest.approx(1, abs=1e-5)


@pytest.mark.matrix
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(), max_size=40))
def test_any_characters_give_a_finite_unit_vector(provider: EmbeddingProvider, text: str) -> None:
    (vector,) = provider.embed([text], role="query")
    assert float(np.linalg.norm(vector)) == pytest.approx(1, abs=1e-5)


@pytest.mark.matrix
def test_the_same_text_gives_the_same_vector_from_any_thread(provider: EmbeddingProvider) -> None:
    first = provider.embed(TEXTS, role="query")
    with ThreadPoolExecutor(4) as threads:
        again = list(threads.map(lambda _: provider.embed(TEXTS, role="query"), range(4)))
    assert all(np.array_equal(first, vectors) for vectors in again)


def test_texts_that_say_the_same_are_nearer_than_texts_that_do_not(provider: EmbeddingProvider) -> None:
    question, answer, other = provider.embed(
        ["Which database did we choose?", "We chose the PostgreSQL database.", "Bananas ripen slowly at night."],
        role="document",
    )
    assert float(question @ answer) > float(question @ other)


def test_a_longer_text_never_counts_fewer_tokens_than_its_beginning(provider: EmbeddingProvider) -> None:
    for text in [*TEXTS, "한국어와 English 混合 " * 200]:
        assert 0 < provider.count_tokens(text) <= provider.count_tokens(text + text)


def test_the_spec_is_the_same_whenever_the_provider_is_opened(
    provider: EmbeddingProvider, opener: Callable[[], EmbeddingProvider]
) -> None:
    again = opener()
    assert again.spec == provider.spec
    assert provider.spec.provider not in provider_names() or spec_of(provider.spec.provider) == provider.spec
    again.close()


@services
def test_hints_and_closing_twice_do_no_harm(
    provider: EmbeddingProvider, opener: Callable[[], EmbeddingProvider]
) -> None:
    opened = opener()
    assert opened.embed(TEXTS[:1], role="query") == pytest.approx(provider.embed(TEXTS[:1], role="query"), abs=1e-5)
    opened.hint_batch_size(1)
    opened.hint_batch_size(0)
    opened.close()
    opened.close()


@pytest.mark.matrix
def test_a_text_over_the_limit_is_embedded_in_parts_by_the_batches(provider: EmbeddingProvider) -> None:
    long = "The gateway runs on the Mac Studio. " * (provider.spec.max_tokens // 5)
    (batch,) = embed_in_batches(provider, ["short", long], role="document", budget=10**6)
    assert batch.positions == (0, 1)
    assert batch.failures == ()
