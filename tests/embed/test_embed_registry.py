"""One table of providers: whatever else lists them agrees with it."""

from __future__ import annotations

import pytest

from memoriter.config import load
from memoriter.embed import ProviderSettings, provider_choices
from memoriter.embed.remote._remote import remote_names, vendor_of
from memoriter.errors import ConfigError
from memoriter.providers import AUTO, BY_NAME, FREE, NONE, OPENAI_COMPATIBLE, PROCESS, PROVIDERS, REMOTE
from servers import SERVERS


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
