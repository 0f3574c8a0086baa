"""Which service a model's name means, and to whom a key goes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.chat import ChatEndpoint, endpoint_of
from memoriter.config import ModelProvider
from memoriter.errors import ConfigError, UsageError

KEYS = {"OPENAI_API_KEY": "sk-openai", "ANTHROPIC_API_KEY": "sk-anthropic", "WORK_KEY": "sk-work"}
PROVIDERS = {
    "work": ModelProvider(base_url="https://models.example.com/v1/", api_key="${WORK_KEY}"),
    "claude-at-work": ModelProvider(
        base_url="https://claude.example.com/v1", api_key="sk-c", api="anthropic-messages", headers={"x-team": "a"}
    ),
    "box": ModelProvider(base_url="http://127.0.0.1:11434", api="ollama"),
    "odd": ModelProvider(base_url="https://odd.example.com", api="google-generative-ai"),
}


def found(model: str, base_url: str | None = None) -> tuple[str, str, str, str]:
    endpoint = endpoint_of(model, base_url, PROVIDERS, KEYS)
    return endpoint.api, endpoint.model, endpoint.base_url, endpoint.api_key


@pytest.mark.parametrize(
    ("model", "base_url", "service"),
    [
        ("gpt-4.1-mini", None, ("openai", "gpt-4.1-mini", "https://api.openai.com/v1", "sk-openai")),
        ("claude-x", None, ("anthropic", "claude-x", "https://api.anthropic.com", "sk-anthropic")),
        ("anthropic/claude-x", None, ("anthropic", "claude-x", "https://api.anthropic.com", "sk-anthropic")),
        ("work/qwen/qwen3", None, ("openai", "qwen/qwen3", "https://models.example.com/v1", "sk-work")),
        ("claude-at-work/claude-x", None, ("anthropic", "claude-x", "https://claude.example.com", "sk-c")),
        ("box/qwen3", None, ("openai", "qwen3", "http://127.0.0.1:11434/v1", "")),
        ("qwen/qwen3", "http://127.0.0.1:8000/v1", ("openai", "qwen/qwen3", "http://127.0.0.1:8000/v1", "")),
        ("qwen3", "https://models.example.com/v1", ("openai", "qwen3", "https://models.example.com/v1", "sk-work")),
    ],
)
def test_a_name_and_an_address_say_who_is_asked_and_with_which_key(
    model: str, base_url: str | None, service: tuple[str, str, str, str]
) -> None:
    assert found(model, base_url) == service


@pytest.mark.slow
@given(
    st.sampled_from(["gpt-x", "claude-x", "openai/gpt-x", "anthropic/claude-x"]),
    st.from_regex(r"[a-z]{1,20}", fullmatch=True),
)
def test_a_vendors_key_of_the_environment_goes_nowhere_else(model: str, host: str) -> None:
    assert endpoint_of(model, f"https://{host}.example.org/v1", {}, KEYS).api_key == ""


def test_a_service_shows_neither_its_key_nor_the_password_in_its_address() -> None:
    endpoint = endpoint_of("work/x", "https://me:secret@models.example.com/v1", PROVIDERS, KEYS)
    assert endpoint.host == "models.example.com"
    assert not {"sk-work", "secret"} & set(repr(endpoint).replace(":", "'").replace("@", "'").split("'"))


@pytest.mark.parametrize("model", ["", " ", "work/", "odd/gemini"])
def test_a_name_that_means_nothing_is_refused(model: str) -> None:
    with pytest.raises(UsageError):
        endpoint_of(model, None, PROVIDERS, KEYS)


@pytest.mark.parametrize("address", ["models.example.com", "ftp://models.example.com", "http://", "http://[::1"])
def test_an_address_of_nothing_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="address"):
        endpoint_of("x", address, PROVIDERS, KEYS)


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(ConfigError, match="WORK_KEY"):
        endpoint_of("work/x", None, PROVIDERS, {})


def test_a_vendor_without_a_key_is_refused_with_the_name_of_its_variable() -> None:
    with pytest.raises(UsageError) as caught:
        endpoint_of("gpt-x", None, {}, {})
    assert "OPENAI_API_KEY" in caught.value.remedy
    assert isinstance(endpoint_of("gpt-x", None, {}, KEYS), ChatEndpoint)
