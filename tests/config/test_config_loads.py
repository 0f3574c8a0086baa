from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from memoriter.config import Configuration, MemorySearch, Settings, load, with_values
from memoriter.errors import ConfigError
from settings_as_file import as_file

EXAMPLE = """\
// what I changed
{
  agents: {
    defaults: {
      workspace: "~/notes",
      model: { primary: "some/model" },
      memorySearch: {
        provider: 'openai',
        extraPaths: ["../team", { path: "/srv/shared", pattern: "*.md" }],
        query: { maxResults: 4, },
        remote: { headers: { "X-Team": "a" } },
      },
    },
    list: [
      { id: "Work", memorySearch: { query: { minScore: .5 }, extraPaths: ["work"] } },
      { id: "home", default: true },
    ],
  },
  channels: { anything: [1, 2] },
}
"""


def loaded(tmp_path: Path, text: str) -> Configuration:
    (tmp_path / "memoriter.json5").write_text(text, encoding="utf-8")
    return load(None, home=tmp_path, environ={})


def refused(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, text)
    return caught.value.message.replace(f"{tmp_path}/", "").splitlines()


def search(text: str) -> str:
    return "{agents: {defaults: {memorySearch: " + text + "}}}"


def test_without_a_file_all_settings_have_their_defaults(tmp_path: Path) -> None:
    configuration = load(None, home=tmp_path, environ={})
    assert (configuration.settings, configuration.path) == (Settings(), None)
    assert configuration.search_for("main") == MemorySearch()


def test_without_a_file_neither_pydantic_nor_json5_is_imported(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib; from memoriter.config import load; "
        f"found = load(None, home=pathlib.Path({str(tmp_path)!r}), environ={{}}); "
        "found.search_for('main'); found.rows(); found.origins; "
        "print(sorted({'pydantic', 'pydantic_core', 'json5', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_agent_has_its_own_keys_over_the_defaults(tmp_path: Path) -> None:
    configuration = loaded(tmp_path, EXAMPLE)
    work = configuration.search_for("work")
    home = configuration.search_for("home")
    assert (work.provider, work.query.max_results, work.query.min_score) == ("openai", 4, 0.5)
    assert [entry.path for entry in work.extra_paths] == ["../team", "/srv/shared", "work"]
    assert (home.query.min_score, len(home.extra_paths)) == (0.35, 2)
    assert work.model == "text-embedding-3-small"


def test_the_default_agent_is_the_one_that_is_marked(tmp_path: Path) -> None:
    configuration = loaded(tmp_path, EXAMPLE)
    assert configuration.default_agent == "home"
    assert configuration.workspace_for("home") == "~/notes"
    assert configuration.workspace_for("work") == "workspace-work"


def test_without_agents_there_is_main() -> None:
    assert Configuration().default_agent == "main"
    assert Configuration().workspace_for("main") is None


def test_every_value_knows_where_it_was_written(tmp_path: Path) -> None:
    origins = loaded(tmp_path, EXAMPLE).origins
    key = "agents.defaults.memorySearch"
    assert str(origins[f"{key}.query.maxResults"]) == f"{tmp_path}/memoriter.json5:10"
    assert origins[f"{key}.chunking.tokens"].kind == "default"
    assert origins["agents.list.0.memorySearch.query.minScore"].line == 15
    assert origins["agents.list.0.memorySearch.query.maxResults"].line == 10


def test_keys_that_only_openclaw_knows_are_left_alone_and_can_be_listed(tmp_path: Path) -> None:
    text = search("{outputDimensionality: 3, local: {contextSize: 'auto'}, provider: 'bedrock'}")
    configuration = loaded(tmp_path, text.replace("{agents", "{gateway: {port: 1}, agents"))
    assert configuration.ignored == (
        "gateway",
        "agents.defaults.memorySearch.outputDimensionality",
        "agents.defaults.memorySearch.local.contextSize",
    )
    assert configuration.search_for("main").provider == "bedrock"


@pytest.mark.parametrize(
    "text",
    [
        "{memory: {search: {query: {maxResults: 3}}}}",
        "{memorySearch: {query: {maxResults: 3}}}",
        "{agents: {entries: {main: {memory: {search: {query: {maxResults: 3}}}}}}}",
        "{agents: {entries: {main: {memorySearch: {query: {maxResults: 3}}}}}}",
        "{agents: {list: [{id: 'main', memory: {search: {query: {maxResults: 3}}}}]}}",
    ],
)
def test_places_that_openclaw_moved_settings_to_mean_the_same(tmp_path: Path, text: str) -> None:
    assert loaded(tmp_path, text).search_for("main").query.max_results == 3


def test_the_older_place_wins_over_the_newer_one_and_says_so(tmp_path: Path) -> None:
    text = "{memory: {search: {model: 'new', provider: 'openai'}},\nagents: {defaults: {memorySearch: {model: 'old'}}}}"
    configuration = loaded(tmp_path, text)
    assert (configuration.search_for("main").model, configuration.search_for("main").provider) == ("old", "openai")
    assert configuration.origins["agents.defaults.memorySearch.model"].line == 2


def test_a_key_that_is_kept_in_the_environment_becomes_a_reference_to_it(tmp_path: Path) -> None:
    text = "{models: {providers: {openai: {apiKey: {source: 'env', provider: 'default', id: 'OPENAI_API_KEY'}}}}}"
    assert loaded(tmp_path, text).settings.models.providers["openai"].api_key == "${OPENAI_API_KEY}"


def test_null_counts_as_not_written(tmp_path: Path) -> None:
    assert loaded(tmp_path, search("{query: {maxResults: null}, model: null}")).search_for("main") == MemorySearch()


def test_all_mistakes_of_a_file_are_in_one_message_with_their_places(tmp_path: Path) -> None:
    text = search("""{
      provider: "opnai",
      quary: {},
      query: { maxresults: 3, deadlineMs: 0 },
      sync: { watch: "yes" },
      sources: ["notes"],
      chunking: { tokens: "400" },
    }""")
    where = "memoriter.json5:"
    name = "agents.defaults.memorySearch"
    assert sorted(refused(tmp_path, text)) == sorted(
        [
            f"{where}2:7: The setting {name}.provider is 'opnai', which is not a provider. Perhaps you mean 'openai'.",
            f"{where}3:7: The key {name}.quary is not a setting. Perhaps you mean 'query'.",
            f"{where}4:16: The key {name}.query.maxresults is not a setting. Perhaps you mean 'maxResults'.",
            f"{where}4:31: The setting {name}.query.deadlineMs must be 1 or more, not 0.",
            f"{where}5:15: The setting {name}.sync.watch must be true or false, not text.",
            f"{where}6:7: The setting {name}.sources.0 must be 'memory' or 'sessions', not 'notes'.",
            f"{where}7:19: The setting {name}.chunking.tokens must be a whole number, not text.",
        ]
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{a: 1", "memoriter.json5:1:6: This is not JSON5: the end of the file is not expected here."),
        ("{\n  a = 1}", "memoriter.json5:2:5: This is not JSON5: '=' is not expected here."),
        ("[]", "memoriter.json5:1:1: A configuration is an object in braces."),
        ("{a:" * 3000, "memoriter.json5: The objects are nested too deeply."),
        ("{agents: []}", "memoriter.json5:1:2: The setting agents must be a section in braces, not a list."),
        (
            "{memory: {backend: 'qdm'}}",
            (
                "memoriter.json5:1:11: The setting memory.backend names 'qdm', which is not installed. "
                "Perhaps you mean 'qmd'."
            ),
        ),
        (
            "{memory: {citation: 'on'}}",
            "memoriter.json5:1:11: The key memory.citation is not a setting. Perhaps you mean 'citations'.",
        ),
    ],
)
def test_a_mistake_is_named_with_line_and_column(tmp_path: Path, text: str, message: str) -> None:
    assert refused(tmp_path, text) == [message]


def test_a_misspelt_name_of_ours_is_reported_even_where_openclaw_has_other_keys(tmp_path: Path) -> None:
    text = "{agents: {defaults: {memorysearch: {}}}}"
    assert refused(tmp_path, text) == [
        "memoriter.json5:1:22: The key agents.defaults.memorysearch is not a setting. Perhaps you mean 'memorySearch'."
    ]


def test_a_number_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    [message] = refused(tmp_path, search("{query: {minScore: NaN}}"))
    assert "query.minScore must be a finite number" in message


def test_a_text_in_the_wrong_place_is_not_repeated_in_the_message(tmp_path: Path) -> None:
    [message] = refused(tmp_path, search("{remote: 'sk-planted'}"))
    assert message.endswith("remote must be a section in braces, not text.")


def test_a_provider_of_the_users_own_is_known_by_its_id(tmp_path: Path) -> None:
    text = (
        search("{provider: 'gpu-box'}")[:-1]
        + ", models: {providers: {'gpu-box': {api: 'ollama', baseUrl: 'http://g'}}}}"
    )
    configuration = loaded(tmp_path, text)
    assert configuration.search_for("main").provider == "gpu-box"
    assert configuration.settings.models.providers["gpu-box"].api == "ollama"


@pytest.mark.parametrize("content", [b"\xff\xfe", b"{a: '" + b"x" * (1 << 20) + b"'}"])
def test_a_file_that_is_no_configuration_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "memoriter.json5").write_bytes(content)
    with pytest.raises(ConfigError):
        load(None, home=tmp_path, environ={})


@pytest.mark.parametrize("content", ["", "\n \n", "\ufeff{}"])
def test_an_empty_file_is_an_empty_configuration(tmp_path: Path, content: str) -> None:
    assert loaded(tmp_path, content).settings == Settings()


def test_the_environment_can_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.json5"
    file.write_text("{memory: {citations: 'off'}}", encoding="utf-8")
    found = load(None, home=tmp_path, environ={"MEMORITER_CONFIG": "~/mine.json5", "HOME": str(tmp_path)})
    assert (found.path, found.settings.memory.citations) == (file, "off")


def test_a_file_that_is_named_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"There is no configuration file .*named by MEMORITER_CONFIG"):
        load(None, home=tmp_path, environ={"MEMORITER_CONFIG": "missing.json5"})
    with pytest.raises(ConfigError, match="There is no configuration file"):
        load(tmp_path / "missing.json5", home=tmp_path, environ={})


def test_what_the_caller_gives_wins_over_the_files(tmp_path: Path) -> None:
    key = "agents.defaults.memorySearch.query.maxResults"
    configuration = with_values(loaded(tmp_path, EXAMPLE), {key: 9})
    assert configuration.search_for("main").query.max_results == 9
    assert (configuration.origins[key].kind, configuration.path) == ("flag", tmp_path / "memoriter.json5")


def test_what_the_caller_gives_is_checked_like_a_file() -> None:
    with pytest.raises(ConfigError, match=r"Given by flag: The setting memory\.citations must be"):
        with_values(Configuration(), {"memory.citations": "maybe"})
    with pytest.raises(ConfigError):
        with_values(Configuration(), {"memory.citations": Path("x")})


def test_what_the_caller_gives_may_name_a_provider_of_the_file(tmp_path: Path) -> None:
    configuration = loaded(tmp_path, "{models: {providers: {box: {baseUrl: 'http://b'}}}}")
    changed = with_values(configuration, {"agents.defaults.memorySearch.provider": "box"})
    assert changed.search_for("main").provider == "box"
    assert changed.settings.models.providers["box"].base_url == "http://b"


def test_a_configuration_that_is_written_out_and_read_again_is_the_same(tmp_path: Path) -> None:
    configuration = loaded(tmp_path, EXAMPLE)
    again = loaded(tmp_path, json.dumps(as_file(configuration)))
    assert (again.settings, again.extensions) == (configuration.settings, configuration.extensions)


def test_a_value_of_a_setting_with_several_types_is_refused_once_with_all_of_them(tmp_path: Path) -> None:
    capture = "{plugins: {entries: {'memory-lancedb': {config: {autoCapture: 5}}}}}"
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, capture)
    name = "plugins.entries.memory-lancedb.config.autoCapture"
    assert caught.value.message.endswith(
        f'memoriter.json5:1:50: The setting {name} must be true or false or "inbox", not 5.'
    )
    assert "\n" not in caught.value.message
