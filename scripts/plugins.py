"""Write the plugins for Claude Code and Codex and the extension for Gemini CLI, from `plugins/source`.

    python scripts/plugins.py          writes them
    python scripts/plugins.py --check  fails if they differ from what would be written

Each starts the program `memoriter` of the PATH. The hooks come from `memoriter.coding_hooks`, and the version from
`pyproject.toml`.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from memoriter.coding_hooks import CAPTURING, GEMINI_HOOKS, HOOKS, TIMEOUTS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "plugins" / "source"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSION: str = PROJECT["version"]
SEMANTIC_VERSION = VERSION.replace(".dev", "-dev.")
"""The version in the form that the clients accept."""
OWNER = {"name": "memoriter"}


def files() -> dict[str, str]:
    """Return the content of every generated file by its path."""
    manifest = json.loads((SOURCE / "plugin.json").read_text(encoding="utf-8"))
    skill = (SOURCE / "skill.md").read_text(encoding="utf-8")
    commands = {file.stem: _command(file) for file in sorted((SOURCE / "commands").glob("*.md"))}
    described = {"name": manifest["name"], "version": SEMANTIC_VERSION, "description": manifest["description"]}
    named = {**described, "author": OWNER, "license": manifest["license"], "keywords": manifest["keywords"]}
    contents: dict[str, Any] = {
        ".claude-plugin/marketplace.json": _claude_marketplace(described),
        ".agents/plugins/marketplace.json": _codex_marketplace(described),
        "plugins/claude-code/.claude-plugin/plugin.json": named,
        "plugins/claude-code/.mcp.json": _servers("claude-plugin"),
        "plugins/claude-code/hooks/hooks.json": _hooks("claude-plugin", HOOKS),
        "plugins/claude-code/skills/memory/SKILL.md": skill,
        "plugins/codex/.codex-plugin/plugin.json": {
            **named,
            "skills": "./skills/",
            "mcpServers": "./.mcp.json",
            "hooks": "./hooks/hooks.json",
        },
        "plugins/codex/.mcp.json": _servers("codex-plugin"),
        "plugins/codex/hooks/hooks.json": _hooks("codex-plugin", HOOKS),
        "plugins/codex/skills/memory/SKILL.md": skill,
        "plugins/gemini/gemini-extension.json": {**described, **_servers("gemini-extension")},
        "plugins/gemini/hooks/hooks.json": _hooks("gemini-extension", GEMINI_HOOKS, milliseconds=True),
        "plugins/gemini/skills/memory/SKILL.md": skill,
    }
    for name, (description, argument, text) in commands.items():
        front = f'---\ndescription: {description}\nargument-hint: "[{argument}]"\n---\n'
        contents[f"plugins/claude-code/commands/{name}.md"] = front + text
        plain = text.replace("$ARGUMENTS", "what the user wrote after the name of this skill")
        skill_front = f"---\nname: {name}\ndescription: {description}. Use only when the user names it.\n---\n"
        contents[f"plugins/codex/skills/{name}/SKILL.md"] = skill_front + plain
        prompt = text.replace("$ARGUMENTS", "{{args}}")
        toml = f"description = {json.dumps(description)}\nprompt = '''\n{prompt}'''\n"
        contents[f"plugins/gemini/commands/{name}.toml"] = toml
    return {name: content if isinstance(content, str) else _json(content) for name, content in contents.items()}


def _command(file: Path) -> tuple[str, str, str]:
    """Return the description, the name of the argument and the text of a command."""
    _, front, text = file.read_text(encoding="utf-8").split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in front.splitlines())
    return fields["description"], fields["argument"], text


def _servers(name: str) -> dict[str, Any]:
    words = ["--installed-for", f"{name}@{VERSION}", "mcp"]
    return {"mcpServers": {"memoriter": {"command": "memoriter", "args": words}}}


def _hooks(name: str, events: dict[str, Any], *, milliseconds: bool = False) -> dict[str, Any]:
    """Return the hooks that recall and flush; those that record conversations need `memoriter install --capture`."""
    hooks: dict[str, Any] = {}
    for event, word in events.items():
        if word in CAPTURING or (milliseconds and word == "stop"):
            continue
        command = f"memoriter --installed-for {name}@{VERSION} hook {word}"
        timeout = TIMEOUTS[word] * (1_000 if milliseconds else 1)
        hooks[event] = [{"hooks": [{"type": "command", "command": command, "timeout": timeout}]}]
    return {"hooks": hooks}


def _claude_marketplace(described: dict[str, str]) -> dict[str, Any]:
    plugin = {"name": described["name"], "source": "./plugins/claude-code", "description": described["description"]}
    about = {"description": "The plugin of memoriter."}
    return {"name": described["name"], "owner": OWNER, "metadata": about, "plugins": [plugin]}


def _codex_marketplace(described: dict[str, str]) -> dict[str, Any]:
    plugin = {
        "name": described["name"],
        "source": {"source": "local", "path": "./plugins/codex"},
        "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
        "category": "Productivity",
    }
    return {"name": described["name"], "interface": {"displayName": "memoriter"}, "plugins": [plugin]}


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the files, or compare them."""
    wanted = files()
    differing = [
        name
        for name, content in wanted.items()
        if not (ROOT / name).is_file() or (ROOT / name).read_text(encoding="utf-8") != content
    ]
    if "--check" in sys.argv[1:]:
        sys.exit(f"Run `just plugins`: {', '.join(differing)}" if differing else 0)
    for name in differing:
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(wanted[name], encoding="utf-8")


if __name__ == "__main__":
    main()
