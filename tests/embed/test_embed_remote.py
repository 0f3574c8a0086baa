"""A provider over a service that works: what it asks, how often, and what it knows of the model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import memoriter
from memoriter.embed import group_by_budget
from memoriter.embed.remote._remote import RemoteProvider, RemoteSettings, Resolved
from memoriter.embed.remote._vendor import PROBE, background_of
from memoriter.errors import ProviderUnavailable
from memoriter.ids import fingerprint
from servers import KEY, SERVERS, GeminiServer, OllamaServer, OpenAIServer, Watch, provider_of

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def openai() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


@pytest.fixture
def ollama() -> Iterator[OllamaServer]:
    with OllamaServer() as running:
        yield running


def test_a_model_that_no_table_knows_is_asked_once_for_its_dimensions(ollama: OllamaServer) -> None:
    provider = provider_of(ollama)
    assert ollama.calls == []
    resolved = provider.resolve()
    assert resolved.dimensions == provider.spec.dimensions == 768
    assert provider.spec.background == resolved.background
    assert provider.resolve() == resolved
    assert len(ollama.calls) == 1
    assert len(ollama.calls[0].json["input"]) == len(PROBE)


def test_what_was_remembered_is_not_asked_again(ollama: OllamaServer) -> None:
    resolved = provider_of(ollama).resolve()
    provider = provider_of(ollama, dimensions=resolved.dimensions, background=resolved.background)
    assert provider.resolve() == resolved
    assert provider.spec.dimensions == 768
    assert len(ollama.calls) == 1
    provider.embed(["tea"], role="query")
    assert len(ollama.calls) == 2


def test_a_model_of_the_table_is_known_without_a_call_and_can_still_be_measured() -> None:
    with GeminiServer() as server:
        provider = provider_of(server)
        assert (provider.spec.dimensions, provider.spec.max_tokens > 2000) == (3072, True)
        assert server.calls == []
        before = fingerprint(provider.spec)
        mean, deviation = provider.resolve().background
        assert -0.2 < mean < 0.6
        assert 0.02 <= deviation < 0.4
        assert fingerprint(provider.spec) == before


def test_the_background_is_that_of_texts_which_have_nothing_in_common() -> None:
    assert background_of(np.eye(4, dtype=np.float32)) == (0.0, 0.02)
    assert background_of(np.array([[1, 0], [0, 1], [-1, 0]], np.float32)) == (-0.333, 0.471)


def test_a_spec_names_the_address_without_credentials_and_two_addresses_are_two_sets(openai: OpenAIServer) -> None:
    address = openai.base_url.replace("http://", "http://me:planted@")
    spec = provider_of(openai, base_url=address, dimensions=8).spec
    assert spec.endpoint == openai.base_url
    elsewhere = provider_of(openai, base_url="http://127.0.0.1:9/v1", dimensions=8).spec
    assert fingerprint(spec) != fingerprint(elsewhere)
    assert fingerprint(spec) == fingerprint(provider_of(openai, dimensions=8, api_key="sk-other-key").spec)


def test_templates_are_put_around_the_text_by_us(ollama: OllamaServer) -> None:
    provider = provider_of(ollama, dimensions=768)
    provider.embed(["tea"], role="query")
    provider.embed(["{text} tea"], role="document")
    assert [call.json["input"] for call in ollama.calls] == [["search_query: tea"], ["search_document: {text} tea"]]


@pytest.mark.slow
def test_requests_hold_as_much_as_the_vendor_takes_and_come_back_in_order() -> None:
    with GeminiServer() as server:
        provider = provider_of(server)
        texts = [f"note {number}" for number in range(250)]
        vectors = provider.embed(texts, role="document")
        assert sorted(len(call.json["requests"]) for call in server.calls) == [50, 100, 100]
        for place in (0, 99, 100, 249):
            assert vectors[place] @ provider.embed([texts[place]], role="document")[0] == pytest.approx(1, abs=1e-4)


@pytest.mark.slow
def test_no_more_than_two_calls_are_under_way_whatever_the_threads(openai: OpenAIServer) -> None:
    def slow(_: Any, answer: Any) -> Any:
        time.sleep(0.01)
        return answer

    openai.always = slow
    provider = provider_of(openai, dimensions=1536)
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda _: provider.embed(["tea"] * 100, role="document"), range(6)))
    assert len(openai.calls) == 6 * 4
    assert openai.busiest <= 2


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [([], []), ([9], [[0]]), ([9, 9], [[0], [1]]), ([1, 1, 1, 1], [[0, 1, 2], [3]]), ([2, 3, 1], [[0, 1], [2]])],
)
def test_texts_are_grouped_by_number_and_by_tokens(sizes: list[int], groups: list[list[int]]) -> None:
    assert group_by_budget(sizes, 5, most=3) == groups


def test_no_key_is_said_before_anything_is_sent(openai: OpenAIServer) -> None:
    with pytest.raises(ProviderUnavailable) as refused:
        provider_of(openai, base_url="", api_key="")
    assert "OPENAI_API_KEY" in refused.value.remedy


def test_settings_that_are_resolved_do_not_show_what_is_secret() -> None:
    shown = repr(RemoteSettings("openai", "m", "https://u:planted@h/v1", KEY, {"x": "planted"}))
    assert "planted" not in shown
    assert KEY not in shown
    assert Resolved(3, (0.1, 0.2)) == Resolved(3, (0.1, 0.2))


def test_the_parts_load_neither_numpy_nor_a_client_for_http_until_they_are_used() -> None:
    code = (
        "import sys, json, memoriter.embed, memoriter.embed.remote._remote as r, memoriter.embed.remote._http as http,"
        "memoriter.embed._choice;"
        "h = http.HttpClient(clock=float, sleep=float, random=float);"
        "p = r.RemoteProvider(r.RemoteSettings('openai', api_key='k'), h, wall=float); p.spec;"
        "heavy = {'numpy', 'httpx2', 'ssl', 'asyncio', 'email', 'html', 'concurrent.futures'};"
        "print(json.dumps(sorted(heavy & set(sys.modules))))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(memoriter.__file__).parents[1])}
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, env=environment)
    assert json.loads(shown.stdout) == []


class Purse:
    """An account that lets everything pass and writes it down."""

    def __init__(self) -> None:
        self.reserved: list[int] = []
        self.spent: list[int] = []

    def check(self, tokens: int) -> None:
        self.reserved.append(tokens)

    def add(self, tokens: int) -> None:
        self.spent.append(tokens)


@pytest.mark.parametrize(
    ("vendor", "tokens"), [("mistral", 2), ("ollama", 8), ("openai", 2), ("voyage", 2), ("gemini", 6)]
)
def test_the_tokens_of_an_answer_are_those_the_service_counts_or_our_estimate(vendor: str, tokens: int) -> None:
    purse = Purse()
    with SERVERS[vendor]() as server:
        provider = provider_of(server, account=purse, dimensions={"openai": 1536, "ollama": 768}.get(vendor))
        provider.embed(["tea", "coffee now"], role="document")
    assert purse.spent == [tokens]
    assert len(purse.reserved) == 1
    assert purse.reserved[0] >= 2


@pytest.mark.matrix
@pytest.mark.parametrize("vendor", sorted(SERVERS))
def test_closing_leaves_nothing_open_and_another_call_opens_it_again(vendor: str) -> None:
    with SERVERS[vendor]() as server:
        provider: RemoteProvider = provider_of(server, Watch())
        provider.embed(["tea"], role="document")
        provider.close()
        assert provider.embed(["tea"], role="document").shape[0] == 1
