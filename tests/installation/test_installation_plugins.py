"""The plugins are those of their source, and README says what works with which client."""

from __future__ import annotations

import json
import re
import runpy
import tomllib
from pathlib import Path

from memoriter.coding_hooks import CAPTURING, HOOKS, TIMEOUTS
from memoriter.installation import CLIENT_TITLES

ROOT = Path(__file__).parents[2]
FOLDERS = ("plugins/claude-code", "plugins/codex", "plugins/gemini")


def test_the_plugins_are_made_from_their_source() -> None:
    wanted = runpy.run_path(str(ROOT / "scripts" / "plugins.py"))["files"]()
    assert {name: (ROOT / name).read_text(encoding="utf-8") for name in wanted} == wanted, "run `just plugins`"
    there = {file.relative_to(ROOT).as_posix() for name in FOLDERS for file in (ROOT / name).rglob("*.*")}
    assert {name for name in there if (ROOT / name).is_file()} <= set(wanted)


def test_each_plugin_has_the_hooks_and_time_limits_of_an_installation_and_its_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    recalling = {event: word for event, word in HOOKS.items() if word not in CAPTURING}
    for folder, name in (("claude-code", "claude-plugin"), ("codex", "codex-plugin")):
        hooks = json.loads((ROOT / "plugins" / folder / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
        assert {event: group["hooks"][0] for event, (group,) in hooks.items()} == {
            event: {
                "type": "command",
                "command": f"memoriter --installed-for {name}@{version} hook {word}",
                "timeout": TIMEOUTS[word],
            }
            for event, word in recalling.items()
        }
        server = json.loads((ROOT / "plugins" / folder / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]
        assert server["memoriter"]["args"] == ["--installed-for", f"{name}@{version}", "mcp"]


def test_each_form_has_the_three_commands_and_gives_them_what_the_person_typed() -> None:
    for name in ("remember", "recall", "forget"):
        assert "$ARGUMENTS" in (ROOT / f"plugins/claude-code/commands/{name}.md").read_text(encoding="utf-8")
        command = tomllib.loads((ROOT / f"plugins/gemini/commands/{name}.toml").read_text(encoding="utf-8"))
        assert "{{args}}" in command["prompt"]
        assert "$ARGUMENTS" not in (ROOT / f"plugins/codex/skills/{name}/SKILL.md").read_text(encoding="utf-8")


def test_readme_names_each_client_with_the_version_that_its_test_runs() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.partition("| works with |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    one_by_one = [(title, *row[1:]) for row in rows for title in row[0].split(", ")]
    assert sorted(title for title, *_ in one_by_one) == sorted(CLIENT_TITLES.values())
    for title, version, tools, recall, capture, test in one_by_one:
        source = (ROOT / test.strip("`")).read_text(encoding="utf-8")
        if version == "files only":
            (client,) = (name for name, each in CLIENT_TITLES.items() if each == title)
            assert (f'"{client}": (' in source, tools, recall, capture) == (True, "not tested", "no", "no")
        else:
            assert re.search(rf"@{re.escape(version)}\b", source), title
