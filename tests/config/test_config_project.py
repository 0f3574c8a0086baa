from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoriter.config import Configuration, load
from memoriter.errors import ConfigError
from odd_files import KINDS, SECRET, link_to_a_secret, posix_only

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def loaded(tmp_path: Path, text: str, own: str = "{}") -> Configuration:
    home = tmp_path / "home"
    project = tmp_path / "project"
    home.mkdir(exist_ok=True)
    project.mkdir(exist_ok=True)
    (home / "memoriter.json5").write_text(own, encoding="utf-8")
    (project / ".memoriter.json5").write_text(text, encoding="utf-8")
    return load(None, home=home, environ={}, project=project)


@posix_only
@pytest.mark.timeout(200)
@pytest.mark.parametrize("make", KINDS)
def test_a_projects_file_that_is_no_plain_file_is_an_error(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / ".memoriter.json5")
    with pytest.raises(ConfigError, match=r"\.memoriter\.json5 (cannot be read: it is a|is longer than)") as caught:
        load(None, home=tmp_path / "home", environ={}, project=tmp_path)
    assert SECRET not in str(caught.value)


@posix_only
@pytest.mark.timeout(200)
@pytest.mark.parametrize("make", [kind for kind in KINDS if kind is not link_to_a_secret])
def test_a_users_file_that_is_no_plain_file_is_an_error(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "memoriter.json5")
    with pytest.raises(ConfigError, match=r"memoriter\.json5"):
        load(None, home=tmp_path, environ={})


@posix_only
def test_a_users_file_may_be_a_link_to_where_it_is_kept(tmp_path: Path) -> None:
    (tmp_path / "kept.json5").write_text(search("{provider: 'none'}"), encoding="utf-8")
    (tmp_path / "memoriter.json5").symlink_to(tmp_path / "kept.json5")
    assert load(None, home=tmp_path, environ={}).search_for("main").provider == "none"


def search(text: str) -> str:
    return "{agents: {defaults: {memorySearch: " + text + "}}}"


def test_a_projects_file_may_set_how_its_notes_are_cut_and_searched(tmp_path: Path) -> None:
    text = search("{chunking: {tokens: 200}, query: {maxResults: 3}, sources: ['memory'], extraPaths: ['docs']}")
    configuration = loaded(tmp_path, text, own=search("{chunking: {tokens: 300}, provider: 'none'}"))
    found = configuration.search_for("main")
    assert (found.chunking.tokens, found.query.max_results, found.provider) == (200, 3, "none")
    assert [entry.path for entry in found.extra_paths] == ["docs"]
    origin = configuration.origins["agents.defaults.memorySearch.chunking.tokens"]
    assert (origin.kind, origin.path) == ("project", tmp_path / "project" / ".memoriter.json5")
    assert configuration.project_path == origin.path


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (search("{remote: {baseUrl: 'http://evil'}}"), "remote.baseUrl"),
        (search("{remote: {headers: {}}}"), "remote.headers"),
        (search("{remote: {batch: {enabled: true}}}"), "remote.batch.enabled"),
        (search("{provider: 'openai'}"), "provider"),
        (search("{local: {modelPath: '/x.gguf'}}"), "local.modelPath"),
        (search("{store: {path: '/tmp/x.sqlite'}}"), "store.path"),
        (search("{store: {vector: {extensionPath: './evil.so'}}}"), "store.vector.extensionPath"),
        (search("{cache: {maxEntries: 1}}"), "cache.maxEntries"),
        (search("{experimental: {sessionMemory: true}}"), "experimental.sessionMemory"),
        ("{memory: {qmd: {command: 'rm -rf /'}}}", "memory.qmd.command"),
        ("{memory: {backend: 'qmd'}}", "memory.backend"),
        ("{memory: {search: {remote: {apiKey: 'k'}}}}", "remote.apiKey"),
        ("{models: {providers: {openai: {baseUrl: 'http://evil'}}}}", "models.providers.openai.baseUrl"),
        ("{agents: {list: [{id: 'main', workspace: '/'}]}}", "agents.list"),
        ("{agents: {defaults: {workspace: '/'}}}", "agents.defaults.workspace"),
        ("{plugins: {entries: {'memory-lancedb': {config: {dbPath: '/'}}}}}", "dbPath"),
        ("{gateway: {port: 1}}", "gateway"),
    ],
)
def test_a_projects_file_may_not_choose_services_keys_commands_or_paths(tmp_path: Path, text: str, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, text)
    message = caught.value.message
    assert f"{key} may not be set by" in message
    assert str(tmp_path / "project" / ".memoriter.json5") in message


@pytest.mark.parametrize("path", ["../other", "/etc", "~/secrets", "docs/../../other", "link", "\0"])
def test_extra_paths_of_a_projects_file_stay_inside_of_it(tmp_path: Path, path: str) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "link").symlink_to(tmp_path)
    with pytest.raises(ConfigError, match="leaves the workspace"):
        loaded(tmp_path, search("{extraPaths: [" + repr(path).replace("\\x00", "\\u0000") + "]}"))


def test_transcripts_stay_the_users_choice(tmp_path: Path) -> None:
    assert loaded(tmp_path, search("{sources: ['sessions']}")).search_for("main").sources == ("memory",)


def test_a_workspace_without_a_file_of_its_own_changes_nothing(tmp_path: Path) -> None:
    assert load(None, home=tmp_path, environ={}, project=tmp_path).project_path is None


def test_a_projects_file_that_would_take_long_to_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="longer than 65536 bytes"):
        loaded(tmp_path, "{}" + " " * 70_000)
