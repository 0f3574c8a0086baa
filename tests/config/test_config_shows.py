from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoriter.config import Configuration, Settings, expand, load, reference, with_values
from memoriter.config._section import all_sections, leaves
from memoriter.errors import ConfigError
from settings_as_file import as_file

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "sk-planted-0123456789"

KEY = "agents.defaults.memorySearch"


def shown(configuration: Configuration) -> dict[str, Any]:
    return {key: value for key, value, _ in configuration.rows()}


@pytest.mark.parametrize(
    "values",
    [
        {f"{KEY}.remote.apiKey": SECRET},
        {f"{KEY}.remote.headers": {"Authorization": f"Bearer {SECRET}", "X-Api-Key": SECRET}},
        {f"{KEY}.remote.baseUrl": f"https://me:{SECRET}@host/v1"},
        {f"{KEY}.remote.baseUrl": f"https://host/v1?key={SECRET}"},
        {f"{KEY}.remote.baseUrl": f"https://[{SECRET}"},
        {"models.providers": {"openai": {"apiKey": SECRET, "headers": {"a": SECRET}}}},
        {"plugins.entries.memory-lancedb.config.embedding.apiKey": SECRET},
        {"agents.list": [{"id": "a", "memorySearch": {"remote": {"apiKey": SECRET}}}]},
    ],
)
def test_a_secret_is_never_shown(values: dict[str, Any]) -> None:
    configuration = with_values(Configuration(), values)
    assert SECRET not in repr(configuration.rows())
    assert SECRET not in repr(configuration)
    assert "***" in repr(configuration.rows())


@pytest.mark.parametrize("text", ["${OPENAI_API_KEY}", "Bearer ${TOKEN}"])
def test_a_reference_to_the_environment_is_shown_as_it_is_written(text: str) -> None:
    configuration = with_values(Configuration(), {f"{KEY}.remote.apiKey": text})
    assert shown(configuration)[f"{KEY}.remote.apiKey"] == text


def test_an_address_is_shown_without_its_credentials() -> None:
    configuration = with_values(Configuration(), {f"{KEY}.remote.baseUrl": "https://me:pw@host:8080/v1?key=1"})
    assert shown(configuration)[f"{KEY}.remote.baseUrl"] == "https://***@host:8080/v1?***"


def test_rows_show_the_values_in_force() -> None:
    configuration = with_values(Configuration(), {f"{KEY}.query.minScore": 7, f"{KEY}.provider": "gemini"})
    assert shown(configuration)[f"{KEY}.query.minScore"] == 1
    assert shown(configuration)[f"{KEY}.model"] == "gemini-embedding-001"


def test_rows_of_an_agent_are_only_those_that_differ() -> None:
    configuration = with_values(Configuration(), {"agents.list": [{"id": "a", "memorySearch": {"model": "m"}}]})
    own = [key for key in shown(configuration) if key.startswith("agents.list.0.memorySearch")]
    assert own == ["agents.list.0.memorySearch.model"]


def test_references_to_the_environment_are_replaced_when_they_are_used() -> None:
    assert expand("Bearer ${TOKEN}", {"TOKEN": "t"}) == "Bearer t"
    assert expand("$TOKEN {x}", {}) == "$TOKEN {x}"


def test_a_variable_that_is_missing_is_named_only_when_it_is_used() -> None:
    configuration = with_values(Configuration(), {f"{KEY}.remote.apiKey": "${NOT_THERE}"})
    with pytest.raises(ConfigError, match="Environment variable NOT_THERE is not set"):
        expand(configuration.search_for("main").remote.api_key or "", {})


def test_the_reference_lists_every_setting_with_a_description() -> None:
    entries = {entry.key: entry for entry in reference()}
    assert all(entry.description and entry.type for entry in entries.values())
    single = {".".join(map(str, key)) for key, _, _ in leaves(Settings(), extensions=all_sections())}
    lists = {key.partition("[]")[0].partition(".<id>")[0] for key in entries}
    scope = {"memory.qmd.scope"}
    assert single - scope <= set(entries) | lists
    assert entries[f"{KEY}.query.hybrid.mmr.lambda"] == (
        f"{KEY}.query.hybrid.mmr.lambda",
        "number",
        0.7,
        "1 is relevance only, 0 is difference only (kept within 0..1)",
    )
    assert "agents.list[].memorySearch" in entries
    assert "models.providers.<id>.apiKey" in entries


NAMES = st.sampled_from([step for entry in reference() for step in entry.key.replace("[]", "").split(".")])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(max_size=5), inner, max_size=4)
)


def deep(name: str, value: Any) -> Any:
    for step in reversed(name.replace("[]", "").split(".")):
        value = {step: value}
    return value


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(raw=VALUES | st.builds(deep, st.sampled_from([entry.key for entry in reference()]), VALUES))
def test_whatever_a_file_holds_it_loads_or_is_refused_in_words(home: Path, raw: Any) -> None:
    (home / "memoriter.json5").write_text(json.dumps(raw), encoding="utf-8")
    try:
        configuration = load(None, home=home, environ={})
    except ConfigError as error:
        assert error.message  # noqa: PT017 - both outcomes are right
    else:
        configuration.search_for("main")
        assert configuration.rows()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(raw=VALUES | st.builds(deep, st.sampled_from([entry.key for entry in reference()]), VALUES))
def test_what_loads_can_be_written_out_and_read_again(home: Path, raw: Any) -> None:
    file = home / "memoriter.json5"
    file.write_text(json.dumps(raw), encoding="utf-8")
    try:
        first = load(None, home=home, environ={})
    except ConfigError:
        return
    file.write_text(json.dumps(as_file(first)), encoding="utf-8")
    again = load(None, home=home, environ={})
    assert (again.settings, again.extensions) == (first.settings, first.extensions)


NUMBER = st.floats(-1e6, 1e6) | st.integers(-1_000_000, 1_000_000)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(tokens=NUMBER, overlap=NUMBER, vector=NUMBER, text=NUMBER, multiplier=NUMBER, days=NUMBER)
def test_numbers_in_force_are_always_within_their_ranges(
    *, tokens: float, overlap: float, vector: float, text: float, multiplier: float, days: float
) -> None:
    hybrid = {"vectorWeight": vector, "textWeight": text, "candidateMultiplier": multiplier}
    values = {
        f"{KEY}.chunking": {"tokens": tokens, "overlap": overlap},
        f"{KEY}.query.hybrid": {**hybrid, "temporalDecay": {"halfLifeDays": days}},
    }
    found = with_values(Configuration(), values).search_for("main")
    assert 0 <= found.chunking.overlap < found.chunking.tokens
    assert 1 <= found.query.hybrid.candidate_multiplier <= 20
    assert found.query.hybrid.temporal_decay.half_life_days >= 1
    shares = (found.query.hybrid.vector_weight or 0, found.query.hybrid.text_weight or 0)
    assert sum(shares) == pytest.approx(1)
    assert min(shares) >= 0
