"""Which key, from where, and what `auto` chooses."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from memoriter.embed import Choice, ProviderSettings, ServiceConfig, choose

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
