"""`$include` puts parts of a configuration into files of their own, by OpenClaw's rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoriter.config import Configuration, load
from memoriter.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

SEARCH = "agents.defaults.memorySearch"


def loaded(folder: Path, **files: str) -> Configuration:
    """Load `main.json5` of the files, whose names stand for `NAME.json5`."""
    for name, text in files.items():
        file = folder / f"{name.replace('__', '/')}.json5"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return load(folder / "main.json5", home=folder / "home", environ={})


def test_a_directive_becomes_the_content_of_its_file_at_any_depth(tmp_path: Path) -> None:
    found = loaded(
        tmp_path,
        main="{agents: {$include: './parts/agents.json5'}, memory: {citations: 'off'}}",
        parts__agents="{defaults: {memorySearch: {$include: './search.json5'}}}",
        parts__search="{query: {maxResults: 9}}",
    )
    assert found.search_for("main").query.max_results == 9
    assert found.settings.memory.citations == "off"


def test_several_files_are_merged_in_order_and_the_keys_beside_them_win(tmp_path: Path) -> None:
    found = loaded(
        tmp_path,
        main=(
            "{$include: ['a.json5', 'b.json5'], agents: {defaults: {memorySearch: {query: {minScore: .1}}},"
            " list: [{id: 'c'}]}}"
        ),
        a="{agents: {defaults: {memorySearch: {query: {maxResults: 1, minScore: .5}}}, list: [{id: 'a'}]}}",
        b="{agents: {defaults: {memorySearch: {query: {maxResults: 2}}}, list: [{id: 'b'}]}}",
    )
    query = found.search_for("main").query
    assert (query.max_results, query.min_score) == (2, 0.1)
    assert [agent.id for agent in found.settings.agents.list] == ["a", "b", "c"]


def test_a_mistake_and_an_origin_name_the_included_file_and_its_line(tmp_path: Path) -> None:
    files = {"main": "{\n\n\n$include: 'part.json5'}", "part": "{memory: {\n  citations: 'on'}}"}
    assert str(loaded(tmp_path, **files).origins["memory.citations"]) == f"{tmp_path / 'part.json5'}:2"
    files["part"] = "{memory: {\n  citations: 'maybe'}}"
    with pytest.raises(ConfigError, match=r"part\.json5:2:3: The setting memory\.citations must be"):
        loaded(tmp_path, **files)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"main": "{$include: 'gone.json5'}"}, "there is no file"),
        ({"main": "{$include: 'a.json5'}", "a": "{$include: 'main.json5'}"}, "leads back to"),
        ({"main": "{$include: './main.json5'}"}, "leads back to"),
        ({"main": "{$include: '../secret.json5'}"}, "is outside the folder of the configuration"),
        ({"main": "{$include: '/etc/passwd'}"}, "is outside the folder of the configuration"),
        ({"main": "{$include: 7}"}, "must be the path of a file, or a list of paths"),
        ({"main": "{$include: ['a.json5', 7]}", "a": "{}"}, "must be the path of a file, or a list of paths"),
        ({"main": "{$include: 'a.json5', memory: {}}", "a": "[1]"}, "must hold an object in braces"),
        ({"main": "{$include: 'a.json5'}", "a": "{x"}, r"a\.json5:1:3: This is not JSON5"),
        ({"main": "{$include: 'f'}"}, "there is no file"),
    ],
)
def test_a_directive_that_cannot_be_followed_is_an_error(tmp_path: Path, files: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        loaded(tmp_path, **files)


def test_a_link_does_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.json5").write_text("{}", encoding="utf-8")
    (tmp_path / "claw").mkdir()
    (tmp_path / "claw" / "link.json5").symlink_to(tmp_path / "secret.json5")
    with pytest.raises(ConfigError, match="is outside the folder of the configuration"):
        loaded(tmp_path / "claw", main="{$include: 'link.json5'}")


def test_an_absolute_path_inside_the_folder_is_followed(tmp_path: Path) -> None:
    found = loaded(tmp_path, main=f"{{$include: '{tmp_path}/a.json5'}}", a="{memory: {citations: 'on'}}")
    assert found.settings.memory.citations == "on"


@pytest.mark.parametrize(("files", "allowed"), [(10, True), (11, False)])
def test_ten_files_may_include_each_other_in_a_row(tmp_path: Path, files: int, allowed: bool) -> None:
    parts = {f"n{number}": f"{{$include: 'n{number + 1}.json5'}}" for number in range(1, files)}
    parts |= {"main": "{$include: 'n1.json5'}", f"n{files}": "{memory: {citations: 'on'}}"}
    if allowed:
        assert loaded(tmp_path, **parts).settings.memory.citations == "on"
        return
    with pytest.raises(ConfigError, match="more than 10 files deep"):
        loaded(tmp_path, **parts)


def test_the_file_of_a_workspace_includes_nothing(tmp_path: Path) -> None:
    (tmp_path / ".memoriter.json5").write_text("{$include: './query.json5'}", encoding="utf-8")
    (tmp_path / "query.json5").write_text("{}", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"The setting \$include may not be set by"):
        load(None, home=tmp_path / "home", environ={}, project=tmp_path)
