"""What runs memoriter at the events of a client: hooks in its settings, which start a program.

opencode has no such hooks. Its plugin is JavaScript that runs those of memoriter.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, cast

from memoriter import json_text
from memoriter.coding_hooks import GEMINI_HOOKS, HOOK_TOOL, HOOKS, TIMEOUTS, HookEvent
from memoriter.errors import ConfigError
from memoriter.installation._entries import SERVER_NAME, object_at, wrong_type_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoriter.installation._entries import Launch
    from memoriter.installation._places import ClientName, Machine

HOOKS_OF: dict[ClientName, dict[str, HookEvent]] = {
    "claude-code": HOOKS,
    "codex": HOOKS,
    "gemini": {event: word for event, word in GEMINI_HOOKS.items() if word != "stop"},
}
"""The events at which a client runs memoriter. At `AfterAgent`, Gemini CLI would wait for plugins only: a flush would
change the output of `gemini -p`, which a hook cannot tell from a conversation."""
MILLISECONDS: frozenset[ClientName] = frozenset({"gemini"})
"""Clients that count the time limits of hooks in milliseconds."""
OWN_HOOK = re.compile(
    rf"(?:^|[\s'\"/\\])memoriter(?:\.exe)?['\"]?\s(?:.*\s)?hook (?:{'|'.join(HOOKS.values())})\s*\Z", re.DOTALL
)
"""A command line that runs the program memoriter with a hook as its last words."""


def hook(client: ClientName, launch: Launch, machine: Machine, event: str) -> dict[str, Any]:
    """Return the entry of a hook in the settings of a client."""
    word = HOOKS_OF[client][event]
    timeout = TIMEOUTS[word] * (1_000 if client in MILLISECONDS else 1)
    if launch.hook_tool and client == "claude-code" and word == "user-prompt":
        # Claude Code fills in what it would write to the stdin of a program.
        filled = {name: f"${{{name}}}" for name in ("session_id", "cwd", "prompt", "hook_event_name")}
        call = {"server": SERVER_NAME, "tool": HOOK_TOOL, "input": {"event": word, **filled}}
        return {"type": "mcp_tool", **call, "timeout": timeout}
    command = launch.hook(word, windows=machine.platform == "win32")
    return {"type": "command", "command": command, "timeout": timeout}


def edit_hooks(
    text: str, name: str, events: Sequence[str], wanted: Mapping[str, dict[str, Any]], *, comments: bool
) -> str:
    """Return the settings with memoriter's hook for each event as in `wanted`, or without any of them."""
    json_text.parse(text if text.strip() else "{}", name, comments=comments)
    if not wanted and not json_text.has_value(text):
        return text
    text = json_text.with_object(text)
    for event in events:
        groups = object_at(json_text.parse(text, name, comments=comments), "hooks", name).get(event)
        groups = list[Any]() if groups is None else groups
        if not isinstance(groups, list):
            raise wrong_type_error(name, f"hooks.{event}", "a list")
        own_hooks = _find_own_hooks(cast("list[Any]", groups))
        hook = wanted.get(event)
        if hook is None:
            for group, number, alone in reversed(own_hooks):
                inside = ("hooks", event, group)
                text = json_text.remove(text, inside if alone else (*inside, "hooks", number))
        elif own_hooks:
            group, number, _ = own_hooks[0]
            current = cast("list[Any]", groups)[group]["hooks"][number]
            text = _update_hook(text, ("hooks", event, group, "hooks", number), current, hook)
        else:
            text = json_text.append(text, ("hooks", event), {"hooks": [hook]})
    return text


def _update_hook(text: str, place: tuple[str | int, ...], current: dict[str, Any], hook: dict[str, Any]) -> str:
    """Return the settings with a hook of memoriter brought up to date; a timeout that is there stays as it is."""
    for key, value in hook.items():
        if key not in current or (key != "timeout" and current[key] != value):
            text = json_text.put(text, (*place, key), value)
    for key in ({"command", "server", "tool", "input"} & current.keys()) - hook.keys():
        text = json_text.remove(text, (*place, key))
    return text


def _find_own_hooks(groups: list[Any]) -> list[tuple[int, int, bool]]:
    """Return the positions of memoriter's hooks: the group, the number in it, and whether it is the only hook there."""
    positions: list[tuple[int, int, bool]] = []
    for group, content in enumerate(groups):
        inner = _list_at(content, "hooks")
        positions += [(group, number, len(inner) == 1) for number, hook in enumerate(inner) if _is_own_hook(hook)]
    return positions


def _is_own_hook(hook: Any) -> bool:
    """Return whether a hook runs memoriter."""
    if not isinstance(hook, dict):
        return False
    fields = cast("dict[str, Any]", hook)
    command = fields.get("command")
    by_tool = fields.get("server") == SERVER_NAME and fields.get("tool") == HOOK_TOOL
    return by_tool or (isinstance(command, str) and OWN_HOOK.search(command) is not None)


def _list_at(value: Any, key: str) -> list[Any]:
    """Return the list under a key of an object, or an empty one."""
    inner = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return cast("list[Any]", inner) if isinstance(inner, list) else []


FIRST_LINE = "// Written by `memoriter install opencode`. `memoriter install opencode --remove` deletes this file."
PLUGIN = """\
{first_line}
import {{ spawn }} from "node:child_process"

const COMMAND = {command}
const ENVIRONMENT = {environ}
const MILLISECONDS = {milliseconds}

// Return what a hook prints. After the time limit, or if anything fails, return undefined: opencode goes on without it.
const run = (event, input) =>
  new Promise((resolve) => {{
    let child
    let text = ""
    const timer = setTimeout(() => {{
      child?.kill("SIGKILL")
      resolve(undefined)
    }}, MILLISECONDS)
    const end = (value) => {{
      clearTimeout(timer)
      resolve(value)
    }}
    try {{
      child = spawn(COMMAND[0], [...COMMAND.slice(1), "hook", event], {{
        env: {{ ...process.env, ...ENVIRONMENT }},
        stdio: ["pipe", "pipe", "ignore"],
        windowsHide: true,
      }})
      child.on("error", () => end(undefined))
      child.stdin.on("error", () => {{}})
      child.stdout.setEncoding("utf8")
      child.stdout.on("data", (part) => {{
        text += part
      }})
      child.on("close", () => {{
        try {{
          end(JSON.parse(text || "{{}}"))
        }} catch {{
          end(undefined)
        }}
      }})
      child.stdin.end(JSON.stringify(input))
    }} catch {{
      end(undefined)
    }}
  }})

export const Memoriter = async ({{ client, directory }}) => {{
  const begun = new Set() // sessions that have the session context
  const children = new Set() // sessions of subagents, whose messages no person wrote

  const warn = (message) => {{
    try {{
      Promise.resolve(client.tui.showToast({{ body: {{ message, variant: "warning" }} }})).catch(() => {{}})
    }} catch {{}}
  }}

  // Return why the next message needs the session context: "startup", or "compact"; undefined if messages have it.
  const missingContext = async (id) => {{
    try {{
      const earlier = await client.session.messages({{ path: {{ id }} }})
      const parts = earlier.data.flatMap((message) => message.parts)
      const compaction = parts.findLastIndex((part) => part.type === "compaction")
      if (parts.slice(compaction + 1).some((part) => part.id.endsWith("memoriter"))) return undefined
      return compaction < 0 ? "startup" : "compact"
    }} catch {{
      return "startup"
    }}
  }}

  // Return the texts for a message: the session context before the first one, and the passages that match it.
  const recall = async (id, prompt) => {{
    const input = {{ session_id: id, cwd: directory }}
    const texts = []
    const take = (output) => {{
      if (output?.systemMessage) warn(output.systemMessage)
      const text = output?.hookSpecificOutput?.additionalContext
      if (text) texts.push(text)
      return output !== undefined
    }}
    const source = begun.has(id) ? undefined : await missingContext(id)
    if (source) {{
      const start = {{ ...input, hook_event_name: "SessionStart", source }}
      if (!take(await run("session-start", start))) return texts // do not wait for it twice
    }}
    begun.add(id)
    take(await run("user-prompt", {{ ...input, hook_event_name: "UserPromptSubmit", prompt }}))
    return texts
  }}

  return {{
    event: async ({{ event }}) => {{
      const info = event.properties?.info
      if (event.type === "session.created" && info?.parentID) children.add(info.id)
      if (event.type === "session.compacted") begun.delete(event.properties.sessionID)
    }},
    "chat.message": async ({{ sessionID }}, {{ parts }}) => {{
      try {{
        const texts = parts.filter((part) => part.type === "text" && !part.synthetic)
        const last = parts.at(-1)
        if (!last || !texts.length || children.has(sessionID)) return
        const recalled = await recall(sessionID, texts.map((part) => part.text).join("\\n"))
        if (!recalled.length) return
        const {{ messageID }} = last
        const text = recalled.join("\\n\\n")
        parts.push({{ id: `${{last.id}}memoriter`, sessionID, messageID, type: "text", text, synthetic: true }})
      }} catch {{}}
    }},
  }}
}}
"""


def plugin_text(command: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the plugin that runs a command with `hook` and the event, with these variables beside opencode's."""
    return PLUGIN.format(
        first_line=FIRST_LINE,
        command=json.dumps(list(command)),
        environ=json.dumps(dict(environ)),
        milliseconds=TIMEOUTS["user-prompt"] * 1_000,
    )


def put_plugin(text: str, name: str, plugin: str) -> str:
    """Return the file with the plugin in it. Raises ConfigError: the file exists, and memoriter did not write it."""
    if text.strip() and not text.startswith(FIRST_LINE):
        message = f"{name}: This file is not from memoriter."
        raise ConfigError(message, remedy="Nothing was written. Rename the file and retry, or use --no-hooks.")
    return plugin


def remove_plugin(text: str) -> str:
    """Return the file without the plugin: empty if memoriter wrote it."""
    return "" if text.startswith(FIRST_LINE) else text
