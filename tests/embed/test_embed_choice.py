"""Which provider, key and price are chosen, and the provider without a model."""

from __future__ import annotations

import math
import re
from itertools import product
from typing import TYPE_CHECKING

import pytest

from memoriter.config import load
from memoriter.embed import (
    Choice,
    ProviderSettings,
    ServiceConfig,
    choose,
    open_provider,
    price_of,
    price_row,
    provider_choices,
)
from memoriter.embed.remote._remote import remote_names, vendor_of
from memoriter.errors import ConfigError
from memoriter.providers import AUTO, BY_NAME, FREE, NONE, OPENAI_COMPATIBLE, PROCESS, PROVIDERS, REMOTE
from servers import SERVERS

if TYPE_CHECKING:
    from pathlib import Path

ENVIRON = {
    "OPENAI_API_KEY": "from-variable",
    "GOOGLE_API_KEY": "google",
    "VOYAGE_API_KEY": " ",
    "MISTRAL_API_KEY": "m\n",
}


def key_of(choice: Choice) -> tuple[str, str]:
    assert choice.remote
    return choice.remote.api_key, choice.key_source


@pytest.mark.parametrize(
    ("vendor", "shared", "entries", "key"),
    [
        ("openai", "a", {"openai": "b"}, ("a", "remote.apiKey")),
        ("openai", "", {"openai": "b"}, ("b", "models.providers.openai.apiKey")),
        ("openai", "", {"gemini": "b"}, ("from-variable", "environment OPENAI_API_KEY")),
        ("gemini", "", {}, ("google", "environment GOOGLE_API_KEY")),
        ("mistral", "", {}, ("m", "environment MISTRAL_API_KEY")),
        ("voyage", "", {}, ("", "")),
        ("ollama", "", {}, ("", "")),
        ("ollama", "a", {}, ("a", "remote.apiKey")),
    ],
)
def test_the_nearest_source_wins_and_is_named(
    vendor: str, shared: str, entries: dict[str, str], key: tuple[str, str], tmp_path: Path
) -> None:
    remote = ServiceConfig(api_key=shared)
    services = {name: ServiceConfig(api_key=value) for name, value in entries.items()}
    settings = ProviderSettings(tmp_path, vendor, "nomic-embed-text", remote=remote, services=services, environ=ENVIRON)
    assert key_of(choose(settings)) == key


def test_gemini_is_looked_for_under_its_own_name_first(tmp_path: Path) -> None:
    environ = {"GOOGLE_API_KEY": "google", "GEMINI_API_KEY": "gemini"}
    choice = choose(ProviderSettings(tmp_path, "gemini", environ=environ))
    assert key_of(choice) == ("gemini", "environment GEMINI_API_KEY")


@pytest.mark.parametrize(("shared", "key"), [("", ("", "")), ("a", ("a", "remote.apiKey"))])
def test_keys_of_the_vendor_are_not_for_another_address(shared: str, key: tuple[str, str], tmp_path: Path) -> None:
    elsewhere = ServiceConfig("https://else.where/v1", shared)
    found = {"openai": ("found", "a place")}
    settings = ProviderSettings(tmp_path, "openai", remote=elsewhere, environ=ENVIRON, found_keys=found)
    assert key_of(choose(settings)) == key


def test_keys_are_never_shown(tmp_path: Path) -> None:
    planted = ServiceConfig(api_key="planted")
    found = {"openai": ("planted", "a place")}
    settings = ProviderSettings(tmp_path, "openai", remote=planted, services={"openai": planted}, found_keys=found)
    assert "planted" not in repr([settings, choose(settings)])


def test_auto_goes_down_the_list_and_never_leaves_the_machine_offline(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").touch()
    for local, offline, key in product([True, False], repeat=3):
        expected = "local" if local else "openai" if key and not offline else "bundled"
        model = str(tmp_path / "model.gguf") if local else ""
        remote = ServiceConfig(api_key="a" if key else "")
        settings = ProviderSettings(tmp_path, remote=remote, local_model=model, offline=offline, environ=ENVIRON)
        assert choose(settings).name == expected


def test_every_service_has_an_adapter_and_a_test_server() -> None:
    assert set(REMOTE) == set(remote_names()) == set(SERVERS)


def test_every_provider_is_of_one_kind_and_can_be_configured(tmp_path) -> None:
    assert len(BY_NAME) == len(PROVIDERS)
    assert {*PROCESS, *REMOTE, *OPENAI_COMPATIBLE} == set(BY_NAME)
    assert set(provider_choices(ProviderSettings(tmp_path))) == {AUTO, NONE, *BY_NAME}
    for name in (AUTO, NONE, *BY_NAME):
        (tmp_path / "memoriter.json5").write_text(f"{{agents: {{defaults: {{memorySearch: {{provider: '{name}'}}}}}}}}")
        assert load(None, home=tmp_path, environ={}).settings.agents.defaults.memory_search.provider == name
    (tmp_path / "memoriter.json5").write_text("{agents: {defaults: {memorySearch: {provider: 'nobody'}}}}")
    with pytest.raises(ConfigError, match="nobody"):
        load(None, home=tmp_path, environ={})


def test_a_paid_service_has_a_key_variable_and_a_model_with_a_price() -> None:
    for name in REMOTE - FREE:
        assert BY_NAME[name].key_variables
        assert name not in FREE
        assert vendor_of(name).default_model in vendor_of(name).models
        assert vendor_of(name).default_model in vendor_of(name).prices


@pytest.mark.parametrize(
    ("provider", "model", "batch", "price"),
    [
        ("openai", "text-embedding-3-small", False, 0.02),
        ("openai", "text-embedding-3-small", True, 0.01),
        ("gemini", "gemini-embedding-001", True, 0.075),
        ("mistral", "mistral-embed", True, 0.10),
        ("bundled", "memoriter-e5-small-q4", False, 0.0),
        ("ollama", "nomic-embed-text", False, 0.0),
        ("openai", "a-model-of-somebody-else", False, None),
    ],
)
def test_a_million_tokens_cost_what_the_vendor_says(
    provider: str, model: str, *, batch: bool, price: float | None
) -> None:
    assert price_of(provider, model, 1_000_000, batch=batch) == price


def test_every_price_says_where_and_when_it_was_seen_and_no_batch_costs_more() -> None:
    prices = [row for name in remote_names() for row in vendor_of(name).prices.values()]
    assert len(prices) > 20
    assert all(re.fullmatch(r"20\d\d-\d\d", row.seen) and row.page.startswith("https://") for row in prices)
    assert all(row.batch is None or row.batch < row.plain for row in prices)
    assert price_row("openai", "nothing") is None


def test_a_word_weighs_one_and_its_trigrams_half(tmp_path: Path) -> None:
    (vector,) = open_provider("fake", cache_dir=tmp_path).embed(["a"], role="document")
    assert sorted(abs(float(x)) for x in vector if x) == pytest.approx([0.5 / math.sqrt(1.25), 1 / math.sqrt(1.25)])


def test_case_and_punctuation_do_not_matter(tmp_path: Path) -> None:
    left, right = open_provider("fake", cache_dir=tmp_path).embed(["VLAN 10: IoT!", "vlan 10 iot"], role="document")
    assert left.tolist() == right.tolist()


def test_texts_without_words_are_alike_and_unlike_others(tmp_path: Path) -> None:
    dots, dashes, words = open_provider("fake", cache_dir=tmp_path).embed(["...", "---", "some words"], role="query")
    assert float(dots @ dashes) == pytest.approx(1)
    assert abs(float(dots @ words)) < 0.5
