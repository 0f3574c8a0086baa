"""`memoriter install opencode`: the server in its configuration, and the plugin that runs the hooks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.errors import ConfigError
from memoriter.installation import HttpServer, Launch, Machine, apply, changes

if TYPE_CHECKING:
    from pathlib import Path

LAUNCH = Launch(("/opt/my tools/memoriter",), ("--agent", "main"), {"MEMORITER_HOME": "/home/x"})
SETTINGS = '{\n  "theme": "x",\n  "mcp": {"other": {"type": "local", "command": ["x"]}}\n}'


def edit(folder: Path, launch: Launch = LAUNCH, *, on: bool = True, hooks: bool = True, **machine: Any) -> list[str]:
    """Install or remove memoriter, and return the outcomes."""
    scope = machine.pop("scope", "user")
    place = Machine(folder / "home", folder / "work", machine, "linux")
    planned = changes("opencode", launch, place, scope=scope, install=on, hooks=hooks)
    return [outcome.kind for outcome in apply(planned, dry_run=False)]


def files(folder: Path) -> dict[str, str]:
    return {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8")
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_opencode_gets_the_server_and_the_plugin_once_and_loses_them_again_to_the_byte(tmp_path: Path) -> None:
    config = tmp_path / "home" / ".config" / "opencode" / "opencode.json"
    config.parent.mkdir(parents=True)
    config.write_text(SETTINGS, encoding="utf-8")
    before = files(tmp_path)
    assert edit(tmp_path) == ["changed", "created"]
    command = ["/opt/my tools/memoriter", "--agent", "main"]
    written = json.loads(config.read_text(encoding="utf-8"))
    assert written["mcp"]["memoriter"] == {
        "type": "local",
        "command": [*command, "mcp"],
        "enabled": True,
        "environment": {"MEMORITER_HOME": "/home/x"},
    }
    assert written["mcp"]["other"] == {"type": "local", "command": ["x"]}
    plugin = (config.parent / "plugins" / "memoriter.js").read_text(encoding="utf-8")
    assert f"const COMMAND = {json.dumps(command)}\n" in plugin
    assert 'const ENVIRONMENT = {"MEMORITER_HOME": "/home/x"}\n' in plugin
    assert edit(tmp_path) == ["unchanged", "unchanged"]
    assert edit(tmp_path, Launch(("/new/memoriter",))) == ["changed", "changed"]
    assert edit(tmp_path, on=False) == ["changed", "deleted"]
    assert files(tmp_path) == before


def test_without_hooks_there_is_no_plugin(tmp_path: Path) -> None:
    assert edit(tmp_path, hooks=False) == ["created"]
    assert list(files(tmp_path)) == ["home/.config/opencode/opencode.json"]
    assert edit(tmp_path, on=False) == ["deleted", "unchanged"]
    assert files(tmp_path) == {}


def test_a_plugin_of_the_same_name_that_is_not_ours_stays_and_nothing_is_written(tmp_path: Path) -> None:
    plugin = tmp_path / "home" / ".config" / "opencode" / "plugins" / "memoriter.js"
    plugin.parent.mkdir(parents=True)
    plugin.write_text("export const Mine = async () => ({})\n", encoding="utf-8")
    before = files(tmp_path)
    with pytest.raises(ConfigError, match="This file is not from memoriter"):
        edit(tmp_path)
    assert edit(tmp_path, on=False) == ["unchanged", "unchanged"]
    assert files(tmp_path) == before


def test_the_files_of_a_project_are_in_its_folder_and_hold_no_token(tmp_path: Path) -> None:
    remote = Launch(("memoriter",), remote=HttpServer("http://127.0.0.1:8377/mcp", "s3cret"))
    assert edit(tmp_path, remote, scope="project") == ["created", "created"]
    written = files(tmp_path)
    assert sorted(written) == ["work/.opencode/plugins/memoriter.js", "work/opencode.json"]
    assert json.loads(written["work/opencode.json"])["mcp"]["memoriter"] == {
        "type": "remote",
        "url": "http://127.0.0.1:8377/mcp",
        "enabled": True,
        "headers": {"Authorization": "Bearer {env:MEMORITER_TOKEN}"},
    }
    assert edit(tmp_path, XDG_CONFIG_HOME=str(tmp_path / "xdg")) == ["created", "created"]
    assert "xdg/opencode/opencode.json" in files(tmp_path)
