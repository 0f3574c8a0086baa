"""Which key, from where, and what `auto` chooses."""

from __future__ import annotations

from itertools import product

import pytest

from memoriter.embed._choice import ConfiguredKeys, Key, choose_auto, key_for

ENVIRON = {
    "OPENAI_API_KEY": "from-variable",
    "GOOGLE_API_KEY": "google",
    "VOYAGE_API_KEY": " ",
    "MISTRAL_API_KEY": "m\n",
}


@pytest.mark.parametrize(
    ("vendor", "configured", "key"),
    [
        ("openai", ConfiguredKeys("a", {"openai": "b"}), Key("a", "remote.apiKey")),
        ("openai", ConfiguredKeys("", {"openai": "b"}), Key("b", "models.providers.openai.apiKey")),
        ("openai", ConfiguredKeys(None, {"gemini": "b"}), Key("from-variable", "environment OPENAI_API_KEY")),
        ("gemini", ConfiguredKeys(), Key("google", "environment GOOGLE_API_KEY")),
        ("mistral", ConfiguredKeys(), Key("m", "environment MISTRAL_API_KEY")),
        ("voyage", ConfiguredKeys(), None),
        ("ollama", ConfiguredKeys(), None),
        ("ollama", ConfiguredKeys("a"), Key("a", "remote.apiKey")),
    ],
)
def test_the_nearest_source_wins_and_is_named(vendor: str, configured: ConfiguredKeys, key: Key | None) -> None:
    assert key_for(vendor, configured=configured, environ=ENVIRON) == key


def test_gemini_is_looked_for_under_its_own_name_first() -> None:
    environ = {"GOOGLE_API_KEY": "google", "GEMINI_API_KEY": "gemini"}
    assert key_for("gemini", configured=ConfiguredKeys(), environ=environ) == Key(
        "gemini", "environment GEMINI_API_KEY"
    )


def test_a_variable_of_the_vendor_is_not_for_another_address() -> None:
    assert key_for("openai", configured=ConfiguredKeys(), environ=ENVIRON, custom_endpoint=True) is None
    configured = ConfiguredKeys("a")
    assert key_for("openai", configured=configured, environ=ENVIRON, custom_endpoint=True) == Key("a", "remote.apiKey")


def test_keys_are_never_shown() -> None:
    assert "planted" not in repr([Key("planted", "remote.apiKey"), ConfiguredKeys("planted", {"openai": "planted"})])


def test_auto_goes_down_the_list_and_never_leaves_the_machine_offline() -> None:
    for local, bundled, offline, key in product([True, False], repeat=4):
        expected = [
            *(["local"] if local else []),
            *(["openai"] if key and not offline else []),
            *(["bundled"] if bundled else []),
            "none",
        ]
        assert choose_auto(local_model=local, has_key=key, bundled=bundled, offline=offline) == expected[0]
